// What addresses of this page lead to, and what a click on a number opens.
const OPENERS = { answers: showList, turn: showTurn, conversation: showConversation, search: showSearch, tour: showStopOf, conversations: showConversations };
const IN_PAGE = new Set(["tour", "conversations"]);
const NAMES = ["conversation", "turn", "q", "metric", "question", "block", "conversations", "turns", "model", "mode", "group", "only", "why"];

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

function startParts() {
  startSearch();
  startConversations();
  startTour();
}
