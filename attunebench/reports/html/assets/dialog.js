// The window, whatever stands in it.
const AT_ONCE = 60;
const dialog = document.getElementById("behind");
const title = make("h2", { id: "behind-title", tabindex: "-1" });
const spoken = make("p", { class: "hidden", role: "status" });
const shownParts = make("div", { id: "behind-parts" });
let filledAt = "";

function fill(heading, ...parts) {
  const asked = dialog.open && shownParts.contains(document.activeElement) ? document.activeElement.name : "";
  if (!dialog.firstChild) dialog.append(make("div", { class: "dialog-head" }), spoken, shownParts);
  dialog.firstChild.replaceChildren(title, make("div", { class: "dialog-tools" }, button("Copy link", copyLink), button("Close", () => dialog.close(), { "aria-label": "Close (Escape)" })));
  title.replaceChildren(heading);
  filledAt = address;
  shownParts.replaceChildren(...parts.filter(Boolean));
  if (!dialog.open) dialog.showModal();
  // Who chose something goes on there; who opened something begins at its title.
  const same = asked ? shownParts.querySelector(`[name="${asked}"]:not(:disabled)`) : null;
  if (!same) dialog.scrollTop = 0;
  (same ?? title).focus({ preventScroll: true });
}

// Rows of a list, some at once and more on request.
function addSome(holder, entries, row) {
  let from = 0;
  const more = button("", () => add());
  const add = () => {
    holder.append(...entries.slice(from, from + AT_ONCE).map(row));
    from = Math.min(entries.length, from + AT_ONCE);
    more.textContent = `Show more (${entries.length - from} left)`;
    more.hidden = from === entries.length;
  };
  add();
  return more;
}

// Arrow keys go through a list, or the tour, unless they do something where they are pressed.
function stepped(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.target.closest(".scroll, select, input")) return;
  const step = event.currentTarget.querySelector(`[data-key="${event.key}"]:not(:disabled)`);
  if (!step) return;
  event.preventDefault();
  step.click();
}

function failed(error) {
  fill("Cannot show this content", make("p", { class: "missing" }, error.message));
  tell(error.message);
}
