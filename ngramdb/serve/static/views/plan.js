// A plan as a tree, parsed from the lines of EXPLAIN.

import { h, svg } from "../dom.js";

const BRANCH = /^([│\s]*)(?:([├└])─ )?(.*)$/u;

// {text, facts, children, ms}: the indent of a line is its depth in the tree.
export function parse(lines) {
  const root = { text: "", facts: [], children: [], depth: -1 };
  const path = [root];
  for (const line of lines.flatMap((one) => String(one).split("\n"))) {
    if (!line.trim()) continue;
    const [, before, branch, rest] = line.match(BRANCH);
    const [text, ...facts] = rest.split(/ {2,}/);
    if (branch || !before.length) {
      const depth = branch ? before.length / 3 + 1 : 0;
      while (path.at(-1).depth >= depth) path.pop();
      const node = { text, facts, children: [], depth, ms: null };
      path.at(-1).children.push(node);
      path.push(node);
    } else path.at(-1).facts.push([text, ...facts].join("  "));
  }
  const all = (node) => [node, ...node.children.flatMap(all)];
  for (const node of all(root)) {
    const time = node.facts.join("; ").match(/([\d.,]+) (µs|ms|s)\b/);
    if (time) node.ms = Number(time[1].replaceAll(",", "")) * { µs: 0.001, ms: 1, s: 1000 }[time[2]];
  }
  return root.children;
}

export function tree(lines) {
  const nodes = parse(lines);
  const longest = Math.max(...everyTime(nodes), 0);
  return h(
    "div",
    { class: "plan" },
    h("ul", { "aria-label": "Plan" }, nodes.map((node) => branch(node, longest))),
    h("details", {}, h("summary", {}, "As text"), h("pre", { tabindex: "0", "aria-label": "Plan as text" }, lines.join("\n"))),
  );
}

const everyTime = (nodes) => nodes.flatMap((node) => [node.ms ?? 0, ...everyTime(node.children)]);

function branch(node, longest) {
  const share = node.ms !== null && longest > 0 ? (100 * node.ms) / longest : null;
  return h(
    "li",
    {},
    h(
      "div",
      { class: "node" },
      h("span", { class: "what", dir: "auto" }, node.text),
      share === null ? null : svg("svg", { class: "time", "aria-hidden": "true" }, svg("rect", { class: "s0", width: `${Math.max(share, 0.5)}%`, height: "100%", rx: 1 })),
      node.facts.map((fact) => h("span", { class: "dim" }, fact)),
    ),
    node.children.length ? h("ul", {}, node.children.map((child) => branch(child, longest))) : null,
  );
}
