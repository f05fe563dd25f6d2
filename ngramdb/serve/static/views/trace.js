// A text compared with the corpus: verbatim spans, and the surprisal of each token under a model.

import { query, tokens as cut } from "../api.js";
import { sourceFields } from "../catalog.js";
import { choice, h, labelled, roving, say, svg } from "../dom.js";
import { cell, number, oneLine, percent, plural, rounded, short } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { field, join, ngram, tokenIds } from "../sql.js";
import { documentLink } from "./concordance.js";

// The maximum length of a text in an address; longer texts are stored in the tab.
const LONGEST_LINK = 6000;
const STORE = "ngramdb.trace";
const MODELS = [
  ["INFGRAM", "∞-gram"],
  ["KNESER_NEY", "Kneser-Ney"],
  ["KNESER_NEY ORDER 5", "Kneser-Ney, order 5"],
  ["PITMAN_YOR", "Pitman-Yor"],
  ["KATZ", "Katz backoff"],
  ["SKIP_KNESER_NEY", "Kneser-Ney with gaps"],
  ["WITTEN_BELL", "Witten-Bell"],
];
const LINES = 5;

export async function show(ctx) {
  const info = await ctx.info();
  ctx.title("Trace");
  const text = ctx.state.q ?? (ctx.state.kept ? kept() : "");
  const least = Math.max(1, Number(ctx.state.min) || (info.kind === "chars" || info.kind === "bytes" ? 12 : 3));
  const heat = ctx.state.as === "surprise";
  const model = MODELS.find(([name]) => name === ctx.state.model)?.[0] ?? MODELS[0][0];
  return [h("h1", {}, "Trace"), form(ctx, text, least, heat, model), text.trim() ? (heat ? surprise(ctx, text, model) : spans(ctx, text, least, info)) : note("Paste a text to highlight the parts that occur verbatim in the corpus.")];
}

function kept() {
  try {
    return sessionStorage.getItem(STORE) ?? "";
  } catch {
    return "";
  }
}

function form(ctx, text, least, heat, model) {
  const box = h("textarea", { rows: 4, "aria-label": "Text to trace", "data-primary": true, "data-key": "text", placeholder: "text" });
  box.value = text;
  const go = (changes = {}) => {
    const long = box.value.length > LONGEST_LINK;
    if (long) sessionStorage.setItem(STORE, box.value);
    ctx.go({ q: long ? null : box.value, kept: long && 1, ...changes });
  };
  box.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && (event.preventDefault(), go()));
  return h(
    "form",
    { class: "search", onsubmit: (event) => (event.preventDefault(), go()) },
    box,
    h(
      "div",
      { class: "row options" },
      h("button", { class: "go", title: "Ctrl Enter" }, "Trace"),
      labelled("Show", choice([["", "spans in the corpus"], ["surprise", "surprisal under a model"]], heat ? "surprise" : "", (as) => go({ as }), { "data-key": "as" })),
      heat
        ? labelled("Model", choice(MODELS, model, (value) => go({ model: value }), { "data-key": "model" }))
        : labelled("At least", choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 30].concat(least).filter((n, at, all) => all.indexOf(n) === at).sort((a, b) => a - b).map((n) => [n, plural(n, "token")]), least, (min) => go({ min }), { "data-key": "min" })),
      box.value.length > LONGEST_LINK && h("span", { class: "dim" }, "Too long for a link; stored in this tab."),
    ),
  );
}

// ---- places of tokens in the text -------------------------------------------------------------------------

// The half-open range of each token in the text. Parts of a character have empty ranges.
export function places(text, tokens) {
  const lower = text.toLowerCase();
  const found = [];
  let at = 0;
  for (const token of tokens) {
    const wanted = token ?? "";
    // At most some white space separates tokens, so a missing token is not searched for in the whole text.
    const window = wanted.length + 200;
    let start = wanted ? text.slice(at, at + window).indexOf(wanted) : -1;
    if (start < 0 && wanted) start = lower.slice(at, at + window).indexOf(wanted.toLowerCase());
    if (start < 0) found.push([at, at]);
    else {
      found.push([at + start, at + start + wanted.length]);
      at += start + wanted.length;
    }
  }
  return found;
}

async function tokensOf(text, model, ctx, signal) {
  const statement = join("SCORE", ngram(text), model && `USING ${model}`, ctx.from);
  const [answer, texts] = await Promise.all([query(statement, { signal }), cut(ctx.corpus, text, signal)]);
  const at = (name) => answer.columns.indexOf(name);
  const tokens = answer.rows.map((row, index) => ({ token: texts[index], id: row[at("token_id")], prob: row[at("prob")], n: row[at("effective_n")], count: row[at("count")] }));
  return { answer, statement, tokens };
}

// ---- spans ------------------------------------------------------------------------------------------------

function spans(ctx, text, least, info) {
  const statement = join("TRACE", ngram(text), `MIN LENGTH ${least}`, ctx.from);
  const beside = h("aside", { class: "beside", "aria-live": "polite", "aria-label": "Documents of a span" }, note("Choose a span to see its occurrences."));
  return [
    panel(ctx, "Tracing the text", async (signal) => {
      const [found, { tokens }] = await Promise.all([query(statement, { signal }), tokensOf(text, "", ctx, signal)]);
      const at = (name) => found.columns.indexOf(name);
      const all = found.rows.map((row) => ({ start: row[at("start")], length: row[at("length")], text: row[at("span")], count: row[at("count")], documents: row[at("doc_ids")] }));
      const covered = found.summary.covered ?? 0;
      const n = found.summary.tokens ?? tokens.length;
      say(plural(all.length, "span"));
      const head = h("p", { class: "total" }, h("strong", {}, n ? percent(covered / n) : "0 %"), ` of ${plural(n, "token")} occur in the corpus, in ${plural(all.length, "span")} of at least ${plural(least, "token")}`);
      return [notes(found), head, key(), h("div", { class: "traced" }, coloured(ctx, text, tokens, all, beside, info), beside)];
    }),
    ran(ctx, statement),
  ];
}

const LENGTHS = [6, 12, 24, 48];
const ofLength = (length) => LENGTHS.filter((bound) => length >= bound).length;
const ofCount = (count) => (count <= 1 ? "once" : count <= 10 ? "rare" : "often");

function key() {
  const sample = (classes, text) => h("span", { class: `span ${classes}` }, text);
  return h(
    "p",
    { class: "key", "aria-label": "Colours" },
    h("span", { class: "dim" }, "tokens: "),
    ["up to 5", "6", "12", "24", "48 and more"].map((text, at) => sample(`long${at}`, text)),
    h("span", { class: "dim" }, " in the corpus: "),
    [["once", "once"], ["rare", "up to 10 times"], ["often", "more often"]].map(([name, text]) => sample(name, text)),
  );
}

// The text with its spans: the longest span determines the colour of each piece; a click lists all of them.
function coloured(ctx, text, tokens, all, beside, info) {
  const where = places(text, tokens.map((one) => one.token));
  const best = tokens.map(() => null);
  for (const span of [...all].sort((one, other) => one.length - other.length)) best.fill(span, span.start, span.start + span.length);
  const nodes = [];
  let at = 0;
  for (let first = 0; first < tokens.length; ) {
    let last = first;
    while (last + 1 < tokens.length && best[last + 1] === best[first]) last += 1;
    const [start, stop] = [where[first][0], where[last][1]];
    if (best[first] && stop > start) {
      const span = best[first];
      const over = all.filter((one) => one.start <= last && one.start + one.length > first);
      nodes.push(text.slice(at, start), piece(ctx, text.slice(start, stop), span, over, tokens, beside, info));
      at = stop;
    }
    first = last + 1;
  }
  const box = h("div", { class: "text tracing", dir: "auto" }, nodes, text.slice(at));
  roving(box, "button.span", ["ArrowLeft", "ArrowRight"]);
  return box;
}

function piece(ctx, text, span, over, tokens, beside, info) {
  const button = h(
    "button",
    { type: "button", class: `span long${ofLength(span.length)} ${ofCount(span.count)}`, title: `${plural(span.length, "token")}, ${number(span.count)} times in the corpus` },
    text,
  );
  button.addEventListener("click", () => {
    for (const one of button.parentElement.querySelectorAll(".here")) one.classList.remove("here");
    button.classList.add("here");
    beside.replaceChildren(...over.sort((one, other) => other.length - one.length).map((one) => occurrences(ctx, one, tokens, info)));
    if (matchMedia("(max-width: 60rem)").matches) beside.scrollIntoView({ block: "nearest" });
  });
  return button;
}

function occurrences(ctx, span, tokens, info) {
  const ids = tokens.slice(span.start, span.start + span.length).map((one) => one.id);
  const pattern = ids.every((id) => id !== null) ? tokenIds(ids) : ngram(span.text);
  const fields = sourceFields(info.fields);
  const statement = join("KWIC", pattern, `WINDOW 10 LIMIT ${LINES}`, fields.length && `RETURNING ${fields.map(({ path }) => field(path)).join(", ")}`, ctx.from);
  return h(
    "div",
    {},
    h("h2", { dir: "auto" }, oneLine(span.text)),
    h("p", { class: "dim" }, `${plural(span.length, "token")}, ${plural(span.count, "time")} in the corpus`),
    panel(ctx, "Searching for occurrences", async (signal) => {
      const answer = await query(statement, { signal });
      const at = (name) => answer.columns.indexOf(name);
      const list = answer.rows.map((row) => {
        const source = row.slice(answer.columns.length - fields.length).filter((value) => value !== null).map(cell).join(" · ");
        return h(
          "li",
          {},
          h("a", { class: "card", href: documentLink(ctx, row[at("doc_id")], row[at("position")], pattern) }, h("span", { class: "source", dir: "auto" }, (fields.length && source) || `document ${row[at("doc_id")]}`), h("span", { class: "peek", dir: "auto" }, oneLine(row[at("left")]), h("mark", {}, oneLine(row[at("match")])), oneLine(row[at("right")]))),
        );
      });
      const more = span.count > answer.rows.length && h("p", {}, h("a", { href: ctx.href({ q: pattern, corpus: ctx.state.corpus }, true) }, `All ${number(span.count)}`));
      return [h("ol", { class: "cards" }, list), more];
    }),
  );
}

// ---- surprisal --------------------------------------------------------------------------------------------

const BITS = [2, 5, 9, 14];
const ofBits = (bits) => BITS.filter((bound) => bits >= bound).length;

function surprise(ctx, text, model) {
  const statement = join("SCORE", ngram(text), `USING ${model}`, ctx.from);
  return [
    panel(ctx, "Scoring the text", async (signal) => {
      const { answer, tokens } = await tokensOf(text, model, ctx, signal);
      const known = tokens.map((one) => ({ ...one, bits: one.prob === null ? null : one.prob > 0 ? -Math.log2(one.prob) : Infinity }));
      const head = h("p", { class: "total" }, "Perplexity ", h("strong", {}, perplexity(answer.summary)), answer.summary.zero_probabilities ? `, ${rounded(answer.summary.perplexity_nonzero)} without the ${plural(answer.summary.zero_probabilities, "token")} of probability 0` : null);
      const scale = h("p", { class: "key", "aria-label": "Colours" }, h("span", { class: "dim" }, "bits: "), ["below 2", "2", "5", "9", "14 and more"].map((name, at) => h("span", { class: `heat heat${at}` }, name)));
      return [notes(answer), head, scale, line(known), heated(text, known)];
    }),
    ran(ctx, statement),
  ];
}

// JSON cannot represent infinity.
const perplexity = (summary) => (summary.zero_probabilities ? "∞" : rounded(summary.perplexity));

function heated(text, tokens) {
  const where = places(text, tokens.map((one) => one.token));
  const nodes = [];
  let at = 0;
  tokens.forEach((one, index) => {
    const [start, stop] = where[index];
    if (stop <= start) return;
    const said = one.bits === null ? "no probability" : `${rounded(one.bits, 3)} bits`;
    nodes.push(text.slice(at, start), h("span", { class: `heat heat${one.bits === null ? "none" : ofBits(one.bits)}`, title: `${said}; effective n ${one.n}; ${short(one.count ?? 0)} times` }, text.slice(start, stop)));
    at = stop;
  });
  return h("div", { class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": "The text, coloured by surprisal" }, nodes, text.slice(at));
}

// The same as bars, one per token.
function line(tokens) {
  const top = Math.max(16, ...tokens.map((one) => (Number.isFinite(one.bits) ? one.bits : 0)));
  const width = Math.max(1, tokens.length);
  const drawn = tokens.map((one, at) => {
    const height = one.bits === null ? 0 : (100 * Math.min(one.bits, top)) / top;
    return svg("rect", { class: `bits bits${one.bits === null ? "none" : ofBits(one.bits)}`, x: at, y: 100 - height, width: 0.85, height });
  });
  const mean = tokens.filter((one) => Number.isFinite(one.bits));
  const average = mean.reduce((sum, one) => sum + one.bits, 0) / Math.max(1, mean.length);
  return svg("svg", { class: "heatline", viewBox: `0 0 ${width} 100`, preserveAspectRatio: "none", role: "img", "aria-label": `Surprisal of ${plural(tokens.length, "token")}, ${rounded(average, 3)} bits on average` }, drawn);
}
