// Tables of numbers, and the same numbers as files. A sheet has a file name, heads and rows of plain values; its first
// value may be a pair of steps.

/** One cell of a file. A text that a spreadsheet would run as a formula gets an apostrophe. */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^\s*[=+\-@＝＋－＠]/.test(value) || /^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const csv = (rows) => `\ufeff${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

function fileRows({ heads, rows }) {
  const hasSteps = rows.length && Array.isArray(rows[0][0]);
  return [hasSteps ? ["first step", "last step", ...heads.slice(1)] : heads, ...rows.map((row) => row.flat())];
}

/** A button that saves a sheet as a file. The sheet is made when the button is pressed. */
function downloadButton(label, build) {
  const button = make("button", { type: "button", className: "download" }, label);
  button.addEventListener("click", () => {
    const sheet = build();
    const address = URL.createObjectURL(new Blob([csv(fileRows(sheet))], { type: "text/csv" }));
    make("a", { href: address, download: `${sheet.file}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
  return button;
}

function table(heads, rows, className = "") {
  const entry = (tag) => (value, place) => {
    return make(tag, { className: place ? "number" : "", ...(tag === "th" ? { scope: "col" } : {}) }, value);
  };
  const head = make("tr", {}, ...heads.map(entry("th")));
  const body = rows.map((row) => make("tr", {}, ...row.map(entry("td"))));
  return make("table", { className }, make("thead", {}, head), make("tbody", {}, ...body));
}

function showCell(value, show) {
  if (Array.isArray(value)) {
    const [first, last] = value.map(count);
    return make("a", { href: stepsLink(value) }, first === last ? first : `${first}–${last}`);
  }
  return typeof value === "number" || value === null ? show(value) : value;
}

/** A sheet as a table that opens on demand, for readers who cannot hover over the chart or want the file. */
function numbers(label, build, show) {
  const element = make("details", {}, make("summary", {}, label));
  element.addEventListener("toggle", () => {
    const { heads, rows } = build();
    const shown = rows.map((row) => row.map((value) => showCell(value, (one) => (one === null ? "–" : show(one)))));
    element.append(scrollable("div", "scroll", label, table(heads, shown)), downloadButton("Download as CSV", build));
  }, { once: true });
  return element;
}
