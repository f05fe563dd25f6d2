// A walk along n-grams: the next and the previous tokens, each a link that extends the n-gram.

import { query } from "../api.js";
import { bars } from "../chart.js";
import { choice, h, labelled, roving } from "../dom.js";
import { number, percent, token } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { join, ngram, tokenIds } from "../sql.js";

const MODELS = [
  ["", "exact context"],
  ["INFGRAM", "longest known context (∞-gram)"],
  ["KNESER_NEY", "Kneser-Ney"],
  ["PITMAN_YOR", "Pitman-Yor"],
  ["KATZ", "Katz backoff"],
  ["SKIP_KNESER_NEY", "Kneser-Ney with gaps"],
  ["WITTEN_BELL", "Witten-Bell"],
];
const MOST = 20;

export function results(ctx, search, info) {
  if (!search.literal) return note("Next tokens are listed for a single n-gram only, without operators, gaps and modifiers.");
  const exact = search.pattern === search.literal;
  if (!exact && ctx.state.nocase) return note("Next tokens are listed for one exact spelling only: turn off “ignore case”.");
  const model = MODELS.some(([name]) => name === ctx.state.model) ? ctx.state.model : "";
  const where = search.filter && `WHERE ${search.filter}`;
  const after = join("DIST GIVEN", search.literal, model && `USING ${model}`, where, `TOP ${MOST}`, ctx.from);
  const before = join("DIST BEFORE", search.literal, where, `TOP ${MOST}`, ctx.from);
  const parts = join("SCORE", search.literal, ctx.from);
  // Ids are needed if the texts of tokens cannot simply be joined with spaces.
  const ids = query(parts, { signal: ctx.signal }).then((answer) => answer.rows.map((row) => [row[answer.columns.indexOf("token")], row[answer.columns.indexOf("token_id")]]));
  ids.catch(() => null);
  const step = walker(ctx, info, ids);
  return [
    h("div", { class: "row options" }, labelled("After", choice(MODELS, model, (value) => ctx.go({ model: value }), { "data-key": "model" }))),
    !exact && note(`The number above counts the text under any tokenization; the neighbours below are those of the tokens of ${search.literal} only.`),
    panel(ctx, "Tokenizing", async () => crumbs(ctx, await ids)),
    h(
      "div",
      { class: "walk" },
      side(ctx, "Before", before, (id, text) => step(id, text, true)),
      side(ctx, "After", after, (id, text) => step(id, text, false)),
    ),
    ran(ctx, after, before),
  ];
}

// The n-gram extended by one token, as words, or as ids if only these are exact.
function walker(ctx, info, ids) {
  return async (id, text, front) => {
    const now = await ids;
    const words = info.kind === "words" && now.every(([word]) => word !== null);
    const texts = now.map(([word]) => word);
    const q = words ? quoted((front ? [text, ...texts] : [...texts, text]).join(" ")) : tokenIds(front ? [id, ...now.map((one) => one[1])] : [...now.map((one) => one[1]), id]);
    ctx.go({ q, page: null });
  };
}

// Words as typed, in quotes if they would be parsed as something else.
const quoted = (text) => (/^[\p{L}\p{N} ]+$/u.test(text) && !/^[A-Z]+ /.test(text) ? text : ngram(text));

function crumbs(ctx, parts) {
  if (!parts.length) return null;
  const shorter = (from, to) => tokenIds(parts.slice(from, to).map((one) => one[1]));
  const cut = (from, to, text, label) => (to - from === parts.length || parts.slice(from, to).some((one) => one[1] === null) ? null : h("a", { class: "small", href: ctx.href({ q: to > from ? shorter(from, to) : '""', page: null }), "aria-label": label }, text));
  return h(
    "p",
    { class: "crumbs" },
    parts.length > 1 && cut(1, parts.length, "× first", "Without the first token"),
    parts.map(([text]) => h("span", { class: "chip token", dir: "auto" }, token(text))),
    parts.length > 1 && cut(0, parts.length - 1, "× last", "Without the last token"),
  );
}

function side(ctx, title, statement, step) {
  return panel(
    ctx,
    `Tokens ${title.toLowerCase()}`,
    async (signal) => {
      const answer = await query(statement, { signal });
      const [text, id, count, prob] = ["token", "token_id", "count", "prob"].map((name) => answer.columns.indexOf(name));
      const head = h("h2", {}, title, answer.summary.context_count === undefined ? null : h("span", { class: "dim" }, ` ${number(answer.summary.context_count)} in all`));
      if (!answer.rows.length || answer.rows.every((row) => row[prob] === null)) return [head, notes(answer), note("It does not occur.")];
      const list = bars(
        answer.rows.map((row) => ({
          label: row[id] === null && row[text] === null ? (title === "After" ? "end of the document" : "beginning of the document") : token(row[text]),
          quiet: row[id] === null,
          value: row[prob] ?? 0,
          shown: percent(row[prob] ?? 0),
          title: `${number(row[count])} times`,
          onclick: row[id] === null ? null : () => step(row[id], row[text]),
        })),
        { label: `Tokens ${title.toLowerCase()}`, most: answer.rows[0][prob] },
      );
      roving(list, "button");
      const rest = (answer.summary.total ?? 0) - answer.rows.length;
      return [head, notes(answer), list, rest > 0 && h("p", { class: "dim" }, `${number(rest)} more`)];
    },
    { class: "panel side" },
  );
}
