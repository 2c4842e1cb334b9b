// The part above the charts, and the code that fills the page.

function addHead() {
  document.title = `${data.name} – training report`;
  byId("name").textContent = data.name;
  const weights = data.weights.map(([name, weight]) => (weight === 1 ? name : `${figure(weight)} × ${name}`)).join(" + ");
  byId("about").textContent = `${plural(data.groups, "group")} of ${plural(data.size, "completion")}, ${steps(data.steps)}, `
    + `${plural(data.prompts, "prompt")}${weights && !data.facts.length ? `. Reward: ${weights}` : ""}.`;
  byId("facts").append(...data.facts.map(([title, value]) => make("div", {}, make("dt", {}, title), make("dd", {}, value))));
}

function addAnomalies() {
  const items = data.anomalies.map(({ title, details }) => make("li", {}, make("strong", {}, title), details));
  const calm = data.checked
    ? "No warnings: no reward is constant, lacks a signal, or rises while the outcome falls, and completions neither "
      + "grow longer and worse nor become duplicates."
    : "No warnings: a run of fewer than 20 steps is too short to compare its parts.";
  byId("anomalies").append(items.length ? make("ul", {}, ...items) : make("p", { className: "calm" }, calm));
}

function addChanges() {
  byId("changes").append(...data.changes.map(({ what, share, values }) => {
    const texts = values.map(share ? percent : figure);
    const before = texts.length > 1 ? make("small", {}, `${texts[0]} → `) : null;
    return make("div", {}, make("dt", {}, what), make("dd", {}, before, texts.at(-1)));
  }));
}

function drawAll() {
  for (const id of Object.keys(CHARTS)) id === "heat" ? drawHeat() : draw(id);
}

addHead();
addAnomalies();
addChanges();
addGroups();
Object.keys(CHARTS).forEach(addChart);
addHeat();
addSizes();
drawAll();
dark.addEventListener("change", drawAll);
document.documentElement.dataset.drawn = "true";
