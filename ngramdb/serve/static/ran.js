// The statement that a view ran, for reading and for use in other programs.

import { lacking, ROOT } from "./api.js";
import { copyButton, h } from "./dom.js";
import { asCurl, asPython, scan } from "./sql.js";

// A statement as coloured nodes.
export const coloured = (statement) =>
  scan(statement).map((piece) => (piece.kind === "space" ? piece.text : h("span", { class: `sql-${piece.kind}` }, piece.text)));

// A collapsible element below a view with the statements that it ran.
export function ran(ctx, ...statements) {
  const all = statements.flat().filter(Boolean);
  const text = all.join(";\n");
  const each = (make) => () => all.map((statement) => make(statement, ROOT, lacking(statement))).join("\n");
  return h(
    "details",
    { class: "ran" },
    h("summary", {}, all.length === 1 ? "Statement" : `${all.length} statements`, h("code", { class: "peek" }, coloured(all[0]))),
    h("pre", { tabindex: "0", "aria-label": "Statements" }, h("code", {}, coloured(text))),
    h(
      "div",
      { class: "row" },
      copyButton("Copy SQL", () => text),
      copyButton("Copy Python", each(asPython)),
      copyButton("Copy curl", each(asCurl)),
      h("a", { href: ctx.href({ view: "query", q: all[0], corpus: ctx.corpus }, true) }, "Open in the editor"),
    ),
  );
}
