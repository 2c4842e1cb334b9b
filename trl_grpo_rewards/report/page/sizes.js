// How many completions a group needs: the run's own pass rates, and what groups of other sizes would have given.

const liveShare = (rate, size) => 1 - rate ** size - (1 - rate) ** size;
const RATES = [...Array(101).keys()].map((place) => place / 100);

/** The share of live groups of a size, by the pass rate. */
function sizeLine(size, place) {
  const values = RATES.map((rate) => liveShare(rate, size));
  const color = INKS[place % INKS.length];
  const name = `live with k = ${size}`;
  return {
    name, values, color, dash: "solid", steps: RATES, known: true,
    trace: () => ({ type: "scatter", mode: "lines", x: RATES, y: values, name, line: { color: ink(color), width: 2 }, hovertemplate: "%{y:.0%}" }),
  };
}

/** The share of the run's groups that have each pass rate. */
function rateBars(rates) {
  const [xs, values] = [rates.map(([rate]) => rate), rates.map(([, share]) => share)];
  const name = "groups of this run";
  return {
    name, values, color: "--quiet", steps: xs, known: true,
    trace: () => ({ type: "bar", x: xs, y: values, width: 0.03, name, marker: { color: ink("--quiet") }, hovertemplate: "%{y:.0%}" }),
  };
}

function sizesText({ size, sizes: all }) {
  const told = all.filter(([other]) => other !== size).map(([other, live]) => `k\u00a0=\u00a0${other} would have given ${percent(live)}`);
  const live = all.find(([other]) => other === size)[1];
  return `The bars are the groups of this run by their share of right completions, by ${outcome()}. The lines are the share of live`
    + ` groups if all prompts had the same pass rate. With k\u00a0=\u00a0${size}, as here, ${percent(live)} of the groups had right and`
    + ` wrong completions. With the same pass rates, ${told.join(", ")}. Shares for more than ${size} completions are estimates, which`
    + " may be wrong by 10 points.";
}

const sizes = () => (one().sizes ? {
  id: "sizes", title: "How many completions a group needs", text: sizesText(one().sizes), show: figure,
  series: [rateBars(one().sizes.rates), ...one().sizes.sizes.map(([size], place) => sizeLine(size, place))],
  layout: () => ({
    xaxis: {
      ...axis(), range: [-0.03, 1.03], tickformat: ".0%", hoverformat: ".0%", zeroline: false,
      title: { text: "share of right completions", font: { size: 12, color: ink("--quiet") }, standoff: 8 },
    },
    yaxis: { ...axis(), range: [0, 1.02], tickformat: ".0%" },
  }),
  sheet: () => ({
    file: `${fileName()}-sizes`, heads: ["Completions of a group", "Share of live groups", "Tokens for each live group"],
    rows: one().sizes.sizes.map(([size, ...values]) => [`${size}`, ...values]),
  }),
} : null);
