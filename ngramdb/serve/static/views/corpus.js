// The corpus: sizes, tokenizer, fields with their values, versions, removals.

import { query, removals, versions } from "../api.js";
import { bars } from "../chart.js";
import { groupFields } from "../catalog.js";
import { h } from "../dom.js";
import { bytes, cell, number, short } from "../format.js";
import { note, panel } from "../panel.js";
import { ran } from "../ran.js";
import { field, is, join, name } from "../sql.js";
import { table } from "../table.js";

const MOST_VALUES = 10;

export async function show(ctx) {
  const info = await ctx.info();
  ctx.title(ctx.corpus);
  return [
    h("h1", { dir: "auto" }, ctx.corpus),
    sizes(info),
    h("h2", {}, "Fields"),
    info.fields.length ? h("div", { class: "fields" }, groupFields(info.fields).map((one) => values(ctx, one))) : note("The documents have no fields."),
    h("h2", {}, "Frequent tokens"),
    panel(ctx, "Searching for frequent tokens", async (signal) => {
      const { rows } = await query(join("NGRAMS 1 TOP 40", ctx.from), { signal });
      return h("ul", { class: "chips" }, rows.map(([text, ids, count]) => h("li", {}, h("a", { class: "chip", dir: "auto", title: `${number(count)} times`, href: ctx.href({ view: null, q: quoted(text, ids), as: "next" }) }, text, h("span", { class: "dim" }, ` ${short(count)}`)))));
    }),
    h("h2", {}, "Versions"),
    panel(ctx, "Listing versions", async (signal) => {
      const answer = await versions(ctx.corpus, signal);
      const links = answer.rows.map((row) => h("a", { class: "chip", href: ctx.href({ view: null, corpus: ctx.corpus, version: row[0] }, true) }, `search version ${row[0]}`)).slice(-8);
      return [table(answer, null, { caption: "Versions", file: "versions" }), answer.rows.length > 1 && h("p", { class: "row" }, links)];
    }),
    h("h2", {}, "Removals"),
    panel(ctx, "Listing removals", async (signal) => {
      const answer = await removals(ctx.corpus, signal);
      return answer.rows.length ? table(answer, null, { caption: "Removals", file: "removals" }) : note("No documents were removed.");
    }),
    ran(ctx, `DESCRIBE ${name(ctx.own)}`),
  ];
}

const quoted = (text, ids) => (/^[\p{L}\p{N}]+$/u.test(text ?? "") ? text : `[${ids}]`);

const SHOWN = ["documents", "tokens", "vocabulary", "tokenizer", "segments", "bytes", "version"];

function sizes({ properties }) {
  const fact = (property) => {
    const value = properties.get(property);
    if (value === undefined) return null;
    const shown = property === "bytes" ? bytes(Number(value)) : /^\d+$/.test(String(value)) ? number(Number(value)) : String(value);
    return h("div", {}, h("dt", {}, property === "bytes" ? "on disk" : property), h("dd", { dir: "auto" }, shown));
  };
  const others = [...properties].filter(([property]) => !SHOWN.includes(property) && property !== "corpus" && !property.startsWith("field "));
  return [
    h("dl", { class: "sizes" }, SHOWN.map(fact)),
    others.length ? h("details", {}, h("summary", {}, "More"), h("dl", { class: "facts" }, others.map(([property, value]) => [h("dt", {}, property), h("dd", {}, cell(value))]))) : null,
  ];
}

function values(ctx, one) {
  const statement = join("COUNT DOCS GROUP BY", field(one.path), `ORDER BY count DESC TOP ${MOST_VALUES}`, ctx.from);
  return panel(
    ctx,
    `Counting values of ${one.path}`,
    async (signal) => {
      const answer = await query(statement, { signal });
      const total = answer.summary.total ?? answer.rows.length;
      // Documents without the field come last and do not affect the scale.
      const rows = [...answer.rows].sort((one, other) => (one[0] === null) - (other[0] === null));
      const known = rows.filter(([value]) => value !== null).map(([, count]) => count);
      const shown = rows.map(([value, count]) => ({
        label: value === null ? "none" : cell(value),
        quiet: value === null,
        value: count,
        title: `${number(count)} documents`,
        href: ctx.href({ view: null, q: is(one.path, value), corpus: ctx.state.corpus }, true),
      }));
      return [
        h("h3", {}, one.path, h("span", { class: "dim" }, ` ${one.type}`)),
        bars(shown, { label: `Values of ${one.path}`, most: Math.max(...known, 0) || rows[0]?.[1] }),
        total > answer.rows.length && h("p", { class: "dim" }, `${number(total)} values in all`),
      ];
    },
    { class: "panel card-like" },
  );
}
