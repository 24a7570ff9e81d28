// The filters of a list: model, mode, group, and what is wrong alone. What is chosen stands in the address.
function choice(label, name, values, options, change) {
  const select = make("select", { class: "control", name, onchange: () => change({ ...values, [name]: select.value || undefined }) }, options);
  return make("label", { class: "filter" }, make("span", {}, label), select);
}

function option(value, text, chosen) {
  return make("option", { value, selected: plain(value) === (chosen ?? "") }, words(text));
}

// `modes`: how all modes together are called, "" where a list is always of one. `wrong`: the words for "wrong only", or none.
function filterBar(values, { modes = "", wrong = "Wrong answers only", fixed = {}, change }) {
  const of = (label) => about.groups.filter((group) => label === undefined || plain(group.label) === label).map((group) => group.mode);
  const models = [...new Set(about.groups.map((group) => group.label))];
  const chooseModel = (next) => change(next.mode !== undefined && !of(next.model).map(plain).includes(next.mode) ? { ...next, mode: of(next.model).includes(about.primary) ? undefined : of(next.model)[0] } : next);
  const parts = [choice("Model", "model", values, [option("", "all models", values.model), ...models.map((label) => option(label, label, values.model))], chooseModel)];
  if (about.modes.length > 1) {
    const listed = [...new Set(of(values.model))].map((mode) => option(mode, mode, values.mode ?? (modes ? "" : about.primary)));
    parts.push(choice("Mode", "mode", values, modes ? [option("", modes, values.mode), ...listed] : listed, change));
  }
  if (about.facets.length) {
    parts.push(choice("Group", "group", values, [option("", "all conversations", values.group), ...about.facets.map(({ name: field, values: of_ }) =>
      make("optgroup", { label: field.replaceAll("_", " ") }, of_.map(([value, rows]) => option(`${field}:${value}`, `${value} (${rows.length})`, values.group))))], change));
  }
  if (wrong) {
    const box = make("input", { type: "checkbox", name: "only", onchange: () => change({ ...values, only: box.checked ? "wrong" : undefined }) });
    box.checked = values.only === "wrong";
    parts.push(make("label", { class: "filter tick" }, box, make("span", {}, wrong)));
  }
  const rest_ = { ...values, model: undefined, mode: undefined, group: undefined, only: undefined, ...fixed };
  const same = ["model", "mode", "group", "only"].every((name) => rest_[name] === values[name]);
  return make("div", { class: "filters", role: "group", "aria-label": "Filters" }, parts, button("Reset filters", () => change(rest_), { disabled: same, name: "reset" }));
}

// Whether the filters leave a group: all models and all modes where none is named.
function isOf(group, { model, mode }) {
  const one = about.groups[group];
  return (model === undefined || plain(one.label) === model) && (mode === undefined || plain(one.mode) === mode);
}

async function mistakesIn(row, values, turns = about.talks[row].turns) {
  const labels = await content(`labels-${row}`);
  await rest();
  if (!labels) return null;
  const groups = groupsOf(labels, null).filter((group) => isOf(group, values));
  return { groups, wrong: turns.reduce((sum, turn) => sum + mistakes(labels, turn, groups).wrong, 0) };
}

function checked(values) {
  rowsOfGroup(values.group);
  for (const [name, key] of [["model", "label"], ["mode", "mode"]]) {
    if (values[name] !== undefined && !about.groups.some((group) => plain(group[key]) === values[name])) throw new Unknown(name, values[name]);
  }
}

// The list of conversations in the page, narrowed in place.
const filtered = { group: null };

async function showConversations(values, live) {
  checked(values);
  const table = document.querySelector("#talks table");
  const bar = document.getElementById("talk-filters");
  const within = rowsOfGroup(values.group);
  const asked = bar.contains(document.activeElement) ? document.activeElement.name : "";
  for (let fold = table; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
  document.querySelector("#talks [data-all]")?.click();
  bar.replaceChildren(filterBar(values, { modes: "all modes", change: (next) => go(linkTo("conversations", next), { replace: true }) }), make("p", { class: "count", role: "status" }));
  (bar.querySelector(`[name="${asked}"]:not(:disabled)`) ?? bar.querySelector("select")).focus({ preventScroll: true });
  if (!asked) document.getElementById("talks").scrollIntoView();
  const rows = [...table.querySelectorAll("tbody tr")];
  let left = 0;
  const keep = new Map();
  for (const one of rows) {
    const row = Number(one.querySelector("[data-talk]").dataset.talk);
    let kept = within === null || within.has(row);
    if (kept && (values.model || values.mode || values.only)) {
      const found = await mistakesIn(row, values);
      if (!live()) return;
      kept = found !== null && found.groups.length > 0 && (!values.only || found.wrong > 0);
    }
    keep.set(one, kept);
    left += kept;
  }
  for (const [one, kept] of keep) one.hidden = !kept;
  filtered.group = values.model === undefined ? null : about.groups.findIndex((_, group) => isOf(group, values));
  bar.querySelector(".count").textContent = `${left} of ${rows.length} conversations`;
}

// The bar is made when the list is first seen: a large page opens at once.
function startConversations() {
  const table = document.querySelector("#talks table");
  if (!table) return;
  table.closest(".scroll").before(make("div", { id: "talk-filters", class: "controls" }, button("Filter conversations", () => go(linkTo("conversations", {})))));
}
