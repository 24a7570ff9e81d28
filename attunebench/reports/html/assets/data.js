// The data of a study: labels and answers, and whether they agree.
async function start() {
  const known = await content("about");
  if (about === null) {
    known.question = new Map(known.questions.map((question, place) => [question.id, { ...question, place }]));
    known.row = new Map(known.talks.map((talk, row) => [plain(talk.id), row]));
    known.talks.forEach((talk, row) => { if (!known.row.has(plain(talk.name))) known.row.set(plain(talk.name), row); });
    known.modes = [...new Set(known.groups.map((group) => group.mode))];
    about = known;
  }
  return about;
}

const SIDES = { binary_om: "observed", binary_om_hp: "observed", binary_hp: "preferred", binary_hp_hp: "preferred" };
const SAID = { y: "yes", n: "no", "-": "not answered", ".": "–" };
const VARIANTS = { original: "the original reply", alternate: "the improved reply", human: "the edited reply" };
const VALUES = { y: "yes", n: "no", t: "true", f: "false", "-": "null", A: "A", B: "B" };

// A raw reply: its form with its values, and the model's own reply where it was repeated.
function replyText(text, forms, draft) {
  if (!Array.isArray(text)) return text;
  let place = 0;
  return forms[text[0]].replaceAll("\ue000", () => VALUES[text[1][place++]]).replaceAll("\ue001", () => JSON.stringify(draft).slice(1, -1));
}

// The person's labels of a turn, and a group's answers to it: one for each time that the conversation was answered.
function truthOf(labels, turn) {
  return labels.truth?.turns.find((one) => one.turnNumber === turn) ?? null;
}

function answersOf(labels, group, turn) {
  return (labels.given[group] ?? []).map((given) => given.turns.find((one) => one.n === turn)).filter(Boolean);
}

function groupsOf(labels, mode = about.primary) {
  return Object.keys(labels.given).map(Number).filter((group) => mode === null || about.groups[group].mode === mode);
}

function groupName(group) {
  const { label, mode } = about.groups[group];
  return mode === about.primary ? label : `${label} (${mode})`;
}

function verdict(truth, answer) {
  return truth === "y" || truth === "n" ? truth === answer : null;
}

// How many yes/no answers and comparisons of a turn the groups got wrong, and of how many.
function mistakes(labels, turn, groups) {
  const truth = truthOf(labels, turn);
  let wrong = 0;
  let all = 0;
  const count = (right) => { if (right !== null) { all += 1; wrong += right ? 0 : 1; } };
  for (const one of groups.flatMap((group) => answersOf(labels, group, turn))) {
    for (const block of ["binary_om", "binary_hp"]) [...(one[block] ?? "")].forEach((letter, place) => count(verdict(truth?.[SIDES[block]]?.[place], letter)));
    [...(one.pairwise ?? "")].forEach((letter, place) => count(truth?.comparisons[place]?.[3] ? truth.comparisons[place][3] === letter : null));
  }
  return { wrong, all };
}
