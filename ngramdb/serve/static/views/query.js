// The editor of statements: colours, suggestions, EXPLAIN ANALYZE, and a history.

import { h } from "../dom.js";
import { coloured } from "../ran.js";
import { ofStatements, suggesting } from "../suggest.js";
import { rows } from "./statement.js";

const KEPT = 50;
const STORE = "ngramdb.history";

export async function show(ctx) {
  const statement = ctx.state.q ?? "";
  ctx.title(statement ? statement.split("\n")[0].slice(0, 60) : "Query");
  const editor = edit(ctx, statement);
  const result = statement ? rows(ctx, ctx.state.explain ? `EXPLAIN ANALYZE ${statement}` : statement, () => remember(statement)) : null;
  return [h("h1", {}, "Query"), editor, h("div", { id: "results" }, result), past(ctx)];
}

function edit(ctx, statement) {
  const under = h("pre", { class: "under", "aria-hidden": "true" });
  const box = h("textarea", { rows: 3, "aria-label": "Statement", "data-primary": true, "data-key": "statement", placeholder: `COUNT "…" GROUP BY … ${ctx.from}`.trim() });
  box.value = statement;
  const paint = () => {
    under.replaceChildren(...coloured(box.value), "\n");
    box.rows = Math.max(3, Math.min(20, box.value.split("\n").length + 1));
  };
  const run = (explain) => {
    const q = box.value.trim().replace(/;$/, "");
    if (!q) return;
    ctx.go({ q, explain: explain && 1, corpus: ctx.state.corpus, view: "query" }, { anew: true, replace: q === ctx.state.q && Boolean(explain) === Boolean(ctx.state.explain) });
  };
  box.addEventListener("scroll", () => (under.scrollTop = box.scrollTop));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run(event.shiftKey);
    }
  });
  paint();
  const wrapped = suggesting(box, ofStatements(ctx.corpus), paint);
  wrapped.classList.add("editor");
  wrapped.prepend(under);
  return h(
    "form",
    { onsubmit: (event) => (event.preventDefault(), run(false)) },
    // Above the editor, so that its suggestions do not cover them.
    h(
      "div",
      { class: "row options" },
      h("button", { class: "go", title: "Ctrl Enter" }, "Run"),
      h("button", { type: "button", onclick: () => run(true), title: "Ctrl Shift Enter" }, "Explain"),
      h("span", { class: "dim" }, "Ctrl Enter runs the statement. Only queries are allowed: this page is read-only."),
    ),
    wrapped,
  );
}

// ---- history ----------------------------------------------------------------------------------------------

function history() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function keep(statements) {
  try {
    localStorage.setItem(STORE, JSON.stringify(statements.slice(0, KEPT)));
  } catch {
    // There is no history without storage.
  }
}

const remember = (statement) => keep([statement, ...history().filter((one) => one !== statement)]);

function past(ctx) {
  const statements = history();
  if (!statements.length) return null;
  const forget = (event) => {
    keep([]);
    event.target.closest("section").remove();
  };
  return h(
    "section",
    { class: "history", "aria-label": "History" },
    h("h2", {}, "History"),
    h("ul", { class: "plain" }, statements.map((one) => h("li", {}, h("a", { href: ctx.href({ view: "query", q: one, corpus: ctx.state.corpus }, true) }, h("code", {}, coloured(one)))))),
    h("button", { type: "button", class: "quiet small", onclick: forget }, "Clear history"),
  );
}
