// The part above the charts, the code that fills the page, and the code that follows a run while it goes on.

const views = new Map(); // sections by their id
let runsInView = 0;

function addHead() {
  const names = data.runs.map(({ name }) => name).join(", ");
  document.title = `${names} – training report`;
  byId("name").textContent = names;
  byId("about").replaceChildren(...(several() ? ["A comparison of ", plural(data.runs.length, "run"), "."] : unbroken(aboutRun(one()))));
  byId("facts").replaceChildren(...(several() ? [] : one().facts.map(([title, value]) => (
    make("div", {}, make("dt", {}, title), make("dd", {}, ...unbroken(value)))))));
}

function aboutRun(run) {
  const weights = run.weights.map(([name, weight]) => (weight === 1 ? name : `${figure(weight)} × ${name}`)).join(" + ");
  return [
    `${plural(run.groups, "group")} of ${plural(run.size, "completion")}`, steps(run.steps), plural(run.prompts, "prompt"),
    run.tokens ? plural(run.tokens, "generated token") : null, run.time.length ? `${duration(run.time.at(-1)[1])} of steps` : null,
  ].filter(Boolean).join(", ") + `${weights && !run.facts.length ? `. Reward: ${weights}` : ""}`
    + `.${run.outcome ? ` The outcome reward is ${run.outcome}: a completion is right if its score is at least 1.` : ""}`;
}

function addAnomalies() {
  const items = data.runs.flatMap(({ name, anomalies }) => anomalies.map(({ title, details }) => make(
    "li", {}, make("strong", {}, several() ? `${name}: ${title}` : title), ...unbroken(details))));
  const calm = data.runs.every(({ checked }) => checked)
    ? "No warnings: no reward is constant, lacks a signal, or rises while the outcome falls, and completions neither "
      + "grow longer and worse nor become duplicates."
    : "No warnings: a run of fewer than 20 steps is too short to compare its parts.";
  byId("anomalies").replaceChildren(items.length ? make("ul", {}, ...items) : make("p", { className: "calm" }, calm));
}

const change = (values, show) => [
  values.length > 1 ? make("small", {}, `${show(values[0])} → `) : null, show(values.at(-1)),
].filter(Boolean);

function addChanges() {
  const changes = several() ? [] : one().changes;
  byId("changes").replaceChildren(...changes.map(({ what, share, values }) => (
    make("div", {}, make("dt", {}, what), make("dd", {}, ...change(values, share ? percent : figure))))));
  byId("ends").textContent = changes.some(({ values }) => values.length > 1) ? endsText() : "";
}

/** What the values at the beginning and at the end of a run are. */
function endsText() {
  const long = data.runs.filter(({ checked }) => checked).length;
  if (!long) return "Start → end: the means over the first and the last step.";
  return "Start → end: the means over the first and the last tenth of the steps"
    + `${long < data.runs.length ? ", or over the first and the last step of a run with fewer than 20" : ""}.`;
}

/** Show what a section contains, with a button for its file. The button stays, so that it keeps the focus. */
function showTables(section, build, ...content) {
  section.querySelector("div").replaceChildren(...content);
  if (!section.querySelector(".download")) section.append(downloadButton("Download as CSV", build));
}

/** A table with a row for each text and a column for each run. */
function runTable(label, rows) {
  const heads = ["", ...data.runs.map(({ name }) => name)];
  const scroll = make("div", { className: "scroll tall", tabIndex: 0 }, table(heads, rows));
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", label);
  return scroll;
}

const changeTitles = () => [...new Set(data.runs.flatMap(({ changes }) => changes.map(({ what }) => what)))];

function addComparison() {
  const section = byId("comparison");
  section.hidden = !several();
  if (!several()) return;
  const totals = [
    ["Steps", (run) => `${count(run.steps[0])}–${count(run.steps[1])}`], ["Groups", (run) => count(run.groups)],
    ["Prompts", (run) => count(run.prompts)], ["Generated tokens", (run) => count(run.tokens)],
    ["Time of steps", (run) => (run.time.length ? duration(run.time.at(-1)[1]) : "–")],
  ].map(([title, find]) => [title, ...data.runs.map(find)]);
  const changed = changeTitles().map((title) => [title, ...data.runs.map(({ changes }) => {
    const found = changes.find(({ what }) => what === title);
    return found ? make("span", {}, ...change(found.values, found.share ? percent : figure)) : "–";
  })]);
  section.querySelector("p").textContent = endsText();
  showTables(section, comparisonSheet, runTable("The runs side by side", [...totals, ...changed]));
  byId("differences").hidden = !data.differences.length;
  showTables(byId("differences"), differenceSheet, runTable("What differs between the runs", data.differences.map(([name, values]) => (
    [name, ...values.map((value) => make("span", {}, ...unbroken(value)))]))));
}

const runHeads = () => ["Value", ...data.runs.map(({ name }) => name)];

function comparisonSheet() {
  const totals = [
    ["First step", (run) => run.steps[0]], ["Last step", (run) => run.steps[1]], ["Groups", (run) => run.groups],
    ["Prompts", (run) => run.prompts], ["Generated tokens", (run) => run.tokens],
    ["Seconds of steps", (run) => run.time.at(-1)?.[1] ?? null],
  ].map(([title, find]) => [title, ...data.runs.map(find)]);
  const changed = changeTitles().flatMap((title) => [["start", 0], ["end", -1]].map(([end, place]) => [
    `${title}, ${end}`, ...data.runs.map(({ changes }) => changes.find(({ what }) => what === title)?.values.at(place) ?? null)]));
  return { file: `${fileName()}-side-by-side`, heads: runHeads(), rows: [...totals, ...changed] };
}

const differenceSheet = () => ({
  file: `${fileName()}-differences`, heads: runHeads(), rows: data.differences.map(([name, values]) => [name, ...values]),
});

const evaluationsOf = () => data.runs.flatMap((run) => run.held_out.map((one) => ({ run: run.name, ...one })));

/** The first and the last evaluation of each dataset of held-out problems. */
function addHeldOut() {
  const section = byId("held-out");
  const found = evaluationsOf();
  const single = found.filter(({ evaluations }) => evaluations === 1).length;
  section.hidden = !found.length;
  section.querySelector("p").textContent = single === found.length ? "There was one evaluation."
    : `The first and the last evaluation${single ? ", or the only one" : ""}.`;
  showTables(section, heldOutSheet, ...found.map(({ run, dataset, evaluations, steps: [first, last], values }) => {
    const label = [several() ? run : null, dataset || null].filter(Boolean).join(", ");
    const times = evaluations > 1 ? [`before (step ${count(first)})`, `after (step ${count(last)})`] : [`step ${count(first)}`];
    const show = (title) => (value) => (title === "dead groups" && value !== null ? percent : figure)(value);
    const rows = values.map(([title, pair]) => [title, ...pair.slice(0, times.length).map(show(title))]);
    return table([label, ...times], rows, "ends");
  }));
}

const heldOutSheet = () => ({
  file: `${fileName()}-held-out`, heads: ["Run", "Dataset", "Value", "First step", "Before", "Last step", "After"],
  rows: evaluationsOf().flatMap(({ run, dataset, evaluations, steps: [first, last], values }) => values.map(([title, [before, after]]) => (
    [run, dataset, title, first, before, ...(evaluations > 1 ? [last, after] : [null, null])]))),
});

function addAxes() {
  const known = ["steps"];
  if (data.runs.every(({ time }) => time.length)) known.push("seconds");
  if (data.runs.every(({ tokens: sum }) => sum > 0)) known.push("tokens");
  if (!known.includes(axisName)) axisName = "steps";
  byId("axes").hidden = known.length === 1;
  const names = { steps: "steps", seconds: "seconds", tokens: "generated tokens" };
  fillSelect(byId("axis"), known.map((name) => [name, names[name]]), axisName);
}

/** The options of a list of choices. They change only if they have to, so that a reader keeps their place. */
function fillSelect(select, options, value = select.value) {
  const wanted = JSON.stringify(options);
  if (select.dataset.options === wanted) return;
  select.dataset.options = wanted;
  select.replaceChildren(...options.map(([name, text]) => make("option", { value: name }, text)));
  select.value = options.some(([name]) => String(name) === value) ? value : options[0][0];
}

function addSections() {
  if (runsInView !== data.runs.length) views.clear();
  runsInView = data.runs.length;
  const specs = SECTIONS().map((build) => build()).filter(Boolean);
  for (const spec of specs) {
    if (views.has(spec.id)) views.get(spec.id).update(spec);
    else views.set(spec.id, new Section(spec));
  }
  for (const id of [...views.keys()]) if (!specs.some((spec) => spec.id === id)) views.delete(id);
  arrange(byId("charts"), specs.filter(({ isSmall }) => !isSmall));
  arrange(byId("logged"), specs.filter(({ isSmall }) => isSmall));
}

/** The sections in their order. Nothing is moved if they are there already, since a moved element loses the focus. */
function arrange(place, specs) {
  if (specs.map(({ id }) => id).join() === [...place.children].map(({ id }) => id).join()) return;
  place.replaceChildren(...specs.map(({ id }) => views.get(id).element));
}

const drawAll = () => views.forEach((view) => view.draw());

function render() {
  byId("waiting").hidden = Boolean(data);
  document.querySelector("main").hidden = !data;
  if (data) {
    for (const add of [addHead, addAnomalies, addChanges, addComparison, addHeldOut, addAxes, addSections, addGroups]) add();
    drawAll();
  }
  document.documentElement.dataset.drawn = "true";
}

// --- a run that goes on ---------------------------------------------------------------------------------------------

const POLL = 2000; // milliseconds between two questions
let version = document.documentElement.dataset.version;

async function poll() {
  try {
    const response = await fetch("data", { headers: { "If-None-Match": `"${version}"` } });
    if (response.ok) {
      version = response.headers.get("ETag").replace(/"/g, "");
      const latest = await response.json();
      data = latest.data;
      groups = gather(latest.groups);
      render();
    } else if (response.status !== 304) {
      throw new Error(String(response.status));
    }
    byId("live").textContent = "Live: this page follows the run.";
  } catch {
    byId("live").textContent = "The server of this page does not answer. The page shows what it knew last.";
  }
  setTimeout(poll, POLL);
}

render();
follow();
if (version) poll();
dark.addEventListener("change", drawAll);
window.addEventListener("hashchange", follow);
byId("axis").addEventListener("change", () => {
  axisName = byId("axis").value;
  drawAll();
});
