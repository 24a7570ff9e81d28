// The window behind a number: first the list of turns or conversations, then one of them.
const AT_ONCE = 60;
const dialog = document.getElementById("behind");
let back = null;

function fill(title, ...parts) {
  const heading = make("h2", { id: "behind-title", tabindex: "-1" }, title);
  dialog.replaceChildren(make("div", { class: "dialog-head" }, heading, button("Close", () => dialog.close(), { "aria-label": "Close (Escape)" })), ...parts.filter(Boolean));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  heading.focus({ preventScroll: true });
}

function titleOf(drill) {
  const parts = [];
  if (drill.g !== undefined) parts.push(groupName(drill.g));
  if (drill.q) parts.push(`${drill.b.startsWith("binary_om") ? "did the reply" : "did the person want the reply to"}: ${about.question.get(drill.q).om}`);
  else if (drill.m) parts.push(about.metrics[drill.m].label);
  return words(parts.join(" · ") || "Data behind this number");
}

function lineCells(line, drill) {
  const talk = about.talks[line.row];
  const place = line.turn === null ? "" : `, turn ${talk.turns.indexOf(line.turn) + 1} of ${talk.turns.length}`;
  const open = make("button", { type: "button", class: "d", onclick: () => openTurn(line.row, line.turn, { group: line.group, focus: drill.q, list: drill }) }, name(talk.name), place);
  const cells = [make("th", { scope: "row" }, open)];
  if (drill.g === undefined && line.group !== null) cells.push(make("td", { class: "w" }, name(groupName(line.group))));
  if (drill.q) {
    const right = line.right === 1;
    cells.push(make("td", {}, line.person), make("td", { class: right ? "yes-right" : "yes-wrong" }, `${line.model} ${right ? "✓ right" : "✗ wrong"}`));
  } else if (drill.m) cells.push(make("td", {}, number(line.value, about.metrics[drill.m].digits)));
  return cells;
}

async function showList(place) {
  await start();
  const drill = about.drills.list[place];
  fill(titleOf(drill), make("p", { role: "status" }, "Looking …"));
  const { lines, lost } = await linesBehind(drill, (done, all) => tell(`${done} of ${all}`));
  if (!dialog.open) return;
  const heads = [byTurn(drill) ? "turn" : "conversation"];
  if (drill.g === undefined && lines[0]?.group !== null && lines.length) heads.push("model");
  if (drill.q) heads.push("person", "model's answer");
  else if (drill.m) heads.push(about.metrics[drill.m].label);
  const body = make("tbody");
  let shown = 0;
  const more = button("", () => addRows());
  const addRows = () => {
    for (const line of lines.slice(shown, shown + AT_ONCE)) body.append(make("tr", {}, lineCells(line, drill)));
    shown = Math.min(lines.length, shown + AT_ONCE);
    more.textContent = `Show more (${lines.length - shown} left)`;
    more.hidden = shown === lines.length;
  };
  addRows();
  const unit = byTurn(drill) || !drill.m ? "turns" : "conversations";
  const summary = drill.q
    ? `${lines.length} ${unit}: ${lines.filter((line) => line.right === 1).length} right, ${lines.filter((line) => line.right !== 1).length} wrong; wrong ones first.`
    : `${lines.length} ${unit}${drill.m ? ", the worst first" : ""}.`;
  fill(titleOf(drill), drill.m ? make("p", { class: "note" }, about.metrics[drill.m].meaning) : null, make("p", {}, summary),
    lost ? make("p", { class: "missing" }, `Labels and answers of ${lost} conversations were omitted to keep this file small.`) : null,
    make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "List" },
      make("table", {}, make("thead", {}, make("tr", {}, heads.map((head, at) => make("th", { scope: "col", class: at ? "" : "w" }, head)))), body)), more);
  back = () => showList(place);
}

function modelChoice(row, turn, options, labels) {
  const groups = labels ? Object.keys(labels.given).map(Number) : [];
  const choice = make("select", { class: "control", "aria-label": "Whose answers", onchange: () => {
    openTurn(row, turn, { ...options, group: choice.value === "" ? null : Number(choice.value) }, "select");
  } });
  if (turn !== null) choice.append(make("option", { value: "", selected: options.group === null }, "all models"));
  for (const group of groups) choice.append(make("option", { value: group, selected: options.group === group }, words(groupName(group))));
  return choice;
}

async function openTurn(row, turn, options, focus = null) {
  await start();
  const talk = about.talks[row];
  const labels = await content(`labels-${row}`);
  const at = turn === null ? -1 : talk.turns.indexOf(turn);
  const first = Object.keys(labels?.given ?? {}).map(Number)[0] ?? null; // none: no model was scored on it
  const to = (place) => () => openTurn(row, place < 0 ? null : talk.turns[place], place < 0 && options.group === null ? { ...options, group: first } : options);
  const view = turn === null ? (labels ? wideView(labels, await content(`written-${row}`), options.group) : make("p", { class: "missing" }, "Labels and answers of this conversation were omitted to keep this file small.")) : await turnView(row, turn, options);
  const list = options.list === undefined ? null : button("Back to the list", () => back?.());
  fill(make("span", {}, name(talk.name), turn === null ? "" : `, turn ${at + 1} of ${talk.turns.length}`),
    make("div", { class: "bar-of-buttons" }, list, button("Previous turn", to(at - 1), { disabled: at < 1 }), button("Next turn", to(at + 1), { disabled: at + 1 >= talk.turns.length }),
      turn === null ? null : button("Whole conversation", to(-1)), modelChoice(row, turn, options, labels)), view);
  if (focus) dialog.querySelector(focus)?.focus();
}
