// The sections of the page, in their order. A new one is a function that returns what `Section` shows, or null where it
// has nothing to say, and an entry in `SECTIONS`. `data.runs` has the fields of `summaries.py` for each run.

const one = () => data.runs[0];
const outcome = () => one().outcome || "the outcome reward";

const KINDS = {
  solved: () => `solved if all its completions are right (${outcome()} is at least 1)`,
  live: () => "live if its rewards differ, so that there is something to learn",
  failed: () => `failed if all its completions are wrong (${outcome()} is at most 0)`,
  flat: () => "flat if its rewards are equal, but it is neither solved nor failed",
  unscored: () => "unscored if it has no rewards",
};

const kinds = () => {
  if (!one().groups) return null;
  const series = one().points.kinds.map(([kind, values]) => area(kind, values, `--${kind}`));
  const meanings = series.filter(({ known }) => known).map(({ name }) => KINDS[name]());
  return {
    id: "kinds", title: "Solved and live groups", isLead: true, air: 0, height: 270, show: percent, series,
    text: meanings.length ? `A group is ${meanings.join("; ")}.` : "",
    layout: () => ({ yaxis: { ...axis(), range: [0, 1], tickformat: ".0%" }, barmode: "stack" }),
  };
};

const reward = () => ({
  id: "reward", title: one().groups ? "Total reward and its spread" : "Total reward", isLead: !one().groups,
  text: `The mean total reward${one().groups ? ", and the spread: the difference between the best and the worst completion of a"
    + " group, averaged over groups. The spread shrinks as problems are solved" : ""}.`,
  series: [
    line("mean total reward", one().points.mean, "--one"),
    line("spread within groups", one().points.spread, "--two", { dash: "dash" }),
  ],
});

const signal = () => (one().groups ? {
  id: "signal", title: "Where the signal comes from", isKept: true,
  text: "The share of each reward in the variance of the total within groups. Shares add up to 1. A reward that works"
    + " against the others has a negative share.",
  series: many(one().points.signal), none: "No group was live, so no reward had a signal.",
} : null);

const isPlain = ({ points, weights }) => !points.rewards.length || (points.rewards.length === 1 && weights[0][1] === 1);

const rewards = () => (isPlain(one()) ? null : {
  id: "rewards", title: "Mean score of each reward", height: 320, none: "No reward gave a score.",
  text: `The mean over completions, before weights are applied.${one().outcome ? ` The outcome reward is ${outcome()}.` : ""}`,
  series: many(one().points.rewards),
});

const roughly = (share) => (share < 0.01 ? "under 1%" : percent(share));

const isUnknown = (values) => one().advice && values.every((value) => value === null); // a log may lack it

const length = () => (isUnknown(one().points.length) ? null : {
  id: "length", title: "Completion length", height: 320, none: "The records contain no lengths.",
  text: "The mean number of tokens, in a band from the shortest to the longest completion"
    + `${one().points.truncated.some((share) => share >= 0.01) ? "; below it, the share of completions that were truncated at the limit." : "."}`,
  series: [
    edge("shortest", one().points.shortest),
    edge("longest", one().points.longest, { fill: "tonexty" }),
    line("mean tokens", one().points.length, "--one"),
    {
      ...line("truncated", one().points.truncated, "--six", { yaxis: "y2", hovertemplate: "%{y:.1%}" }), minor: "truncated completions",
      show: roughly,
    },
  ],
  layout: (xs, known) => (known.some(({ minor }) => minor) ? {
    yaxis: { ...axis(), domain: [0.34, 1], rangemode: "tozero" },
    yaxis2: { ...axis(), domain: [0, 0.2], range: [0, 1.06], tickvals: [0, 1], ticktext: ["0%", "100%"] },
    xaxis: { ...stepAxis(xs), anchor: "y2" },
  } : {}),
});

const BANDS = ["--band-1", "--band-2", "--band-3", "--band-4", "--band-5", "--band-6"];

/** Pass rates by step, for runs that ask each prompt once. */
const passes = () => (one().heat.prompts.length || !one().groups ? null : {
  id: "passes", title: "Pass rates of groups", isWide: true, air: 0, show: percent, none: "No group was scored.",
  text: `How many of a group's completions were right, by ${outcome()}. (Each prompt was sampled once, so single prompts cannot`
    + " be followed.)",
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
  frac_reward_zero_std: ["Dead groups", "The share of groups with equal rewards, from which nothing is learned."],
  "groups/padding": ["Padding", "Tokens that the passes over the model computed for each token that was needed. It is at least 1."],
  step_time: ["Seconds per step", "Sampling, scoring and the update. Evaluations and checkpoints are not included."],
  "groups/seconds_generation": ["Seconds of generation", "The part of a step in which completions are sampled."],
  "groups/seconds_scoring": ["Seconds of scoring", "The part of a step in which rewards score completions."],
};

const runInk = (place) => INKS[place % INKS.length];
const runDash = (place) => DASHES[place % DASHES.length]; // equal curves lie on one another

/** A line for each run, or a band for several seeds of one setting. `find` returns the values of a run, or nothing. */
function lines(find, source = (run) => run.points) {
  const found = data.runs.map((run, place) => ({ run, place, values: find(run) || null, source: source(run) }));
  const bands = data.seeds.map((members, at) => band(members.map((place) => found[place]), runDash(at)));
  const banded = new Set(data.seeds.filter((_, place) => bands[place].length).flat());
  const single = found.filter(({ place, values }) => values && !banded.has(place));
  return [...bands.flat(), ...single.map(({ run, place, values, source: from }) => (
    line(several() ? run.name : "value", values, runInk(place), { run, source: from, dash: runDash(place) })))];
}

const middleOf = (values) => {
  const sorted = [...values].sort((one, other) => one - other);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
};

/** The median of some runs at the steps that all of them have, in a band from the lowest to the highest. Nothing without such steps. */
function band(members, dash) {
  const known = members.map(({ values, source }) => new Map((values || []).map((value, at) => [String(source.steps[at]), value])));
  const ranges = members[0].source.steps.filter((range) => known.every((one) => typeof one.get(String(range)) === "number"));
  if (!ranges.length) return [];
  const rows = ranges.map((range) => known.map((one) => one.get(String(range))));
  const name = members.map(({ run }) => run.name).join(", ");
  const color = runInk(members[0].place);
  const xs = () => {
    const all = members.map(({ run }) => places(run, ranges));
    return ranges.map((_, at) => middleOf(all.map((one) => one[at])));
  };
  const middle = `${name}: median and range`;
  const drawn = (title, choose, more = () => ({})) => {
    const one = line(title, rows.map(choose), color, { source: { steps: ranges }, dash });
    return { ...one, part: middle, trace: () => ({ ...one.trace(), x: xs(), ...more() }) };
  };
  const edge = (fill) => () => ({ mode: "lines", line: { width: 0 }, fill, fillcolor: `${ink(color)}2b` });
  return [
    { ...drawn(`${name}: lowest`, (row) => Math.min(...row), edge("none")), hidden: true },
    { ...drawn(`${name}: highest`, (row) => Math.max(...row), edge("tonexty")), hidden: true },
    { ...drawn(middle, middleOf), all: rows.flat() },
  ];
}

/** The title of a curve and what it shows. A reward or a callback may log any name. */
function aboutCurve(name) {
  if (Object.hasOwn(CURVES, name)) return CURVES[name];
  const [reward] = data.runs.flatMap(({ weights }) => weights).find(([other]) => name.startsWith(`${other}/`)) || [];
  return [name, reward ? `Logged by the reward ${reward}.` : "Logged by a reward or a callback."];
}

const curve = (name, place) => () => {
  const [title, text] = aboutCurve(name);
  if (name === "frac_reward_zero_std" && data.runs.every(({ groups: there }) => there)) return null;
  const series = lines((run) => run.log.series.find(([other]) => other === name)?.[1], (run) => run.log);
  const id = Object.hasOwn(CURVES, name) ? name.replace("/", "-") : `logged-${place}`;
  return series.length ? { id, title, text, isSmall: true, height: 210, series } : null;
};

/** What rewards and callbacks have logged under names of their own. */
const metricNames = () => [...new Set(data.runs.flatMap(({ log }) => log.series.map(([name]) => name)))].filter((name) => !Object.hasOwn(CURVES, name));

const tokens = () => (data.runs.every(({ advice }) => advice) ? null : {
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

const isOutcome = (name) => data.runs.some((run) => run.outcome === name);
const shareOf = (kind) => ({ groups: there, points }) => (there ? points.kinds.find(([name]) => name === kind)[1] : null);

const COMPARED = () => [
  ...[...new Set(data.runs.flatMap(({ weights }) => weights.map(([name]) => name)))].map((name, place) => compared(
    `reward-${place}`, `${name} (training)`,
    isOutcome(name) ? "The outcome reward, which says which completions are right." : "The mean over completions, before weights are applied.",
    ({ points }) => points.rewards.find(([other]) => other === name)?.[1], { isLead: isOutcome(name), ...(isOutcome(name) && data.runs.every((run) => run.is_share) ? asShare : {}) },
  )),
  compared("solved", "Solved groups", "The share of groups whose completions are all right.", shareOf("solved"), { isLead: true, ...asShare }),
  compared("live-groups", "Live groups", "The share of groups whose completions have different rewards.", shareOf("live"), asShare),
  compared("reward", "Total reward", "The mean over completions.", ({ points }) => points.mean, { isLead: data.runs.every(({ groups: there }) => !there) }),
  compared("length", "Tokens per completion", "The mean number of tokens.", ({ points }) => points.length),
  compared(
    "truncated", "Truncated completions", "The share that was cut off at the limit.",
    ({ points }) => points.truncated.some(Boolean) && points.truncated, { ...asShare, show: roughly },
  ),
];

const SECTIONS = () => [
  ...(several() ? COMPARED() : [kinds, reward, signal, rewards, length, passes, heat, sizes]),
  ...Object.keys(CURVES).map(curve), tokens, ...metricNames().map(curve),
];
