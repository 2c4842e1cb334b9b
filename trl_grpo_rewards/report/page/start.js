// The part above the charts, the code that fills the page, and the button that loads the page anew while a run goes on.

const views = SECTIONS().map((build) => build()).filter(Boolean).map((spec) => new Section(spec));

function addHead() {
  const names = data.runs.map(({ name }) => name).join(", ");
  document.title = `${names} – training report`;
  byId("name").textContent = names;
  byId("verdict").replaceChildren(...data.runs.map((run) => make(
    "p", {}, make("b", {}, ofRun(run)), ...unbroken(run.verdict.join(" ")))),
    ...data.runs.filter(({ comparison }) => comparison).map(({ comparison }) => make("p", {}, ...unbroken(comparison))));
  const stopped = data.runs.filter(({ progress: { last, planned, ended } }) => !ended && planned > last);
  byId("latest").hidden = data.runs.every(({ progress }) => progress.ended);
  byId("end").textContent = stopped.map((run) => `${ofRun(run)}The ${run.advice ? "log ends" : "records end"} at ${reached(run)}.`).join(" ");
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
    sentence(reached(run)), ...(run.groups ? [`${plural(run.groups, "group")} of ${plural(run.size, "completion")}`, plural(run.prompts, "prompt")] : []),
    run.tokens ? plural(run.tokens, "generated token") : null, run.time.length ? duration(run.time.at(-1)[1]) : null,
  ].filter(Boolean).join(", ") + `${weights && !run.facts.length ? `. Reward: ${weights}` : ""}`
    + `.${run.outcome ? ` The outcome reward is ${run.outcome}: a completion is right if its score is at least 1.` : ""}`;
}

/** How far a run is. */
function reached({ steps: [first], progress: { last, planned, ended } }) {
  const where = planned && planned >= last ? `step ${count(last)} of ${count(planned)}` : `step ${count(last)}`;
  return `${ended ? "finished at " : ""}${where}${first > 1 ? ` (recorded from step ${count(first)} on)` : ""}`;
}

/** How far a run is, in few words: columns of several runs are narrow on a phone. */
const progressOf = ({ progress: { last, planned } }) => (planned && planned >= last ? `${count(last)} of ${count(planned)}` : count(last));

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

function addAnomalies() {
  const items = data.runs.flatMap((run) => run.anomalies.map(({ title, details }) => make(
    "li", {}, make("strong", {}, ofRun(run) + title), ...unbroken(details))));
  byId("anomalies").append(...(items.length ? [make("ul", {}, ...items)] : []), ...data.runs.map(ticks));
}

/** The checks that a run passed, on demand. */
function ticks(run, place) {
  const { checked, needed: [there, needed], passed } = run;
  if (!checked) return make("p", { className: "calm" }, `${ofRun(run)}Only ${plural(there, needed < 20 ? "logged step" : "step")}: most checks need ${needed}.`);
  const text = make("summary", {}, make("span", { className: "tick" }, "✓ "), `${ofRun(run)}${plural(passed.length, "check")} passed`);
  return make("details", { id: `passed-${place}`, className: "calm" }, text, make("ul", {}, ...passed.map((one) => make("li", {}, one))));
}

/** A typical completion of the first step and one of the last. */
function addExamples() {
  const pair = several() ? [] : one().examples;
  byId("examples").hidden = !pair.length;
  if (!pair.length) return;
  const isSame = wordsOf(pair[0].prompt) === wordsOf(pair[1].prompt);
  byId("examples").querySelector("p").textContent = "From each step, a typical completion: its reward is closest to the mean.";
  byId("examples").querySelector("div").append(...pair.map((example, place) => {
    const scores = [...example.scores, ...(example.scores.length > 1 ? [["total", example.total]] : [])];
    const title = `Step ${count(example.step)}`;
    const isThere = groups.some((group) => groupLink(group) === groupLink({ ...example, run: 0 }));
    return make("article", {},
      make("header", {}, make("h3", {}, isThere ? make("a", { href: groupLink(example) }, title) : title),
        make("span", { className: "quiet" }, scores.map(([name, score]) => `${name} ${figure(score)}`).join(", "))),
      place && isSame ? null : make("p", { className: "prompt" }, short(brief(wordsOf(example.prompt.slice(-1)).trim()), 160)),
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
  const isFirst = ([name]) => name === (run.outcome || "total reward");
  const held = run.held_out.flatMap(({ dataset, evaluations, steps: times, values }) => values.sort((one, other) => isFirst(other) - isFirst(one)).map(([name, pair]) => ({
    title: `${name} (held-out${dataset ? `, ${dataset}` : ""})`, times: times.map((step) => [step, step]).slice(0, evaluations),
    values: pair.slice(0, evaluations), show: isShare(name) ? percent : figure, isTraining: false,
    where: `On held-out problems${dataset ? ` of ${dataset}` : ""}`,
  })));
  return [...held, ...run.changes.map(({ what, share, values, margin }) => ({
    title: what, times: run.ends, values, margin, show: share ? percent : figure, isTraining: true, where: "In training" }))];
}

/** What the values at the beginning and at the end of a run are. */
function endsText() {
  const long = data.runs.filter(({ checked }) => checked).length;
  const held = data.runs.some(({ held_out: found }) => found.length)
    ? " Held-out values are those of the first and the last evaluation." : "";
  if (!long) return `In training: the means over the first and the last steps.${held}`;
  return "In training: the means over the first and the last tenth of the steps"
    + `${long < data.runs.length ? ", or over the first and the last steps of a short run" : ""}.${held}`;
}

/** Show what a section contains, with a button for its file. */
function showTables(section, build, ...content) {
  section.querySelector("div").append(...content);
  section.append(downloadButton("Download as CSV", build));
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
    const heads = [place, ...rows[0].times.map(steps)];
    return table(heads, rows.map(({ title, values: pair, margin, show }) => [title, ...pair.map((value, at) => (
      `${figureOr(show)(value)}${at && margin ? ` ± ${show(margin)}` : ""}`))]), "ends");
  });
}

const figureOr = (show) => (value) => (value === null ? "–" : show(value));

/** How far the runs are and what they took, and a row for each value, with what `read` returns of it for each run. */
function numberRows(suffixes, read) {
  const find = (run, title) => valuesOf(run).find((one) => one.title === title);
  const changed = valueTitles().flatMap((title) => suffixes.map((suffix, place) => (
    [`${title}${suffix}`, ...data.runs.map((run) => (find(run, title) ? read(find(run, title), place) : null))])));
  return [...changed, ...[
    ["Progress", progressOf], ["Groups", (run) => run.groups || null], ["Prompts", (run) => run.prompts || null],
    ["Generated tokens", (run) => run.tokens || null], ["Seconds", (run) => run.time.at(-1)?.[1] ?? null],
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

const doubtSheet = () => ({
  file: `${fileName()}-doubts`, heads: [...(several() ? ["Run"] : []), "Prompt", "Solution", "Most completions say", "Share", "Trend"],
  rows: data.runs.flatMap((run) => run.doubts.map(({ prompt, solution, answer, share, trend }) => (
    [...(several() ? [run.name] : []), prompt, solution, answer, percent(share), trend.map(percent).join(" → ")]))),
});

/** The problems whose completions agree with each other against the solution. */
function addDoubts() {
  const { heads, rows } = doubtSheet();
  byId("doubts").hidden = !rows.length;
  if (!rows.length) return;
  byId("doubts").querySelector("p").textContent = "Most of the latest completions of these problems give the same answer, and it is not"
    + " the solution. Either the solution is wrong, or the model makes the same mistake each time.";
  showTables(byId("doubts"), doubtSheet, scrollable("div", "scroll tall", "Read these solutions first", table(heads, rows)));
}

const differenceSheet = () => ({
  file: `${fileName()}-differences`, heads: runHeads(), rows: data.differences.map(([name, values]) => [name, ...values]),
});

function addAxes() {
  const known = ["steps"];
  if (data.runs.every(({ time }) => time.length)) known.push("seconds");
  if (data.runs.every(({ tokens: sum }) => sum > 0)) known.push("tokens");
  byId("axes").hidden = known.length === 1;
  const names = { steps: "steps", seconds: "seconds", tokens: "generated tokens" };
  fillSelect(byId("axis"), known.map((name) => [name, names[name]]));
}

function fillSelect(select, options) {
  select.append(...options.map(([name, text]) => make("option", { value: name }, text)));
}

function addSections() {
  const moving = views.filter(({ isStill }) => !isStill);
  const arrange = (place, isThere) => place.append(...moving.filter(({ spec }) => isThere(spec)).map(({ element }) => element));
  arrange(byId("lead").querySelector("div"), ({ isLead }) => isLead);
  arrange(byId("charts"), ({ isSmall, isLead }) => !isSmall && !isLead);
  arrange(byId("logged"), ({ isSmall }) => isSmall);
  const still = views.flatMap((view) => view.stillText());
  byId("still").textContent = still.length ? `Constant, so not drawn: ${still.join("; ")}.` : "";
}

const drawAll = () => views.forEach((view) => view.isStill || view.draw());

// --- a run that goes on ---------------------------------------------------------------------------------------------

const KEPT = `report ${location.pathname}`;
const fields = () => [...document.querySelectorAll("main :is(input, select)")];
const folds = () => [...document.querySelectorAll("main details")].map((element) => [element.closest("[id]").id, element]);
const legendButtons = () => views.flatMap(({ element, spec }) => (
  [...element.querySelectorAll(".legend button")].map((button) => [`${spec.id} ${button.textContent}`, button])));

/** The part of the page that begins last above the top of the window, and where it begins. */
function topPart() {
  const parts = [...document.querySelectorAll("#name, main [id]")].filter((part) => part.getClientRects().length);
  const part = parts.findLast((one) => one.getBoundingClientRect().top <= 0) || byId("name");
  return [part.id, part.getBoundingClientRect().top];
}

/** Load the file again, and keep what the reader has chosen, unfolded and hidden, and where they are on the page. */
function loadLatest() {
  const kept = {
    values: fields().map(({ id, value }) => [id, value]), rows: visible, top: topPart(),
    open: folds().filter(([, { open }]) => open).map(([id]) => id),
    off: legendButtons().filter(([, button]) => button.getAttribute("aria-pressed") === "false").map(([name]) => name),
  };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(kept));
    history.scrollRestoration = "manual";
  } catch { /* This browser stores nothing, so the page begins anew. */ }
  location.reload();
}

/** Restore what `loadLatest` has kept. */
function restore() {
  let kept = null;
  try {
    kept = JSON.parse(sessionStorage.getItem(KEPT));
    sessionStorage.removeItem(KEPT);
  } catch { /* This browser stores nothing. */ }
  if (!kept) return;
  const values = new Map(kept.values);
  fields().filter(({ id }) => values.has(id)).forEach((field) => { field.value = values.get(field.id); });
  axisName = byId("axis").value;
  drawAll();
  filterAnew();
  visible = kept.rows;
  list();
  for (const [id, element] of folds()) {
    element.open = kept.open.includes(id);
    if (element.open) element.dispatchEvent(new Event("toggle")); // now, since its content takes room
  }
  legendButtons().filter(([name]) => kept.off.includes(name)).forEach(([, button]) => button.click());
  const [id, top] = kept.top;
  scrollBy(0, (byId(id) || byId("name")).getBoundingClientRect().top - top);
  byId("latest").focus({ preventScroll: true });
  const release = () => setTimeout(() => { history.scrollRestoration = "auto"; });
  document.readyState === "complete" ? release() : window.addEventListener("load", release);
}

for (const add of [addHead, addAnomalies, addAxes, addSections, addExamples, addNumbers, addDoubts, addGroups]) add();
document.querySelector("main").hidden = false;
drawAll();
follow();
restore();
document.documentElement.dataset.drawn = "true";
dark.addEventListener("change", drawAll);
window.addEventListener("hashchange", follow);
byId("latest").addEventListener("click", loadLatest);
byId("axis").addEventListener("change", () => {
  axisName = byId("axis").value;
  drawAll();
});
