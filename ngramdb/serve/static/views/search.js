// The search: one box, and four views of its results.

import { asText } from "../catalog.js";
import { h, labelled, roving, tick } from "../dom.js";
import { number, plural } from "../format.js";
import { note, panel } from "../panel.js";
import { query } from "../api.js";
import { field, join, modified, ngram, read } from "../sql.js";
import { ofSearches, suggesting } from "../suggest.js";

const TABS = {
  lines: ["Concordance", () => import("./concordance.js")],
  frequency: ["Frequency", () => import("./frequency.js")],
  next: ["Next tokens", () => import("./next.js")],
  documents: ["Documents", () => import("./documents.js")],
};

export async function show(ctx) {
  const info = await ctx.info();
  const search = understood(ctx, info);
  ctx.title(ctx.state.q ? `${ctx.state.q}` : "Search");
  const top = [h("h1", { class: "unseen" }, `Search ${ctx.corpus}`), form(ctx, info, search)];
  if (search.kind === "empty") return [...top, welcome(ctx, info)];
  if (search.kind === "statement") {
    const { rows } = await import("./statement.js");
    return [...top, rows(ctx, search.statement)];
  }
  const tab = chosenTab(ctx, search);
  const { results } = await TABS[tab][1]();
  const shown = panelOf(tab, results(ctx, search, info));
  return [...top, total(ctx, search), tabs(ctx, tab, search), shown];
}

// The input as clauses of statements: {kind, pattern, expression, where, documents, literal}.
export function understood(ctx, info) {
  const typed = read(ctx.state.q ?? "");
  const filter = ctx.state.where ?? "";
  const options = { asText: asText(ctx.state, info), nocase: ctx.state.nocase };
  const found = { ...typed, filter };
  if (typed.kind === "text") {
    found.literal = ngram(typed.text);
    found.pattern = modified(found.literal, options);
    found.expression = found.pattern;
    found.documents = found.pattern;
    // A sub-word token includes the space before a word, so most occurrences of the text begin with a space.
    if (options.asText && info.pieces && info.kind === "json" && !/^\s/.test(typed.text)) found.literal = ngram(` ${typed.text}`);
  } else if (typed.kind === "pattern") {
    found.pattern = modified(typed.pattern, options);
    found.expression = typed.whole === typed.pattern ? found.pattern : typed.whole;
    found.documents = found.expression;
    found.literal = typed.whole.match(/^(?:"(?:[^"\\]|\\[\s\S])*"|\[[\s\d,]*\])$/)?.[0] ?? null;
  } else if (typed.kind === "condition") {
    found.pattern = null;
    found.documents = typed.where;
  }
  return found;
}

function chosenTab(ctx, search) {
  if (TABS[ctx.state.as]) return ctx.state.as;
  return search.kind === "condition" ? "documents" : "lines";
}

// ---- the form ---------------------------------------------------------------------------------------------

function form(ctx, info, search) {
  const box = h("input", { type: "search", name: "q", value: ctx.state.q ?? "", placeholder: "words, \"an n-gram\" [1..3] \"with a gap\", year > 1990, or a statement", "aria-label": `Search ${ctx.corpus}`, "data-primary": true, "data-key": "q", autofocus: !ctx.state.q });
  const filter = h("input", { type: "text", name: "where", value: ctx.state.where ?? "", placeholder: "all documents", "data-key": "where" });
  const submit = (event) => {
    event?.preventDefault();
    ctx.go({ view: null, q: box.value.trim(), where: filter.value.trim(), page: null });
  };
  const source = ofSearches(ctx.corpus, read);
  const options = h(
    "div",
    { class: "row options" },
    search.kind === "text" || search.kind === "pattern" || search.kind === "empty"
      ? [
          info.kind !== "tokens" && tick("as text", asText(ctx.state, info), (on) => ctx.go({ text: on ? 1 : 0, page: null }), "Match the string regardless of token boundaries: MATCH TEXT"),
          info.kind !== "tokens" && tick("ignore case", ctx.state.nocase, (on) => ctx.go({ nocase: on && 1, page: null }), "IGNORE CASE"),
        ]
      : null,
    labelled("in documents where", suggesting(filter, ofSearches(ctx.corpus, () => ({ kind: "condition" }))), "A condition, such as year > 1990"),
    ctx.version && h("span", { class: "chip" }, `version ${ctx.version} `, h("a", { href: ctx.href({ version: null }), "aria-label": "Leave this version" }, "×")),
  );
  return h("form", { class: "search", role: "search", onsubmit: submit }, h("div", { class: "row main" }, suggesting(box, source), h("button", { class: "go" }, "Search")), options);
}

// ---- counts -----------------------------------------------------------------------------------------------

function countStatements(ctx, search) {
  const where = search.filter && `WHERE ${search.filter}`;
  const documents = [search.documents && `(${search.documents})`, search.filter && `(${search.filter})`].filter(Boolean).join(" AND ");
  return {
    occurrences: search.expression && join("COUNT", search.expression, where, ctx.from),
    documents: join("COUNT DOCS WHERE", documents, ctx.from),
  };
}

function total(ctx, search) {
  const statements = countStatements(ctx, search);
  return panel(
    ctx,
    "Counting",
    async (signal) => {
      const [occurrences, documents] = await Promise.all([
        statements.occurrences ? query(statements.occurrences, { signal }) : null,
        query(statements.documents, { signal }),
      ]);
      const inDocuments = plural(documents.rows[0][0], "document");
      const text = occurrences ? [h("strong", {}, number(occurrences.rows[0][0])), ` ${occurrences.rows[0][0] === 1 ? "occurrence" : "occurrences"} in ${inDocuments}`] : [h("strong", {}, inDocuments)];
      const remarks = [...new Set([...(occurrences?.notes ?? []), ...(occurrences ? [] : documents.notes)])];
      return [h("p", { class: "total", role: "status" }, text), remarks.map((one) => note(one))];
    },
    { class: "panel totals" },
  );
}

// ---- the tabs ---------------------------------------------------------------------------------------------

function tabs(ctx, chosen, search) {
  const possible = Object.keys(TABS).filter((name) => search.pattern || name === "documents" || name === "frequency");
  const list = h(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Ways to look at the results" },
    possible.map((name) => {
      const go = () => ctx.go({ as: name, page: null });
      return h("button", { type: "button", role: "tab", id: `tab-${name}`, "data-key": `tab-${name}`, "aria-selected": String(name === chosen), "aria-controls": "results", tabindex: name === chosen ? "0" : "-1", onclick: go }, TABS[name][0]);
    }),
  );
  roving(list, "[role=tab]", ["ArrowLeft", "ArrowRight"]);
  return list;
}

const panelOf = (tab, content) => h("div", { id: "results", role: "tabpanel", "aria-labelledby": `tab-${tab}` }, content);

// ---- before a search --------------------------------------------------------------------------------------

function welcome(ctx, info) {
  const n = (property) => number(Number(info.properties.get(property) ?? 0));
  return h(
    "div",
    { class: "welcome" },
    h("p", { class: "lead" }, `${ctx.corpus} has ${n("documents")} documents and ${n("tokens")} tokens.`),
    panel(ctx, "Searching for frequent n-grams", async (signal) => {
      const { rows } = await query(join("NGRAMS 3 TOP 200", ctx.from), { signal });
      const texts = rows.map(([text]) => String(text).trim());
      const found = texts.filter((text) => WORDS.test(text)).slice(0, 12);
      const chips = found.map((text) => h("li", {}, h("a", { class: "chip", dir: "auto", href: ctx.href({ q: text }) }, text)));
      return [found.length ? [h("h2", {}, "Frequent n-grams"), h("ul", { class: "chips" }, chips)] : null, h("h2", {}, "Search examples"), examples(ctx, info, found[0] ?? "word")];
    }),
  );
}

// N-grams worth showing: words only.
const WORDS = /^\p{L}{2,}(\s\p{L}{2,})*$/u;

function examples(ctx, info, text) {
  const words = text.split(/\s+/);
  const [first, last] = [ngram(words[0]), ngram(words.at(-1))];
  const [one] = info.fields;
  const all = [
    [text, "exact words"],
    [`${first} [0..3] ${last} IGNORE CASE`, "a pattern with a gap"],
    [`${first} AND NOT ${last}`, "a Boolean expression"],
    [one ? `${field(one.path)} IS NOT NULL` : "length > 100", "a condition on documents"],
    [join(`COLLOCATES OF ${first} TOP 20`, ctx.from), "any query"],
  ];
  return h("dl", { class: "examples" }, all.map(([q, means]) => [h("dt", {}, h("a", { href: ctx.href({ q }) }, h("code", {}, q))), h("dd", {}, means)]));
}
