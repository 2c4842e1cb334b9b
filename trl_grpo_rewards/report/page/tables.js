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
class Numbers {
  constructor(label) {
    this.label = label;
    this.element = make("details", {}, make("summary", {}, label));
    this.element.addEventListener("toggle", () => this.fill());
  }

  update(build, show) {
    Object.assign(this, { build, show: (value) => (value === null ? "–" : show(value)) });
    this.fill();
  }

  fill() {
    if (!this.element.open || !this.build) return;
    const { heads, rows } = this.build();
    const top = this.scroll ? this.scroll.scrollTop : 0;
    const content = table(heads, rows.map((row) => row.map((value) => showCell(value, this.show))));
    if (!this.scroll) {
      this.scroll = scrollable("div", "scroll", this.label);
      this.element.append(this.scroll, downloadButton("Download as CSV", () => this.build()));
    }
    this.scroll.replaceChildren(content);
    this.scroll.scrollTop = top;
  }
}
