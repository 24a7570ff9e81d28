// A turn as a reader sees it: what was said, what the person labelled, what a model (or all of them) answered.
const OM_HP = "OM is the original model, HP the person.";

function tagsText(tags) {
  if (tags === null || tags === undefined) return "not answered";
  const listed = Object.entries(tags).map(([item, strength]) => (strength === null ? item : `${item} ${strength}`));
  return listed.length ? listed.join(", ") : "nothing (neutral)";
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
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ["question", "did it: person", "did it: model", "wanted: person", "wanted: model"].map(
      (text, place) => make("th", { scope: "col", class: place ? "" : "w" }, text)))),
    make("tbody", {}, rows));
  const show = (only) => rows.forEach((row) => { row.hidden = only && "agrees" in row.dataset; });
  const toggle = button("Only where they disagree", () => {
    const only = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(only));
    show(only);
  }, { "aria-pressed": "true" });
  show(true);
  return make("section", {}, make("h4", {}, "Yes/no questions about the reply"), make("p", { class: "note" }, OM_HP),
    make("p", { class: "bar-of-buttons" }, `${apart} answers disagree with the person.`, toggle),
    make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Yes/no questions" }, table));
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
  return make("section", {}, make("h4", {}, "Which reply the person preferred"),
    make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Comparisons" }, make("table", {},
      make("thead", {}, make("tr", {}, ["question", "between", "person", "model"].map((text) => make("th", { scope: "col", class: "w" }, text)))),
      make("tbody", {}, rows))));
}

function draftPart(drafts = []) {
  return drafts.map(([text, judges]) => {
    const marks = Object.entries(judges).map(([judge, given]) => `${judge}: ${Object.entries(given).map(([what, mark]) => `${what.replaceAll("_", " ")} ${mark}`).join(", ")}`);
    return make("section", {}, make("h4", {}, "The model's own reply"), text === null ? make("p", {}, "The model gave no reply.") : prose(text),
      marks.length ? make("p", { class: "note" }, "Judged 1–7. ", words(marks.join("; "))) : null);
  });
}

const KINDS = { draft: "own reply", review: "feelings and questions", binary_hp: "questions in the person's phrasing", pairwise: "comparisons", post: "the whole talk" };

function rawPart(raw) {
  if (!raw) return null;
  return make("section", {}, make("h4", {}, "Raw replies"), Object.entries(raw).map(([kind, replies]) =>
    make("details", {}, make("summary", {}, `${KINDS[kind] ?? kind} (${replies.length})`), replies.map(([text, trouble, parameters], place) =>
      make("div", {}, place ? make("p", { class: "note" }, "Asked again:") : null, trouble ? make("p", { class: "note" }, words(trouble)) : null,
        parameters ? make("p", { class: "note" }, words(parameters)) : null, text === null ? make("p", { class: "missing" }, "The server sent no text.") : prose(text, "prose raw"))))));
}

// Who gave which answer, for all models at once.
function splitOf(labels, turn, question, block, groups) {
  const place = about.question.get(question).place;
  const truth = truthOf(labels, turn)?.[SIDES[block]]?.[place] ?? ".";
  const by = new Map();
  for (const group of groups) {
    for (const one of answersOf(labels, group, turn)) {
      const letter = one[block]?.[place];
      if (letter !== undefined) by.set(letter, (by.get(letter) ?? new Set()).add(groupName(group)));
    }
  }
  const lines = [...by].sort(([one], [other]) => (one < other ? 1 : -1)).map(([letter, names]) =>
    make("p", {}, answered(letter, truth), ` ${names.size}: `, words([...names].join(", "))));
  const asks = block === "binary_om" ? "Did the reply do this?" : "Did the person want the reply to do this?";
  return make("li", {}, make("p", { class: "who" }, asks), make("p", {}, about.question.get(question).om),
    make("p", {}, make("strong", {}, `The person: ${SAID[truth]}`)), lines);
}

function allModels(labels, turn, items) {
  const groups = groupsOf(labels);
  const by = new Map();
  for (const group of groups) {
    for (const one of answersOf(labels, group, turn)) {
      if (!("tags" in one)) continue;
      const text = tagsText(one.tags);
      by.set(text, [...(by.get(text) ?? []), groupName(group)]);
    }
  }
  const felt = make("li", {}, make("p", { class: "who" }, "What did the person feel?"),
    make("p", {}, make("strong", {}, "The person: ", words(tagsText(truthOf(labels, turn)?.tags)))),
    [...by].map(([text, names]) => make("p", {}, words(text), `: ${names.length}: `, words(names.join(", ")))));
  return make("div", {}, make("p", { class: "note" }, OM_HP), make("ul", { class: "items" }, items.map(([question, block]) => splitOf(labels, turn, question, block, groups)), felt));
}

async function turnView(row, turn, { group = null, focus = null, items = [] }) {
  const [labels, written, talk] = await Promise.all(["labels", "written", "talk"].map((layer) => content(`${layer}-${row}`)));
  const view = make("article", {}, talkPart(talk, turn));
  if (!labels) {
    view.append(make("p", { class: "missing" }, "Labels and answers of this conversation were omitted to keep this file small."));
    return view;
  }
  const truth = truthOf(labels, turn);
  if (group === null) {
    view.append(make("h4", {}, "What the models answered"), allModels(labels, turn, items));
    return view;
  }
  const given = answersOf(labels, group, turn);
  const parts = [make("p", {}, make("strong", {}, "The person felt: "), words(truth ? tagsText(truth.tags) : "–")),
    make("p", {}, make("strong", {}, name(groupName(group)), " says: "), words(given.map((one) => ("tags" in one ? tagsText(one.tags) : "not measured")).join("; ") || "–")),
    questionTable(truth, given, focus), pairTable(truth, given), ...draftPart(written?.[turn]?.[group]?.drafts),
    rawPart(written?.[turn]?.[group]?.raw) ?? make("p", { class: "missing" }, "This file does not contain the raw replies of this turn.")];
  view.append(...parts.filter(Boolean));
  return view;
}

function wideView(labels, written, group) {
  const truth = labels.truth;
  const given = (labels.given[group] ?? [])[0];
  const guess = given?.answers;
  const rows = [];
  const add = (what, person, model) => rows.push(make("tr", {}, make("th", { scope: "row" }, what), make("td", { class: "w" }, words(person)), make("td", { class: "w" }, words(model))));
  const text = (value) => (value === null || value === undefined ? "–" : Array.isArray(value) ? value.join("; ") || "nothing" : String(value));
  for (const side of ["positive", "negative"]) {
    add(`${side} mood after the conversation (10–70)`, `${text(truth?.post_panas?.[side])} (before: ${text(truth?.pre_panas?.[side])})`, text(guess?.post_panas?.[side]));
  }
  const asked = { q1: "what they were looking for", q2: "how clear their feelings were", q3: "how well the replies fitted", follow_up: "what felt off" };
  for (const [key, what] of Object.entries(asked)) add(what, text(truth?.wide?.[key]), text(guess?.wide?.[key]));
  for (const [branch, mark] of Object.entries(truth?.wide?.four_branch ?? {})) add(`${branch} (1–7)`, text(mark), text(guess?.wide?.four_branch?.[branch]));
  for (const [item, mark] of Object.entries(truth?.post_panas?.items ?? {})) add(`felt ${item} after the conversation (1–7)`, text(mark), text(guess?.post_panas?.items?.[item]));
  return make("article", {}, make("h4", {}, "Whole conversation"),
    make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Whole conversation" }, make("table", {},
      make("thead", {}, make("tr", {}, ["", "person", group === null ? "not scored" : groupName(group)].map((head) => make("th", { scope: "col", class: "w" }, words(head))))), make("tbody", {}, rows))),
    rawPart(written?.[0]?.[group]?.raw));
}
