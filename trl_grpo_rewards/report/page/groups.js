// The table of groups with its filters, and the view of one group.

let matching = [];
let visible = PAGE;
const texts = new Map();

const wordsOf = (turns) => turns.map(([, text, name]) => (name ? `${name} ${text}` : text)).join(" ");
const title = (group) => (group.prompt.length ? wordsOf(group.prompt.slice(-1)) : group.prompt_id || "").trim();

function textOf(group) {
  if (!texts.has(group)) {
    texts.set(group, [wordsOf(group.prompt), ...group.completions.map(wordsOf), group.prompt_id || ""].join("\n").toLowerCase());
  }
  return texts.get(group);
}

function meanOf(group, which) {
  if (which === "") return group.mean;
  const [, , values] = group.rewards.find(([name]) => name === data.weights[which][0]) || [null, null, []];
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

const ORDERS = {
  newest: (one, other) => other.step - one.step || other.group - one.group,
  oldest: (one, other) => one.step - other.step || one.group - other.group,
  spread: (one, other) => (other.spread ?? -1) - (one.spread ?? -1),
  lowest: (one, other) => (one.mean ?? Infinity) - (other.mean ?? Infinity),
};

function filter() {
  const outcome = byId("outcome").value;
  const sense = Number(byId("sense").value);
  const bound = byId("bound").value === "" ? null : Number(byId("bound").value);
  const words = byId("search").value.trim().toLowerCase();
  const which = byId("which").value;
  const reaches = (mean) => mean !== null && sense * (mean - bound) >= -1e-9;
  matching = groups.filter((group) => (outcome === "" || group.outcome === outcome)
    && (bound === null || reaches(meanOf(group, which))) && (words === "" || textOf(group).includes(words)));
  matching.sort(ORDERS[byId("order").value]);
  visible = PAGE;
  list();
}

function kind(name) {
  return inked(make("span", { className: "kind" }, name || "unknown"), `--${name}`);
}

function row(group, place) {
  const open = make("button", { type: "button", className: "open" }, count(group.step));
  open.setAttribute("aria-label", `Open group ${group.group} of step ${group.step}`);
  open.addEventListener("click", () => show(place));
  return make("tr", {}, make("td", {}, open), make("td", {}, kind(group.outcome)),
    make("td", { className: "number" }, figure(group.mean)), make("td", { className: "number roomy" }, figure(group.spread)),
    make("td", {}, short(title(group), 200)));
}

function list() {
  byId("table").tBodies[0].replaceChildren(...matching.slice(0, visible).map(row));
  byId("found").textContent = matching.length === groups.length
    ? `${plural(groups.length, "group")}. Press Enter to open one.`
    : `${count(matching.length)} of ${plural(groups.length, "group")}.`;
  byId("more").hidden = matching.length <= visible;
}

function move(event) {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  const next = step && event.target.closest("tr")[step];
  if (next) {
    event.preventDefault();
    next.querySelector(".open").focus();
  }
}

function addGroups() {
  const option = (value, text) => make("option", { value }, text);
  const there = points.kinds.map(([name]) => name).filter((name) => groups.some((group) => group.outcome === name));
  byId("outcome").append(option("", "all"), ...there.map((name) => option(name, name)));
  byId("which").append(option("", "total"), ...data.weights.map(([name], place) => option(place, short(name, 40))));
  byId("sampled").textContent = sampledText();
  for (const id of ["outcome", "which", "sense", "order"]) byId(id).addEventListener("change", filter);
  for (const id of ["bound", "search"]) byId(id).addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("table").addEventListener("keydown", move);
  byId("more").addEventListener("click", () => {
    const first = visible;
    visible += 2 * PAGE;
    list();
    byId("table").querySelectorAll(".open")[first].focus();
  });
  filter();
}

function sampledText() {
  const all = data.shown === data.groups ? "" : `These are ${count(data.shown)} of ${plural(data.groups, "group")}: the newest, `
    + "the most notable (a wrong completion has a higher reward than a right one, or the spread is large), and some "
    + "from all steps. ";
  const silent = groups.every((group) => !group.completions.length)
    ? "The records contain no texts (group_records_text=False)."
    : `The middle of texts longer than ${count(data.text)} characters is left out.`;
  return all + silent;
}

// --- one group ------------------------------------------------------------------------------------------------------

/** A number on red or green, by how far it is below or above the mean. An arrow says the same without colour. */
function chip(text, heat) {
  const mark = Math.abs(heat) < 0.005 ? "" : heat > 0 ? " ▲" : " ▼";
  const element = make("span", { className: "chip" }, text + mark);
  element.style.setProperty("--heat", Math.min(Math.abs(heat), 1));
  return inked(element, heat < 0 ? "--worse" : "--better");
}

function heats(values) {
  const known = values.filter((value) => value !== null);
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const most = Math.max(...known.map((value) => Math.abs(value - mean)));
  return values.map((value) => (value === null || most < 1e-9 ? 0 : (value - mean) / most));
}

const TOOL_ROLES = ["call", "result", "error"];

/** A call or its result on one line, which unfolds. */
function tool(role, text, name) {
  const line = make("summary", {}, make("b", {}, name ? `${role} ${name}` : role), ` ${short(text.replace(/\s+/g, " "), 60)}`);
  return make("details", { className: `tool ${role}` }, line, make("p", { className: "message" }, text || "(empty)"));
}

function messages(turns) {
  return turns.flatMap(([role, text, name], place) => {
    if (TOOL_ROLES.includes(role)) return [tool(role, text, name)];
    const isNew = place === 0 || turns[place - 1][0] !== role;
    return [
      role && turns.length > 1 && isNew ? make("p", { className: "role" }, role) : null,
      make("p", { className: text ? "message" : "role" }, text || "(empty)"),
    ];
  });
}

/** How many calls a completion makes, and how many of them failed. */
function counts(turns) {
  const [calls, , errors] = TOOL_ROLES.map((role) => turns.filter(([other]) => other === role).length);
  return [calls && ["calls", count(calls)], errors && ["errors", count(errors)]].filter(Boolean);
}

function facts(pairs) {
  return make("dl", { className: "facts" }, ...pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function completion(group, place) {
  const advantage = group.advantages[place] ?? null;
  const top = Math.max(...group.advantages.map((value) => Math.abs(value ?? 0)), 1e-9);
  const rows = group.rewards.map(([name, weight, values]) => [
    weight === 1 ? name : `${name} × ${figure(weight)}`, values[place] === null || values[place] === undefined
      ? "none" : chip(figure(values[place]), heats(values)[place] * (Math.sign(weight) || 0)),
  ]);
  rows.push(["total", figure(group.total[place])], ["tokens", group.lengths[place] === undefined ? "–" : count(group.lengths[place])]);
  rows.push(...group.logged.map(([name, values]) => [name, values[place]]).filter(([, value]) => value));
  rows.push(...counts(group.completions[place] || []));
  const body = make("div", { className: "body", tabIndex: 0 }, ...(messages(group.completions[place] || []).filter(Boolean)));
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", `Text of completion ${place + 1}`);
  return make("article", {},
    make("header", {}, make("h3", {}, `Completion ${place + 1}`),
      group.truncated[place] ? make("span", { className: "badge" }, "truncated") : null,
      advantage === null ? null : chip(`advantage ${advantage > 0 ? "+" : ""}${figure(advantage).replace("-", "−")}`, advantage / top)),
    make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    group.completions.length ? body : null);
}

/** The indices of the completions, best first. */
function rank(group) {
  const size = Math.max(group.total.length, group.completions.length, group.lengths.length, ...group.rewards.map(([, , values]) => values.length));
  const advantage = (place) => group.advantages[place] || 0;
  return Array.from({ length: size }, (_, place) => place).sort((one, other) => advantage(other) - advantage(one));
}

function navigation(place) {
  const button = (text, enabled, act) => {
    const element = make("button", { type: "button", disabled: !enabled }, text);
    element.addEventListener("click", act);
    return element;
  };
  const previous = button("Previous", place > 0, () => show(place - 1, "Previous"));
  const next = button("Next", place < matching.length - 1, () => show(place + 1, "Next"));
  return make("nav", {}, previous, next, button("Close", true, () => byId("group").close()));
}

function show(place, pressed) {
  const group = matching[place];
  const dialog = byId("group");
  const places = rank(group);
  const about = [["mean reward", figure(group.mean)], ["spread", figure(group.spread)]];
  if (group.duplicates) about.push(["duplicates", `${group.duplicates} of ${places.length}`]);
  const heading = make("h2", { id: "group-name" }, `Step ${count(group.step)}, group ${group.group} `, kind(group.outcome));
  dialog.replaceChildren(
    make("header", {}, heading, navigation(place)),
    make("div", {},
      make("section", {}, make("h3", {}, "Prompt"),
        ...(group.prompt.length ? messages(group.prompt).filter(Boolean) : [make("p", { className: "message" }, group.prompt_id || "unknown")])),
      facts([...group.columns, ...about]),
      make("section", {}, make("h3", {}, "Completions, best first"),
        make("div", { className: "completions" }, ...places.map((one) => completion(group, one))))));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const buttons = [...dialog.querySelectorAll("nav button")];
  (buttons.find((one) => one.textContent === pressed && !one.disabled) || buttons.at(-1)).focus();
}
