// Elements. Text is only ever inserted as text nodes, since the text of a corpus may contain markup.

const SVG = "http://www.w3.org/2000/svg";

// An element: attributes by name; `on…` are listeners, `true` is an attribute without value, null and false are omitted.
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// An id that is unique in the page, for a label's `for` and for `aria-controls`.
let named = 0;
export const unique = (stem) => `${stem}-${++named}`;

// Announces a line to users of screen readers.
export function say(text) {
  document.getElementById("says").textContent = text;
}

// A labelled control: `<label>text control</label>`.
export function labelled(text, control, hint = null) {
  return h("label", { class: "field", title: hint }, h("span", { class: "name" }, text), control);
}

// A select of [value, text] pairs.
export function choice(options, chosen, onchange, attributes = {}) {
  const made = options.map(([value, text]) => h("option", { value, selected: String(value) === String(chosen) }, text));
  return h("select", { onchange: (event) => onchange(event.target.value), ...attributes }, made);
}

// A checkbox with its label beside it.
export function tick(text, checked, onchange, hint = null) {
  const box = h("input", { type: "checkbox", checked, onchange: (event) => onchange(event.target.checked) });
  return h("label", { class: "tick", title: hint }, box, h("span", {}, text));
}

// Arrow keys, Home and End move the focus among the elements that the selector finds in the root.
export function roving(root, selector, keys = ["ArrowUp", "ArrowDown"]) {
  root.addEventListener("keydown", (event) => {
    const step = { [keys[0]]: -1, [keys[1]]: 1 }[event.key];
    if ((!step && event.key !== "Home" && event.key !== "End") || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...root.querySelectorAll(selector)];
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const next = step ? all[at + step] : all.at(event.key === "Home" ? 0 : -1);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Outside secure contexts, or if permission is denied.
    const area = h("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied");
}

// A button that copies the result of `text()` and announces it.
export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "quiet small" }, label);
  button.addEventListener("click", async () => {
    await copyText(text());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 1200);
  });
  return button;
}
