// The charts, which plotly draws in the colours of the page, and the table of group sizes.

const at = points.steps.map(([first, last]) => (first + last) / 2);
const spans = points.steps.map(steps);
const single = at.length === 1;
const fewPoints = at.length < 40;

function line(name, values, color, dash = "solid", more = {}) {
  const known = values.some((value) => value !== null);
  return {
    name, values, color, dash, known,
    trace: () => ({
      type: "scatter", mode: fewPoints ? "lines+markers" : "lines", x: at, y: values, name: escaped(short(name, 28)),
      line: { color: ink(color), width: 2, dash }, marker: { color: ink(color), size: 5 }, ...more,
    }),
  };
}

function area(name, values, color) {
  const known = values.some((value) => value > 0);
  const shape = single
    ? { type: "bar", width: 1 }
    : { type: "scatter", mode: "lines", stackgroup: "one", line: { width: 0 } };
  return {
    name, values, color, known,
    trace: () => ({
      ...shape, x: at, y: values, name, fillcolor: ink(color), marker: { color: ink(color) }, hovertemplate: "%{y:.0%}",
    }),
  };
}

function edge(values, more) {
  return {
    hidden: true, values, known: true,
    trace: () => ({
      type: "scatter", mode: "lines", x: at, y: values, line: { width: 0 }, fillcolor: `${ink("--one")}2b`, ...more,
    }),
  };
}

const many = (pairs) => pairs.map(([name, values], place) => line(
  name, values, INKS[place % INKS.length], DASHES[Math.floor(place / INKS.length) % DASHES.length],
));

const CHARTS = {
  kinds: {
    series: points.kinds.map(([kind, values]) => area(kind, values, `--${kind}`)),
    layout: () => ({ yaxis: { ...axis(), range: [0, 1], tickformat: ".0%" }, barmode: "stack" }),
    air: 0,
    height: 300,
    show: percent,
  },
  reward: {
    series: [
      line("mean total reward", points.mean, "--one"),
      line("spread within groups", points.spread, "--two", "dash"),
    ],
  },
  signal: {
    series: many(points.signal),
    none: "No group was live, so no reward had a signal.",
  },
  rewards: { series: many(points.rewards), height: 320, none: "No reward gave a score." },
  length: {
    series: [
      edge(points.shortest, { name: "shortest" }),
      edge(points.longest, { name: "longest", fill: "tonexty" }),
      line("mean tokens", points.length, "--one"),
      line("truncated", points.truncated, "--six", "solid", { yaxis: "y2", hovertemplate: "%{y:.1%}" }),
    ],
    layout: () => ({
      yaxis: { ...axis(), domain: [0.34, 1], rangemode: "tozero" },
      yaxis2: { ...axis(), domain: [0, 0.2], range: [0, 1.06], tickvals: [0, 1], ticktext: ["0%", "100%"] },
      xaxis: { ...stepAxis(), anchor: "y2" },
    }),
    height: 320,
    none: "The records contain no lengths.",
  },
};

function axis() {
  return {
    gridcolor: ink("--line"), zerolinecolor: ink("--line"), linecolor: ink("--line"), fixedrange: true,
    tickfont: { size: 12, color: ink("--quiet") }, automargin: true, nticks: 5, hoverformat: ".4~r",
  };
}

/** The axis of steps, with some space at both ends. */
function stepAxis(air = 0.02) {
  const span = at.at(-1) - at[0];
  const edges = single ? [at[0] - 0.5, at[0] + 0.5] : [at[0] - air * span, at.at(-1) + air * span];
  return {
    ...axis(), range: edges, showgrid: false, zeroline: false,
    title: { text: "step", font: { size: 12, color: ink("--quiet") }, standoff: 8 },
    unifiedhovertitle: { text: data.steps[1] - data.steps[0] + 1 > at.length ? "around step %{x:.0f}" : "step %{x}" },
    ...(at.length < 6 ? { tickvals: at, tickformat: "d" } : {}),
  };
}

function layout(chart) {
  const font = getComputedStyle(document.body).fontFamily;
  return {
    height: chart.height || 260, margin: { l: 36, r: 8, t: 8, b: 48 }, showlegend: false, dragmode: false,
    hovermode: "x unified", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: font, size: 12, color: ink("--text") },
    hoverlabel: {
      bgcolor: ink("--raised"), bordercolor: ink("--line"), font: { color: ink("--text"), family: font }, namelength: -1,
    },
    xaxis: stepAxis(chart.air), yaxis: { ...axis(), rangemode: "tozero" }, ...(chart.layout ? chart.layout() : {}),
  };
}

function draw(id) {
  const chart = CHARTS[id];
  const traces = chart.series.map((series) => ({ ...series.trace(), visible: !series.off }));
  Plotly.react(chart.element, traces, layout(chart), SETTINGS);
}

function key(series) {
  const mark = inked(make("span", { className: series.dash ? "key line" : "key" }), series.color);
  mark.style.setProperty("--dash", { solid: "solid", dash: "dashed" }[series.dash] || "dotted");
  return mark;
}

function legend(id) {
  const buttons = CHARTS[id].series.filter((series) => series.known && !series.hidden).map((series) => {
    const button = make("button", { type: "button", title: "Show or hide" }, key(series), short(series.name, 40));
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      series.off = !series.off;
      button.setAttribute("aria-pressed", String(!series.off));
      draw(id);
    });
    return button;
  });
  return make("div", { className: "legend" }, ...buttons);
}

/** At most `limit` of the rows, always with the first and the last one. */
function some(rows, limit) {
  if (rows.length <= limit) return rows;
  return Array.from({ length: limit }, (_, place) => rows[Math.round((place * (rows.length - 1)) / (limit - 1))]);
}

function table(heads, rows, className = "") {
  const cell = (tag) => (value, place) => make(tag, { className: place ? "number" : "" }, value);
  const head = make("tr", {}, ...heads.map(cell("th")));
  const body = rows.map((row) => make("tr", {}, ...row.map(cell("td"))));
  return make("table", { className }, make("thead", {}, head), make("tbody", {}, ...body));
}

/** The numbers of a chart as a table, for readers who cannot hover over the chart. It is made when it is opened. */
function numbers(label, content) {
  const details = make("details", {}, make("summary", {}, label));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    const scroll = make("div", { className: "scroll", tabIndex: 0 }, content());
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", label);
    details.append(scroll);
  });
  return details;
}

function seriesTable(chart) {
  const series = chart.series.filter((one) => one.known);
  const names = series.map((one) => one.name || one.trace().name);
  const rows = some(at.map((_, place) => place), 24).map((place) => [
    spans[place].replace(/^steps? /, ""),
    ...series.map((one) => (one.values[place] === null ? "–" : (chart.show || figure)(one.values[place]))),
  ]);
  return table(["Steps", ...names], rows);
}

function addChart(id) {
  const chart = CHARTS[id];
  const section = byId(id);
  if (!chart.series.some((series) => series.known && !series.hidden)) {
    section.append(make("p", { className: "none" }, chart.none || "There is nothing to draw."));
    delete CHARTS[id];
    return;
  }
  chart.element = canvas(section.querySelector("h2").textContent);
  section.append(legend(id), chart.element, numbers("Numbers", () => seriesTable(chart)));
}

function canvas(label) {
  const element = make("div", { className: "chart" });
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", `Chart: ${label}`);
  return element;
}

// --- pass rates and group sizes -------------------------------------------------------------------------------------

function heatCaption() {
  const { prompts, total, repeated } = data.heat;
  const which = prompts.length < total
    ? ` These are ${count(prompts.length)} of ${plural(total, "prompt")}, chosen at random`
      + `${repeated ? " from those that were sampled more than once" : ""}.`
    : "";
  return `Each row is a prompt. Its colour is the share of right completions (${data.outcome || "outcome"} of at least 1)`
    + " when the prompt was last sampled. A prompt is solved when all its completions are right. The prompts that were"
    + ` solved first are at the top.${which}`
    + `${repeated ? "" : " Each prompt was sampled once."}`;
}

function addHeat() {
  const section = byId("heat");
  if (!data.heat.prompts.length) {
    section.append(make("p", { className: "none" }, "No prompt was scored."));
    return;
  }
  section.querySelector("p").textContent = heatCaption();
  const element = canvas("pass rate of each prompt over steps");
  CHARTS.heat = { element };
  section.append(heatLegend(), element, numbers("Prompts", () => table(
    ["Prompt", "Solved at step", "Last pass rate"],
    data.heat.prompts.map(([label, solved], row) => [
      label, solved === null ? "not yet" : count(solved), percent(data.heat.rates[row].at(-1)),
    ]),
  )));
}

function drawHeat() {
  const { prompts, rates, steps: columns } = data.heat;
  const places = columns.map(([first, last]) => (first + last) / 2);
  const trace = {
    type: "heatmap", x: places, y: prompts.map((_, row) => row), z: rates, zmin: 0, zmax: 1, hoverongaps: false,
    text: prompts.map(([label]) => columns.map(() => escaped(short(label, 40)))),
    hovertemplate: "%{text}<br>%{z:.0%} right<extra></extra>",
    colorscale: ["--wrong", "--half", "--right"].map((name, place) => [place / 2, ink(name)]), showscale: false,
  };
  Plotly.react(CHARTS.heat.element, [trace], {
    ...layout({ height: Math.min(Math.max(3 * prompts.length, 120), 460) + 56 }), hovermode: "closest",
    margin: { l: 0, r: 8, t: 8, b: 48 },
    xaxis: { ...stepAxis(), range: undefined, ...(places.length < 6 ? { tickvals: places } : {}) },
    yaxis: { ...axis(), autorange: "reversed", visible: false },
  }, SETTINGS);
}

function heatLegend() {
  const scale = make("span", { className: "scale" });
  scale.setAttribute("aria-hidden", "true");
  return make("p", { className: "legend" }, "all wrong", scale, "all right");
}

function sizesCaption() {
  const { sizes, most, prompts, since } = data.sizes;
  const highest = sizes.find(({ size }) => size === most);
  const largest = sizes.filter(({ live }) => highest && live >= 0.9 * highest.live).at(-1);
  const also = largest && largest.size > most ? `, and groups of up to ${largest.size} give at least 90% of that` : "";
  const best = most === null ? "No size gives live groups"
    : `Groups of ${most} give the most live groups per completion${also}`;
  const guesses = sizes.some(({ extrapolated }) => extrapolated)
    ? " Sizes above the number of sampled completions (≈) are extrapolated from the pass rates of similar prompts."
    : "";
  return `Estimated from the pass rates of ${plural(prompts, "prompt")} since step ${count(since)}. Larger groups are dead`
    + ` less often, but the same number of completions makes fewer of them. ${best}.${guesses}`;
}

function sizeRow({ size, dead, live, extrapolated }) {
  const { most, sizes } = data.sizes;
  const bar = (text, part, color) => {
    const mark = inked(make("span", {}), color);
    mark.style.setProperty("--part", part);
    return make("td", {}, make("div", { className: "bar" }, `${extrapolated ? "≈ " : ""}${text}`, mark));
  };
  const notes = [size === most ? "most live groups" : null, size === data.size ? "this run" : null].filter(Boolean);
  const highest = Math.max(...sizes.map((other) => other.live)) || 1;
  return make("tr", { className: size === most ? "most" : "" },
    make("td", {}, String(size), notes.length ? make("small", {}, notes.join(", ")) : null),
    bar(percent(dead), dead, "--flat"),
    bar(figure(100 * live), live / highest, size === most ? "--accent" : "--live"));
}

function addSizes() {
  const section = byId("sizes");
  const { sizes } = data.sizes;
  if (!sizes.length) {
    section.append(make("p", { className: "none" }, "No prompt was scored."));
    return;
  }
  section.querySelector("p").textContent = sizesCaption();
  const heads = ["Group size", "Dead groups", "Live groups per 100 completions"];
  section.append(make("table", { className: "sizes" },
    make("thead", {}, make("tr", {}, ...heads.map((head, place) => make("th", { scope: "col", className: place ? "" : "size" }, head)))),
    make("tbody", {}, ...sizes.map(sizeRow))));
}
