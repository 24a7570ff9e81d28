// Elements and foreign text. Texts become text nodes, never markup; what would not be seen is shown as its code point.
const SHOWN_AT_ONCE = 1500;
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

function make(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(2)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function words(text) {
  const parts = document.createDocumentFragment();
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > from) parts.append(text.slice(from, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.append(make("span", { class: "ctl" }, `U+${code}`));
    from = found.index + found[0].length;
  }
  parts.append(text.slice(from));
  return parts;
}

function name(text) {
  return make("bdi", {}, words(text));
}

function prose(text, kind = "prose") {
  const block = make("div", { class: kind, dir: "auto" });
  if (text.length <= SHOWN_AT_ONCE) {
    block.append(words(text));
    return block;
  }
  block.append(words(`${text.slice(0, SHOWN_AT_ONCE)}…`));
  const all = make("button", { type: "button", class: "control" }, `Show all ${text.length.toLocaleString("en")} characters`);
  all.addEventListener("click", () => {
    block.replaceChildren(words(text));
    all.remove();
    block.tabIndex = -1;
    block.focus();
  });
  return make("div", {}, block, all);
}

function said(who, text, kind = "") {
  return make("div", { class: `say ${kind}` }, make("p", { class: "who" }, who), prose(text));
}

function button(label, action, settings = {}) {
  return make("button", { type: "button", class: "control", onclick: action, ...settings }, label);
}

// A table that scrolls by itself; its first `left` columns are words. `rows`: rows, or the body that will get them.
function tableOf(label, heads, rows, left = 1) {
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map((head, place) => make("th", { scope: "col", class: place < left ? "w" : "" }, words(head))))),
    Array.isArray(rows) ? make("tbody", {}, rows) : rows));
}

function counted(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

function number(value, digits = 3) {
  return value === undefined || value === null ? "–" : value.toFixed(digits).replace("-", "−");
}
