// Frequencies: bars by the values of a field, or a line over time.

import { frequency } from "../api.js";
import { groupFields, isDate, isTime } from "../catalog.js";
import { bars, lines } from "../chart.js";
import { choice, h, labelled } from "../dom.js";
import { cell, number, rounded } from "../format.js";
import { note, notes, panel } from "../panel.js";
import { ran } from "../ran.js";
import { all, field, is } from "../sql.js";
import { saving } from "../table.js";

const MOST = 40;
export const PER = 1_000_000;
// The server's grouping per period of dates: a month belongs to a year.
export const PARTS = { year: ["YEAR"], month: ["YEAR", "MONTH"], day: ["YEAR", "MONTH", "DAY"] };
const PERIODS = {
  numbers: [["", "single values"], ["5", "5-year periods"], ["10", "10-year periods"]],
  dates: [["year", "by year"], ["month", "by month"], ["day", "by day"]],
};

// The periods by which values of a field can be grouped, and the chosen one; none for other fields.
export function periodOf(ctx, by) {
  const periods = isTime(by) ? PERIODS.numbers : isDate(by) ? PERIODS.dates : null;
  return [periods, periods ? (periods.find(([name]) => name === ctx.state.period) ?? periods[0])[0] : ""];
}

export function results(ctx, search, info) {
  const fields = groupFields(info.fields);
  if (!fields.length) return note("The documents of this corpus have no fields to group by.");
  const by = fields.find(({ path }) => path === ctx.state.by) ?? fields[0];
  const relative = ctx.state.rel !== "0" && Boolean(search.expression);
  const [periods, period] = periodOf(ctx, by);
  const set = (name) => (value) => ctx.go({ [name]: value });
  const unit = search.expression ? "occurrences" : "documents";
  const replaced = (asked, used, what) => asked && asked !== used && note(`This page cannot count by ${asked} here; these are counts ${what}.`);
  return [
    replaced(ctx.state.by, by.path, `by ${by.path}`),
    replaced(ctx.state.period, period, period ? `by ${period}` : "by single values"),
    h(
      "div",
      { class: "row options" },
      labelled("By", choice(fields.map(({ path }) => [path, path]), by.path, (path) => ctx.go({ by: path, period: null }), { "data-key": "by" })),
      periods && labelled("Values", choice(periods, period, set("period"), { "data-key": "period" })),
      search.expression && labelled("As", choice([["", "per million tokens"], ["0", unit]], relative ? "" : "0", set("rel"), { "data-key": "rel" })),
    ),
    panel(ctx, `Counting by ${by.path}`, async (signal) => {
      // With shares, there is a row for each value that has tokens: a line over time needs those without occurrences.
      const along = isTime(by) || period === "year";
      const shares = relative || (along && Boolean(search.expression));
      const asked = wanted(search, by, period, shares, Boolean(periods));
      const found = await frequency(ctx.corpus, ctx.version, asked, signal);
      if (!found.rows.length) return [notes(found), note("No counts."), ran(ctx, found.statement)];
      const name = relative ? "per million tokens" : unit;
      const n = PARTS[period]?.length ?? 1;
      const counted = found.rows.map((row) => [row.slice(0, n), row[n], relative ? (row[n + 2] ?? 0) : row[n]]);
      const points = along && asked.where && !search.expression && !found.truncated ? await withAbsent(ctx, counted, by, period, signal) : counted;
      const chart = along ? overTime(points, by, name) : asBars(ctx, points, by, name, period);
      const more = found.truncated && note(periods ? `The first ${number(points.length)} values.` : `The ${number(points.length)} most frequent values.`);
      return [notes(found), chart, more, h("div", { class: "row foot" }, saving(found.statement, `by-${by.path}`)), ran(ctx, found.statement)];
    }),
  ];
}

// The request: all values of times in order, the most frequent values of other fields.
function wanted(search, by, period, relative, isOrdered) {
  return {
    ...(search.expression ? { pattern: search.expression, where: search.filter } : { documents: 1, where: all(search.documents, search.filter) }),
    by: field(by.path),
    period,
    relative: relative && 1,
    ...(isOrdered ? {} : { order: "count", limit: MOST }),
  };
}

// Points, with a zero for each time at which the corpus has documents but no counted ones.
async function withAbsent(ctx, points, by, period, signal) {
  const every = await frequency(ctx.corpus, ctx.version, wanted({}, by, period, false, true), signal);
  const known = new Set(points.map(([[value]]) => value));
  return [...points, ...every.rows.filter(([value]) => !known.has(value)).map(([value]) => [[value], 0, 0])];
}

function overTime(points, by, name) {
  const known = points.map(([[value], , y]) => [value === null ? NaN : Number(value), y]).filter(([x]) => Number.isFinite(x));
  const missing = points.find(([[value]]) => value === null);
  if (!known.length) return note(`No document has ${by.path}.`);
  return [
    lines([{ name, points: known.sort((one, other) => one[0] - other[0]) }], { label: `${name} by ${by.path}`, x: by.path, y: name }),
    missing?.[1] ? note(`${number(missing[1])} more in documents without ${isTime(by) ? by.path : `a date in ${by.path}`}.`) : null,
  ];
}

function asBars(ctx, points, by, name, period) {
  const ordered = period ? points : [...points].sort((one, other) => other[2] - one[2]);
  const narrowed = (values) => (PARTS[period] ? within(by, PARTS[period], values) : is(by.path, values[0]));
  const shown = ordered
    .filter(([, count]) => count)
    .map(([values, count, y]) => ({
      label: values[0] === null ? "none" : asDate(values),
      quiet: values[0] === null,
      value: y,
      shown: rounded(y),
      title: `${number(count)} in all`,
      href: ctx.href({ where: all(ctx.state.where, narrowed(values)), as: "lines", page: null }),
    }));
  return [h("p", { class: "dim" }, `${name}; click a bar to see the occurrences`), bars(shown, { label: `${name} by ${by.path}` })];
}

// A value, or the known parts of a date: 2001-05.
function asDate(values) {
  const known = values.filter((value) => value !== null);
  return known.length === 1 ? cell(known[0]) : known.map((part) => String(part).padStart(2, "0")).join("-");
}

// The documents whose date has these parts.
function within(by, parts, values) {
  const tested = (part, at) => `${part}(${field(by.path)}) ${values[at] === null ? "IS NULL" : `= ${values[at]}`}`;
  return values[0] === null ? tested(parts[0], 0) : parts.map(tested).join(" AND ");
}
