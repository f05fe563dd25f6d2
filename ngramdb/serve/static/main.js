// The frame around all views: the address is the state; links and keys change it, and the page is redrawn.

import { ROOT, useCorpus } from "./api.js";
import { corpora, describe, from } from "./catalog.js";
import { h, say } from "./dom.js";
import { wrong } from "./panel.js";
import { ngram } from "./sql.js";

const VIEWS = {
  search: ["Search", () => import("./views/search.js")],
  trace: ["Trace", () => import("./views/trace.js")],
  compare: ["Compare", () => import("./views/compare.js")],
  corpus: ["Corpus", () => import("./views/corpus.js")],
  query: ["Query", () => import("./views/query.js")],
  document: [null, () => import("./views/document.js")],
};

const main = document.getElementById("main");
let all = [];
let leaving = new AbortController();
let shown = null;

// ---- the address ------------------------------------------------------------------------------------------

function state() {
  const at = fromPath();
  return { ...at, ...Object.fromEntries([...new URLSearchParams(location.search)].map((one) => renamed(one, at))) };
}

// Parameters of addresses of answers whose names differ in the page. `q` is an n-gram there, whatever it looks like.
const isOn = (flag) => /^(|1|true|yes|on)$/i.test(flag);
const RENAMED = {
  q: (value, at) => ["q", at.text ? ngram(value) : value],
  ids: (value, at) => [at.text ? "q" : "ids", `[${value.replace(/^\s*\[|\]\s*$/g, "")}]`],
  pattern: (value) => ["q", value],
  min_length: (value) => ["min", value],
  ignore_case: (value) => ["nocase", isOn(value) ? "1" : ""],
  match_text: (value) => ["text", isOn(value) ? "1" : "0"],
};
const renamed = ([name, value], at) => RENAMED[name]?.(value, at) ?? [name, value];
const USED = new Set("as by corpus doc explain in kept min model nocase order page period position q rel seed text version view where window".split(" "));

// Parameters that the page uses with these values, or in these views, only.
const SHOWN = {
  order: (value) => /^(left|right|sample)$/.test(value),
  model: (value) => /^(INFGRAM|KNESER_NEY|PITMAN_YOR|WITTEN_BELL)( ORDER 5)?$/.test(value),
  where: (_, at) => at.view !== "trace",
};

// The page is also shown in browsers at addresses of answers: `/corpus/@17/concordance?q=…` becomes a search.
// Answers count tokens unless `match_text` is given, and so does the page there.
const TOKENS = { text: "0" };
const OF_ANSWERS = {
  ...{ count: TOKENS, concordance: { as: "lines", ...TOKENS }, frequency: { as: "frequency", ...TOKENS } },
  ...{ next: { as: "next", ...TOKENS }, before: { as: "next", ...TOKENS }, documents: { as: "documents", ...TOKENS } },
  ...{ versions: { view: "corpus" }, removals: { view: "corpus" }, trace: { view: "trace" }, score: { view: "trace", as: "surprise" } },
};

const segments = () => location.pathname.slice(new URL(ROOT).pathname.length).split("/").filter(Boolean).map(decodeURIComponent);

// A note on parts of the address that the page ignores, with a link to the answer.
function unshown() {
  const [first, ...rest] = segments();
  if (first === undefined) return null;
  const at = fromPath();
  const question = rest.find((one) => !one.startsWith("@"));
  const kept = rest.find((one) => /^@(?!\d+$)/.test(one));
  const newest = kept ? `The page shows the newest version instead of ${kept}. ` : "";
  const without = question && !OF_ANSWERS[question] ? `The page does not support “${question}”. ` : "";
  const names = [...new URLSearchParams(location.search)].map((one) => renamed(one, at)).filter(([name, value]) => !USED.has(name) || !(SHOWN[name]?.(value, at) ?? true)).map(([name]) => name);
  if (!newest && !without && !names.length) return null;
  const ignored = names.length ? `The page does not use ${names.join(", ")}. ` : "";
  return h("p", { class: "note" }, newest, without, ignored, h("a", { href: `${location.pathname}.json${location.search}` }, "The answer as JSON"));
}

function fromPath() {
  const [first, ...rest] = segments();
  if (first === undefined || first === "corpora") return {};
  if (first === "query") return { view: "query" };
  const version = rest[0]?.startsWith("@") ? rest.shift().slice(1) : undefined;
  const at = { corpus: first, ...(version ? { version } : {}) };
  if (!rest.length) return { ...at, view: "corpus" };
  if (rest[0] === "documents" && rest[1]) return { ...at, view: "document", doc: rest[1] };
  return { ...at, ...OF_ANSWERS[rest[0]] };
}

// The address of a changed state; `anew` discards everything that is not given.
function href(changes, anew = false) {
  const next = new URLSearchParams(anew ? {} : state());
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "" || value === false) next.delete(name);
    else next.set(name, String(value));
  }
  return `${ROOT}?${next}`;
}

function go(changes, { replace = false, anew = false } = {}) {
  follow(href(changes, anew), replace);
}

function follow(address, replace = false) {
  if (address === location.href) replace = true;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  show();
}

// ---- showing ----------------------------------------------------------------------------------------------

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  main.setAttribute("aria-busy", "true");
  const now = state();
  const view = VIEWS[now.view] ? now.view : "search";
  const known = all.map((one) => one.corpus);
  const corpus = known.includes(now.corpus) ? now.corpus : (known[0] ?? null);
  useCorpus(all, corpus);
  const version = /^\d+$/.test(now.version ?? "") ? now.version : null;
  const ctx = {
    ...{ state: now, view, corpus, own: all.find((one) => one.corpus === corpus)?.own, version, corpora: all, signal, href, go },
    from: from(all, corpus, version),
    info: () => describe(corpus, signal),
    title: (text) => (document.title = text ? `${text} – ngramdb` : "ngramdb"),
  };
  frame(view, corpus);
  ctx.title(VIEWS[view][0]);
  if (!corpus) {
    main.removeAttribute("aria-busy");
    main.replaceChildren(h("h1", {}, "Nothing to explore yet"), h("p", {}, "This database has no corpus. ", h("code", {}, "ngramdb load DB CORPUS FILES"), " creates one."));
    return;
  }
  const focused = main.contains(document.activeElement) ? place(document.activeElement) : null;
  try {
    const module = await VIEWS[view][1]();
    const nodes = await module.show(ctx);
    if (signal.aborted) return;
    main.replaceChildren(...[nodes].flat(Infinity).filter(Boolean));
  } catch (error) {
    if (signal.aborted) return;
    main.replaceChildren(wrong(error, show));
  }
  main.prepend(...[unshown()].filter(Boolean));
  main.removeAttribute("aria-busy");
  if (now.corpus && now.corpus !== corpus) main.prepend(wrong(Object.assign(new Error(`There is no corpus ${now.corpus} here.`), { status: 404 })));
  settle(view, focused);
}

// The element with the focus, by a key that survives a redraw.
const place = (element) => ({ key: element.dataset.key, start: element.selectionStart, end: element.selectionEnd });

function settle(view, focused) {
  const same = focused?.key && main.querySelector(`[data-key="${CSS.escape(focused.key)}"]`);
  if (same) {
    same.focus({ preventScroll: true });
    if (typeof focused.start === "number" && same.setSelectionRange) same.setSelectionRange(focused.start, focused.end);
  } else if (shown !== null && shown !== view) {
    main.focus({ preventScroll: true });
    window.scrollTo(0, 0);
    say(document.title);
  }
  shown = view;
}

function frame(view, corpus) {
  const nav = document.getElementById("nav");
  const carried = { corpus: all.length > 1 ? corpus : null };
  nav.replaceChildren(
    ...Object.entries(VIEWS)
      .filter(([, [title]]) => title)
      .map(([name, [title]]) => h("a", { href: href({ ...carried, view: name === "search" ? null : name }, true), "aria-current": name === view ? "page" : null }, title)),
  );
  const select = document.getElementById("corpus");
  select.replaceChildren(...all.map((one) => h("option", { value: one.corpus, selected: one.corpus === corpus }, one.corpus)));
  document.getElementById("corpus-choice").hidden = all.length < 2;
}

// ---- always present ---------------------------------------------------------------------------------------

function listen() {
  window.addEventListener("popstate", show);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || link.target || link.hasAttribute("download") || !link.href.startsWith(`${ROOT}?`) || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    follow(link.href);
  });
  document.getElementById("corpus").addEventListener("change", (event) => go({ corpus: event.target.value, version: null, doc: null, by: null, page: null }));
  document.getElementById("theme").addEventListener("click", changeTheme);
  document.getElementById("help").addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    const focused = document.activeElement;
    // In an empty search box, the keys of the views are shortcuts rather than text.
    const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(focused?.tagName ?? "") && !(focused.type === "search" && !focused.value);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !writing) {
      event.preventDefault();
      const box = main.querySelector("[data-primary]");
      if (box) {
        box.focus();
        box.select?.();
      } else go({ corpus: all.length > 1 ? state().corpus : null }, { anew: true });
    } else if (event.key === "?" && !writing) help();
    else if (event.key === "Escape" && writing && !event.defaultPrevented) focused.blur();
  });
  nameTheme();
}

const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

function changeTheme() {
  const theme = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("ngramdb.theme", theme);
  } catch {
    // The choice then lasts until the tab is closed.
  }
  nameTheme();
}

function nameTheme() {
  const button = document.getElementById("theme");
  button.textContent = dark() ? "☀" : "☾";
  button.setAttribute("aria-label", dark() ? "Light theme" : "Dark theme");
  button.title = button.getAttribute("aria-label");
}

const KEYS = [
  ["/", "go to the search box"],
  ["↑ ↓", "move through suggestions, lines and documents"],
  ["← →", "move through tabs and the values of a chart"],
  ["Enter", "accept, open or run"],
  ["Ctrl Enter", "run the statement or trace the text"],
  ["n p", "next and previous match in a document"],
  ["Esc", "close, or stop the running query"],
  ["?", "show this list"],
];

function help() {
  const dialog = h(
    "dialog",
    { "aria-label": "Keyboard shortcuts", onclose: () => dialog.remove() },
    h("h2", {}, "Keys"),
    h("dl", { class: "keys" }, KEYS.map(([keys, does]) => [h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, does)])),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

async function begin() {
  try {
    all = await corpora();
  } catch (error) {
    main.removeAttribute("aria-busy");
    main.replaceChildren(wrong(error, begin));
    return;
  }
  show();
}

listen();
begin();
