// What is behind the numbers of an arena: the pairs of a list, and one pair with its history, both replies and all
// verdicts on it.
const OPENERS = { pairs: showPairs, pair: showPair };
const IN_PAGE = new Set();
const WHERE = ["author", "against", "kind", "without", "history", "slice", "rater", "dimension", "pairs"];
const NAMES = ["pair", ...WHERE];
const STRENGTH = { 0: "much better", 1: "slightly better", 3: "slightly better", 4: "much better" };
const RATERS = new Map([["people", "human"], ["judges", "judge"]]);
const SORTS = {
  flipped: "Only verdicts by raters whose winner changes with the order.",
  unanswered: "Only verdicts without an answer.",
  tied: "Only pairs on which no reply has the majority of the people, or of the judges where no person saw the pair.",
  ambiguous: "Only pairs on which the majority is below the threshold.",
  clear: "Only pairs on which the majority reaches the threshold and not all agree.",
  unanimous: "Only pairs on which all agree.",
};
const NO_TEXTS = "The texts of this history were omitted to keep this file small.";
const NO_REASONS = "The rationales of this history were omitted to keep this file small.";

async function start() {
  const known = await content("about");
  if (about === null) {
    const { h, id } = known.pairs;
    known.place = new Map(id.map((name, pair) => [plain(name), pair]));
    known.of = id.map(() => []); // verdicts of each pair
    known.first = new Map(); // the first verdict of each history
    known.verdicts.p.forEach((pair, verdict) => {
      known.of[pair].push(verdict);
      if (!known.first.has(h[pair])) known.first.set(h[pair], verdict);
    });
    about = known;
  }
  return about;
}

// A verdict, from left's side: 1 better, 0 the same, −1 worse, null without an answer; of the whole or of a dimension.
function sideOf(verdict, dimension) {
  if (dimension !== undefined) return { l: 1, s: 0, r: -1 }[about.verdicts.d[about.dimensions.indexOf(dimension)][verdict]] ?? null;
  const letter = about.verdicts.v[verdict];
  return letter === "-" ? null : Math.sign(Number(letter) - 2);
}

// Which side of a pair a list is about: 1 left, −1 right, 0 where the pair is not in it. `kind` is of one side, and the
// other is of none of those in `without`.
function sideAsked(pair, { author, against, kind, without, slice, history }) {
  const { l, r, h } = about.pairs;
  if (slice !== undefined && about.slices[about.slice[h[pair]]] !== slice) return 0;
  if (history !== undefined && about.histories[h[pair]] !== history) return 0;
  const fits = (one, name, sort) => (name === undefined || about.authors[one][0] === name) && (sort === undefined || about.authors[one][1] === sort);
  const sides = [[l[pair], r[pair], 1], [r[pair], l[pair], -1]].filter(([one, other]) => fits(one, author) && fits(other, against));
  const barred = (one) => without?.split(" ").includes(about.authors[one][1]) ?? false;
  const best = sides.find(([one, other]) => fits(one, undefined, kind) && !barred(other)) ?? sides.find(([one, other]) => fits(other, undefined, kind) && !barred(one));
  return best ? best[2] : 0;
}

function isBy(verdict, rater) {
  const [name, kind] = about.raters[about.verdicts.r[verdict]];
  return rater === undefined || (RATERS.has(rater) ? RATERS.get(rater) === kind : name === rater);
}

// How many of the people, or of the judges where no person saw the pair, name left, neither and right.
function answersTo(pair, dimension) {
  const people = about.of[pair].filter((one) => isBy(one, "people"));
  const sides = (people.length ? people : about.of[pair]).map((one) => sideOf(one, dimension));
  return [1, 0, -1].map((side) => sides.filter((one) => one === side).length);
}

const IS = {
  tied: (most, [left, same, right]) => same === most || left === right,
  ambiguous: (most, [left, same, right]) => most / (left + same + right) < about.ambiguous,
  clear: (most, answers) => !IS.ambiguous(most, answers) && !IS.unanimous(most, answers),
  unanimous: (most, [left, same, right]) => most === left + same + right,
};

function isFlipped(verdict) {
  const { p, r } = about.verdicts;
  const sides = about.of[p[verdict]].filter((one) => r[one] === r[verdict]).map((one) => sideOf(one));
  return sides.includes(1) && sides.includes(-1);
}

// The verdicts on a pair that a list is about.
function verdictsAsked(pair, { rater, dimension, pairs }) {
  const answers = pairs in IS ? answersTo(pair, dimension) : [1, 1];
  const [most, all] = [Math.max(...answers), answers.reduce((sum, one) => sum + one)];
  if (all < 2 || (pairs in IS && !IS[pairs](most, answers))) return [];
  return about.of[pair].filter((one) => isBy(one, rater) && (pairs !== "flipped" || isFlipped(one))
    && (pairs === "unanswered" ? sideOf(one, dimension) === null : dimension === undefined || sideOf(one, dimension) !== null));
}

// As numbers count verdicts: both orders of a rater as one, a tie where they name different winners, and all judges as
// one rater; the sign is from left's side.
function merged(verdicts, { rater, dimension }) {
  const given = new Map();
  for (const one of verdicts) {
    const side = sideOf(one, dimension);
    const name_ = about.verdicts.r[one];
    if (side !== null) given.set(name_, [...(given.get(name_) ?? []), dimension === undefined ? Number(about.verdicts.v[one]) - 2 : side]);
  }
  const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const each = [...given.values()].map((orders) => orders.some((one) => one > 0) && orders.some((one) => one < 0) ? 0 : mean(orders));
  if (rater !== "judges" || !each.length) return each.map(Math.sign);
  if (about.ensemble === "mean") return [Math.sign(mean(each))];
  const votes = [1, 0, -1].map((side) => each.filter((one) => Math.sign(one) === side).length);
  const most = Math.max(...votes);
  return [votes.filter((one) => one === most).length > 1 ? 0 : 1 - votes.indexOf(most)];
}

function tallied(side, sides) {
  return [side, 0, -side].map((wanted) => sides.filter((one) => one === wanted).length);
}

function pairsAsked(values) {
  const found = [];
  about.pairs.h.forEach((_, pair) => {
    const side = sideAsked(pair, values);
    const verdicts = side === 0 ? [] : verdictsAsked(pair, values);
    if (!verdicts.length) return;
    const sides = verdicts.map((one) => sideOf(one, values.dimension));
    const [better, same, worse] = tallied(side, sides);
    const none = sides.length - better - same - worse;
    found.push({ pair, side, better, same, worse, none, total: sides.length, once: tallied(side, merged(verdicts, values)) });
  });
  const balance = ({ better, worse, total }) => (better - worse) / total;
  return found.sort(values.author !== undefined ? (one, other) => balance(one) - balance(other) : (one, other) => Math.abs(balance(one)) - Math.abs(balance(other)));
}

function known(values) {
  const names = { author: about.authors.map(([name_]) => name_), against: about.authors.map(([name_]) => name_), history: about.histories, slice: about.slices,
    rater: [...RATERS.keys(), ...about.raters.map(([name_]) => name_)], dimension: about.dimensions, kind: about.authors.map(([, kind]) => kind), without: ["human", "human edited"], pairs: Object.keys(SORTS) };
  const found = {};
  for (const key of WHERE.filter((one) => values[one] !== undefined)) {
    found[key] = names[key].find((one) => plain(one) === values[key]);
    if (found[key] === undefined) throw new Unknown(key === "pairs" ? "kind of pair" : key, values[key]);
  }
  return found;
}

function titleOf({ author, against, kind, without, history, slice, rater, dimension, pairs }) {
  const sides = [author, against].filter((one) => one !== undefined).join(" against ");
  const parts = [sides, kind && `${kind} replies`, without && `not against ${without.replace(" ", " or ")}`, history, slice, rater, dimension?.replaceAll("_", " "), pairs];
  return words(parts.filter(Boolean).join(" · ") || "All pairs");
}

function choice(label, key, values, options) {
  const change = (event) => go(linkTo("pairs", { ...values, [key]: event.currentTarget.value || undefined }), { replace: true });
  const shown = options.map(([value, text]) => make("option", { value, selected: value === (values[key] ?? "") }, words(text)));
  return make("label", { class: "filter" }, make("span", {}, label), make("select", { class: "control", name: key, onchange: change }, shown));
}

function filterBar(values) {
  const authors = about.authors.map(([name_]) => [name_, name_]);
  const raters = about.raters.map(([name_]) => [name_, name_]);
  const both = new Set(about.raters.map(([, kind]) => kind)).size > 1;
  return make("div", { class: "filters", role: "group", "aria-label": "Filters" },
    choice("Reply by", "author", values, [["", "anyone"], ...authors]), choice("Against", "against", values, [["", "anyone"], ...authors]),
    choice("Rater", "rater", values, [["", "all raters"], ...(both ? [["people", "all people"], ["judges", "all judges"]] : []), ...raters]),
    about.slices.length > 1 ? choice("Slice", "slice", values, [["", "all slices"], ...about.slices.map((one) => [one, one])]) : null,
    about.dimensions.length ? choice("Dimension", "dimension", values, [["", "overall"], ...about.dimensions.map((one) => [one, one.replaceAll("_", " ")])]) : null,
    choice("Verdicts", "pairs", values, [["", "all"], ...Object.keys(SORTS).map((one) => [one, one])]));
}

function countText(found, { rater }) {
  const sum = (key) => found.reduce((total, one) => total + one[key], 0);
  const histories = new Set(found.map(({ pair }) => about.pairs.h[pair])).size;
  const none = sum("none") ? `, ${sum("none")} unanswered` : "";
  return `${counted(found.length, "pair")}, ${histories === 1 ? "1 history" : `${histories} histories`}. ${counted(sum("total"), "verdict")}: ${sum("better")} better, ${sum("same")} same, ${sum("worse")} worse${none}.${onceText(found, rater)}`;
}

function onceText(found, rater) {
  const [better, same, worse] = [0, 1, 2].map((place) => found.reduce((total, { once }) => total + once[place], 0));
  const total = better + same + worse;
  if (total === 0 || total === found.reduce((sum, { total: all, none }) => sum + all - none, 0)) return "";
  return ` ${rater === "judges" ? "All judges" : "Both orders"} as one: ${counted(total, "verdict")}: ${better} better, ${same} same, ${worse} worse.`;
}

function pairLink(pair, values) {
  return linkTo("pair", { pair: about.pairs.id[pair], ...values });
}

// Author and opponent of a pair, as a list is about them.
function sidesOf({ pair, side }) {
  const both = [about.pairs.l[pair], about.pairs.r[pair]].map((one) => about.authors[one][0]);
  return side === -1 ? both.reverse() : both;
}

async function showPairs(asked) {
  const values = known(asked);
  const found = pairsAsked(values);
  const body = make("tbody");
  const none = found.some((one) => one.none);
  const own = values.author === undefined ? 0 : 1;
  const more = addSome(body, found, (one) => make("tr", {},
    make("th", { scope: "row" }, make("button", { type: "button", class: "d", onclick: () => go(pairLink(one.pair, values), { list: linkTo("pairs", values) }) }, name(about.histories[about.pairs.h[one.pair]]))),
    sidesOf(one).slice(own).map((each) => make("td", { class: "w" }, name(each))), [one.better, one.same, one.worse, ...(none ? [one.none] : [])].map((count) => make("td", {}, count))));
  const order = values.author === undefined ? "Closest pairs first." : "Losses first.";
  fill(titleOf(values), values.pairs ? make("p", { class: "note" }, SORTS[values.pairs]) : null, filterBar(values), make("p", { class: "count", role: "status" }, countText(found, values)),
    make("p", { class: "note" }, `${order} In the rows, each order of a judge counts as a verdict.`),
    found.length ? make("div", {}, tableOf("Pairs", ["history", ...["reply", "against"].slice(own), "better", "same", "worse", ...(none ? ["unanswered"] : [])], body, 3 - own), more) : make("p", { class: "missing" }, "No verdict matches."));
}

function steps(list, pair, values, live) {
  const found = pairsAsked(values);
  const at = found.findIndex((one) => one.pair === pair);
  const step = (key, label, one) => button([key === "ArrowLeft" ? "← " : "", label, key === "ArrowLeft" ? "" : " →"], () => go(pairLink(one.pair, values), { list }), { disabled: !one, "data-key": key });
  return make("div", { class: "bar-of-buttons", role: "group", "aria-label": "List" }, button("Back to the list", () => go(list)),
    step("ArrowLeft", "Previous", found[at - 1]), step("ArrowRight", "Next", at < 0 ? undefined : found[at + 1]), make("span", { class: "count" }, at < 0 ? "" : `${at + 1} of ${found.length}`));
}

function talkOf(turns) {
  const shown = turns.map(([role, text]) => said(role === "seeker" ? "Seeker" : "Supporter", text, role === "seeker" ? "person" : ""));
  const early = shown.splice(0, Math.max(0, shown.length - 3));
  return make("section", {}, make("h3", {}, "History"), make("div", { class: "talk" },
    early.length ? make("details", {}, make("summary", {}, counted(early.length, "earlier message")), make("div", { class: "talk" }, early)) : null, shown));
}

function winnerOf(side, both) {
  return side === null ? "no answer" : side === 0 ? "same" : both[side > 0 ? 0 : 1];
}

function verdictPart(verdict, both, reasons, dimension) {
  const { v, o, r } = about.verdicts;
  const [rater, kind] = about.raters[r[verdict]];
  const [rationale, evidence, found, decided, outcome] = reasons ?? [];
  const side = sideOf(verdict);
  const said_ = side === null ? `No answer${outcome && outcome !== "answered" ? ` (${outcome})` : ""}` : side === 0 ? "Same" : `${winnerOf(side, both)} ${STRENGTH[v[verdict]]}`;
  const parts = about.dimensions.map((one) => [one, sideOf(verdict, one)]).filter(([, value]) => value !== null);
  const listed = parts.map(([one, value], place) => [place ? "; " : "", make(one === dimension ? "strong" : "span", {}, words(`${one.replaceAll("_", " ")}: ${winnerOf(value, both)}`))]);
  return make("li", {}, make("p", { class: "who" }, name(rater), ` · ${kind === "human" ? "person" : "judge"} · shown first: `, name(both[o[verdict] === "l" ? 0 : 1])),
    make("p", {}, make("strong", {}, words(said_))), listed.length ? make("p", { class: "note" }, listed.flat()) : null,
    decided ? make("p", { class: "note" }, `Decided by ${decided.replaceAll("_", " ")}.`) : null, rationale ? prose(rationale) : null,
    evidence ? make("div", { class: "note" }, found === false ? "Quoted, but not in the history:" : "Quoted from the history:", prose(evidence)) : null);
}

async function showPair(asked, live) {
  const { pair: id = "", ...rest_ } = asked;
  const pair = about.place.get(id);
  if (pair === undefined) throw new Unknown("pair", id);
  const values = known(rest_);
  const row = about.pairs.h[pair];
  const [texts, reasons] = await Promise.all([content(`texts-${row}`), content(`reasons-${row}`)]);
  if (!live()) return;
  const both = sidesOf({ pair, side: 1 });
  const kinds = [about.pairs.l[pair], about.pairs.r[pair]].map((one) => about.authors[one][1]);
  const shown = sideAsked(pair, values) === -1 ? [1, 0] : [0, 1];
  const replies = shown.map((place) => make("section", {}, make("h3", {}, name(both[place]), " ", kinds[place] === both[place] ? null : make("span", { class: "ci" }, kinds[place])),
    !texts || !Object.hasOwn(texts[1], both[place]) ? make("p", { class: "missing" }, "This reply is not in the arena.") : prose(texts[1][both[place]])));
  const matching = new Set(verdictsAsked(pair, values));
  const sorted = [...about.of[pair]].sort((one, other) => matching.has(other) - matching.has(one));
  const listed = make("ul", { class: "items" }, sorted.map((one) => verdictPart(one, both, reasons?.[one - about.first.get(row)], values.dimension)));
  const list = history.state?.list ?? linkTo("pairs", values);
  fill(make("span", {}, name(about.histories[row]), ": ", name(both[shown[0]]), " against ", name(both[shown[1]])), steps(list, pair, values),
    make("article", {}, texts ? talkOf(texts[0]) : make("p", { class: "missing" }, NO_TEXTS), texts ? make("div", { class: "replies" }, replies) : null,
      make("h3", {}, counted(about.of[pair].length, "verdict")), reasons ? null : make("p", { class: "missing" }, NO_REASONS), listed));
}

async function clicked(event) {
  const target = event.target.closest?.("[data-d], [data-open], [data-close]");
  if (!target) return;
  const { d, open, close } = target.dataset;
  if (open !== undefined || close !== undefined) {
    for (const one of document.querySelectorAll(`#${open ?? close} details.body`)) one.open = open !== undefined;
    return;
  }
  target.focus({ preventScroll: true }); // Not every browser focuses what is clicked, and closing returns there.
  await start();
  await go(linkTo("pairs", about.drills[d]));
}

function startParts() {}
