// What stands behind a number: the turns or conversations of its drill, the worst first.
function slug(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
}

// A drill as an address names it, and back.
function valuesOfDrill({ g, m, q, b, c, t }) {
  const { sets } = about.drills;
  const name = (set) => `${slug(sets[set][1])}.${sets[set][0]}`;
  const single = c !== undefined && sets[c].length === 3;
  return {
    ...valuesOf(g), metric: m, question: q, block: b, conversation: single ? keyOfTalk(sets[c][2]) : null,
    conversations: c !== undefined && !single ? name(c) : null, turns: t !== undefined ? name(t) : null,
  };
}

function setNamed(text) {
  const digest = text.slice(text.lastIndexOf(".") + 1);
  const found = about.drills.sets.find(([id]) => id === digest);
  if (!found) throw new Unknown("list", text);
  return found;
}

function drillOf(values) {
  const { metric, question, block = "binary_om", conversation, conversations, turns } = values;
  const mode = about.modes.find((one) => plain(one) === (values.mode ?? plain(about.primary)));
  if (mode === undefined && values.mode !== undefined) throw new Unknown("mode", values.mode);
  if (metric !== undefined && !Object.hasOwn(about.metrics, metric)) throw new Unknown("metric", metric);
  if (question !== undefined && (!about.question.has(question) || !Object.hasOwn(SIDES, block))) throw new Unknown("question", `${question} (${block})`);
  const named = turns ?? conversations;
  const [, set, ...members] = named !== undefined ? setNamed(named) : [null, "", ...(conversation === undefined ? about.talks.keys() : [rowOf(conversation)])];
  const rows = new Map(members.map((one) => (Array.isArray(one) ? [one[0], one.slice(1)] : [one, null])));
  const byTurn = Boolean(question || turns || !metric || about.metrics[metric].level === "turn");
  return { group: groupOf(values), mode, metric, question, block, rows, set, byTurn };
}

// One line for a question: the person's label and the model's answer.
function questionLine({ question, block }, labels, row, turn, group) {
  const { place } = about.question.get(question);
  const truth = truthOf(labels, turn)?.[SIDES[block]]?.[place] ?? ".";
  const given = answersOf(labels, group, turn).map((one) => one[block]?.[place]).filter((one) => one !== undefined);
  if (!given.length || truth === ".") return null;
  const right = given.filter((one) => verdict(truth, one)).length / given.length;
  return { row, turn, group, value: right, person: SAID[truth], model: given.map((one) => SAID[one]).join(", "), wrong: right < 1 };
}

function mean(values) {
  const known = values.filter((one) => one !== undefined && one !== null);
  return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
}

function line(drill, labels, row, turn, group) {
  if (drill.question) return questionLine(drill, labels, row, turn, group);
  if (!drill.metric) return { row, turn, group, value: null, wrong: false };
  const value = mean((turn === null ? labels.given[group] ?? [] : answersOf(labels, group, turn)).map((one) => one.m[drill.metric]));
  const { best } = about.metrics[drill.metric];
  return value === null ? null : { row, turn, group, value, wrong: best !== null && value !== best };
}

// All lines of a drill in the conversations `within` (null: all), and of how many conversations labels are not in the page.
async function linesBehind(drill, within, progress) {
  const lines = [];
  let lost_ = 0;
  let done = 0;
  for (const [row, turns] of drill.rows) {
    const labels = await content(`labels-${row}`);
    progress(++done, drill.rows.size);
    await rest();
    if (!labels) {
      lost_ += 1;
      continue;
    }
    const groups = drill.group !== null ? [drill.group] : drill.metric || drill.question ? groupsOf(labels, drill.mode) : [null];
    for (const group of groups) {
      if (group !== null && !labels.given[group]) continue;
      const numbers = drill.byTurn ? turns ?? about.talks[row].turns : [null];
      lines.push(...numbers.map((turn) => line(drill, labels, row, turn, group)).filter(Boolean));
    }
  }
  const sign = drill.metric && about.metrics[drill.metric].better === false ? -1 : 1;
  if (drill.question || drill.metric) lines.sort((one, other) => sign * (one.value - other.value));
  return { lines: within ? lines.filter((one) => within.has(one.row)) : lines, all: lines.length, lost: lost_ };
}

// The lines of the list at an address, made once; `shown` are those that its filters leave.
let listed = null;

async function linesAt(hash, progress = () => {}) {
  if (listed?.hash !== hash) {
    const { values } = parsed(hash);
    const drill = drillOf(values);
    const made = await linesBehind(drill, rowsOfGroup(values.group), progress);
    listed = { hash, drill, ...made, shown: values.only === "wrong" ? made.lines.filter((one) => one.wrong) : made.lines };
  }
  return listed;
}
