// Numbers and texts in readable form.

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

// The position at or before `at` that is between two characters as users perceive them.
export function boundary(text, at) {
  const joins = /^[\p{M}\u200c\u200d\u{1f3fb}-\u{1f3ff}\udc00-\udfff]/u;
  while (at > 0 && at < text.length && (text[at - 1] === "\u200d" || joins.test(text.slice(at, at + 2)))) at -= 1;
  return at;
}

export const beginning = (text, most) => text.slice(0, boundary(text, most));

// JSON has integers as numbers; those beyond 2^53 are shown as parsed.
export const number = (value) => (Number.isInteger(value) ? whole.format(value) : rounded(value));
export const short = (value) => (Math.abs(value) < 10000 ? number(value) : compact.format(value));
export const percent = (value) => `${rounded(100 * value, 3)} %`;
export const seconds = (value) => (value < 1 ? `${Math.max(1, Math.round(value * 1000))} ms` : `${value.toFixed(1)} s`);
export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

export function rounded(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  if (Number.isInteger(value)) return whole.format(value);
  if (Math.abs(value) >= 1000) return whole.format(Math.round(value));
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];
export function bytes(value) {
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit ? value.toPrecision(3) : value} ${UNITS[unit]}`;
}

// A cell's value as text; objects and lists as JSON.
export function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : rounded(value, 6);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// A text in one line: white space becomes a single space.
export const oneLine = (text) => String(text ?? "").replace(/\s+/gu, " ");

// A token with its spaces and line breaks made visible.
export function token(text) {
  if (text === null || text === undefined) return "end";
  return text.replace(/ /g, "␣").replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/\r/g, "␍") || "∅";
}
