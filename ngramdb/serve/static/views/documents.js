// Matching documents, each with its beginning or the first match.

import { query } from "../api.js";
import { h, roving, say } from "../dom.js";
import { beginning, boundary, cell, number, oneLine, plural } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { join } from "../sql.js";
import { saving } from "../table.js";
import { documentLink, pages } from "./concordance.js";

const PAGE = 20;
const PEEK = 280;

export function results(ctx, search) {
  const page = Math.max(0, Number(ctx.state.page) || 0);
  const parts = [search.documents, search.filter].filter(Boolean);
  const where = parts.length > 1 ? parts.map((one) => `(${one})`).join(" AND ") : parts[0];
  const statement = join("DOCS WHERE", where, `LIMIT ${PAGE}`, page > 0 && `OFFSET ${page * PAGE}`, ctx.from);
  return [
    panel(ctx, "Searching for documents", async (signal) => {
      const answer = await query(statement, { signal });
      if (!answer.rows.length) return [notes(answer), note(page ? "No further documents." : "No matching documents.")];
      const total = answer.summary.total ?? answer.rows.length;
      say(`${number(answer.rows.length)} documents of ${number(total)}`);
      return [notes(answer), cards(ctx, answer, search), h("div", { class: "row foot" }, pages(ctx, page, total, PAGE), saving(statement, "documents"))];
    }),
    ran(ctx, statement),
  ];
}

function cards(ctx, answer, search) {
  const at = Object.fromEntries(["doc_id", "length", "text"].map((name) => [name, answer.columns.indexOf(name)]));
  const others = answer.columns.map((name, column) => [name, column]).filter(([name]) => !(name in at));
  const list = h(
    "ol",
    { class: "cards", "aria-label": "Documents" },
    answer.rows.map((row) =>
      h(
        "li",
        {},
        h(
          "a",
          { class: "card", href: documentLink(ctx, row[at.doc_id]) },
          h("span", { class: "row" }, h("strong", {}, `Document ${row[at.doc_id]}`), h("span", { class: "dim" }, plural(row[at.length], "token"))),
          h("span", { class: "meta" }, others.filter(([, column]) => row[column] !== null).map(([name, column]) => h("span", {}, h("span", { class: "dim" }, `${name} `), h("span", { dir: "auto" }, beginning(oneLine(cell(row[column])), 80))))),
          h("span", { class: "peek", dir: "auto" }, peek(String(row[at.text] ?? ""), search)),
        ),
      ),
    ),
  );
  roving(list, "a.card");
  return list;
}

// The first place at which the words are not parts of other words, or else the first place at all.
function wordPlace(text, words) {
  const letter = /[\p{L}\p{N}]/u;
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    if (!letter.test(text[at - 1] ?? "") && !letter.test(text[at + words.length] ?? "")) return at;
  }
  return text.indexOf(words);
}

// The next beginning of a word, at which an excerpt may begin.
function wordStart(text, at) {
  const blank = at > 0 ? text.slice(at, at + 30).search(/\s/) : -1;
  return blank < 0 ? boundary(text, at) : at + blank + 1;
}

// The first place of the words if the text contains them, otherwise its beginning.
function peek(text, search) {
  const wanted = search.kind === "text" ? search.text.toLowerCase() : search.pattern?.match(/^"((?:[^"\\])*)"/)?.[1].toLowerCase();
  const place = wanted ? wordPlace(text.toLowerCase(), wanted) : -1;
  const start = wordStart(text, Math.max(0, Math.floor(place - PEEK / 3)));
  const end = boundary(text, start + PEEK);
  if (place < 0) return oneLine(text.slice(start, end)) + (text.length > PEEK ? " …" : "");
  const stop = place + wanted.length;
  return [start > 0 && "… ", oneLine(text.slice(start, place)), h("mark", {}, oneLine(text.slice(place, stop))), oneLine(text.slice(stop, end)), text.length > start + PEEK && " …"];
}
