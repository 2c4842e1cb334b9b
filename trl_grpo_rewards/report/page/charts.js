// How a section of the page is drawn: its caption, its legend, its chart in the colours of the page, and its numbers.

const SETTINGS = { displayModeBar: false, responsive: true };
const AXES = { steps: "step", seconds: "seconds of training", tokens: "generated tokens" };
let axisName = "steps";

/** The value at a step, on the line through pairs of a step and a value. */
function between(pairs, step) {
  const next = pairs.findIndex(([other]) => other >= step);
  const [first, low] = next > 0 ? pairs[next - 1] : next === 0 ? [0, 0] : pairs.at(-1);
  const [last, high] = next < 0 ? pairs.at(-1) : pairs[next];
  return last > first ? low + ((high - low) * (step - first)) / (last - first) : high;
}

function tokenPairs({ points }) {
  let sum = 0;
  return points.steps.map(([, last], place) => [last, sum += points.tokens[place]]);
}

/** The places on the horizontal axis of these ranges of steps of a run. */
function places(run, ranges) {
  if (axisName === "steps") return ranges.map(([first, last]) => (run.advice ? last : (first + last) / 2));
  const pairs = axisName === "seconds" ? run.time : tokenPairs(run);
  return ranges.map(([, last]) => between(pairs, last));
}

/** A line. `source` has the ranges of steps, and is that of the run's groups unless it is given. */
function line(name, values, color, { run = data.runs[0], source = run.points, dash = "solid", ...more } = {}) {
  const isShort = source.steps.length < 40;
  return {
    name, values, color, dash, steps: source.steps, known: values.some((value) => value !== null),
    trace: () => ({
      type: "scatter", mode: isShort ? "lines+markers" : "lines", x: places(run, source.steps), y: values,
      name: escaped(middleless(name, 28)), customdata: source.steps.map(stepsLink),
      line: { color: ink(color), width: 2, dash }, marker: { color: ink(color), size: 5 }, connectgaps: Boolean(run.advice), ...more,
    }),
  };
}

function area(name, values, color) {
  const run = data.runs[0];
  const shape = values.length === 1
    ? { type: "bar" }
    : { type: "scatter", mode: "lines", stackgroup: "one", line: { width: 0 } };
  const known = (all) => all.filter((_, place) => values[place] !== null); // a step without groups would count as 0
  return {
    name, values, color, steps: run.points.steps, known: values.some((value) => value > 0),
    trace: () => ({
      ...shape, x: known(places(run, run.points.steps)), y: known(values), name, fillcolor: ink(color), marker: { color: ink(color) },
      customdata: known(run.points.steps).map(stepsLink), hovertemplate: "%{y:.0%}",
    }),
  };
}

/** One border of the band from the shortest to the longest completion. */
function edge(name, values, more) {
  const run = data.runs[0];
  return {
    name, hidden: true, values, steps: run.points.steps, known: values.some((value) => value !== null),
    trace: () => ({
      name, type: "scatter", mode: "lines", x: places(run, run.points.steps), y: values, line: { width: 0 },
      fillcolor: `${ink("--one")}2b`, customdata: run.points.steps.map(stepsLink), ...more,
    }),
  };
}

const many = (pairs, options) => pairs.map(([name, values], place) => line(name, values, INKS[place % INKS.length], {
  ...options, dash: DASHES[Math.floor(place / INKS.length) % DASHES.length],
}));

function axis() {
  return {
    gridcolor: ink("--line"), zerolinecolor: ink("--line"), linecolor: ink("--line"), fixedrange: true, exponentformat: "e", minexponent: 5,
    separatethousands: true,
    tickfont: { size: 12, color: ink("--quiet") }, automargin: true, nticks: 5, hoverformat: ".4~r",
  };
}

/** The horizontal axis, with some space at both ends. */
function stepAxis(xs, air = 0.02) {
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const space = first === last ? 0.5 : air * (last - first);
  const unit = AXES[axisName];
  const isFew = axisName === "steps" && new Set(xs).size < 6;
  return {
    ...axis(), range: [first - space, last + space], showgrid: false, zeroline: false,
    title: { text: unit, font: { size: 12, color: ink("--quiet") }, standoff: 8 },
    unifiedhovertitle: { text: axisName === "steps" ? "step %{x}" : `%{x:,.4~r} ${unit}` },
    ...(isFew ? { tickvals: [...new Set(xs)], tickformat: "d" } : {}),
  };
}

function baseLayout(height = 260) {
  const font = getComputedStyle(document.body).fontFamily;
  return {
    height, margin: { l: 36, r: 8, t: 8, b: 48 }, showlegend: false, dragmode: false, hovermode: "x unified",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: font, size: 12, color: ink("--text") },
    hoverlabel: {
      bgcolor: ink("--raised"), bordercolor: ink("--line"), font: { color: ink("--text"), family: font }, namelength: -1,
    },
  };
}

function key(series) {
  const mark = inked(make("span", { className: series.dash ? "key line" : "key" }), series.color);
  mark.style.setProperty("--dash", { solid: "solid", dash: "dashed" }[series.dash] || "dotted");
  return mark;
}

const showValue = (value) => (typeof value === "number" ? figure(value) : value);

/**
 * A section of the page. What it shows is a plain object: `id`, `title`, `text`, and one of
 *
 * - `series` with lines or areas, and perhaps `layout`, `height`, `air`, `show`, and the text `none` if nothing is known. A
 *   chart of constant lines is not drawn, and neither is a constant line with a title of its own, `minor`;
 * - `draw(element)` for any other chart, with its `sheet` for the table of numbers.
 *
 * `isLead`, `isWide` and `isSmall` say where it stands and how much room it takes. `isKept` draws constant lines, too.
 */
class Section {
  constructor(spec) {
    this.off = new Set();
    this.spec = spec;
    const known = (spec.series || []).filter((one) => one.known);
    const drawn = known.filter((one) => !one.hidden);
    this.isStill = !spec.isKept && drawn.length > 0 && drawn.every((one) => this.isConstant(one));
    this.still = drawn.filter((one) => (this.isStill || one.minor) && this.isConstant(one));
    this.known = known.filter((one) => !this.still.includes(one));
    const isEmpty = Boolean(spec.series) && !this.known.some((one) => !one.hidden);
    if (!isEmpty) {
      this.chart = make("div", { className: "chart" });
      this.chart.setAttribute("role", "img");
      this.chart.setAttribute("aria-label", `Chart: ${spec.title}`);
    }
    this.element = make("section", { id: spec.id, className: spec.isWide ? "wide" : "" },
      make(spec.isSmall ? "h3" : "h2", {}, spec.title), make("p", {}, ...unbroken(spec.text)),
      make("div", { className: "legend" }, ...(spec.legend ? [spec.legend()] : this.legend())),
      this.chart || make("p", { className: "none" }, spec.none || "There is nothing to draw."),
      isEmpty ? null : numbers("Numbers as a table", spec.sheet || (() => this.sheet()), spec.show || figure));
  }

  /** Whether all values of a line look the same. */
  isConstant({ dash, values, all = values, show = this.spec.show || figure }) {
    return Boolean(dash) && new Set(all.filter((value) => value !== null).map(show)).size === 1;
  }

  /** What is not drawn because it is constant, in words. */
  stillText() {
    return this.still.map(({ name, minor, values, show = this.spec.show || figure }) => (
      [minor || this.spec.title, minor || name === "value" ? "" : `(${name})`, show(values.find((value) => value !== null))].filter(Boolean).join(" ")));
  }

  legend() {
    const named = this.known.filter((one) => !one.hidden);
    return named.some(({ name }) => name !== "value") ? named.map((one) => this.legendButton(one)) : [];
  }

  legendButton({ name, ...series }) {
    const button = make("button", { type: "button", title: "Show or hide" }, key(series), name);
    button.setAttribute("aria-pressed", String(!this.off.has(name)));
    button.addEventListener("click", () => {
      this.off.has(name) ? this.off.delete(name) : this.off.add(name);
      button.setAttribute("aria-pressed", String(!this.off.has(name)));
      this.draw();
    });
    return button;
  }

  /** The numbers of all series. Series of several runs may have different ranges of steps. */
  sheet() {
    const rows = new Map();
    this.known.forEach((one, column) => one.steps.forEach((range, place) => {
      if (!rows.has(String(range))) rows.set(String(range), [range, ...this.known.map(() => null)]);
      rows.get(String(range))[column + 1] = one.values[place];
    }));
    const sorted = [...rows.values()].sort(([one], [other]) => one[0] - other[0] || one[1] - other[1]);
    return { file: `${fileName()}-${this.spec.id}`, heads: ["Steps", ...this.known.map(({ name }) => name)], rows: sorted };
  }

  draw() {
    const { spec } = this;
    if (!this.chart) return;
    if (spec.draw) {
      spec.draw(this.chart);
    } else {
      const traces = this.known.map((one) => ({ ...one.trace(), visible: !this.off.has(one.part || one.name) }));
      const xs = traces.flatMap(({ x }) => x);
      Plotly.react(this.chart, traces, {
        ...baseLayout(spec.height), xaxis: stepAxis(xs, spec.air), yaxis: { ...axis(), rangemode: "tozero" },
        ...(spec.layout ? spec.layout(xs, this.known) : {}),
      }, SETTINGS);
    }
    if (!this.isClickable) {
      this.chart.on("plotly_click", ({ points }) => { if (points[0].customdata) location.hash = points[0].customdata; });
      this.isClickable = true;
    }
  }
}
