// The answer of a statement: a table, or the tree of EXPLAIN.

import { query } from "../api.js";
import { h, say } from "../dom.js";
import { number, rounded, seconds } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { table } from "../table.js";
import { tree } from "./plan.js";

export function rows(ctx, statement, done = () => {}) {
  return [
    panel(ctx, "Asking", async (signal) => {
      const answer = await query(statement, { signal });
      done(answer);
      say(`${number(answer.rows.length)} rows`);
      if (answer.columns.length === 1 && answer.columns[0] === "plan") return tree(answer.rows.map(([line]) => line));
      return [notes(answer), facts(answer), answer.columns.length ? table(answer, statement) : null];
    }),
    ran(ctx, statement),
  ];
}

// The summary beside the rows: numbers and words, without notes and zeros.
function facts(answer) {
  const shown = Object.entries(answer.summary).filter(([name, value]) => value && name !== "note" && typeof value !== "object");
  const all = shown.map(([name, value]) => [name.replaceAll("_", " "), typeof value === "number" ? rounded(value, 6) : String(value)]);
  if (answer.elapsed !== null) all.push(["took", seconds(answer.elapsed)]);
  if (!all.length) return null;
  return h("dl", { class: "facts inline" }, all.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
