// The address of what is open: "#kind?name=value…", made of ids and names, so that it leads to the same thing in any page
// of the same scores. Addresses come from anywhere: what they name may not exist.
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

// A text as an address can hold it.
function plain(text) {
  return new URLSearchParams({ text }).get("text");
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
