// The address of what is open: "#kind?name=value…", made of ids and names, so that it leads to the same thing in any page
// of the same scores. Addresses come from anywhere: what they name may not exist.
const OPENERS = { answers: showList, turn: showTurn, conversation: showConversation, search: showSearch, tour: showStopOf, conversations: showConversations };
const IN_PAGE = new Set(["tour", "conversations"]);
const NAMES = ["conversation", "turn", "q", "metric", "question", "block", "conversations", "turns", "model", "mode", "group", "only", "why"];
const LONGEST_NAME = 200;
let address = "";
let under = "";
let latest = 0;

// What an address names and this page does not have. An address may be of any length.
class Unknown extends Error {
  constructor(what, name) {
    super(`There is no ${what} “${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}” in this report.`);
  }
}

function linkTo(kind, values) {
  const query = new URLSearchParams();
  for (const name of NAMES) if (values[name] !== undefined && values[name] !== null && values[name] !== "") query.set(name, values[name]);
  return `#${kind}?${String(query).replaceAll("%2F", "/").replaceAll("%3A", ":")}`;
}

function parsed(hash) {
  const [, kind, query] = /^#([a-z]+)\?(.*)$/su.exec(hash) ?? [];
  return kind !== undefined && Object.hasOwn(OPENERS, kind) ? { kind, values: Object.fromEntries(new URLSearchParams(query)) } : null;
}

function inDialog(hash) {
  const link = parsed(hash);
  return link !== null && !IN_PAGE.has(link.kind);
}

// What an address names, as places in this page.
function rowOf(text = "") {
  const row = about.row.get(text);
  if (row === undefined) throw new Unknown("conversation", text);
  return row;
}

function groupOf({ model, mode = about.primary }) {
  if (model === undefined) return null;
  const group = about.groups.findIndex((one) => plain(one.label) === model && plain(one.mode) === plain(mode));
  if (group < 0) throw new Unknown("model", `${model} (${mode})`);
  return group;
}

function turnOf(row, text = "") {
  const turn = about.talks[row].turns.find((number) => String(number) === text);
  if (turn === undefined) throw new Unknown("turn", text);
  return turn;
}

function rowsOfGroup(text) {
  if (text === undefined) return null;
  const [name, value] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  const found = about.facets.find((facet) => facet.name === name)?.values.find(([one]) => plain(one) === value);
  if (!found) throw new Unknown("group", text);
  return new Set(found[1]);
}

function keyOfTalk(row) {
  const talk = about.talks[row];
  return about.row.get(plain(talk.name)) === row ? talk.name : talk.id;
}

function valuesOf(group) {
  if (group === null || group === undefined) return {};
  const { label, mode } = about.groups[group];
  return { model: label, mode: about.modes.length > 1 ? mode : null };
}

function turnLink(row, turn, group, focus = {}) {
  const { question, block, metric } = focus;
  return linkTo(turn === null ? "conversation" : "turn", { conversation: keyOfTalk(row), turn, ...valuesOf(group), question, block: question && block, metric });
}

// Another address, without opening it. `list`: the address of the list that it was opened from.
function move(hash, { replace = false, list } = {}) {
  try {
    const how = replace || hash === location.hash ? "replaceState" : "pushState";
    history[how]({ list }, "", hash || location.pathname + location.search);
  } catch {
    // A page inside another page may have no history of its own.
  }
  address = hash;
}

function go(hash, how) {
  move(hash, how);
  return show(hash);
}

async function show(hash) {
  const request = ++latest;
  address = hash;
  document.getElementById("lost")?.remove();
  const link = parsed(hash);
  if (!link || IN_PAGE.has(link.kind)) {
    under = hash;
    if (dialog.open) dialog.close();
  }
  try {
    if (!link) {
      reveal(hash);
      return;
    }
    await start();
    await OPENERS[link.kind](link.values, () => request === latest);
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    lost(error.message);
  }
}

function lost(text) {
  if (dialog.open) dialog.close();
  document.getElementById("main").prepend(make("p", { id: "lost", class: "warn", role: "alert" }, words(text)));
}

// A link to something that is folded away unfolds it.
function reveal(hash) {
  if (hash.length < 2) return;
  let id = hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Not an address that this page made.
  }
  const target = document.getElementById(id);
  if (!target) throw new Unknown("section", id);
  const folded = [target.querySelector(":scope > details.body")];
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") folded.push(one);
  for (const one of folded) if (one) one.open = true;
  target.scrollIntoView(); // An open card takes a row of its own, away from where the browser scrolled.
}

async function copyLink(event, hash = address) {
  const link = location.href.replace(/#.*/su, "") + hash;
  const pressed = event.currentTarget;
  try {
    await navigator.clipboard.writeText(link);
    pressed.textContent = "Link copied";
    tell("Link copied");
  } catch {
    const shown = make("input", { class: "control", readonly: true, value: link, "aria-label": "Link to copy" });
    pressed.replaceWith(shown);
    shown.select();
  }
}

// What a click on a number, a conversation or a stop opens.
async function clicked(event) {
  const target = event.target.closest?.("[data-d], [data-talk], [data-stop], [data-open], [data-close]");
  if (!target) return;
  const { d, talk, stop, open, close } = target.dataset;
  if (open !== undefined || close !== undefined) {
    for (const one of document.querySelectorAll(`#${open ?? close} details.body, #${open ?? close} details.profile`)) one.open = open !== undefined;
    return;
  }
  target.focus({ preventScroll: true }); // Not every browser focuses what is clicked, and closing returns there.
  await start();
  if (d !== undefined) await go(linkTo("answers", valuesOfDrill(about.drills.list[d])));
  else if (talk !== undefined) await go(turnLink(Number(talk), about.talks[talk].turns[0] ?? null, filtered.group));
  else await go(stopLink(Number(stop)));
}

function startLinks() {
  addEventListener("hashchange", () => show(location.hash));
  document.addEventListener("click", clicked);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    if (dialog.open || address !== filledAt || !inDialog(address)) return; // Something else is on its way.
    latest += 1;
    move(under);
  });
  show(location.hash);
}
