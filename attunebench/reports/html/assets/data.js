// The page's own data: chunks of compressed JSON, opened when somebody looks.
const opened = new Map();
let about = null;

async function inflated(parts, format) {
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old to show the details.");
  return new Response(new Blob(parts).stream().pipeThrough(new DecompressionStream(format))).arrayBuffer();
}

function bytesOf(holder) {
  return Uint8Array.from(atob(holder.textContent), (letter) => letter.charCodeAt(0));
}

// What the conversations of a layer share, as the stored block that begins a stream: [bytes, how many of them to drop].
function dictionary(layer) {
  const name = `dictionary-${layer}`;
  const holder = document.getElementById(`c-${name}`);
  if (!opened.has(name)) {
    opened.set(name, holder && inflated([bytesOf(holder)], "deflate").then((shared) => {
      const size = shared.byteLength;
      const head = Uint8Array.of(0, size & 255, size >> 8, ~size & 255, (~size >> 8) & 255);
      return [new Blob([head, shared]), size];
    }));
  }
  return opened.get(name);
}

async function unpacked(chunk) {
  const holder = document.getElementById(`c-${chunk}`);
  if (!holder) return null;
  const [shared, size] = (await dictionary(chunk.replace(/-.*/, ""))) ?? [null, 0];
  const bytes = bytesOf(holder);
  const whole = await (shared ? inflated([shared, bytes], "deflate-raw") : inflated([bytes], "deflate"));
  return JSON.parse(new TextDecoder().decode(new Uint8Array(whole, size)));
}

function content(chunk) {
  if (!opened.has(chunk)) opened.set(chunk, unpacked(chunk));
  return opened.get(chunk);
}

// The same for a look in passing: what nobody opens is not kept.
function glance(chunk) {
  return opened.get(chunk) ?? unpacked(chunk);
}

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

// A text as an address can hold it.
function plain(text) {
  return new URLSearchParams({ text }).get("text");
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

// Time for the browser to draw and to take input, wherever something goes on for long.
let rested = 0;
async function rest() {
  if (performance.now() - rested < 30) return;
  await new Promise((done) => setTimeout(done));
  rested = performance.now();
}
