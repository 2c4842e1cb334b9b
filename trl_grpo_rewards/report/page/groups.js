// The table of groups with its filters, and the view of one group.

let matching = [];
let visible = PAGE;
let shown = null; // the group in the dialog
const texts = new WeakMap();

const wordsOf = (turns) => turns.map(([, text, name]) => (name ? `${name} ${text}` : text)).join(" ");

/** What all these texts begin with, up to a word, if it is long. */
function commonStart(texts) {
  const [one, ...others] = [...new Set(texts)];
  if (!others.length) return "";
  let end = one.length;
  for (const other of others) while (!other.startsWith(one.slice(0, end))) end -= 1;
  const start = one.slice(0, end).replace(/\S*$/, "");
  return start.length >= 40 ? start : "";
}

const title = (group) => (group.prompt.length ? wordsOf(group.prompt.slice(-1)) : group.prompt_id || "").trim();
const shared = commonStart(groups.map(title));
/** A prompt without what all prompts have in common. */
const brief = (text) => (shared && text.startsWith(shared) ? `… ${text.slice(shared.length)}` : text);

function textOf(group) {
  if (!texts.has(group)) {
    texts.set(group, [wordsOf(group.prompt), ...group.completions.map(wordsOf), group.prompt_id || ""].join("\n").toLowerCase());
  }
  return texts.get(group);
}

function meanOf(group, which) {
  if (which === "") return group.mean;
  const [, , values] = group.rewards.find(([name]) => name === which) || [null, null, []];
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

const ORDERS = {
  newest: (one, other) => other.step - one.step || other.group - one.group,
  oldest: (one, other) => one.step - other.step || one.group - other.group,
  spread: (one, other) => (other.outcome === "live") - (one.outcome === "live") || (other.spread ?? -1) - (one.spread ?? -1)
    || ORDERS.newest(one, other),
  lowest: (one, other) => (one.mean ?? Infinity) - (other.mean ?? Infinity),
};

const numberIn = (id) => (byId(id).value === "" ? null : Number(byId(id).value));

function filter() {
  const outcome = byId("outcome").value;
  const sense = Number(byId("sense").value);
  const [bound, first, last] = ["bound", "first", "last"].map(numberIn);
  const words = byId("search").value.trim().toLowerCase();
  const which = byId("which").value;
  const run = byId("run").value;
  const reaches = (mean) => mean !== null && sense * (mean - bound) >= -1e-9;
  matching = groups.filter((group) => (outcome === "" || group.outcome === outcome) && (run === "" || group.run === Number(run))
    && (first === null || group.step >= first) && (last === null || group.step <= last)
    && (bound === null || reaches(meanOf(group, which))) && (words === "" || textOf(group).includes(words)));
  matching.sort(ORDERS[byId("order").value]);
}

function filterAnew() {
  filter();
  visible = PAGE;
  list();
}

function kind(name) {
  return inked(make("span", { className: "kind" }, name || "unknown"), `--${name}`);
}

function row(group) {
  const open = make("button", { type: "button", className: "open" }, count(group.step));
  open.setAttribute("aria-label", `Open group ${group.group} of step ${group.step}${several() ? ` of ${data.runs[group.run].name}` : ""}`);
  open.dataset.link = groupLink(group);
  open.addEventListener("click", () => show(group));
  return make("tr", {}, make("td", {}, open), make("td", {}, kind(group.outcome)),
    make("td", { className: "number" }, figure(group.mean)), make("td", { className: "number roomy" }, figure(group.spread)),
    several() ? make("td", { className: "run" }, data.runs[group.run].name) : null, make("td", {}, short(brief(title(group)), 200)));
}

function list() {
  byId("table").tBodies[0].replaceChildren(...matching.slice(0, visible).map(row));
  byId("found").textContent = matching.length === groups.length
    ? `${plural(groups.length, "group")}.`
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

/** Fill the part about groups. */
function addGroups() {
  const kindsThere = one().points.kinds.map(([name]) => name).filter((name) => groups.some((group) => group.outcome === name));
  const names = [...new Set(data.runs.flatMap(({ weights }) => weights.map(([name]) => name)))];
  fillSelect(byId("outcome"), [["", "all"], ...kindsThere.map((name) => [name, name])]);
  fillSelect(byId("which"), [["", "total"], ...names.map((name) => [name, short(name, 40)])]);
  fillSelect(byId("run"), [["", "all"], ...data.runs.map(({ name }, place) => [place, name])]);
  byId("run").parentElement.hidden = byId("run-head").hidden = !several();
  byId("sampled").textContent = sampledText();
  byId("groups").hidden = !groups.length;
  byId("advice").hidden = data.runs.every(({ advice }) => !advice);
  byId("advice").querySelector("code").textContent = data.runs.find(({ advice }) => advice)?.advice;
  filterAnew();
}

function sampledText() {
  const [there, all] = [groups.length, data.runs.reduce((sum, run) => sum + run.groups, 0)];
  const hasText = groups.some((group) => group.completions.length);
  const what = hasText ? "Each row is a prompt with its group of completions. Open one to read them and their scores."
    : "Each row is a group. Open one to see its scores. The records contain no texts (group_records_text=False).";
  const sample = there === all ? "" : ` These are ${count(there)} of ${plural(all, "group")}: the newest, `
    + "the most notable (a wrong completion has a higher reward than a right one, or the spread is large), and some "
    + "from all steps.";
  return what + sample + (hasText ? ` The middle of texts longer than ${count(data.text)} characters is left out.` : "");
}

/** The groups that match the filters, with a row for each completion. */
function groupSheet() {
  const names = [...new Set(matching.flatMap((group) => group.rewards.map(([name]) => name)))];
  const logged = [...new Set(matching.flatMap((group) => group.logged.map(([name]) => name)))];
  const find = (pairs, name, place) => pairs.find(([other]) => other === name)?.at(-1)[place] ?? null;
  return {
    file: `${fileName()}-groups`,
    heads: [
      "run", "step", "group", "outcome", "prompt", "completion", "text", ...names, "total", "advantage", "tokens", "truncated",
      ...logged,
    ],
    rows: matching.flatMap((group) => rank(group).sort((one, other) => one - other).map((place) => [
      data.runs[group.run].name, group.step, group.group, group.outcome, plain(group.prompt) || group.prompt_id, place + 1,
      plain(group.completions[place] || []), ...names.map((name) => find(group.rewards, name, place)), group.total[place],
      group.advantages[place], group.lengths[place], group.truncated[place] === undefined ? null : Number(group.truncated[place]),
      ...logged.map((name) => find(group.logged, name, place)),
    ])),
  };
}

const plain = (turns) => turns.map(([role, text, name]) => (
  role && turns.length > 1 ? `${[role, name].filter(Boolean).join(" ")}: ${text}` : text)).join("\n");

function listen() {
  for (const id of ["outcome", "which", "sense", "order", "run"]) byId(id).addEventListener("change", filterAnew);
  for (const id of ["bound", "search", "first", "last"]) byId(id).addEventListener("input", filterAnew);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("table").addEventListener("keydown", move);
  byId("more").addEventListener("click", () => {
    const first = visible;
    visible += 2 * PAGE;
    list();
    byId("table").querySelectorAll(".open")[first].focus();
  });
  byId("more").after(downloadButton("Download these groups as CSV", groupSheet));
  byId("group").addEventListener("close", () => {
    if (/step\d+-\d+$/.test(location.hash)) history.replaceState(null, "", location.pathname + location.search);
    byId("table").querySelector(`[data-link="${groupLink(shown)}"]`)?.focus();
  });
}

/** Go where the address points: to a group (#step60-15), or to the groups of some steps (#step60, #steps57-64). */
function follow() {
  const [, run, step, group, first, last] = /^#(?:run(\d+)-)?(?:step(\d+)(?:-(\d+))?|steps(\d+)-(\d+))$/.exec(location.hash) || [];
  if (!(step || first)) return;
  const found = group && groups.find((one) => (
    one.step === Number(step) && one.group === Number(group) && one.run === Number(run || 1) - 1));
  if (found) {
    show(found);
    return;
  }
  if (byId("group").open) byId("group").close();
  byId("first").value = step || first;
  byId("last").value = step || last;
  byId("run").value = run && several() ? String(Number(run) - 1) : "";
  filterAnew();
  if (group) byId("found").textContent = `Group ${group} of step ${step} is not on this page. ${byId("found").textContent}`;
  byId("groups").scrollIntoView();
  byId("first").focus({ preventScroll: true });
}

// --- one group ------------------------------------------------------------------------------------------------------

/** A number on red or green, by how far it is below or above the mean. An arrow says the same without colour. */
function chip(text, heat) {
  const mark = Math.abs(heat) < 0.005 ? "" : heat > 0 ? "▲ " : "▼ ";
  const element = make("span", { className: "chip" }, mark + text);
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
  const title = make("b", {}, name ? `${role} ${name}` : role);
  const line = make("summary", {}, title, ` ${short(text.replace(/\s+/g, " "), 60)}`);
  return make("details", { className: `tool ${role}` }, line, make("p", { className: "message" }, ...unbroken(text || "(empty)")));
}

/** A text, with its code blocks set as programs: they keep their lines, and scroll. */
function prose(text) {
  const parts = text.split(/^(```[^\n]*\n[\s\S]*?^```[^\S\n]*$)/m);
  return make("div", { className: "message" }, ...parts.flatMap((part, place) => {
    return place % 2 ? [scrollable("pre", "program", "Program", part)] : unbroken(part);
  }));
}

function messages(turns) {
  return turns.flatMap(([role, text, name], place) => {
    if (TOOL_ROLES.includes(role)) return [tool(role, text, name)];
    const isNew = place === 0 || turns[place - 1][0] !== role;
    return [
      role && turns.length > 1 && isNew ? make("p", { className: "role" }, role) : null,
      text ? prose(text) : make("p", { className: "role" }, "(empty)"),
    ];
  });
}

/** How many calls a completion makes, and how many of them failed. */
function counts(turns) {
  const [calls, , errors] = TOOL_ROLES.map((role) => turns.filter(([other]) => other === role).length);
  return [calls && ["calls", count(calls)], errors && ["errors", count(errors)]].filter(Boolean);
}

function facts(pairs) {
  return make("dl", { className: "facts" }, ...pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, ...unbroken(value)))));
}

/** The completions that are shown, each with the places of those that equal it in text and scores. */
function unite(group, ranked) {
  const alike = new Map();
  for (const place of ranked) {
    const rewards = group.rewards.map(([, , values]) => values[place]);
    const logged = group.logged.map(([, values]) => values[place]);
    const key = group.completions.length ? JSON.stringify([group.completions[place], rewards, logged, group.truncated[place]]) : place;
    alike.set(key, [...(alike.get(key) || []), place]);
  }
  return [...alike.values()];
}

function completion(group, [place, ...others]) {
  const advantage = group.advantages[place] ?? null;
  const top = Math.max(...group.advantages.map((value) => Math.abs(value ?? 0)), 1e-9);
  const rows = group.rewards.map(([name, weight, values]) => [
    `${name}${weight === 1 ? "" : ` × ${figure(weight)}`}${name === group.right ? " (outcome)" : ""}`, values[place] === null || values[place] === undefined
      ? "none" : chip(figure(values[place]), heats(values)[place] * (Math.sign(weight) || 0)),
  ]);
  rows.push(["total", figure(group.total[place])], ["tokens", group.lengths[place] === undefined ? "–" : count(group.lengths[place])]);
  rows.push(...group.logged.map(([name, values]) => [name, values[place]]).filter(([, value]) => value));
  rows.push(...counts(group.completions[place] || []));
  const body = scrollable("div", "body", `Text of completion ${place + 1}`, ...messages(group.completions[place] || []));
  return make("article", {},
    make("header", {}, make("h3", {}, `Completion ${place + 1}`, others.length ? make("b", {}, ` × ${others.length + 1}`) : null),
      group.truncated[place] ? make("span", { className: "badge" }, "truncated") : null,
      advantage === null ? null : chip(`advantage ${advantage > 0 ? "+" : ""}${figure(advantage).replace("-", "−")}`, advantage / top)),
    make("dl", {}, ...rows.flatMap(([name, value]) => [
      make("dt", {}, name),
      make("dd", { className: value.length > 20 ? "long" : "" }, ...(typeof value === "string" ? unbroken(value) : [value])),
    ])),
    group.completions.length ? body : null);
}

/** The indices of the completions, best first. */
function rank(group) {
  const size = Math.max(group.total.length, group.completions.length, group.lengths.length, ...group.rewards.map(([, , values]) => values.length));
  const advantage = (place) => group.advantages[place] || 0;
  return Array.from({ length: size }, (_, place) => place).sort((one, other) => advantage(other) - advantage(one));
}

/** The group before or after the one in the dialog, among those that match. */
function neighbour(step) {
  const place = matching.findIndex((group) => groupLink(group) === groupLink(shown));
  return place < 0 ? undefined : matching[place + Number(step)];
}

function navigation() {
  const button = (text, step) => {
    const element = make("button", { type: "button", value: step, disabled: !neighbour(step) }, text);
    element.addEventListener("click", () => neighbour(step) && show(neighbour(step), text));
    return element;
  };
  const close = make("button", { type: "button", value: "0" }, "Close");
  close.addEventListener("click", () => byId("group").close());
  return make("nav", {}, button("Previous", "-1"), button("Next", "1"), close);
}

function show(group, pressed) {
  shown = group;
  const dialog = byId("group");
  const ranked = rank(group);
  const about = [["mean reward", figure(group.mean)], ["spread", figure(group.spread)]];
  if (group.duplicates) about.push(["duplicates", `${group.duplicates} of ${ranked.length}`]);
  const isLong = group.completions.some((turns) => wordsOf(turns).length > 400);
  const name = `${several() ? `${data.runs[group.run].name}, step` : "Step"} ${count(group.step)}, group ${group.group}`;
  const link = make("a", { href: groupLink(group), title: "Link to this group" }, name);
  const heading = make("h2", { id: "group-name" }, link, " ", kind(group.outcome));
  dialog.replaceChildren(
    make("header", {}, heading, navigation()),
    make("div", {},
      make("section", {}, make("h3", {}, "Prompt"),
        ...(group.prompt.length ? messages(group.prompt).filter(Boolean) : [make("p", { className: "message" }, group.prompt_id || "unknown")]),
        group.input ? make("details", { id: "input" }, make("summary", {}, "Exact input of the model, with special tokens"), make("p", { className: "message" }, group.input)) : null),
      facts([...group.columns, ...about]),
      make("section", {}, make("h3", {}, "Completions, best first"),
        make("div", { className: isLong ? "completions wordy" : "completions" }, ...unite(group, ranked).map((places) => completion(group, places))))));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  history.replaceState(null, "", groupLink(group));
  const buttons = [...dialog.querySelectorAll("nav button")];
  (buttons.find((one) => one.textContent === pressed && !one.disabled) || buttons.at(-1)).focus();
}

listen();
