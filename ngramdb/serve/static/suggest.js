// Suggestions below a box for what to type next, from the server. Implements ARIA's combobox pattern.

import { complete } from "./api.js";
import { h, unique } from "./dom.js";

const WAIT_MS = 90;

// `source(text, cursor, signal)` resolves to candidates {text, start, shown, about, kind}: `text` replaces the input
// from `start` to the cursor. `oninput` is called after a candidate was accepted. The element wraps the box.
export function suggesting(box, source, oninput = () => {}) {
  const list = h("ul", { class: "suggestions", role: "listbox", id: unique("suggestions"), hidden: true, "aria-label": "Suggestions" });
  let candidates = [];
  let chosen = -1;
  let timer = 0;
  let asking = null;
  let askedOf = "";
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id, autocomplete: "off", autocapitalize: "off", spellcheck: "false" })) {
    box.setAttribute(name, value);
  }

  const close = () => {
    clearTimeout(timer);
    asking?.abort();
    candidates = [];
    choose(-1);
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
  };

  const choose = (index) => {
    chosen = index;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === index)));
    const item = list.children[index];
    if (item) box.setAttribute("aria-activedescendant", item.id);
    else box.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  };

  const take = (candidate) => {
    const cursor = box.selectionStart;
    box.setRangeText(candidate.text, candidate.start, cursor, "end");
    close();
    box.focus();
    oninput();
  };

  const show = (found) => {
    candidates = found.slice(0, 12);
    list.replaceChildren(
      ...candidates.map((candidate) =>
        h(
          "li",
          { role: "option", id: unique("suggestion"), "aria-selected": "false", onpointerdown: (event) => (event.preventDefault(), take(candidate)) },
          h("span", { class: `is-${candidate.kind}`, dir: "auto" }, candidate.shown || candidate.text),
          h("span", { class: "dim" }, candidate.about || candidate.kind),
        ),
      ),
    );
    list.hidden = !candidates.length;
    box.setAttribute("aria-expanded", String(candidates.length > 0));
    choose(-1);
  };

  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const text = box.value;
    try {
      const found = await source(text, box.selectionStart, signal);
      if (signal.aborted || document.activeElement !== box) return;
      askedOf = text;
      show(found);
    } catch {
      // The box works without suggestions.
      if (!signal.aborted) close();
    }
  };

  // Until the next answer arrives, keep those of the last candidates that still match the input.
  const narrow = () => {
    const cursor = box.selectionStart;
    const fits = ({ text, start }) =>
      start <= cursor && box.value.slice(0, start) === askedOf.slice(0, start) && text.toLowerCase().startsWith(box.value.slice(start, cursor).toLowerCase());
    const left = candidates.filter(fits);
    if (left.length !== candidates.length) show(left);
  };

  box.addEventListener("input", () => {
    clearTimeout(timer);
    narrow();
    timer = setTimeout(ask, WAIT_MS);
    oninput();
  });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    const open = !list.hidden;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    if (event.key === "ArrowDown" && plain && (open || box.tagName === "INPUT")) {
      event.preventDefault();
      if (open) choose((chosen + 1) % candidates.length);
      else ask();
    } else if (event.key === "ArrowUp" && open && plain) {
      event.preventDefault();
      choose((chosen <= 0 ? candidates.length : chosen) - 1);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      close();
    } else if (event.key === "Enter" && open && chosen >= 0) {
      event.preventDefault();
      take(candidates[chosen]);
    } else if (event.key === "Tab" && open && plain && chosen >= 0) {
      event.preventDefault();
      take(candidates[chosen]);
    } else if (event.key === "Enter" && plain) {
      close();
    }
  });
  return h("div", { class: "suggesting" }, box, list);
}

// Suggestions for statements.
export const ofStatements = (corpus) => (text, cursor, signal) => complete(text, cursor, { signal, corpus });

// Suggestions for searches: after plain words the words that come next, otherwise parts of a condition.
export const ofSearches = (corpus, read) => async (text, cursor, signal) => {
  const is = read(text);
  if (is.kind === "empty") return [];
  if (is.kind === "statement") return complete(text, cursor, { signal, corpus });
  const plain = is.kind === "text";
  const before = plain ? 'COUNT "' : "COUNT DOCS WHERE ";
  const typed = text.slice(0, cursor);
  const asked = before + (plain ? JSON.stringify(typed).slice(1, -1) : typed);
  const shift = plain ? asked.length - cursor : before.length;
  const found = await complete(asked, asked.length, { signal, corpus });
  const fitting = plain ? found.filter((candidate) => candidate.kind === "token") : found;
  return fitting.map((candidate) => ({ ...candidate, start: Math.max(0, candidate.start - shift) }));
};
