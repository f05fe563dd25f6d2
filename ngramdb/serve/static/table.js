// A table of rows: sortable by column, widened, copied, and saved as a file.

import { download, formats } from "./api.js";
import { copyText, h, say } from "./dom.js";
import { cell, number, token } from "./format.js";
import { wrong } from "./panel.js";

const FORMAT_NAMES = { csv: "CSV", jsonl: "JSON lines", arrow: "Arrow", parquet: "Parquet" };

// `statement` is the statement of the answer; its files have as many rows as the server allows. Without one, the
// rows shown are saved.
export function table(answer, statement, { caption = "Rows of the answer", file = "answer" } = {}) {
  const kinds = answer.columns.map((_, at) => kindOf(answer.rows, at));
  const order = { column: -1, down: false };
  const body = h("tbody");
  const heads = answer.columns.map((column, at) => head(column, kinds[at], () => sort(at)));
  const grid = h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, heads)), body);
  const box = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption }, grid);
  fill(answer.rows);

  function sort(at) {
    order.down = order.column === at ? !order.down : kinds[at] === "number";
    order.column = at;
    heads.forEach((one, other) => one.setAttribute("aria-sort", other !== at ? "none" : order.down ? "descending" : "ascending"));
    const sign = order.down ? -1 : 1;
    fill([...answer.rows].sort((one, other) => compare(one[at], other[at], sign)));
    say(`Sorted by ${answer.columns[at]}, ${order.down ? "descending" : "ascending"}`);
  }

  function fill(rows) {
    body.replaceChildren(...rows.map((row) => h("tr", {}, row.map((value, at) => data(value, kinds[at], answer.columns[at])))));
  }

  return h("div", { class: "answer" }, box, foot(answer, statement, box, file));
}

function head(column, kind, onclick) {
  return h("th", { scope: "col", class: kind, "aria-sort": "none" }, h("button", { type: "button", class: "head", onclick }, column));
}

function data(value, kind, column) {
  const missing = value === null || value === undefined;
  const text = missing ? "NULL" : column === "token" ? token(value) : kind === "number" && column !== "year" && !/(^|_)ids?$/.test(column) ? number(value) : cell(value);
  return h("td", { class: missing ? `${kind} null` : kind, dir: kind === "number" ? null : "auto" }, text);
}

const kindOf = (rows, at) => (rows.some((row) => row[at] !== null) && rows.every((row) => row[at] === null || typeof row[at] === "number") ? "number" : "words");

// NULL comes last in both orders, as in the language.
function compare(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === "number" && typeof other === "number") return one === other ? 0 : sign * (one - other);
  return sign * cell(one).localeCompare(cell(other));
}

function foot(answer, statement, box, file) {
  const widen = h("button", { type: "button", class: "quiet small", "aria-pressed": "false" }, "Widen");
  widen.addEventListener("click", () => {
    const wide = box.classList.toggle("wide");
    widen.setAttribute("aria-pressed", String(wide));
  });
  const copy = h("button", { type: "button", class: "quiet small", onclick: () => copyText(tabbed(answer)) }, "Copy");
  const count = answer.truncated ? `the first ${number(answer.rows.length)} rows` : `${number(answer.rows.length)} row${answer.rows.length === 1 ? "" : "s"}`;
  return h("div", { class: "row foot" }, h("span", { class: "dim" }, count), widen, copy, statement ? saving(statement, file) : savingRows(answer, file));
}

// A choice of formats. The file is fetched, so that the request has the token and errors can be shown.
export function saving(statement, file) {
  const status = h("span");
  const select = h("select", { "aria-label": "Save as a file" }, h("option", { value: "" }, "Save as …"), formats.map((format) => h("option", { value: format }, FORMAT_NAMES[format])));
  select.addEventListener("change", async () => {
    const format = select.value;
    select.value = "";
    if (!format) return;
    const stop = new AbortController();
    status.replaceChildren(" Fetching … ", h("button", { type: "button", class: "small", onclick: () => stop.abort() }, "Stop"));
    try {
      const { blob, truncated } = await download(statement, format, { signal: stop.signal });
      save(blob, `${file}.${format}`);
      status.replaceChildren(truncated ? " The file has the first rows only, the maximum that this server allows." : "");
    } catch (error) {
      status.replaceChildren(error.name === "AbortError" ? " Stopped." : wrong(error));
    }
  });
  return [select, status];
}

function savingRows({ columns, rows }, file) {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = () => [columns, ...rows].map((row) => `${row.map((value) => quoted(cell(value))).join(",")}\n`).join("");
  return h("button", { type: "button", class: "quiet small", onclick: () => save(new Blob([csv()], { type: "text/csv" }), `${file}.csv`) }, "Save CSV");
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(`Saved ${name}`);
}

// Tab-separated, as spreadsheets expect; tabs and line breaks within values become spaces.
const tabbed = ({ columns, rows }) => [columns, ...rows].map((row) => row.map((value) => cell(value).replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n");
