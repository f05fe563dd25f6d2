// Charts as SVG: bars in a list, lines over a scale. Each is also a table for screen readers.

import { h, say, svg } from "./dom.js";
import { rounded, short } from "./format.js";

// ---- bars -------------------------------------------------------------------------------------------------

// Rows {label, value, shown, title, href, onclick}; the longest bar is the largest value.
export function bars(rows, { label, most = Math.max(...rows.map((row) => row.value), 0) } = {}) {
  return h("ol", { class: "bars", "aria-label": label }, rows.map((row) => h("li", {}, bar(row, most))));
}

function bar(row, most) {
  const width = most > 0 ? Math.max(0, Math.min(100, (100 * row.value) / most)) : 0;
  const tag = row.href ? "a" : row.onclick ? "button" : "div";
  return h(
    tag,
    { class: "bar", href: row.href, onclick: row.onclick, type: tag === "button" ? "button" : null, title: row.title },
    h("span", { class: row.quiet ? "label dim" : "label", dir: "auto" }, row.label),
    svg("svg", { class: "track", "aria-hidden": "true" }, svg("rect", { class: row.series ?? "s0", width: `${width}%`, height: "100%", rx: 2 })),
    h("span", { class: "value" }, row.shown ?? short(row.value)),
  );
}

// ---- a scale ----------------------------------------------------------------------------------------------

// About five round numbers from 0, or from the lowest value, to the highest.
function ticks(low, high, n = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const made = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) made.push(Number(at.toPrecision(12)));
  return made;
}

// ---- lines ------------------------------------------------------------------------------------------------

const MARGIN = { top: 26, right: 20, bottom: 34, left: 58 };
const HEIGHT = 280;

// Series {name, points: [[x, y]]} over numbers, which `named` formats. Arrow keys move from x to x.
export function lines(series, { label, x: nameOfX, y: nameOfY, named = String, numbers = true }) {
  const root = h("figure", { class: "chart" });
  const tip = h("div", { class: "tip", hidden: true });
  const plot = h("div", { class: "plot", tabindex: "0", role: "group", "aria-roledescription": "chart", "aria-label": `${label}. Arrow keys read the values.` });
  root.append(...[legend(series), plot, tip, numbers && asTable(series, nameOfX, nameOfY)].filter(Boolean));
  let drawn = 0;
  const draw = () => {
    const width = Math.round(plot.clientWidth);
    if (width && width !== drawn) plot.replaceChildren(picture(series, (drawn = width), nameOfX, nameOfY, named));
  };
  new ResizeObserver(draw).observe(plot);
  listen(plot, tip, series, nameOfX, named);
  return root;
}

function geometry(series, width) {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const top = Math.max(...series.flatMap((one) => one.points.map(([, y]) => y)), 0) || 1;
  const marks = ticks(0, top);
  const high = Math.max(top, marks.at(-1) + (marks.at(-1) < top ? marks[1] - marks[0] : 0));
  const [low, last] = [xs[0], xs.at(-1)];
  const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  return {
    xs,
    marks: ticks(0, high),
    x: (value) => MARGIN.left + (last > low ? ((value - low) / (last - low)) * inner.width : inner.width / 2),
    y: (value) => MARGIN.top + inner.height * (1 - value / high),
    right: width - MARGIN.right,
    bottom: HEIGHT - MARGIN.bottom,
  };
}

function picture(series, width, nameOfX, nameOfY, named) {
  const at = geometry(series, width);
  const yearly = at.xs.every(Number.isInteger);
  const along = ticks(at.xs[0], at.xs.at(-1), Math.max(2, Math.floor(width / 90))).filter((x) => !yearly || Number.isInteger(x));
  const image = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" });
  for (const mark of at.marks) {
    image.append(
      svg("line", { class: "grid", x1: MARGIN.left, x2: at.right, y1: at.y(mark), y2: at.y(mark) }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: at.y(mark) + 4, "text-anchor": "end" }, short(mark)),
    );
  }
  for (const x of along) image.append(svg("text", { class: "tick", x: at.x(x), y: at.bottom + 17, "text-anchor": "middle" }, yearly ? named(x) : rounded(x)));
  image.append(svg("text", { class: "axis", x: at.right, y: HEIGHT - 3, "text-anchor": "end" }, nameOfX));
  image.append(svg("text", { class: "axis", x: 0, y: 11 }, nameOfY));
  series.forEach((one, index) => image.append(...curve(one, index, at)));
  image.append(svg("line", { class: "cursor", y1: MARGIN.top, y2: at.bottom, visibility: "hidden" }));
  return image;
}

// The line is interrupted at values that only other series have.
function curve(one, index, at) {
  const place = new Map(at.xs.map((x, nth) => [x, nth]));
  const goesOn = (nth) => nth > 0 && place.get(one.points[nth][0]) === place.get(one.points[nth - 1][0]) + 1;
  const path = one.points.map(([x, y], nth) => `${goesOn(nth) ? "L" : "M"}${at.x(x).toFixed(1)} ${at.y(y).toFixed(1)}`).join("");
  const dots = one.points.length <= 60 ? one.points.map(([x, y]) => svg("circle", { class: `s${index}`, cx: at.x(x), cy: at.y(y), r: 2.6 })) : [];
  return [svg("path", { class: `curve s${index}`, d: path }), ...dots];
}

function listen(plot, tip, series, nameOfX, named) {
  let current = -1;
  const show = (index, spoken) => {
    const image = plot.querySelector("svg");
    if (!image) return;
    const at = geometry(series, image.width.baseVal.value);
    current = Math.max(0, Math.min(at.xs.length - 1, index));
    const x = at.xs[current];
    const values = series.map((one) => [one.name, one.points.find((point) => point[0] === x)?.[1]]);
    const cursor = image.querySelector(".cursor");
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, at.x(x));
    cursor.setAttribute("visibility", "visible");
    tip.replaceChildren(
      h("strong", {}, `${nameOfX} ${named(x)}`),
      ...values.map(([name, value], nth) => h("div", {}, swatch(nth), h("span", { dir: "auto" }, name), h("b", {}, value === undefined ? "–" : short(value)))),
    );
    tip.hidden = false;
    const left = at.x(x) + 14;
    tip.style.left = `${left + tip.offsetWidth > plot.clientWidth ? Math.max(0, left - 28 - tip.offsetWidth) : left}px`;
    tip.style.top = `${plot.offsetTop + MARGIN.top}px`;
    if (spoken) say(`${nameOfX} ${named(x)}: ${values.map(([name, value]) => `${name} ${value === undefined ? "none" : short(value)}`).join(", ")}`);
  };
  const hide = () => {
    tip.hidden = true;
    plot.querySelector(".cursor")?.setAttribute("visibility", "hidden");
  };
  plot.addEventListener("pointermove", (event) => {
    const at = geometry(series, plot.clientWidth);
    const here = event.clientX - plot.getBoundingClientRect().left;
    const distance = at.xs.map((x) => Math.abs(at.x(x) - here));
    show(distance.indexOf(Math.min(...distance)), false);
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const last = geometry(series, plot.clientWidth).xs.length - 1;
    const next = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next, true);
  });
}

// ---- shared by both ---------------------------------------------------------------------------------------

const swatch = (index) => svg("svg", { class: "swatch", viewBox: "0 0 22 10", "aria-hidden": "true" }, svg("path", { class: `curve s${index}`, d: "M1 5H21" }));

export function legend(series) {
  if (series.length < 2) return null;
  return h("ul", { class: "legend" }, series.map((one, index) => h("li", {}, swatch(index), h("span", { dir: "auto" }, one.name))));
}

function asTable(series, nameOfX, nameOfY) {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const found = series.map((one) => new Map(one.points));
  const head = h("tr", {}, h("th", { scope: "col" }, nameOfX), series.map((one) => h("th", { scope: "col", class: "number" }, one.name)));
  const rows = xs.map((x) => h("tr", {}, h("th", { scope: "row" }, String(x)), found.map((values) => h("td", { class: "number" }, values.has(x) ? rounded(values.get(x)) : "–"))));
  return h("details", { class: "numbers" }, h("summary", {}, "The numbers"), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": nameOfY }, h("table", {}, h("caption", {}, nameOfY), h("thead", {}, head), h("tbody", {}, rows))));
}

// ---- groups of bars ---------------------------------------------------------------------------------------

// Series over `names`: per name, the bars of all series below each other.
export function groups(series, { label, x: nameOfX, y: nameOfY, names }) {
  const found = series.map((one) => new Map(one.points));
  const most = Math.max(...series.flatMap((one) => one.points.map(([, y]) => y)), 0);
  const group = (x) =>
    h(
      "div",
      { class: "group" },
      h("h3", { dir: "auto" }, x),
      bars(
        series.map((one, nth) => ({ label: one.name, value: found[nth].get(x) ?? 0, shown: found[nth].has(x) ? short(found[nth].get(x)) : "–", series: `s${nth}` })),
        { label: `${nameOfX} ${x}, ${nameOfY}`, most },
      ),
    );
  return h("figure", { class: "chart", role: "group", "aria-label": label }, h("figcaption", { class: "dim" }, `${nameOfY}, by ${nameOfX}`), names.map(group));
}
