// The sections of the page, in their order. A new one is a function that returns what `Section` shows, or null where it
// has nothing to say, and an entry in `SECTIONS`.

const one = () => data.runs[0];
const outcome = () => one().outcome || "the outcome reward";

const kinds = () => ({
  id: "kinds", title: "Which groups are live", isWide: true, air: 0, height: 300, show: percent,
  text: "A group is live if the rewards of its completions differ, so that there is something to learn from it. Otherwise,"
    + ` it is solved (${outcome()} is at least 1 for all completions), failed (it is at most 0 for all), flat (all rewards are`
    + " equal, but neither of these) or unscored.",
  series: one().points.kinds.map(([kind, values]) => area(kind, values, `--${kind}`)),
  layout: () => ({ yaxis: { ...axis(), range: [0, 1], tickformat: ".0%" }, barmode: "stack" }),
});

const reward = () => ({
  id: "reward", title: "Total reward and its spread",
  text: "The mean total reward, and the spread: the difference between the best and the worst completion of a group,"
    + " averaged over groups. The spread shrinks as problems are solved.",
  series: [
    line("mean total reward", one().points.mean, "--one"),
    line("spread within groups", one().points.spread, "--two", { dash: "dash" }),
  ],
});

const signal = () => ({
  id: "signal", title: "Where the signal comes from",
  text: "The share of each reward in the variance of the total within groups. Shares add up to 1. A reward that works"
    + " against the others has a negative share.",
  series: many(one().points.signal), none: "No group was live, so no reward had a signal.",
});

const rewards = () => ({
  id: "rewards", title: "Mean score of each reward", height: 320, none: "No reward gave a score.",
  text: `The mean over completions, before weights are applied. The outcome reward is ${outcome()}.`,
  series: many(one().points.rewards),
});

const length = () => ({
  id: "length", title: "Completion length", height: 320, none: "The records contain no lengths.",
  text: "The mean number of tokens, in a band from the shortest to the longest completion. Below it, the share of"
    + " completions that were truncated at the limit.",
  series: [
    edge("shortest", one().points.shortest),
    edge("longest", one().points.longest, { fill: "tonexty" }),
    line("mean tokens", one().points.length, "--one"),
    line("truncated", one().points.truncated, "--six", { yaxis: "y2", hovertemplate: "%{y:.1%}" }),
  ],
  layout: (xs) => ({
    yaxis: { ...axis(), domain: [0.34, 1], rangemode: "tozero" },
    yaxis2: { ...axis(), domain: [0, 0.2], range: [0, 1.06], tickvals: [0, 1], ticktext: ["0%", "100%"] },
    xaxis: { ...stepAxis(xs), anchor: "y2" },
  }),
});

const BANDS = ["--band-1", "--band-2", "--band-3", "--band-4", "--band-5", "--band-6"];

/** Pass rates by step, for runs that ask each prompt once. */
const passes = () => (one().heat.prompts.length ? null : {
  id: "passes", title: "Pass rates of groups", isWide: true, air: 0, show: percent, none: "No group was scored.",
  text: `The share of groups by their pass rate: the share of their completions that ${outcome()} calls right (a score of at`
    + " least 1). Too few prompts were sampled in more than one step to follow single prompts.",
  series: one().points.bands.map(([band, values], place) => area(band, values, BANDS[place])),
  layout: () => ({ yaxis: { ...axis(), range: [0, 1], tickformat: ".0%" }, barmode: "stack" }),
});

function heatText() {
  const { prompts, total } = one().heat;
  const which = prompts.length < total
    ? ` These are ${count(prompts.length)} of ${plural(total, "prompt")}, chosen at random from those that were sampled in more`
      + " than one step."
    : "";
  return `Each row is a prompt. Its colour is its pass rate when it was last sampled: the share of its completions that ${outcome()}`
    + " calls right (a score of at least 1). A prompt is solved when all are right. The prompts that were solved first are at"
    + ` the top.${which}`;
}

/** The pass rate of each prompt, where prompts are asked again. */
const heat = () => (one().heat.prompts.length ? {
  id: "heat", title: "When each prompt was solved", text: heatText(), isWide: true, draw: drawHeat,
  legend: () => {
    const scale = make("span", { className: "scale" });
    scale.setAttribute("aria-hidden", "true");
    return make("p", {}, "all wrong", scale, "all right");
  },
  show: figure,
  sheet: () => ({
    file: `${one().name}-prompts`, heads: ["Beginning of the prompt", "Solved at step", "Last pass rate"],
    rows: one().heat.prompts.map(([label, solved], row) => [label, solved, one().heat.rates[row].at(-1)]),
  }),
} : null);

function drawHeat(element) {
  const { prompts, rates, steps: columns } = one().heat;
  const xs = columns.map(([first, last]) => (first + last) / 2);
  const trace = {
    type: "heatmap", x: xs, y: prompts.map((_, row) => row), z: rates, zmin: 0, zmax: 1, hoverongaps: false,
    text: prompts.map(([label]) => columns.map(() => escaped(short(label, 40)))),
    hovertemplate: "%{text}<br>%{z:.0%} right<extra></extra>",
    colorscale: ["--wrong", "--half", "--right"].map((name, place) => [place / 2, ink(name)]), showscale: false,
  };
  const title = { text: "step", font: { size: 12, color: ink("--quiet") }, standoff: 8 };
  Plotly.react(element, [trace], {
    ...baseLayout(Math.min(Math.max(3 * prompts.length, 120), 460) + 56), hovermode: "closest",
    margin: { l: 0, r: 8, t: 8, b: 48 },
    xaxis: { ...axis(), title, showgrid: false, ...(xs.length < 6 ? { tickvals: xs } : {}) },
    yaxis: { ...axis(), autorange: "reversed", visible: false },
  }, SETTINGS);
}

// --- what the trainer logged, for one run or several ----------------------------------------------------------------

const CURVES = {
  entropy: ["Entropy", "The mean entropy of the next token. Near 0, all completions of a group are alike."],
  kl: ["KL divergence", "The mean divergence from the reference model."],
  "clip_ratio/region_mean": ["Clipped tokens", "The share of tokens whose probability ratio was clipped."],
  grad_norm: ["Gradient norm", "Before clipping."],
  learning_rate: ["Learning rate", "The learning rate of the step."],
  "groups/padding": ["Padding", "Tokens that the passes over the model computed for each token that was needed. Without padding, it is 1."],
  step_time: ["Seconds per step", "Sampling, scoring and the update. Evaluations and checkpoints are not included."],
};

const runInk = (place) => INKS[place % INKS.length];
const runDash = (place) => DASHES[Math.floor(place / INKS.length) % DASHES.length];

/** A line for each run. `find` returns the values of a run, or undefined. */
function lines(find, source = (run) => run.points) {
  return data.runs.flatMap((run, place) => {
    const values = find(run);
    return values ? [line(several() ? run.name : "value", values, runInk(place), { run, source: source(run), dash: runDash(place) })] : [];
  });
}

const curve = (name) => () => {
  const [title, text] = CURVES[name];
  const series = lines((run) => run.log.series.find(([other]) => other === name)?.[1], (run) => run.log);
  return series.length ? { id: name.replace("/", "-"), title, text, isSmall: true, height: 210, series } : null;
};

const tokens = () => ({
  id: "tokens", title: "Generated tokens per step", text: "Tokens that the model wrote, in all groups.", isSmall: true, height: 210,
  none: "The records contain no lengths.",
  series: lines(({ points }) => points.tokens.some(Boolean)
    && points.tokens.map((sum, place) => sum / (points.steps[place][1] - points.steps[place][0] + 1))),
});

// --- several runs ---------------------------------------------------------------------------------------------------

const compared = (id, title, text, find, more = {}) => () => {
  const series = lines(find);
  return series.length ? { id, title, text, series, ...more } : null;
};

const asShare = { show: percent, layout: () => ({ yaxis: { ...axis(), range: [0, 1.02], tickformat: ".0%" } }) };

const COMPARED = () => [
  compared(
    "kinds", "Live groups", "The share of groups whose completions have different rewards.", ({ points }) => points.kinds[0][1],
    asShare,
  ),
  compared("reward", "Total reward", "The mean over completions.", ({ points }) => points.mean),
  ...[...new Set(data.runs.flatMap(({ weights }) => weights.map(([name]) => name)))].map((name, place) => compared(
    `reward-${place}`, `Mean of ${name}`,
    data.runs.some((run) => run.outcome === name) ? "The outcome reward, which says which completions are right." : "The mean over completions, before weights are applied.",
    ({ points }) => points.rewards.find(([other]) => other === name)?.[1],
  )),
  compared("length", "Tokens per completion", "The mean number of tokens.", ({ points }) => points.length),
  compared(
    "truncated", "Truncated completions", "The share that was cut off at the limit.",
    ({ points }) => points.truncated.some(Boolean) && points.truncated, asShare,
  ),
];

const SECTIONS = () => [
  ...(several() ? COMPARED() : [kinds, reward, signal, rewards, length, passes, heat]),
  ...Object.keys(CURVES).map(curve), tokens,
];
