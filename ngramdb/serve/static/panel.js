// A part of the page that waits for answers: it shows progress, can be stopped, and reports errors.

import { useToken } from "./api.js";
import { seconds } from "./format.js";
import { copyButton, h, say } from "./dom.js";

// Delay before progress is shown, so that fast answers do not flicker.
const PATIENCE_MS = 150;

// A section that is filled with the nodes that `work(signal)` resolves to. `label` names the work in progress.
export function panel(ctx, label, work, attributes = {}) {
  const root = h("section", { class: "panel", "aria-label": label, ...attributes });
  run(ctx, root, label, work);
  return root;
}

async function run(ctx, root, label, work) {
  const stop = new AbortController();
  const leave = () => stop.abort();
  const onkey = (event) => event.key === "Escape" && !event.defaultPrevented && stop.abort();
  const again = () => run(ctx, root, label, work);
  const began = performance.now();
  const elapsed = () => seconds((performance.now() - began) / 1000);
  const clock = h("span", { class: "clock" });
  const show = setTimeout(() => root.replaceChildren(waiting(label, clock, leave)), PATIENCE_MS);
  const tick = setInterval(() => (clock.textContent = elapsed()), 100);
  ctx.signal.addEventListener("abort", leave);
  document.addEventListener("keydown", onkey);
  root.setAttribute("aria-busy", "true");
  let found;
  try {
    found = await work(stop.signal);
  } catch (error) {
    found = error.name === "AbortError" ? stopped(elapsed(), again) : wrong(error, again);
  } finally {
    clearTimeout(show);
    clearInterval(tick);
    ctx.signal.removeEventListener("abort", leave);
    document.removeEventListener("keydown", onkey);
    root.removeAttribute("aria-busy");
  }
  if (!ctx.signal.aborted) root.replaceChildren(...[found].flat(Infinity).filter(Boolean));
}

const waiting = (label, clock, leave) =>
  h(
    "div",
    { class: "waiting" },
    h("div", { class: "stripe", role: "progressbar", "aria-label": label }),
    h("span", {}, `${label} … `, clock),
    h("button", { type: "button", class: "small", onclick: leave, title: "Esc" }, "Stop"),
  );

const stopped = (elapsed, again) =>
  h("div", { class: "note" }, `Stopped after ${elapsed}. `, h("button", { type: "button", class: "small", onclick: again }, "Run again"));

// An error with the server's message and, if it has one, the marked place in the statement.
export function wrong(error, again = null) {
  say(`Error: ${error.message}`);
  if (error.status === 401) return tokenForm(again);
  if (error.status === undefined) console.error(error);
  const text = error.status === undefined ? `Error in this page: ${error.message}` : error.message;
  return h(
    "div",
    { class: "error", role: "alert" },
    h("pre", {}, text),
    excerpt(error.detail),
    h(
      "div",
      { class: "row" },
      again && h("button", { type: "button", class: "small", onclick: again }, "Try again"),
      copyButton("Copy", () => text),
    ),
  );
}

// The line of the statement with the error, marked.
function excerpt({ statement, start, stop } = {}) {
  if (typeof statement !== "string" || !Number.isInteger(start)) return null;
  const first = statement.lastIndexOf("\n", start - 1) + 1;
  const end = statement.indexOf("\n", start);
  const last = end < 0 ? statement.length : end;
  const to = Math.min(last, Math.max(stop ?? start, start + 1));
  return h("pre", { class: "place" }, statement.slice(first, start), h("span", { class: "caret" }, statement.slice(start, to) || " "), statement.slice(to, last));
}

function tokenForm(again) {
  const box = h("input", { type: "password", required: true, autocomplete: "off", "aria-label": "Token" });
  const submit = (event) => {
    event.preventDefault();
    useToken(box.value);
    again?.();
  };
  return h(
    "form",
    { class: "note", onsubmit: submit },
    h("p", {}, "This server requires a token. It is kept until this tab is closed."),
    h("div", { class: "row" }, box, h("button", {}, "Continue")),
  );
}

export const note = (...text) => h("p", { class: "note" }, ...text);
export const notes = (answer) => answer.notes.map((text) => note(text));
