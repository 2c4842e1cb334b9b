// The part above the charts, the code that fills the page, and the code that follows a run while it goes on.

const views = new Map(); // sections by their id
let runsInView = 0;
let version = document.documentElement.dataset.version; // empty unless the page follows runs

function addHead() {
  const names = data.runs.map(({ name }) => name).join(", ");
  document.title = `${names} – training report`;
  byId("name").textContent = names;
  byId("verdict").replaceChildren(...data.runs.map((run) => make(
    "p", {}, make("b", {}, ofRun(run)), ...unbroken(run.verdict.join(" ")))));
  const stopped = data.runs.filter(({ progress: { last, planned, ended } }) => !ended && planned > last);
  if (!version) byId("live").textContent = stopped.map((run) => `${ofRun(run)}The records end at ${reached(run)}.`).join(" ");
  byId("details").hidden = several();
  byId("about").replaceChildren(...unbroken(aboutRun(one())));
  byId("facts").replaceChildren(...one().facts.map(([title, value]) => (
    make("div", {}, make("dt", {}, title), make("dd", {}, ...unbroken(value))))));
}

/** The name of a run before what is said of it, if there are several. */
const ofRun = ({ name }) => (several() ? `${name}: ` : "");

function aboutRun(run) {
  const weights = run.weights.map(([name, weight]) => (weight === 1 ? name : `${figure(weight)} × ${name}`)).join(" + ");
  return [
    sentence(reached(run)), `${plural(run.groups, "group")} of ${plural(run.size, "completion")}`, plural(run.prompts, "prompt"),
    run.tokens ? plural(run.tokens, "generated token") : null, run.time.length ? duration(run.time.at(-1)[1]) : null,
  ].filter(Boolean).join(", ") + `${weights && !run.facts.length ? `. Reward: ${weights}` : ""}`
    + `.${run.outcome ? ` The outcome reward is ${run.outcome}: a completion is right if its score is at least 1.` : ""}`;
}

/** How far a run is. */
function reached({ steps: [first], progress: { last, planned, ended } }) {
  const where = planned && planned >= last ? `step ${count(last)} of ${count(planned)}` : `step ${count(last)}`;
  return `${ended ? "finished at " : ""}${where}${first > 1 ? ` (recorded from step ${count(first)} on)` : ""}`;
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

function addAnomalies() {
  const items = data.runs.flatMap((run) => run.anomalies.map(({ title, details }) => make(
    "li", {}, make("strong", {}, ofRun(run) + title), ...unbroken(details))));
  const isOpen = [...byId("anomalies").querySelectorAll("details")].some(({ open }) => open);
  refill(byId("anomalies"), items.length ? make("ul", {}, ...items) : null, ...data.runs.map((run) => ticks(run, isOpen)));
}

/** Show new content, unless it is there already: an element that stays keeps the focus. */
function refill(element, ...children) {
  const filled = make("div", {}, ...children);
  if (filled.innerHTML !== element.innerHTML) element.replaceChildren(...filled.children);
}

/** The checks that a run passed, on demand. */
function ticks(run, open) {
  const { checked, needed: [there, needed], passed } = run;
  if (!checked) return make("p", { className: "calm" }, `${ofRun(run)}Too short for most checks (${there} of ${plural(needed, "step")})`);
  const text = make("summary", {}, make("span", { className: "tick" }, "✓ "), `${ofRun(run)}${plural(passed.length, "check")} passed`);
  return make("details", { className: "calm", open }, text, make("ul", {}, ...passed.map((one) => make("li", {}, one))));
}

/** A typical completion of the first step and one of the last. */
function addExamples() {
  const pair = several() ? [] : one().examples;
  byId("examples").hidden = !pair.length;
  if (!pair.length) return;
  const isSame = wordsOf(pair[0].prompt) === wordsOf(pair[1].prompt);
  byId("examples").querySelector("p").textContent = "In each of the two steps, the completion whose reward is closest to the mean.";
  refill(byId("examples").querySelector("div"), ...pair.map((example, place) => {
    const scores = [...example.scores, ...(example.scores.length > 1 ? [["total", example.total]] : [])];
    const title = `Step ${count(example.step)}`;
    const isThere = groups.some((group) => groupLink(group) === groupLink({ ...example, run: 0 }));
    return make("article", {},
      make("header", {}, make("h3", {}, isThere ? make("a", { href: groupLink(example) }, title) : title),
        make("span", { className: "quiet" }, scores.map(([name, score]) => `${name} ${figure(score)}`).join(", "))),
      place && isSame ? null : make("p", { className: "prompt" }, short(wordsOf(example.prompt.slice(-1)), 160)),
      make("p", { className: "message" }, ...unbroken(bothEnds(plain(example.completion)) || "(empty)")));
  }));
}

/** A text, or the beginning and the end of a long one on few lines. The answer is at the end. */
function bothEnds(text) {
  if (text.length < 320) return text;
  const flat = text.replace(/\s+/g, " ");
  return `${flat.slice(0, 100).replace(/ \S*$/, "")} […] ${flat.slice(-180).replace(/^\S* /, "")}`;
}

/** The values of a run before and after, on held-out problems and in training. */
function valuesOf(run) {
  const isShare = (name) => name.endsWith(" groups") || (run.is_share && name === run.outcome);
  const held = run.held_out.flatMap(({ dataset, evaluations, steps: times, values }) => values.map(([name, pair]) => ({
    title: `${name} (held-out${dataset ? `, ${dataset}` : ""})`, times: times.map((step) => [step, step]).slice(0, evaluations),
    values: pair.slice(0, evaluations), show: isShare(name) ? percent : figure, isTraining: false,
    where: `On held-out problems${dataset ? ` of ${dataset}` : ""}`,
  })));
  return [...held, ...run.changes.map(({ what, share, values }) => ({
    title: what, times: run.ends, values, show: share ? percent : figure, isTraining: true, where: "In training" }))];
}

/** What the values at the beginning and at the end of a run are. */
function endsText() {
  const long = data.runs.filter(({ checked }) => checked).length;
  const held = data.runs.some(({ held_out: found }) => found.length)
    ? " Held-out values are those of the first and the last evaluation." : "";
  if (!long) return `In training: the means over the first and the last step.${held}`;
  return "In training: the means over the first and the last tenth of the steps"
    + `${long < data.runs.length ? ", or over the first and the last step of a run with fewer than 20" : ""}.${held}`;
}

/** Show what a section contains, with a button for its file. The button stays, so that it keeps the focus. */
function showTables(section, build, ...content) {
  section.querySelector("div").replaceChildren(...content);
  if (!section.querySelector(".download")) section.append(downloadButton("Download as CSV", build));
}

/** A table with a row for each text and a column for each run. */
const runTable = (label, rows) => scrollable("div", "scroll tall", label, table(runHeads(), rows));

const runHeads = () => ["Value", ...data.runs.map(({ name }) => name)];

/** The titles of the values of all runs, on held-out problems first. */
function valueTitles() {
  const values = data.runs.flatMap(valuesOf).sort((one, other) => one.isTraining - other.isTraining);
  return [...new Set(values.map(({ title }) => title))];
}

function addNumbers() {
  const section = byId("numbers");
  section.querySelector("h2").textContent = several() ? "The runs side by side" : "Before and after in numbers";
  section.querySelector("p").textContent = several() ? endsText() : "";
  showTables(section, numberSheet, ...(several() ? [sideBySide()] : endTables(valuesOf(one()))));
  byId("differences").hidden = !data.differences.length;
  showTables(byId("differences"), differenceSheet, runTable("What differs between the runs", data.differences.map(([name, values]) => (
    [name, ...values.map((value) => make("span", {}, ...unbroken(value)))]))));
}

/** A table of the values of each dataset and one of those in training. The steps are in its heads. */
function endTables(values) {
  return [...new Set(values.map(({ where }) => where))].map((place) => {
    const rows = values.filter(({ where }) => where === place);
    return table([place, ...rows[0].times.map(steps)], rows.map(({ title, values: pair, show }) => [title, ...pair.map(figureOr(show))]), "ends");
  });
}

const figureOr = (show) => (value) => (value === null ? "–" : show(value));

/** How far the runs are and what they took, and a row for each value, with what `read` returns of it for each run. */
function numberRows(suffixes, read) {
  const find = (run, title) => valuesOf(run).find((one) => one.title === title);
  const changed = valueTitles().flatMap((title) => suffixes.map((suffix, place) => (
    [`${title}${suffix}`, ...data.runs.map((run) => (find(run, title) ? read(find(run, title), place) : null))])));
  return [...changed, ...[
    ["Progress", reached], ["Groups", (run) => run.groups], ["Prompts", (run) => run.prompts],
    ["Generated tokens", (run) => run.tokens], ["Seconds", (run) => run.time.at(-1)?.[1] ?? null],
  ].map(([title, tell]) => [title, ...data.runs.map(tell)])];
}

function sideBySide() {
  const rows = numberRows([""], ({ values, show }) => values.map(figureOr(show)).join(" → "));
  return runTable("The runs side by side", rows.map((row) => row.map((value) => showCell(value, figureOr((number) => count(Math.round(number)))))));
}

const numberSheet = () => ({
  file: `${fileName()}-numbers`, heads: runHeads(),
  rows: numberRows([", before", ", after"], ({ values }, place) => values[place] ?? null),
});

const differenceSheet = () => ({
  file: `${fileName()}-differences`, heads: runHeads(), rows: data.differences.map(([name, values]) => [name, ...values]),
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
  const moving = specs.filter(({ id }) => !views.get(id).isStill);
  arrange(byId("lead").querySelector("div"), moving.filter(({ isLead }) => isLead));
  arrange(byId("charts"), moving.filter(({ isSmall, isLead }) => !isSmall && !isLead));
  arrange(byId("logged"), moving.filter(({ isSmall }) => isSmall));
  const still = specs.flatMap(({ id }) => views.get(id).stillText());
  byId("still").textContent = still.length ? `Constant, so not drawn: ${still.join("; ")}.` : "";
}

/** The sections in their order. Nothing is moved if they are there already, since a moved element loses the focus. */
function arrange(place, specs) {
  if (specs.map(({ id }) => id).join() === [...place.children].map(({ id }) => id).join()) return;
  place.replaceChildren(...specs.map(({ id }) => views.get(id).element));
}

const drawAll = () => views.forEach((view) => view.isStill || view.draw());

function render() {
  byId("waiting").hidden = Boolean(data);
  document.querySelector("main").hidden = !data;
  if (data) {
    for (const add of [addHead, addAnomalies, addAxes, addSections, addExamples, addNumbers, addGroups]) add();
    drawAll();
  }
  document.documentElement.dataset.drawn = "true";
}

// --- a run that goes on ---------------------------------------------------------------------------------------------

const POLL = 2000; // milliseconds between two questions

/** How far the runs are, and the time of the last step of each. */
function liveText() {
  if (!data) return "This page follows the run.";
  const told = data.runs.map((run) => {
    const time = new Date(1000 * run.recorded).toLocaleString("sv"); // as 2026-12-31 23:59:59
    return `${ofRun(run)}${sentence(reached(run))}, last step at ${time}.`;
  });
  const isOpen = data.runs.some(({ progress }) => !progress.ended);
  return [...told, isOpen ? "This page follows the run." : ""].join(" ").trim();
}

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
    byId("live").textContent = liveText();
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
