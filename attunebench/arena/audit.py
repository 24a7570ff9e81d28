"""Judges against the person who was there: their verdicts on the three replies of a turn, and the participant's choice
between the same replies (spec 10.4). Pure: what judges said is read from an arena, whose histories are turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Missing,
    Table,
    cell_of,
    column,
    counts,
    table,
    words,
)
from attunebench.arena.folder import Arena
from attunebench.arena.objects import Pair
from attunebench.arena.replies import CANDIDATES
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import VerdictTable, table_of
from attunebench.backends.baselines import preference_of
from attunebench.conversations.groups import GROUPS, diagnosis_groups
from attunebench.conversations.schema import Conversation, Turn
from attunebench.protocol.arena import Shown
from attunebench.scores.audits import AuditTask
from attunebench.statistics.agreement import Agreement, cohen_kappa, percent_agreement
from attunebench.statistics.bootstrap import Floats, Labels, Resampling, resample_weights
from attunebench.text import counted, number

GENERAL = "general"
RULES = {f"{rule} reply": rule for rule in ("longest", "shortest", "edited")}
"""Simple rule as it is called → built-in judge."""
RANDOM, MAJORITY = "random reply", "majority of judges"
PUBLISHED = {"best model (published)": 0.646, "best annotator (published)": 0.722}
"""Agreement with participants in the AttuneBench study: over all questions, of a model and of an annotator."""
_THIRDS = ("first third", "middle third", "last third")
_MARGINS = ("3–0", "2–1", "1–2 or 0–3", "fewer questions")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the participant chose: +1 the pair's left reply, −1 its right. `conversation`: its place in the list.

    `third`: of the conversation, "" in one of fewer than three turns. `margin`: how the other three questions about the
    same replies were answered, for the general one.
    """

    pair: str
    question: str
    chosen: int
    conversation: int
    third: str
    margin: str


def choices_of(conversations: Sequence[Conversation]) -> list[Choice]:
    """Every comparison with a winner between two replies that have a text; one that is answered twice with different
    winners is none."""
    choices = []
    for place, conversation in enumerate(conversations):
        size = len(conversation.turns)
        for position, turn in enumerate(conversation.turns):
            third = _THIRDS[3 * position // size] if size >= 3 else ""
            for pair, winners in _winners(conversation, turn).items():
                for question, chosen in winners.items():
                    same = sum(winner == chosen for winner in winners.values()) - 1
                    margin = _MARGINS[min(3 - same, 2) if len(winners) == 4 else 3] if question == GENERAL else ""
                    choices.append(Choice(pair, question, chosen, place, third, margin))
    return choices


def pairs_of(conversation: Conversation, turn: Turn) -> dict[str, Pair]:
    """The pairs of a turn's replies that have a text, each with the earlier of `CANDIDATES` at the left."""
    history = f"{conversation.conversation_id}/{turn.number}"
    there = [author for variant, author in CANDIDATES.items() if (turn.variants[variant] or "").strip()]
    ids = {f"{history}/{left}-{right}": (left, right) for left, right in combinations(there, 2)}
    return {id: Pair(id=id, history=history, left=left, right=right) for id, (left, right) in ids.items()}


def _winners(conversation: Conversation, turn: Turn) -> dict[str, dict[str, int]]:
    """Pair → question → +1 for left, −1 for right."""
    pairs = {(pair.left, pair.right): id for id, pair in pairs_of(conversation, turn).items()}
    said, winners = dict[tuple[str, str], set[int]](), dict[str, dict[str, int]]()
    for one in turn.comparisons:
        a, b = CANDIDATES[one.a], CANDIDATES[one.b]
        for sides, left in (((a, b), "A"), ((b, a), "B")):
            if one.winner is not None and sides in pairs:
                said.setdefault((pairs[sides], one.question_id), set()).add(1 if one.winner == left else -1)
    for (pair, question), chosen in said.items():
        if len(chosen) == 1:
            winners.setdefault(pair, {})[question] = chosen.pop()
    return winners


class Score(NamedTuple):
    """How far a rater agrees with participants. `n` counts choices; ties count half."""

    agreement: Agreement
    kappa: Agreement
    n: int
    ties: float


class Audit:
    """The judges, and the rules that they have to beat, against the choices that judges were asked about.

    `says`: rater → +1 left, −1 right, 0 a tie, NaN no answer; a row for each choice. Raises Missing without any.
    """

    def __init__(
        self, conversations: Sequence[Conversation], arena: Arena, settings: ArenaSettings, *, every: bool = False
    ) -> None:
        self.conversations, self.settings = conversations, settings
        given = table_of(arena).of_judges()
        asked = {given.pairs[pair] for pair in given.pair}
        self.choices = [
            one for one in choices_of(conversations) if one.pair in asked and (every or one.question == GENERAL)
        ]
        if not self.choices:
            raise Missing("No judge has given a verdict on replies between which a participant chose.")
        self.judges = tuple(given.raters[rater] for rater in dict.fromkeys(given.rater.tolist()))
        self.unanswered: dict[str, int] = {}
        self.flipped: dict[str, float] = {}
        self.says = {judge: self._verdicts(given, judge) for judge in self.judges}
        if len(self.judges) > 1:
            self.says[MAJORITY] = _majority([self.says[judge] for judge in self.judges])
        self.raters = tuple(self.says)
        shown = {pair: _shown(arena, arena.pairs[pair]) for pair in asked}
        for name, rule in RULES.items():
            self.says[name] = np.sign([preference_of(rule, shown[one.pair]) for one in self.choices]).astype(float)
        self.says[RANDOM] = np.zeros(len(self.choices))
        self._clusters: Labels = np.unique([one.conversation for one in self.choices], return_inverse=True)[1]
        units = int(self._clusters.max()) + 1
        self._draws = resample_weights(units, settings.resamples, settings.rng("conversations"))
        self.scores = {rater: self.score(rater) for rater in self.says}
        self.best_rule, self.to_beat = self.bar(RANDOM)

    def _verdicts(self, given: VerdictTable, judge: str) -> Floats:
        """What the judge says of each choice; counts the pairs without an answer, and those with two winners among
        those that it answered in both orders."""
        each = given.where(given.rater == given.raters.index(judge))
        own, answers = each.merged(), each.answered()
        self.unanswered[judge] = len(own) - len(own.answered())
        twice = own.flipped[np.bincount(answers.pair, minlength=len(own.pairs))[own.pair] > 1]
        self.flipped[judge] = float(twice.mean()) if len(twice) else np.nan
        winner = {own.pairs[pair]: one for pair, one in zip(own.pair, own.winner, strict=True)}
        return np.array([winner.get(one.pair, np.nan) for one in self.choices])

    def score(self, rater: str, rows: Sequence[int] | Labels | None = None) -> Score:
        """Over all choices, or those of these rows."""
        chosen = np.array([one.chosen for one in self.choices], dtype=np.float64)
        says, kept = self.says[rater], np.arange(len(self.choices)) if rows is None else np.array(rows, dtype=np.intp)
        # Each choice stands twice, so that a tie can agree once and disagree once.
        truth = np.repeat(chosen[kept] > 0, 2).astype(np.float64)
        sides = np.stack([says[kept] >= 0, says[kept] > 0], axis=1).astype(np.float64)
        sides[np.isnan(says[kept])] = np.nan
        resampling = Resampling(self._draws, np.repeat(self._clusters[kept], 2), self.settings.level)
        agreed = percent_agreement(truth, sides.ravel(), resampling=resampling)
        kappa = cohen_kappa(truth, sides.ravel(), 2, resampling=resampling)
        known = says[kept][~np.isnan(says[kept])]
        return Score(agreed, kappa, len(known), float((known == 0).mean()) if len(known) else np.nan)

    def bar(self, rater: str) -> tuple[str, float]:
        """The simple rule that agrees most over the choices that the rater answered (all, if it answered none), and how
        far."""
        known = np.flatnonzero(~np.isnan(self.says[rater]))
        whole = len(known) in (0, len(self.choices))
        scores = {rule: self.scores[rule] if whole else self.score(rule, known) for rule in (*RULES, RANDOM)}
        best = max(scores, key=lambda rule: scores[rule].agreement.value)
        return best, scores[best].agreement.value

    def passed(self, rater: str) -> bool:
        """Whether the lower bound of its agreement lies above the best simple rule; not from a single conversation."""
        return bool(self.scores[rater].agreement.low > self.bar(rater)[1])

    def cell(self, score: Score, rater: str) -> Cell:
        one, drill = score.agreement, Drill(where=(("rater", rater),))
        few = one.clusters < self.settings.small and score.n > 0
        return cell_of(one.value, one.low, one.high, n=score.n, small=few, drill=drill)


def _majority(says: Sequence[Floats]) -> Floats:
    """What most judges say; a tie where as many say the one as the other, NaN where nobody answered."""
    every = np.stack(says)
    sums = np.sign(np.nansum(every, axis=0))
    return np.where(np.isnan(every).all(axis=0), np.nan, sums)


def _shown(arena: Arena, pair: Pair) -> Shown:
    left, right = (arena.replies[pair.history, author] for author in (pair.left, pair.right))
    turns = tuple((turn.role, turn.text) for turn in arena.histories[pair.history].turns)
    return Shown(turns, left.text, right.text, left.kind, right.kind)


def audit_analysis(audit: Audit, task: AuditTask, ceiling: float | None = None) -> Analysis:
    """The tables of an audit, and which judges passed. `ceiling`: the agreement of a judge without noise."""
    few = len({one.conversation for one in audit.choices}) < audit.settings.small
    warning = f"Fewer than {audit.settings.small} conversations are too few to validate a judge."
    unanswered = [f"{judge} {count}" for judge, count in audit.unanswered.items() if count]
    return Analysis(
        name="judge-audit",
        title=f"Judge audit: {_TASKS[task]}",
        question="How often does a judge prefer the reply that the participant preferred?",
        shows=" ".join(_finding(audit, judge) for judge in audit.raters),
        cannot="All of these replies were written by models, some edited by people; agreement on them does not show "
        "how a judge rates other replies."
        + (" A pairwise audit does not validate draft scores; --task rating does." if task == "pairwise" else ""),
        tables=(_judges(audit, ceiling), *_splits(audit)),
        warnings=((warning,) if few else ())
        + ((f"Pairs without a usable verdict, left out: {', '.join(unanswered)}.",) if unanswered else ()),
    )


_TASKS: Mapping[AuditTask, str] = {
    "pairwise": "pairwise comparisons",
    "rating": "ratings with the prompt of the draft judge",
}


def _finding(audit: Audit, judge: str) -> str:
    score, (rule, bar) = audit.scores[judge], audit.bar(judge)
    one = score.agreement
    ends = f" [{number(one.low, 2)}, {number(one.high, 2)}]" if not np.isnan(one.low) else ""
    verdict = "passes" if audit.passed(judge) else "does not pass"
    share = f"{number(one.value, 2)}{ends} of {counted(score.n, 'choice')}"
    return f"{judge} {verdict}: it agrees with participants on {share} (best simple rule: {rule} {number(bar, 2)})."


_COLUMNS = (
    column("agreement", (), "agreement", "share", "Share of the participant's choices, ties half.", better=True),
    counts("n", (), "choices"),
    counts("clusters", (), "conversations"),
)


def _judges(audit: Audit, ceiling: float | None) -> Table:
    """Judges, the rules that they have to beat, what is published, and the most that is possible."""
    rows: list[list[Any]] = []
    for rater in (*audit.raters, *RULES, RANDOM):
        score, kappa, flips = audit.scores[rater], audit.scores[rater].kappa, audit.flipped.get(rater, np.nan)
        cells = [audit.cell(score, rater), cell_of(kappa.value, kappa.low, kappa.high)]
        if rater in audit.raters:
            cells[0] = replace(cells[0], mark="passes" if audit.passed(rater) else "fails")
        elif rater == RANDOM:
            cells = [Cell(0.5, n=score.n), Cell(0.0)]
        rows.append([rater, *cells, score.n, score.agreement.clusters, score.ties, flips])
    beside = {**PUBLISHED, **({"judge without noise (ceiling)": ceiling} if ceiling is not None else {})}
    rows += [[name, value, *[None] * 5] for name, value in beside.items()]
    lines = {f"best rule ({audit.best_rule})": audit.to_beat, "chance": 0.5}
    lines |= {"ceiling": ceiling} if ceiling is not None else {}
    agreement, *sizes = _COLUMNS
    return table(
        "judges",
        "Agreement with participants",
        words("rater"),
        agreement,
        column("kappa", (), "Cohen κ", meaning="Agreement beyond chance, given each side's frequency.", digits=2),
        *sizes,
        column("ties", (), "ties", "share", "Share of ties, each counted as half."),
        column("flips", (), "order flips", "share", "Share of pairs whose winner changes with the order."),
        rows=rows,
        caption=f"{counted(len(audit.choices), 'choice')} of participants; {100 * audit.settings.level:g} % percentile "
        f"bootstrap intervals, {audit.settings.resamples:,} resamples of conversations. The random reply is shown at "
        "its expected value. A judge passes if the lower bound of its agreement lies above the best simple rule "
        f"({audit.best_rule}, {number(audit.to_beat)}) on the choices that it answered. Published values: all "
        "questions, another sample.",
        chart=Chart("intervals", "rater", ("agreement",), "Agreement with participants", "share", lines),
        apart=len(beside),
    )


def _splits(audit: Audit) -> Iterator[Table]:
    """Agreement by what a choice is of."""
    groups = [
        diagnosis_groups(one.profile.demographics.diagnoses) if one.profile else () for one in audit.conversations
    ]
    told = "A conversation counts in each of its groups, and in none if no diagnosis is stated."
    margin = (
        "3–0: all three other questions about the same two replies have the same winner as the general one; 2–1: two "
        "of the three."
    )
    splits: tuple[tuple[str, str, str, Sequence[str], str, Callable[[Choice], Sequence[str]]], ...] = (
        ("thirds", "third of the conversation", "third", _THIRDS, "", lambda one: [one.third]),
        ("diagnoses", "self-reported diagnosis", "diagnosis", GROUPS, told, lambda one: groups[one.conversation]),
        ("margins", "margin of the participant's choices", "margin", _MARGINS, margin, lambda one: [one.margin]),
        ("pairs", "pair of replies", "replies", (), "", lambda one: [one.pair.rpartition("/")[2]]),
        ("questions", "question", "question", (), "", lambda one: [one.question]),
    )  # fmt: skip
    for id, by, key, order, caption, of in splits:
        title = f"Agreement by {by}"
        places: dict[str, list[int]] = {name: [] for name in order}
        for row, choice in enumerate(audit.choices):
            for name in filter(None, of(choice)):
                places.setdefault(name, []).append(row)
        rows = [
            [name, rater, audit.cell(score, rater), score.n, score.agreement.clusters]
            for name, its in places.items()
            for rater in dict.fromkeys((*audit.raters, audit.best_rule) if its else ())
            for score in [audit.score(rater, its)]
        ]
        chart = Chart("intervals", "rater", ("agreement",), title, "share", {"chance": 0.5}, across=key)
        if rows and (id != "questions" or len(places) > 1):
            columns = words(key), words("rater"), *_COLUMNS
            yield table(id, title, *columns, rows=rows, caption=caption, chart=chart)
