// One document, with all matches marked in its text.

import { documentOf } from "../api.js";
import { h, say } from "../dom.js";
import { cell, plural } from "../format.js";
import { note, panel } from "../panel.js";
import { ran } from "../ran.js";
import { join } from "../sql.js";
import { understood } from "./search.js";

export async function show(ctx) {
  const info = await ctx.info();
  const doc = /^\d+$/.test(ctx.state.doc ?? "") ? Number(ctx.state.doc) : null;
  if (doc === null) return note("The address has no document number.");
  const search = understood(ctx, info);
  const statement = join(`DOCS WHERE doc_id = ${doc}`, ctx.from);
  const places = search.pattern && join("KWIC", search.pattern, `WHERE doc_id = ${doc}`, ctx.from);
  ctx.title(`Document ${doc}`);
  const back = ctx.state.q ? ctx.href({ view: null, doc: null, position: null }) : ctx.href({ view: null, doc: null, position: null, q: `doc_id = ${doc}` });
  return [
    h("p", { class: "row" }, h("a", { href: back }, "← Results")),
    h("h1", {}, `Document ${doc}`),
    panel(ctx, "Reading the document", async (signal) => {
      const found = await documentOf(ctx.corpus, ctx.version, doc, search.pattern, signal);
      if (!found.rows.length) return note(`No document ${doc} in ${ctx.corpus}${ctx.version ? ` at version ${ctx.version}` : ""}.`);
      return body(ctx, found);
    }),
    ran(ctx, statement, places),
  ];
}

function body(ctx, found) {
  const row = found.rows[0];
  const at = (name) => found.columns.indexOf(name);
  const text = String(row[at("text")] ?? "");
  const marks = spans(text, found);
  const article = h("article", { class: "text", dir: "auto", tabindex: "0", "aria-label": "Text of the document" }, marked(text, marks));
  const walk = matches(article, marks, Number(ctx.state.position));
  return [
    h("dl", { class: "facts" }, found.columns.map((name, column) => (column === at("text") || row[column] === null ? null : [h("dt", {}, name), h("dd", { dir: "auto" }, link(cell(row[column])))]))),
    found.matches && walk,
    article,
  ];
}

// Web addresses become links without a referrer; any other scheme remains text.
const link = (value) => (/^https?:\/\/\S+$/i.test(value) ? h("a", { href: value, rel: "noreferrer noopener nofollow", target: "_blank" }, value) : value);

// Half-open ranges of the matches. The server counts characters, whereas strings here consist of UTF-16 units.
function spans(text, { matches, positions }) {
  const units = [0];
  for (const character of text) units.push(units.at(-1) + character.length);
  return (matches ?? []).map(([start, stop], at) => ({ start: units[start], stop: units[stop], position: positions[at] }));
}

function marked(text, marks) {
  const nodes = [];
  let at = 0;
  for (const { start, stop, position } of marks) {
    if (start < at) continue;
    nodes.push(text.slice(at, start), h("mark", { tabindex: "-1", "data-position": position }, text.slice(start, stop)));
    at = stop;
  }
  return [...nodes, text.slice(at)];
}

function matches(article, marks, wanted) {
  const all = [...article.querySelectorAll("mark")];
  if (!all.length) return h("p", { class: "dim" }, marks.length ? "" : "No matches in this document.");
  let current = Math.max(0, all.findIndex((one) => Number(one.dataset.position) === wanted));
  const place = h("span", { class: "dim", role: "status" });
  const show = (index, move) => {
    all[current].classList.remove("here");
    current = (index + all.length) % all.length;
    all[current].classList.add("here");
    place.textContent = `${current + 1} of ${plural(all.length, "match", "matches")}`;
    if (move) all[current].scrollIntoView({ block: "center" });
  };
  article.ownerDocument.defaultView.requestAnimationFrame(() => show(current, Number.isFinite(wanted)));
  const onkey = (event) => {
    if (!article.isConnected) document.removeEventListener("keydown", onkey);
    else if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "") || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "n") show(current + 1, true);
    else if (event.key === "p") show(current - 1, true);
  };
  document.addEventListener("keydown", onkey);
  say(plural(all.length, "match", "matches"));
  return h(
    "div",
    { class: "row options" },
    h("button", { type: "button", class: "small", title: "p", onclick: () => show(current - 1, true) }, "↑ Previous"),
    h("button", { type: "button", class: "small", title: "n", onclick: () => show(current + 1, true) }, "↓ Next"),
    place,
  );
}
