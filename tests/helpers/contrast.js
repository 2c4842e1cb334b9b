const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
const paint = (under, over) => {
  canvas.fillStyle = `rgb(${under})`; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = over; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (color) => color.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
const ratio = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const paper = (element) => element ? paint(paper(element.parentElement), getComputedStyle(element).backgroundColor) : [255, 255, 255];
const found = [];
for (const element of document.querySelectorAll('body *')) {
  const style = getComputedStyle(element), isSvg = element instanceof SVGElement;
  const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || element.matches('input, select');
  if (!says || element.closest('script, noscript, :disabled, [hidden]') || !element.getClientRects().length) continue;
  const under = paper(isSvg ? element.closest('.chart') : element);
  const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const value = ratio(paint(under, isSvg ? style.fill : style.color), under);
  if (value < (isLarge ? 3 : 4.5)) found.push([value.toFixed(2), element.tagName, element.className.baseVal ?? element.className, element.textContent.slice(0, 40)]);
}
const page = getComputedStyle(document.documentElement), body = paper(document.body);
for (const name of INKS) {
  const value = ratio(paint(body, page.getPropertyValue(name)), body);
  if (value < 3) found.push([value.toFixed(2), 'line', name]);
}
return found;
