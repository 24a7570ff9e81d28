// The page's own data: chunks of compressed JSON, opened when somebody looks.
const opened = new Map();
let about = null;

async function unpacked(text) {
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old to open the details.");
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function content(chunk) {
  if (!opened.has(chunk)) {
    const holder = document.getElementById(`c-${chunk}`);
    opened.set(chunk, holder ? unpacked(holder.textContent) : Promise.resolve(null));
  }
  return opened.get(chunk);
}

async function start() {
  if (about === null) {
    about = await content("about");
    about.question = new Map(about.questions.map((question, place) => [question.id, { ...question, place }]));
  }
  return about;
}

const SIDES = { binary_om: "observed", binary_om_hp: "observed", binary_hp: "preferred", binary_hp_hp: "preferred" };
const SAID = { y: "yes", n: "no", "-": "not answered", ".": "–" };
const VARIANTS = { original: "the original reply", alternate: "the improved reply", human: "the edited reply" };

// The person's labels of a turn, and a group's answers to it: one for each time that the conversation was answered.
function truthOf(labels, turn) {
  return labels.truth?.turns.find((one) => one.turnNumber === turn) ?? null;
}

function answersOf(labels, group, turn) {
  return (labels.given[group] ?? []).map((given) => given.turns.find((one) => one.n === turn)).filter(Boolean);
}

function groupsOf(labels, mode = about.primary) {
  return Object.keys(labels.given).map(Number).filter((group) => about.groups[group].mode === mode);
}

function groupName(group) {
  const { label, mode } = about.groups[group];
  return mode === about.primary ? label : `${label} (${mode})`;
}
