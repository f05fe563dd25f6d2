// Several n-grams compared, by a field or over time, in one corpus, in several, or at several versions.

import { query } from "../api.js";
import { from, groupFields } from "../catalog.js";
import { groups, lines } from "../chart.js";
import { choice, h, labelled, tick } from "../dom.js";
import { cell, number } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { field, join } from "../sql.js";
import { table } from "../table.js";
import { PARTS, PER, periodOf } from "./frequency.js";
import { understood } from "./search.js";

const MOST_SERIES = 6;
const MOST_VALUES = 25;
const DAY = 86_400_000;

export async function show(ctx) {
  const info = await ctx.info();
  ctx.title("Compare");
  const fields = groupFields(info.fields);
  const by = ctx.state.by === "" || ctx.state.by === "-" ? null : (fields.find(({ path }) => path === ctx.state.by) ?? fields[0] ?? null);
  const time = timeOf(ctx, by);
  const wanted = (ctx.state.q ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  const sources = chosenSources(ctx);
  const relative = ctx.state.rel !== "0";
  const searches = wanted.map((typed) => ({ typed, ...understood({ state: { ...ctx.state, q: typed, where: "" } }, info) }));
  const counted = searches.filter((one) => one.expression);
  const others = searches.filter((one) => !one.expression).map((one) => one.typed);
  const series = sources.flatMap((source) => counted.map(({ typed, expression }) => ({ source, name: sources.length > 1 ? `${typed} · ${source.name}` : typed, expression })));
  const asked = series.slice(0, MOST_SERIES);
  return [
    h("h1", {}, "Compare"),
    form(ctx, fields, by, time, relative, sources),
    series.length > MOST_SERIES && note(`The first ${MOST_SERIES} of ${series.length} series; more could not be distinguished.`),
    others.length > 0 && note(`Not compared (only words and patterns can be): ${others.join(" · ")}`),
    counted.length ? result(ctx, asked, by, time, relative) : note("One n-gram per line, as in the search box: words, patterns in quotes, expressions."),
  ];
}

// How to group by a field of times, and how to map each group to a position (a number) and a name.
function timeOf(ctx, by) {
  if (!by) return null;
  const [periods, period] = periodOf(ctx, by);
  if (!periods) return null;
  const parts = PARTS[period];
  const name = field(by.path);
  const shared = { periods, period, place: ([value]) => value, named: String };
  if (!parts) return { ...shared, group: period ? `${name} / ${period} * ${period}` : name };
  const group = parts.map((part) => `${part}(${name})`).join(", ");
  const two = (part) => String(part).padStart(2, "0");
  if (period === "month") return { ...shared, group, place: ([year, month]) => year * 12 + month - 1, named: (x) => `${Math.floor(x / 12)}-${two((x % 12) + 1)}` };
  if (period === "day") return { ...shared, group, place: ([year, month, day]) => Date.UTC(year, month - 1, day) / DAY, named: (x) => new Date(x * DAY).toISOString().slice(0, 10) };
  return { ...shared, group };
}

// ---- the form ---------------------------------------------------------------------------------------------

// Sources are written `corpus` or `corpus@version`, separated by commas.
function chosenSources(ctx) {
  const known = ctx.corpora.map((one) => one.corpus);
  const named = (ctx.state.in ?? "").split(",").map((one) => one.match(/^(.*?)(?:@(\d+))?$/)).filter((match) => known.includes(match[1]));
  const chosen = named.length ? named.map(([whole, corpus, version]) => ({ name: whole, corpus, version: version ?? null })) : [{ name: ctx.corpus, corpus: ctx.corpus, version: null }];
  return chosen.map((one) => ({ ...one, from: from(ctx.corpora, one.corpus, one.version), db: ctx.corpora.find(({ corpus }) => corpus === one.corpus).database }));
}

function form(ctx, fields, by, time, relative, sources) {
  const box = h("textarea", { rows: 4, "aria-label": "N-grams, one per line", "data-primary": true, "data-key": "ngrams", placeholder: "one n-gram per line" });
  box.value = ctx.state.q ?? "";
  const submit = (event) => {
    event?.preventDefault();
    ctx.go({ q: box.value.trim() });
  };
  box.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event));
  const set = (name) => (value) => ctx.go({ q: box.value.trim(), [name]: value });
  const others = [["-", "no field (totals)"], ...fields.map(({ path }) => [path, path])];
  return h(
    "form",
    { class: "search", onsubmit: submit },
    box,
    h(
      "div",
      { class: "row options" },
      h("button", { class: "go", title: "Ctrl Enter" }, "Compare"),
      labelled("By", choice(others, by?.path ?? "-", (path) => ctx.go({ q: box.value.trim(), by: path, period: null }), { "data-key": "by" })),
      time && labelled("Values", choice(time.periods, time.period, set("period"), { "data-key": "period" })),
      labelled("As", choice([["", "per million tokens"], ["0", "occurrences"]], relative ? "" : "0", set("rel"), { "data-key": "rel" })),
      tick("ignore case", ctx.state.nocase, (on) => set("nocase")(on && 1)),
      h("fieldset", { class: "row" }, h("legend", {}, "In"), sourceTicks(ctx, sources, set("in"))),
    ),
  );
}

function sourceTicks(ctx, sources, set) {
  const chosen = sources.map((one) => one.name);
  const toggled = (name, on) => {
    const next = on ? [...chosen, name] : chosen.filter((one) => one !== name);
    set(next.join(","));
  };
  const names = [...new Set([...ctx.corpora.map((one) => one.corpus), ...chosen])];
  const version = h("input", { type: "number", min: 1, class: "narrow", "aria-label": `A version of ${ctx.corpus}`, placeholder: "version" });
  const add = () => version.value && toggled(`${ctx.corpus}@${version.value}`, true);
  return [names.map((name) => tick(name, chosen.includes(name), (on) => toggled(name, on))), version, h("button", { type: "button", class: "small", onclick: add }, "Add version")];
}

// ---- the answers ------------------------------------------------------------------------------------------

function result(ctx, series, by, time, relative) {
  const group = by ? `GROUP BY ${time?.group ?? field(by.path)}` : "";
  const statements = series.map((one) => join("COUNT", one.expression, group, one.source.from));
  const sources = [...new Map(series.map((one) => [one.source.name, one.source])).values()];
  // Totals are also needed for absolute counts: they list the values without occurrences.
  const sizes = sources.map((source) => join('COUNT ""', group, source.from));
  const unit = relative ? "per million tokens" : "occurrences";
  return [
    panel(ctx, "Counting", async (signal) => {
      const [found, total] = await Promise.all([
        Promise.all(statements.map((statement, at) => query(statement, { signal, db: series[at].source.db }))),
        Promise.all(sizes.map((statement, at) => query(statement, { signal, db: sources[at].db }))),
      ]);
      const size = new Map(sources.map((source, at) => [source.name, total[at].rows]));
      const drawn = series.map((one, at) => ({ name: one.name, points: points(found[at].rows, size.get(one.source.name), by, time, relative) }));
      const cut = total.find((one) => one.truncated);
      return [found.flatMap(notes), cut && note(`The first ${number(cut.rows.length)} values.`), picture(drawn, by, time, unit), by && below(drawn, by, time)];
    }),
    ran(ctx, statements, sizes),
  ];
}

// [value, count or share] per value that has tokens, in the order of values.
function points(rows, sizes, by, time, relative) {
  const measured = (count, size) => (relative ? (PER * count) / Math.max(1, size) : count);
  if (!by) return [["all", measured(rows[0][0], sizes[0][0])]];
  const placed = (row) => [row.slice(0, -1).includes(null) ? null : time ? time.place(row) : row[0], row.at(-1)];
  const counts = new Map(rows.map(placed));
  return sizes
    .map(placed)
    .filter(([value]) => value !== null)
    .map(([value, size]) => [value, measured(counts.get(value) ?? 0, size)]);
}

// All values of all series: times in order, others in order of appearance.
function valuesOf(drawn, time) {
  const all = [...new Set(drawn.flatMap((one) => one.points.map(([x]) => x)))];
  return time ? all.sort((one, other) => one - other) : all;
}

function picture(drawn, by, time, unit) {
  const label = `${drawn.map((one) => one.name).join(", ")}: ${unit}${by ? ` by ${by.path}` : ""}`;
  if (time) return lines(drawn, { label, x: by.path, y: unit, named: time.named, numbers: false });
  const sum = new Map();
  for (const one of drawn) for (const [x, y] of one.points) sum.set(x, (sum.get(x) ?? 0) + y);
  const most = new Set([...sum].sort((one, other) => other[1] - one[1]).slice(0, MOST_VALUES).map(([x]) => x));
  const found = drawn.map((one) => new Map(one.points));
  const shown = drawn.map((one, at) => ({ ...one, points: [...most].filter((x) => found[at].has(x)).map((x) => [cell(x), found[at].get(x)]) }));
  return [groups(shown, { label, x: by?.path ?? "corpus", y: unit, names: [...most].map(cell) }), sum.size > most.size && note(`The ${MOST_VALUES} most frequent of ${number(sum.size)} values; the table has all of them.`)];
}

function below(drawn, by, time) {
  const found = drawn.map((one) => new Map(one.points));
  const rows = valuesOf(drawn, time).map((x) => [time ? time.named(x) : x, ...found.map((values) => values.get(x) ?? null)]);
  const answer = { columns: [by.path, ...drawn.map((one) => one.name)], rows };
  return h("details", { class: "numbers" }, h("summary", {}, "The numbers"), table(answer, null, { caption: "The numbers", file: "comparison" }));
}
