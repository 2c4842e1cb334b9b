// What stands above the charts; then all is put on the page.

function addHead() {
  document.title = `${data.name} – training report`;
  byId("name").textContent = data.name;
  const weights = data.weights.map(([name, weight]) => (weight === 1 ? name : `${figure(weight)} × ${name}`)).join(" + ");
  byId("about").textContent = `${plural(data.groups, "group")} of ${plural(data.size, "completion")}, ${steps(data.steps)}, `
    + `${plural(data.prompts, "prompt")}${weights ? `. Reward: ${weights}` : ""}.`;
}

function addTroubles() {
  const items = data.troubles.map(({ what, how }) => make("li", {}, make("strong", {}, what), how));
  const calm = data.judged
    ? "Nothing looks wrong: no reward stands still or stays silent, none rises at the cost of the outcome, and "
      + "completions neither ramble nor become alike."
    : "A run of fewer than 20 steps is too short to tell what goes wrong in it.";
  byId("troubles").append(items.length ? make("ul", {}, ...items) : make("p", { className: "calm" }, calm));
}

function addChanges() {
  byId("changes").append(...data.changes.map(({ what, share, values }) => {
    const shown = values.map(share ? percent : figure);
    const before = shown.length > 1 ? make("small", {}, `${shown[0]} → `) : null;
    return make("div", {}, make("dt", {}, what), make("dd", {}, before, shown.at(-1)));
  }));
}

function drawAll() {
  for (const id of Object.keys(CHARTS)) id === "heat" ? drawHeat() : draw(id);
}

addHead();
addTroubles();
addChanges();
addGroups();
Object.keys(CHARTS).forEach(addChart);
addHeat();
addSizes();
drawAll();
dark.addEventListener("change", drawAll);
document.documentElement.dataset.drawn = "true";
