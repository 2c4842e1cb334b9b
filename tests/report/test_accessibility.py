"""The page for readers who need contrast or use a keyboard."""

from helpers.browser import until
from helpers.made_runs import with_log


CONTRAST = """
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
"""


def test_text_and_lines_have_the_contrast_of_wcag_aa_in_both_themes(browser, logged):
    browser.open(logged)
    for details in ("#rewards", "#sizes"):
        browser.focus(f"{details} summary")
        browser.press("\ue007")
    browser.focus("#rewards .legend button")
    browser.press("\ue007")
    until(lambda: browser.text("#rewards th") == ["Steps", "boxed", "style"])
    assert browser.count("#rewards .trace") == 1  # the other one is hidden by its legend
    stroke = "document.querySelector('#rewards .lines path').style.stroke"
    light = browser.run(stroke)
    browser.focus(".open")
    browser.press("\ue007")
    assert browser.driver.execute_script(CONTRAST) == []
    browser.theme("dark")
    until(lambda: browser.run(stroke) != light)
    assert browser.driver.execute_script(CONTRAST) == []
    browser.assert_sound()
    browser.driver.execute_script("document.querySelector('.message').style.color = 'var(--line)'")
    assert len(browser.driver.execute_script(CONTRAST)) >= 1  # it does find a text that is too pale


def test_everything_can_be_reached_by_keyboard(browser, logged):
    browser.open(logged)
    wanted = "a[href], button:enabled, select, input, summary, [tabindex='0']"
    visible = f"[...document.querySelectorAll(`{wanted}`)].filter(one => one.getClientRects().length)"
    count = browser.run(f"{visible}.length")
    at = f"[{visible}.indexOf(document.activeElement), document.activeElement.matches(':focus-visible')]"
    reached = []
    for _ in range(count):
        browser.press("\ue004")
        reached.append(browser.run(at))
    assert reached == [[place, True] for place in range(count)] and count > 60
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_landmarks_have_names_of_their_own_and_columns_have_heads(browser, tmp_path):
    runs = [with_log(tmp_path / name, steps=3) for name in ("a", "b")]
    browser.open(runs)
    browser.driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    until(lambda: all(browser.text("#reward th")))
    labels = browser.run(
        "[...document.querySelectorAll('[role=region], section[aria-label]')].map(one => one.ariaLabel)"
    )
    assert len({*labels}) == len(labels) >= 1
    heads = browser.run("[...document.querySelectorAll('main th')].map(one => one.textContent)")
    assert all(heads) and len(heads) > 20
