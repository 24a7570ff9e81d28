// The search over analyses, conversations, questions and the texts that are in the page. Texts are unpacked one conversation after
// another, with rests in which the page can be used.
const SOURCES = ["the person's message", "the original reply", "the improved reply", "the edited reply"];
const BEFORE = 60;
const AROUND = 200;
const LONGEST_QUERY = 500;

// Words in quotation marks stay together; all must occur in the same text.
function termsOf(query) {
  return (query.match(/"[^"]+"|\S+/gu) ?? []).map((term) => term.replace(/^"|"$/g, "").trim()).filter(Boolean)
    .map((term) => term.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+"));
}

function matcher(query) {
  const terms = termsOf(query);
  const each = terms.map((term) => new RegExp(term, "iu"));
  const any = new RegExp(terms.join("|") || "$^", "giu");
  return {
    any,
    empty: !terms.length,
    hit: (text) => Boolean(text) && each.every((one) => one.test(text)),
  };
}

function marked(text, { any }) {
  const parts = document.createDocumentFragment();
  let from = 0;
  for (const found of text.matchAll(any)) {
    parts.append(words(text.slice(from, found.index)), make("mark", {}, words(found[0])));
    from = found.index + found[0].length;
  }
  parts.append(words(text.slice(from)));
  return parts;
}

function snippet(text, wanted) {
  const start_ = Math.max(0, text.search(new RegExp(wanted.any, "iu")) - BEFORE);
  return make("span", { dir: "auto" }, start_ ? "…" : "", marked(text.slice(start_, start_ + AROUND), wanted), start_ + AROUND < text.length ? "…" : "");
}

// Where the words occur in a conversation: one entry for each turn, with the first text and how many more there are.
async function hitsIn(row, wanted, values) {
  const [talk, drafts, replies] = await Promise.all(["talk", "drafts", "replies"].map((layer) => glance(`${layer}-${row}`)));
  const hits = new Map();
  const look = (turn, group, source, text) => {
    if (!wanted.hit(text)) return;
    const hit = hits.get(turn);
    if (hit) hit.more += 1;
    else hits.set(turn, { row, turn, group, source, text, more: 0 });
  };
  for (const [turn, texts] of Object.entries(talk ?? {})) texts.forEach((text, place) => look(Number(turn), null, SOURCES[place], text));
  for (const [turn, groups] of Object.entries(drafts ?? {})) {
    for (const [group, given] of Object.entries(groups)) if (isOf(group, values)) given.forEach(([text]) => look(Number(turn), Number(group), "own reply of", text));
  }
  for (const [turn, groups] of Object.entries(replies?.raw ?? {})) {
    for (const [group, kinds] of Object.entries(groups)) {
      if (!isOf(group, values)) continue;
      const draft = drafts?.[turn]?.[group]?.[0][0];
      for (const given of Object.values(kinds)) for (const [text] of given) look(Number(turn) || null, Number(group), "raw reply of", replyText(text, replies.forms, draft));
    }
  }
  return [...hits.values()].sort((one, other) => (one.turn ?? 0) - (other.turn ?? 0));
}

function hitItem({ row, turn, group, source, text, more }, wanted) {
  const open = make("button", { type: "button", class: "d", onclick: () => go(turnLink(row, turn, group)) }, name(about.talks[row].name), placeText(row, turn));
  const where = group === null ? [source] : [`${source} `, name(groupName(group))];
  return make("li", {}, open, make("p", { class: "note" }, ...where, more ? `, and in ${counted(more, "more text")}` : "", ": "), snippet(text, wanted));
}

function questionItem(question, wanted, { model, mode }) {
  const link = (block, label) => button(label, () => go(linkTo("answers", { question: question.id, block, model, mode })));
  return make("li", {}, make("p", {}, make("strong", {}, `${question.id} `), marked(question.om, wanted)),
    make("div", { class: "bar-of-buttons" }, link("binary_om", "Answers: did the reply do this?"), link("binary_hp", "Answers: did the person want this?")));
}

function analysesFor(wanted) {
  const headings = [...document.querySelectorAll(".analysis > h4")];
  return headings.filter((heading) => wanted.hit(`${heading.textContent} ${heading.title}`));
}

function analysisItem(heading, wanted) {
  const open = make("button", { type: "button", class: "d", onclick: () => go(`#${heading.parentElement.id}`) }, marked(heading.textContent, wanted));
  return make("li", {}, open, make("p", { class: "note" }, marked(heading.title, wanted)));
}

function talkItem(row, wanted) {
  const { topics, participant, turns } = about.talks[row];
  return make("li", {}, make("button", { type: "button", class: "d", onclick: () => go(turnLink(row, null, null)) }, make("bdi", {}, marked(about.talks[row].name, wanted))),
    make("p", { class: "note" }, `${turns.length} turns · `, marked(topics.join(", "), wanted), participant ? [" · ", marked(participant, wanted)] : ""));
}

function found(heading, entries, row) {
  if (!entries.length) return null;
  const holder = make("ul", { class: "found" });
  const more = addSome(holder, entries, row);
  return make("section", {}, make("h3", {}, `${heading} (${entries.length})`), holder, more);
}

// Which texts are in the page, and of how many conversations they are not.
function coverage(rows) {
  const layers = { talk: "the messages and candidate replies", drafts: "the models' own replies", replies: "raw replies" };
  const counts = Object.entries(layers).map(([layer, what]) => [what, rows.filter((row) => document.getElementById(`c-${layer}-${row}`)).length]);
  const there = counts.filter(([, n]) => n).map(([what, n]) => `${what} of ${n}`);
  const missing = counts.filter(([, n]) => n < rows.length).map(([what, n]) => `${what} of ${rows.length - n}`);
  return `Searched: titles of analyses, names, topics and participants of ${rows.length} conversations, ${about.questions.length} questions${there.length ? `, ${there.join(", ")} conversations` : ""}.${missing.length ? ` Not in this file, so not searched: ${missing.join(", ")} conversations.` : ""}`;
}

async function showSearch(values, live) {
  checked(values);
  if (values.q?.length > LONGEST_QUERY) { // A browser refuses longer expressions, and an address may hold anything.
    values = { ...values, q: plain(values.q.slice(0, LONGEST_QUERY)) };
    move(linkTo("search", values), { replace: true });
  }
  const wanted = matcher(values.q ?? "");
  const within = rowsOfGroup(values.group);
  const rows = [...about.talks.keys()].filter((row) => within === null || within.has(row));
  const again = (next) => go(linkTo("search", next), { replace: true });
  const field = make("input", { type: "text", enterkeyhint: "search", autocomplete: "off", name: "q", maxlength: LONGEST_QUERY, class: "control", value: values.q ?? "", "aria-label": "Search conversations and questions" });
  const form = make("form", { class: "search", role: "search", onsubmit: (event) => {
    event.preventDefault();
    again({ ...values, q: field.value });
  } }, field, make("button", { class: "control" }, "Search"));
  const count = make("p", { class: "count", role: "status" }, wanted.empty ? "Enter one or more words. Put a phrase in quotation marks." : "Searching …");
  const bar = make("progress", { max: rows.length, value: 0, "aria-label": "Conversations searched" });
  const [front, turns] = [make("div"), make("div")];
  fill("Search", form, filterBar(values, { modes: "all modes", wrong: "Turns with wrong answers only", change: again }), count, wanted.empty ? null : bar, front, turns);
  if (document.activeElement === title) field.focus({ preventScroll: true });
  if (wanted.empty) return;
  const analyses = analysesFor(wanted);
  const questions = about.questions.filter((one) => wanted.hit(`${one.id} ${one.om}`));
  const talks = [];
  for (const row of rows) {
    const { name: called, id, topics, participant } = about.talks[row];
    if (wanted.hit([called, id, ...topics, participant].join(" ")) && await scored(row, values)) talks.push(row);
  }
  if (!live()) return;
  front.replaceChildren(...[found("Analyses", analyses, (one) => analysisItem(one, wanted)), found("Questions", questions, (one) => questionItem(one, wanted, values)), found("Conversations", talks, (row) => talkItem(row, wanted))].filter(Boolean));
  await searchTexts(values, rows, wanted, live, { count, bar, turns, before: `${analyses.length} ${analyses.length === 1 ? "analysis" : "analyses"}, ${counted(questions.length, "question")}, ${counted(talks.length, "conversation")}` });
}

// Whether the filters of model, mode and wrong answers leave a conversation, or one turn of it.
async function scored(row, values, turn = undefined) {
  if (!values.model && !values.mode && !values.only) return true;
  const left = await mistakesIn(row, values, turn === undefined ? undefined : [turn]);
  return left !== null && left.groups.length > 0 && (!values.only || left.wrong > 0);
}

async function searchTexts(values, rows, wanted, live, { count, bar, turns, before }) {
  const hits = [];
  let all = 0;
  let drawn = 0;
  for (const [place, row] of rows.entries()) {
    for (const hit of await hitsIn(row, wanted, values)) {
      all += 1;
      if (await scored(row, values, hit.turn ?? undefined)) hits.push(hit);
    }
    await rest();
    if (!live()) return;
    bar.value = place + 1;
    // The first ones are there to be opened while the search goes on.
    if (hits.length > drawn && drawn < AT_ONCE) {
      drawn = hits.length;
      turns.replaceChildren(found("Turns", hits, (one) => hitItem(one, wanted)));
    }
  }
  bar.remove();
  count.textContent = `${before}, ${hits.length === all ? counted(all, "turn") : `${hits.length} of ${counted(all, "turn")}`} found.`;
  turns.replaceChildren(...[found("Turns", hits, (one) => hitItem(one, wanted)), make("p", { class: "note" }, coverage(rows))].filter(Boolean));
}

function startSearch() {
  const form = document.getElementById("search");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(linkTo("search", { q: form.elements.q.value }));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    if (dialog.open) go(linkTo("search", {}));
    else form.elements.q.focus();
  });
}
