// Tables: sorted by a click on a heading; one stop for the keyboard among the numbers of a table, arrows within it.
function keyOf(row, place) {
  const cell = row.cells[place];
  if (!cell) return null;
  if (cell.dataset.s !== undefined) return cell.dataset.s === "" ? null : Number(cell.dataset.s);
  const text = cell.textContent.trim();
  return text === "" || text === "–" ? null : text;
}

function compare(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  return sign * String(one).localeCompare(String(other), "en", { numeric: true });
}

function sortBy(table, heading, place) {
  const up = heading.getAttribute("aria-sort") === "descending" || (heading.getAttribute("aria-sort") === null && heading.classList.contains("w"));
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  for (const body of table.tBodies) {
    if (body.hasAttribute("data-fixed")) continue;
    const rows = [...body.rows].map((row) => [keyOf(row, place), row]);
    rows.sort(([one], [other]) => compare(one, other, up ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  }
  tell(`Sorted by ${heading.textContent.trim()}, ${up ? "ascending" : "descending"}`);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, place) => {
    if (heading.classList.contains("nosort")) return;
    const sorter = make("button", { type: "button", class: "sort" });
    sorter.append(...heading.childNodes);
    heading.append(sorter);
    sorter.addEventListener("click", () => sortBy(table, heading, place));
  });
}

function rove(table) {
  const all = table.querySelectorAll("tbody .d");
  all.forEach((one, place) => { one.tabIndex = place ? -1 : 0; });
}

// Tables in what is folded away are made ready when it is unfolded: a large page opens at once.
function prepare(within) {
  for (const table of within.querySelectorAll("table:not([data-ready])")) {
    const fold = table.closest("details:not([open])");
    if (fold !== null) continue;
    table.dataset.ready = "";
    if (table.classList.contains("sortable")) makeSortable(table);
    rove(table);
  }
}

// The tables under a verdict are unpacked when somebody opens them. They were escaped when the page was made.
async function unfold(fold) {
  const { body } = fold.dataset ?? {};
  if (body !== undefined && fold.open) {
    delete fold.dataset.body;
    fold.insertAdjacentHTML("beforeend", await content(`body-${body}`));
  }
  prepare(fold);
}

function moved(event) {
  const from = event.target.closest?.("tbody .d");
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (!from || !steps || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...from.closest("table").querySelectorAll("tbody tr")];
  let row = rows.indexOf(from.closest("tr"));
  let place = from.closest("td, th").cellIndex;
  event.preventDefault();
  for (;;) {
    row += steps[0];
    place += steps[1];
    const cell = rows[row]?.cells[place];
    if (!rows[row] || (steps[1] && !cell)) return;
    const next = cell?.querySelector(".d");
    if (next) {
      from.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      return;
    }
  }
}

// What is said aloud: in the window while it is open, since nothing else can be heard then.
function tell(text) {
  (dialog.open ? spoken : document.getElementById("say")).textContent = text;
}
