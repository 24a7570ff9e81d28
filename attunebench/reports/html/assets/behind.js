// The window: the list behind a number, one turn of it, a whole conversation, or what a search found.
const OMITTED = "Labels and answers of this conversation were omitted to keep this file small.";

function questionText({ question, block }) {
  return `${asks(block)} ${about.question.get(question).om}`;
}

function titleOf(drill) {
  const parts = [];
  if (drill.group !== null) parts.push(groupName(drill.group));
  else if (drill.mode !== about.primary) parts.push(drill.mode);
  if (drill.question) parts.push(questionText(drill));
  else if (drill.metric) parts.push(about.metrics[drill.metric].label);
  return words(parts.join(" · ") || "Data behind this number");
}

function placeText(row, turn) {
  const { turns } = about.talks[row];
  return turn === null ? "" : `, turn ${turns.indexOf(turn) + 1} of ${turns.length}`;
}

function lineCells(one, drill, list) {
  const open = make("button", { type: "button", class: "d", onclick: () => go(turnLink(one.row, one.turn, one.group, drill), { list }) }, name(about.talks[one.row].name), placeText(one.row, one.turn));
  const cells = [make("th", { scope: "row" }, open)];
  if (drill.group === null && one.group !== null) cells.push(make("td", { class: "w" }, name(groupName(one.group))));
  if (drill.question) cells.push(make("td", {}, one.person), make("td", { class: one.wrong ? "yes-wrong" : "yes-right" }, `${one.model} ${one.wrong ? "✗ wrong" : "✓ right"}`));
  else if (drill.metric) cells.push(make("td", {}, number(one.value, about.metrics[drill.metric].digits)));
  return cells;
}

function countText({ drill, lines, shown, all }) {
  const unit = drill.byTurn ? (drill.group === null && (drill.metric || drill.question) ? "answers to turns" : "turns") : "conversations";
  const wrong = lines.filter((one) => one.wrong).length;
  const order = drill.question ? `; ${wrong} wrong, ${lines.length - wrong} right, wrong answers first` : drill.metric ? ", worst first" : "";
  return `${shown.length} of ${all} ${unit}${order}.`;
}

async function showList(values, live) {
  const hash = address;
  const drill = drillOf(values);
  rowsOfGroup(values.group);
  const what = drill.question ? "Wrong answers only" : drill.metric && about.metrics[drill.metric].best !== null ? "Imperfect scores only" : "";
  const bar = filterBar(values, { wrong: what, fixed: { model: values.model, mode: values.mode }, change: (next) => go(linkTo("answers", next), { replace: true }) });
  const count = make("p", { class: "count", role: "status" }, "Searching …");
  const results = make("div");
  fill(titleOf(drill), drill.set ? make("p", { class: "note" }, words(drill.set)) : null, drill.metric ? make("p", { class: "note" }, about.metrics[drill.metric].meaning) : null, bar, count, results);
  const list = await linesAt(hash, (done, all) => { if (live()) count.textContent = `${done} of ${all} conversations searched`; });
  if (!live()) return;
  const heads = [drill.byTurn ? "turn" : "conversation"];
  if (drill.group === null && (drill.metric || drill.question)) heads.push("model");
  if (drill.question) heads.push("person", "model's answer");
  else if (drill.metric) heads.push(about.metrics[drill.metric].label);
  count.textContent = countText(list);
  const body = make("tbody");
  const more = addSome(body, list.shown, (one) => make("tr", {}, lineCells(one, drill, hash)));
  results.replaceChildren(...[list.lost ? make("p", { class: "missing" }, `Labels and answers of ${list.lost} conversations were omitted to keep this file small.`) : null,
    tableOf("List", heads, body), more].filter(Boolean));
}

function modelChoice(row, turn, group, focus, labels) {
  const select = make("select", { class: "control", name: "whose", "aria-label": "Whose answers", onchange: () => {
    go(turnLink(row, turn, select.value === "" ? null : Number(select.value), focus), { list: history.state?.list });
  } }, make("option", { value: "", selected: group === null }, turn === null ? "no model" : "all models"));
  for (const one of labels ? Object.keys(labels.given).map(Number) : []) select.append(make("option", { value: one, selected: group === one }, words(groupName(one))));
  return select;
}

// The list that a turn stands in: the one it was opened from, else the one behind the number that its address names.
function listOf(values) {
  const from = history.state?.list;
  if (from && parsed(from)?.kind === "answers") return from;
  const { model, mode, question, block, metric } = values;
  return question || metric ? linkTo("answers", { model, mode, question, block, metric }) : null;
}

// Back to the list, and on to the wrong answers of it before and after this one.
function steps(list, row, turn, group, live) {
  if (!list) return null;
  const bar = make("div", { class: "bar-of-buttons", role: "group", "aria-label": "List" });
  bar.append(button(["Back", make("span", { class: "wide" }, " to the list")], () => go(list), { "aria-label": "Back to the list" }));
  linesAt(list).then(({ drill, shown }) => {
    const at = shown.findIndex((one) => one.row === row && one.turn === turn && one.group === group);
    if (!live() || at < 0) return;
    const wanted = drill.question ? shown.filter((one) => one.wrong) : shown;
    const [what, place] = [drill.question ? "wrong answer" : "in the list", wanted.indexOf(shown[at])];
    const step = (key, label, one) => button([key === "ArrowLeft" ? "← " : "", label, make("span", { class: "wide" }, ` ${what}`), key === "ArrowLeft" ? "" : " →"],
      () => go(turnLink(one.row, one.turn, one.group, drill), { list }), { disabled: !one, "data-key": key, "aria-label": `${label} ${what}` });
    bar.append(step("ArrowLeft", "Previous", wanted.findLast((one) => shown.indexOf(one) < at)), step("ArrowRight", "Next", wanted.find((one) => shown.indexOf(one) > at)),
      make("span", { class: "count" }, place < 0 ? `right answer; ${wanted.length} wrong` : `${place + 1} of ${wanted.length}${drill.question ? " wrong" : ""}`, make("span", { class: "wide" }, "; ← → keys")));
  });
  return bar;
}

async function showTurn(values, live) {
  const row = rowOf(values.conversation);
  await showOne(values, row, turnOf(row, values.turn), live);
}

async function showConversation(values, live) {
  await showOne(values, rowOf(values.conversation), null, live);
}

async function showOne(values, row, turn, live) {
  const [group, focus] = [groupOf(values), drillOf({ ...values, turns: undefined, conversations: undefined })];
  const [labels, drafts, talk, replies] = await Promise.all(["labels", "drafts", "talk", "replies"].map((layer) => content(`${layer}-${row}`)));
  if (!live()) return;
  const texts = { labels, drafts, talk, replies };
  const { turns } = about.talks[row];
  const at = turns.indexOf(turn);
  const list = listOf(values);
  const to = (place) => () => go(turnLink(row, turns[place], group, focus), { list });
  const first = Object.keys(labels?.given ?? {}).map(Number)[0] ?? null;
  fill(make("span", {}, name(about.talks[row].name), placeText(row, turn)),
    steps(list, row, turn, group, live),
    turn === null ? conversationView(texts, row, group, focus) : turnView(texts, turn, group, focus),
    make("div", { class: "bar-of-buttons" }, button("Previous turn", to(at - 1), { disabled: at < 1 }), button("Next turn", to(at + 1), { disabled: at + 1 >= turns.length }),
      turn === null ? null : button("Whole conversation", () => go(turnLink(row, null, group ?? first), { list })), modelChoice(row, turn, group, focus, labels)));
}
