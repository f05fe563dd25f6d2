// Occurrences in context, one per line, with their sources.

import { query } from "../api.js";
import { sourceFields } from "../catalog.js";
import { choice, h, labelled, roving, say } from "../dom.js";
import { cell, number, oneLine } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { field, join } from "../sql.js";
import { saving } from "../table.js";

const PAGE = 50;
const ORDERS = [
  ["", "in corpus order"],
  ["left", "by left context"],
  ["right", "by right context"],
  ["sample", "random sample"],
];

export function results(ctx, search, info) {
  if (!search.pattern) return note("A concordance needs an n-gram, but this is a condition on documents. See the Documents tab.");
  const { state } = ctx;
  const page = Math.max(0, Number(state.page) || 0);
  const fields = sourceFields(info.fields);
  const seed = Number(state.seed) || 1;
  const sampled = state.order === "sample";
  const statement = join(
    "KWIC",
    search.pattern,
    condition(search),
    `WINDOW ${width(ctx, info)}`,
    (state.order === "left" || state.order === "right") && `ORDER BY ${state.order}`,
    sampled ? `SAMPLE ${PAGE} SEED ${seed}` : `LIMIT ${PAGE}`,
    !sampled && page > 0 && `OFFSET ${page * PAGE}`,
    fields.length && `RETURNING ${fields.map(({ path }) => field(path)).join(", ")}`,
    ctx.from,
  );
  return [
    controls(ctx, info, seed),
    search.partly && note("Occurrences of the first n-gram in documents that satisfy the whole condition."),
    panel(ctx, "Searching for occurrences", async (signal) => {
      const answer = await query(statement, { signal });
      if (!answer.rows.length) return [notes(answer), note(page ? "No further occurrences." : "No occurrences.")];
      const total = answer.summary.total ?? answer.rows.length;
      say(`${number(answer.rows.length)} lines of ${number(total)}`);
      return [notes(answer), lines(ctx, answer, fields), h("div", { class: "row foot" }, sampled ? null : pages(ctx, page, total), saving(statement, "concordance"))];
    }),
    ran(ctx, statement),
  ];
}

// The condition on documents: the rest after the pattern, and the filter.
function condition(search) {
  const both = [search.where, search.filter].filter(Boolean);
  if (!both.length) return "";
  return `WHERE ${both.length > 1 ? both.map((one) => `(${one})`).join(" AND ") : both[0]}`;
}

function width(ctx, info) {
  const asked = Number(ctx.state.window);
  if (asked >= 1 && asked <= 200) return Math.round(asked);
  return info.kind === "chars" || info.kind === "bytes" ? 60 : 12;
}

function controls(ctx, info, seed) {
  const set = (name) => (value) => ctx.go({ [name]: value, page: null });
  return h(
    "div",
    { class: "row options" },
    labelled("Order", choice(ORDERS, ctx.state.order ?? "", set("order"), { "data-key": "order" })),
    ctx.state.order === "sample" && h("button", { type: "button", class: "small", "data-key": "again", onclick: () => ctx.go({ seed: seed + 1 }) }, "Draw again"),
    labelled("Window", choice([6, 12, 20, 40, 60, 120].map((n) => [n, `${n} tokens`]), width(ctx, info), set("window"), { "data-key": "window" })),
  );
}

function lines(ctx, answer, fields) {
  const [doc, position, left, match, right] = ["doc_id", "position", "left", "match", "right"].map((name) => answer.columns.indexOf(name));
  const list = h(
    "ol",
    { class: "lines", "aria-label": "Occurrences" },
    answer.rows.map((row) => {
      const source = fields.map((_, at) => row[answer.columns.length - fields.length + at]).filter((value) => value !== null);
      return h(
        "li",
        {},
        h(
          "a",
          { class: "line", href: documentLink(ctx, row[doc], row[position]) },
          h("span", { class: "left" }, h("span", { dir: "auto" }, oneLine(row[left]))),
          h("mark", { dir: "auto" }, oneLine(row[match])),
          h("span", { class: "right", dir: "auto" }, oneLine(row[right])),
          h("span", { class: "source", dir: "auto", title: source.map(cell).join(" · ") }, source.length ? source.map(cell).join(" · ") : `document ${row[doc]}`),
        ),
      );
    }),
  );
  roving(list, "a.line");
  return list;
}

// The rest stays in the address, so that going back shows the same lines.
export const documentLink = (ctx, doc, position = null, q = ctx.state.q) => ctx.href({ view: "document", doc, position, q });

export function pages(ctx, page, total, size = PAGE) {
  const last = Math.max(0, Math.ceil(total / size) - 1);
  if (!last) return null;
  const link = (to, text, label) => (to < 0 || to > last || to === page ? h("span", { class: "dim", "aria-disabled": "true" }, text) : h("a", { href: ctx.href({ page: to || null }), "aria-label": label }, text));
  return h(
    "nav",
    { class: "row pages", "aria-label": "Pages" },
    link(page - 1, "← Back", "Previous page"),
    h("span", { class: "dim" }, `${number(page * size + 1)}–${number(Math.min(total, (page + 1) * size))} of ${number(total)}`),
    link(page + 1, "Further →", "Next page"),
  );
}
