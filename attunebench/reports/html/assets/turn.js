// A turn as a reader sees it: what was said, what the person labelled, what a model (or all of them) answered.
const OM_HP = "OM is the original model, HP the person.";

function tagsText(tags) {
  if (tags === null || tags === undefined) return "not answered";
  const listed = Object.entries(tags).map(([item, strength]) => (strength === null ? item : `${item} ${strength}`));
  return listed.length ? listed.join(", ") : "nothing (neutral)";
}

function asks(block) {
  return SIDES[block] === "observed" ? "Did the reply do this?" : "Did the person want the reply to do this?";
}

function answered(letter, truth) {
  const right = verdict(truth, letter);
  if (right === null) return make("span", {}, SAID[letter] ?? "–");
  return make("span", { class: right ? "yes-right" : "yes-wrong" }, `${SAID[letter] ?? "–"} ${right ? "✓" : "✗"}`,
    make("span", { class: "hidden" }, right ? " (right)" : " (wrong)"));
}

function talkPart(said_, turn) {
  const texts = said_?.[turn];
  if (!texts) return make("p", { class: "missing" }, "This file does not contain the texts of this turn.");
  const [user, reply, alternate, human] = texts;
  const part = make("div", { class: "talk" }, said("The person wrote", user, "person"), said("The original model replied", reply));
  if (alternate || human) {
    part.append(make("details", {}, make("summary", {}, "The other two candidate replies"),
      alternate ? said("Improved by a model", alternate) : null, human ? said("Edited by the person", human) : null));
  }
  return part;
}

function questionTable(truth, given, focus) {
  const rows = [];
  let apart = 0;
  for (const question of about.questions) {
    const place = about.question.get(question.id).place;
    const cells = [["observed", "binary_om"], ["preferred", "binary_hp"]].map(([side, block]) => {
      const label = truth?.[side]?.[place] ?? ".";
      const letters = given.map((one) => one[block]?.[place]).filter((one) => one !== undefined);
      return { label, letters, wrong: letters.some((one) => verdict(label, one) === false), asked: label !== "." };
    });
    if (!cells.some((one) => one.asked)) continue;
    const wrong = cells.some((one) => one.wrong);
    apart += cells.filter((one) => one.wrong).length;
    const row = make("tr", { class: question.id === focus ? "focus" : "" }, make("th", { scope: "row" }, question.om));
    for (const { label, letters } of cells) {
      row.append(make("td", {}, SAID[label]), make("td", {}, letters.length ? letters.map((one) => [answered(one, label), " "]).flat() : "–"));
    }
    if (!wrong && question.id !== focus) row.dataset.agrees = "";
    rows.push(row);
  }
  if (!rows.length) return make("p", { class: "missing" }, "This turn has no labelled yes/no question.");
  const show = (only) => rows.forEach((row) => { row.hidden = only && "agrees" in row.dataset; });
  const toggle = button("Show disagreements only", () => {
    const only = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(only));
    show(only);
  }, { "aria-pressed": "true" });
  show(true);
  return make("section", {}, make("h3", {}, "Yes/no questions about the reply"), make("p", { class: "note" }, OM_HP),
    make("p", { class: "bar-of-buttons" }, `${apart} answers disagree with the person.`, toggle),
    tableOf("Yes/no questions", ["question", "did (person)", "did (model)", "wanted (person)", "wanted (model)"], rows));
}

function pairTable(truth, given) {
  const asked = (truth?.comparisons ?? []).map((comparison, index) => [comparison, index]).filter(([[, , , winner]]) => winner);
  if (!asked.length) return null;
  const choice = (letter, [, a, b]) => (letter === "A" ? VARIANTS[a] : letter === "B" ? VARIANTS[b] : "not answered");
  const rows = asked.map(([comparison, index]) => make("tr", {},
    make("th", { scope: "row" }, about.pairwise[comparison[0]] ?? comparison[0]),
    make("td", { class: "w" }, `${choice("A", comparison)} or ${choice("B", comparison)}`),
    make("td", { class: "w" }, choice(comparison[3], comparison)),
    make("td", { class: "w" }, given.map((one) => {
      const letter = one.pairwise?.[index] ?? "-";
      const right = letter === comparison[3];
      return make("span", { class: right ? "yes-right" : "yes-wrong" }, `${choice(letter, comparison)} ${right ? "✓" : "✗"} `);
    }))));
  return make("section", {}, make("h3", {}, "Which reply the person preferred"),
    tableOf("Comparisons", ["question", "between", "person", "model"], rows, 4));
}

function draftPart(drafts = []) {
  return drafts.map(([text, judges]) => {
    const marks = Object.entries(judges).map(([judge, given]) => `${judge}: ${Object.entries(given).map(([what, mark]) => `${what.replaceAll("_", " ")} ${mark}`).join(", ")}`);
    return make("section", {}, make("h3", {}, "The model's own reply"), text === null ? make("p", {}, "The model gave no reply.") : prose(text),
      marks.length ? make("p", { class: "note" }, "Judged 1–7. ", words(marks.join("; "))) : null);
  });
}

const KINDS = { draft: "own reply", review: "feelings and questions", binary_hp: "questions in the person's phrasing", pairwise: "comparisons", post: "the whole conversation" };

function rawPart(replies, drafts, turn, group) {
  const raw = replies?.raw[turn]?.[group];
  if (!raw) return null;
  const draft = drafts?.[turn]?.[group]?.[0][0];
  return make("section", {}, make("h3", {}, "Raw replies"), Object.entries(raw).map(([kind, sent]) =>
    make("details", {}, make("summary", {}, `${KINDS[kind] ?? kind} (${sent.length})`), sent.map(([text, trouble, parameters], place) =>
      make("div", {}, place ? make("p", { class: "note" }, "Re-prompted:") : null, trouble ? make("p", { class: "note" }, words(trouble)) : null,
        parameters ? make("p", { class: "note" }, words(parameters)) : null, text === null ? make("p", { class: "missing" }, "The server returned no text.") : prose(replyText(text, replies.forms, draft), "prose raw"))))));
}

// Answer → the names of those who gave it; `read` gives the answer of one.
function givenBy(labels, turn, groups, read) {
  const by = new Map();
  for (const group of groups) {
    for (const one of answersOf(labels, group, turn)) {
      const answer = read(one);
      if (answer !== undefined) by.set(answer, (by.get(answer) ?? new Set()).add(groupName(group)));
    }
  }
  return [...by].map(([answer, names]) => [answer, `${groups.length > 1 ? ` ${names.size}:` : ""} ${[...names].join(", ")}`]);
}

// A question, the person's label, and who gave which answer.
function splitOf(labels, turn, question, block, groups, kind = "li") {
  const { place, om } = about.question.get(question);
  const truth = truthOf(labels, turn)?.[SIDES[block]]?.[place] ?? ".";
  const lines = givenBy(labels, turn, groups, (one) => one[block]?.[place]).sort(([one], [other]) => (one < other ? 1 : -1));
  return make(kind, { class: kind === "li" ? "" : "asked" }, make("p", { class: "who" }, asks(block)), make("p", {}, om),
    make("p", {}, make("strong", {}, `The person: ${SAID[truth]}`)), lines.map(([letter, names]) => make("p", {}, answered(letter, truth), words(names))));
}

function allModels(labels, turn, items) {
  const groups = groupsOf(labels);
  const felt = make("li", {}, make("p", { class: "who" }, "What did the person feel?"),
    make("p", {}, make("strong", {}, "The person: ", words(tagsText(truthOf(labels, turn)?.tags)))),
    givenBy(labels, turn, groups, (one) => ("tags" in one ? tagsText(one.tags) : undefined)).map(([text, names]) => make("p", {}, words(`${text}:${names}`))));
  return make("div", {}, make("p", { class: "note" }, OM_HP), make("ul", { class: "items" }, items.map(([question, block]) => splitOf(labels, turn, question, block, groups)), felt));
}

// The questions of a turn that most models answer against the person.
function mostMissed(labels, turn) {
  const truth = truthOf(labels, turn);
  const given = groupsOf(labels).flatMap((group) => answersOf(labels, group, turn));
  const missed = ["binary_om", "binary_hp"].flatMap((block) => about.questions.map(({ id }, place) =>
    [id, block, given.filter((one) => one[block] && verdict(truth?.[SIDES[block]]?.[place], one[block][place]) === false).length]));
  return missed.filter(([, , times]) => times).sort((one, other) => other[2] - one[2]).slice(0, 3);
}

// The clicked question or number before everything else: the person's label and the model's answer.
function focusPart(labels, turn, group, { question, block, metric }) {
  if (question && turn !== null) return splitOf(labels, turn, question, block, [group], "section");
  if (!metric) return null;
  const { label, meaning, digits } = about.metrics[metric];
  const given = turn === null ? labels.given[group] ?? [] : answersOf(labels, group, turn);
  return make("section", { class: "asked" }, make("p", {}, make("strong", {}, `${label}: ${number(mean(given.map((one) => one.m[metric])), digits)}`)), make("p", { class: "note" }, meaning));
}

function turnView({ labels, drafts, talk, replies }, turn, group, focus, items = null) {
  if (!labels) return make("article", {}, talkPart(talk, turn), make("p", { class: "missing" }, OMITTED));
  if (group === null) {
    const first = focus.question ? [[focus.question, focus.block]] : [];
    return make("article", {}, talkPart(talk, turn), make("h3", {}, "The models' answers"), allModels(labels, turn, items ?? [...first, ...mostMissed(labels, turn)]));
  }
  const truth = truthOf(labels, turn);
  const given = answersOf(labels, group, turn);
  return make("article", {}, focusPart(labels, turn, group, focus), talkPart(talk, turn),
    make("p", {}, make("strong", {}, "The person felt: "), words(truth ? tagsText(truth.tags) : "–")),
    make("p", {}, make("strong", {}, name(groupName(group)), " predicts: "), words(given.map((one) => ("tags" in one ? tagsText(one.tags) : "not measured")).join("; ") || "–")),
    questionTable(truth, given, focus.question), pairTable(truth, given), draftPart(drafts?.[turn]?.[group]),
    rawPart(replies, drafts, turn, group) ?? make("p", { class: "missing" }, "This file does not contain the raw replies of this turn."));
}

// A whole conversation: its turns, and what the person and a model say about it, which comes first behind a number.
function conversationView({ labels, talk, replies }, row, group, focus) {
  const { topics, participant, turns } = about.talks[row];
  const groups = about.facets.filter((facet) => !["topic", "participant"].includes(facet.name)).slice(0, 8).map((facet) =>
    [facet.name.replaceAll("_", " "), facet.values.filter(([, rows]) => rows.includes(row)).map(([value]) => value).join(", ")]);
  const facts = [["topics", topics.join(", ")], ["participant", participant], ...groups].filter(([, value]) => value);
  const parts = turns.map((turn, place) => {
    const { wrong, all } = labels && group !== null ? mistakes(labels, turn, [group]) : { wrong: 0, all: 0 };
    return make("section", {}, make("h3", {}, button(`Turn ${place + 1} of ${turns.length}`, () => go(turnLink(row, turn, group)))),
      all ? make("p", { class: "note" }, `${wrong} of ${all} answers of `, name(groupName(group)), " are wrong.") : null, talkPart(talk, turn));
  });
  const wide = labels ? wideView(labels, replies, group) : make("p", { class: "missing" }, OMITTED);
  return make("article", {}, labels && group !== null ? focusPart(labels, null, group, focus) : null, make("p", { class: "note" }, words(facts.map((one) => one.join(": ")).join(" · "))),
    focus.metric ? [wide, parts] : [parts, wide]);
}

function wideView(labels, replies, group) {
  const truth = labels.truth;
  const given = (labels.given[group] ?? [])[0];
  const guess = given?.answers;
  const rows = [];
  const add = (what, ...cells) => rows.push(make("tr", {}, make("th", { scope: "row" }, what), cells.slice(0, group === null ? 1 : 2).map((cell) => make("td", { class: "w" }, words(cell)))));
  const text = (value) => (value === null || value === undefined ? "–" : Array.isArray(value) ? value.join("; ") || "nothing" : String(value));
  for (const side of ["positive", "negative"]) {
    add(`${side} mood after the conversation (10–70)`, `${text(truth?.post_panas?.[side])} (before: ${text(truth?.pre_panas?.[side])})`, text(guess?.post_panas?.[side]));
  }
  const asked = { q1: "what they were looking for", q2: "how clear their feelings were", q3: "how well the replies fitted", follow_up: "what felt off" };
  for (const [key, what] of Object.entries(asked)) add(what, text(truth?.wide?.[key]), text(guess?.wide?.[key]));
  for (const [branch, mark] of Object.entries(truth?.wide?.four_branch ?? {})) add(`${branch} (1–7)`, text(mark), text(guess?.wide?.four_branch?.[branch]));
  for (const [item, mark] of Object.entries(truth?.post_panas?.items ?? {})) add(`felt ${item} after the conversation (1–7)`, text(mark), text(guess?.post_panas?.items?.[item]));
  return make("article", {}, make("h3", {}, "Whole conversation"),
    tableOf("Whole conversation", ["about the whole conversation", "person", ...(group === null ? [] : [groupName(group)])], rows, 3),
    rawPart(replies, null, 0, group));
}
