// What a drill means: from the place of a number to the turns or conversations behind it, the worst first.
function rowsOf(drill) {
  const { sets } = about.drills;
  if (drill.t !== undefined) return new Map(sets[drill.t].map(([row, ...turns]) => [row, turns]));
  const rows = drill.c !== undefined ? sets[drill.c] : about.talks.keys();
  return new Map([...rows].map((row) => [row, null]));
}

function verdict(truth, answer) {
  return truth === "y" || truth === "n" ? truth === answer : null;
}

// One line for a question: the person's label and the model's answer.
function questionLine(drill, labels, row, turn, group) {
  const place = about.question.get(drill.q).place;
  const truth = truthOf(labels, turn)?.[SIDES[drill.b]]?.[place] ?? ".";
  const given = answersOf(labels, group, turn).map((one) => one[drill.b]?.[place]).filter((one) => one !== undefined);
  if (!given.length || truth === ".") return null;
  const right = given.filter((one) => verdict(truth, one)).length / given.length;
  return { row, turn, group, value: right, person: SAID[truth], model: given.map((one) => SAID[one]).join(", "), right };
}

function mean(values) {
  const known = values.filter((one) => one !== undefined && one !== null);
  return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
}

function turnLines(drill, labels, row, turns, group) {
  const lines = [];
  for (const turn of turns) {
    if (drill.q) {
      const line = questionLine(drill, labels, row, turn, group);
      if (line) lines.push(line);
    } else {
      const value = drill.m ? mean(answersOf(labels, group, turn).map((one) => one.m[drill.m])) : null;
      if (!drill.m || value !== null) lines.push({ row, turn, group, value });
    }
  }
  return lines;
}

function talkLines(drill, labels, row, group) {
  const value = mean((labels.given[group] ?? []).map((one) => one.m[drill.m]));
  return value === null ? [] : [{ row, turn: null, group, value }];
}

function byTurn(drill) {
  return Boolean(drill.q || drill.t !== undefined || (drill.m && about.metrics[drill.m].level === "turn"));
}

async function linesBehind(drill, progress) {
  const lines = [];
  const rows = rowsOf(drill);
  let lost = 0;
  let done = 0;
  for (const [row, turns] of rows) {
    const labels = await content(`labels-${row}`);
    done += 1;
    if (done % 50 === 0) progress(done, rows.size);
    if (!labels) {
      lost += 1;
      continue;
    }
    const groups = drill.g !== undefined ? [drill.g] : drill.m || drill.q ? groupsOf(labels) : [null];
    for (const group of groups) {
      if (group !== null && !labels.given[group]) continue;
      if (byTurn(drill) || !drill.m) lines.push(...turnLines(drill, labels, row, turns ?? about.talks[row].turns, group));
      else lines.push(...talkLines(drill, labels, row, group));
    }
  }
  const sign = drill.m && about.metrics[drill.m].better === false ? -1 : 1;
  if (drill.q || drill.m) lines.sort((one, other) => sign * (one.value - other.value));
  return { lines, lost };
}
