"""What supporters do (acts such as validation or advice), and which acts raters name when they say why (spec 10.3.4).

Acts are found by the words of `acts.json`: a reply *does* an act, a rationale *cites* it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

import numpy as np

from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Filled,
    Missing,
    Table,
    column,
    number_of,
    table,
    words,
)
from attunebench.analyses.verdicts import listed, with_interval
from attunebench.arena.cells import difference_cells, share_cells
from attunebench.arena.folder import Arena
from attunebench.arena.objects import ADVERSARIAL, REGULAR, Reply, ReplyKind
from attunebench.arena.sampling import JUDGES, ArenaSettings, Draws, intervals_text
from attunebench.arena.table import PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels, ratio, sum_by_cluster
from attunebench.text import levelled

WARMTH = "generic warmth"
_CANNOT = (
    "Acts are found by English words, so plain forms of an act are found and others are missed: of the replies of the "
    "demo set that its labels call validating, under half are found, and nearly all that are found are right. Compare "
    "shares between columns; they are no totals. A rationale that says that an act is absent cites it too. The prompt "
    "of judges names validation, scope and stock warmth, which may lead them to cite these. Each interval stands "
    "alone: of 20 differences without an effect, one excludes 0 by chance."
)
_KINDS: tuple[ReplyKind, ...] = ("human", "model", "original", "alternate", "edited")
_MODELS: tuple[ReplyKind, ...] = ("model", "original", "alternate")
_EVERYWHERE = "all"
_GAP = r"[^\w\s]*\s+(?:\S+\s+){0,4}?"


class Act(NamedTuple):
    """An act with the words that do it in a reply and those that cite it in a rationale."""

    name: str
    meaning: str
    done: re.Pattern[str]
    cited: re.Pattern[str]


@cache
def lexicon() -> tuple[Act, ...]:
    """The acts of `acts.json`, in its order."""
    data = json.loads(resources.files(__package__).joinpath("acts.json").read_text(encoding="utf-8"))
    return tuple(
        Act(name, act["meaning"], _pattern(act["done"]), _pattern(act["cited"])) for name, act in data["acts"].items()
    )


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    """Any of the phrases: whole words, `*` any end of a word, `…` up to four words."""
    parts = []
    for phrase in phrases:
        plain = re.escape(phrase).replace(r"\ …\ ", _GAP).replace(r"\ ", r"\s+").replace(r"\*", r"\w*")
        starts, ends = ((r"\b" if char.isalnum() or char == "*" else "") for char in (phrase[0], phrase[-1]))
        parts.append(f"{starts}{plain}{ends}")
    return re.compile("|".join(parts))


def acts_in(texts: Sequence[str], side: Literal["done", "cited"]) -> Floats:
    """1 where a text does (or cites) an act, else 0: (texts, acts)."""
    patterns = [getattr(act, side) for act in lexicon()]
    plain = {text: levelled(text).lower() for text in dict.fromkeys(texts)}
    different = {text: [bool(one.search(as_seen)) for one in patterns] for text, as_seen in plain.items()}
    return np.array([different[text] for text in texts], dtype=np.float64).reshape(len(texts), len(patterns))


def warmth_of(text: str) -> int:
    """How many phrases of generic warmth a reply has."""
    plain = levelled(text).lower()
    return sum(1 for act in lexicon() if act.name == WARMTH for _ in act.done.finditer(plain))


def acts(arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Which acts people and judges cite in their rationales, and how often replies do them, human against model."""
    citing = _Citing(arena, table, settings)
    made = [*citing.tables(), *_done(arena, table, settings)]
    if not made:
        raise Missing("There are no rationales and no replies in which acts could be found.")
    return Analysis(
        shows=" ".join(filter(None, (_cited_text(made), _done_text(made)))),
        cannot=_CANNOT,
        tables=tuple(made),
        notes=(
            f"Acts: {'; '.join(f'{act.name}, which {act.meaning}' for act in lexicon())}.",
            intervals_text(table, settings),
        ),
    )


class _Citing:
    """Verdicts with a rationale: `told`, and which acts each cites, `cited`."""

    def __init__(self, arena: Arena, table: VerdictTable, settings: ArenaSettings) -> None:
        rationales = [one.rationale for one in arena.verdicts if not one.check]
        rows = np.flatnonzero(
            np.array([bool(text.strip()) for text in rationales], dtype=bool) & ~np.isnan(table.winner)
        )
        self.settings, self.told = settings, table.where(rows)
        self.cited = acts_in([rationales[row] for row in rows], "cited")
        self.judged = self.told.judges[self.told.rater] if len(rows) else np.zeros(0, dtype=bool)

    def tables(self) -> list[Table]:
        if not len(self.told):
            return []
        several = len(np.unique(self.told.rater[self.judged])) > 1
        return [self._cited(), *([self._by_rater()] if several else [])]

    def shares(self, rows: Labels, rater: str) -> tuple[list[Cell], Floats]:
        """How often each act is cited in these rationales."""
        cited, part = self.cited[rows], self.told.where(rows)
        drills = [Drill(where=(("rater", rater),))] * cited.shape[1]
        sums = Draws(part, self.settings).sums
        return share_cells(sums, part.history, cited, np.ones_like(cited), self.settings, drills)

    def _cited(self) -> Table:
        sides = {PEOPLE: np.flatnonzero(~self.judged), JUDGES: np.flatnonzero(self.judged)}
        there = {name: self.shares(rows, name) for name, rows in sides.items() if len(rows)}
        columns = [
            column(name, cells, name, "share", f"Share of the rationales of {name} that cite it.")
            for name, (cells, _) in there.items()
        ]
        if len(there) > 1:
            (people, drawn), (judges, also) = there.values()
            difference = difference_cells(people, judges, drawn - also, self.settings, [None] * len(people))
            meaning = "People's share minus that of judges."
            columns += [
                column("difference", difference, "people − judges", "share", meaning),
                *self._overlap(*sides.values()),
            ]
        chart = Chart("dumbbells", "act", tuple(there), "Acts cited in rationales", "share of rationales", lead=True)
        return table(
            "cited",
            "Which acts do rationales cite?",
            words("act", [act.name for act in lexicon()]),
            *columns,
            caption="n: rationales of verdicts that were given; of the overlap, rationales of people where the person "
            "or such a judge cites the act.",
            chart=chart
            if len(there) > 1
            else Chart("intervals", "act", tuple(there), chart.title, chart.axis, lead=True),
        )

    def _overlap(self, people: Labels, judges: Labels) -> list[Filled]:
        """How often a person and a judge who prefer the same reply of a pair cite the same act."""
        key = self.told.pair * 3 + self.told.winner.astype(np.intp)
        size = 3 * len(self.told.pairs) + 2
        count = np.bincount(key[judges] + 1, minlength=size)
        rows = people[count[key[people] + 1] > 0]
        place = key[rows] + 1
        one, other = (
            self.cited[rows],
            sum_by_cluster(self.cited[judges], key[judges] + 1, size)[place] / count[place, None],
        )
        both, part = one * other, self.told.where(rows)
        drills = [Drill(where=(("rater", PEOPLE),))] * one.shape[1]
        either = one + other - both
        cells, _ = share_cells(Draws(part, self.settings).sums, part.history, both, either, self.settings, drills)
        first, second = (side.mean(axis=0) if len(rows) else np.full(one.shape[1], np.nan) for side in (one, other))
        chance = ratio(first * second, first + second - first * second)
        meaning = "Of a person and a judge who prefer the same reply, one of whom cites the act: how often both do."
        return [
            column("overlap", cells, "overlap", "share", meaning),
            column(
                "by_chance", chance, "by chance", "share", "The overlap if both cited it as often, but independently."
            ),
        ]

    def _by_rater(self) -> Table:
        """A row for people and for each judge."""
        groups = [(PEOPLE, np.flatnonzero(~self.judged))]
        groups += [
            (self.told.raters[at], np.flatnonzero(self.told.rater == at))
            for at in np.unique(self.told.rater[self.judged])
        ]
        rows = [[name, *self.shares(rows, name)[0]] for name, rows in groups if len(rows)]
        names = [act.name.replace(" ", "_") for act in lexicon()]
        return table(
            "cited-by",
            "Which acts does each judge cite?",
            words("rater"),
            *(
                column(id, (), act.name, "share", f"It {act.meaning}.")
                for id, act in zip(names, lexicon(), strict=True)
            ),
            rows=rows,
            caption="Share of the rater's rationales, whose number is n.",
            chart=Chart("heatmap", "rater", tuple(names), "Acts cited by each rater", "share of rationales"),
        )


def _done(arena: Arena, table_: VerdictTable, settings: ArenaSettings) -> list[Table]:
    """How often replies of each kind do each act, in each slice."""
    place = {name: at for at, name in enumerate(table_.histories)}
    replies = [one for one in arena.replies.values() if one.history in place]
    kinds = [kind for kind in _KINDS if any(one.kind == kind for one in replies)]
    if not replies:
        return []
    done = acts_in([one.text for one in replies], "done")
    history = np.array([place[one.history] for one in replies], dtype=np.intp)
    slices = [name for name in (ADVERSARIAL, REGULAR) if name in table_.slices]
    rows = []
    for name in [*slices, *([_EVERYWHERE] if len(set(table_.slices)) > 1 or not slices else [])]:
        inside = np.array([name in (_EVERYWHERE, table_.slices[at]) for at in history], dtype=bool)
        rows += _rows_of_slice(name, kinds, [*zip(replies, inside, strict=True)], done, history, table_, settings)
    compared = _compared(kinds)
    labels = {"human": "human replies", "model": "model replies", "edited": "edited model replies"}
    made = table(
        "done",
        "Which acts do replies do?",
        words("slice"),
        words("act"),
        *(column(kind, (), labels.get(kind, kind), "share", "Share of these replies that do it.") for kind in kinds),
        *([column("difference", (), f"human − {compared[1]}", "share", _SAME)] if compared else []),
        rows=rows,
        caption="n: replies.",
        chart=Chart("dumbbells", "act", compared, "Acts done in replies", "share of replies", across="slice")
        if compared
        else Chart("intervals", "act", tuple(kinds[:1]), "Acts done in replies", "share of replies", across="slice"),
    )
    return [made]


_SAME = "Difference over the histories that have replies of both kinds; n: the fewer replies."


def _compared(kinds: Sequence[ReplyKind]) -> tuple[str, ...]:
    """The two kinds of replies that are compared: people's with those of models."""
    models = [kind for kind in kinds if kind in _MODELS]
    return ("human", models[0]) if "human" in kinds and models else ()


def _rows_of_slice(
    name: str,
    kinds: Sequence[ReplyKind],
    replies: Sequence[tuple[Reply, bool]],
    done: Floats,
    history: Labels,
    table_: VerdictTable,
    settings: ArenaSettings,
) -> list[list[Cell | str]]:
    """A row for each act: the slice, the act, a cell for each kind, and the difference of those that are compared."""
    weights = settings.resampling(table_).weights.astype(np.float64)
    where = () if name == _EVERYWHERE else (("slice", name),)

    def shares(kind: str, only: Labels | None = None) -> tuple[list[Cell], Floats]:
        rows = np.array([inside and one.kind == kind for one, inside in replies], dtype=bool)
        if only is not None:
            rows &= np.isin(history, only)
        of = history[rows]
        drills = [Drill(where=(("kind", kind), *where))] * done.shape[1]
        return share_cells(
            lambda values: weights @ sum_by_cluster(values, of, weights.shape[1]),
            of, done[rows], np.ones_like(done[rows]), settings, drills,
        )  # fmt: skip

    columns = [shares(kind)[0] for kind in kinds]
    if compared := _compared(kinds):
        having = [
            {at for (one, inside), at in zip(replies, history.tolist(), strict=True) if inside and one.kind == kind}
            for kind in compared
        ]
        shared = np.array(sorted(having[0] & having[1]), dtype=np.intp)
        (one, drawn), (other, also) = (shares(kind, shared) for kind in compared)
        columns.append(difference_cells(one, other, drawn - also, settings, [cell.drill for cell in one]))
    return [[name, act.name, *cells] for act, *cells in zip(lexicon(), *columns, strict=True)]


def excludes(cell: Cell, value: float = 0.0) -> bool:
    """Whether the interval of a cell lies to one side of the value, over enough histories."""
    return not cell.small and cell.low is not None and cell.high is not None and not cell.low <= value <= cell.high


def _cited_text(tables: Sequence[Table]) -> str:
    """Which act each side cites most, and where they differ."""
    made = next((one for one in tables if one.id == "cited"), None)
    if made is None:
        return "No verdict has a rationale."
    ids = [one.id for one in made.columns]
    parts = []
    for side in (PEOPLE, JUDGES):
        if side in ids:
            row = max(made.rows, key=lambda row: number_of(row[ids.index(side)]) or 0.0)
            cell = row[ids.index(side)]
            often = f"cite {row[0].value} most often ({with_interval(cell)}, n = {cell.n})"
            parts.append(f"{side} {often if cell.value else 'cite none of the acts'}")
    text = f"{listed(parts)}."
    return f"{text[0].upper()}{text[1:]} {_differences(made, 0, made.rows, 'People', 'judges', 'cite')}".strip()


def _done_text(tables: Sequence[Table]) -> str:
    """In what replies of people and models differ, in adversarial histories if there are any."""
    made = next((one for one in tables if one.id == "done"), None)
    if made is None or made.columns[-1].id != "difference":
        return ""
    name = str(made.rows[0][0].value)
    rows = [row for row in made.rows if row[0].value == name]
    other = made.columns[-1].label.rpartition(" ")[2]
    where = f" in {name} histories" if name != _EVERYWHERE else ""
    return _differences(made, 1, rows, "Human replies", f"{other} replies", "do", where)


def _differences(
    made: Table, at: int, rows: Sequence[Sequence[Cell]], one: str, other: str, verb: str, where: str = ""
) -> str:
    """The significant differences of a table, in a sentence; "" where it has none to show."""
    place = next((place for place, column in enumerate(made.columns) if column.id == "difference"), None)
    if place is None:
        return ""
    usable = [row for row in rows if row[place].low is not None and not row[place].small]
    shown = [f"{row[at].value} ({with_interval(row[place], sign=True)})" for row in usable if excludes(row[place])]
    if not usable:
        return f"Too few histories to compare {one.lower()} with {other}{where}."
    if not shown:
        return f"{one} and {other} do not differ significantly in any act{where}."
    return f"{one} {verb} these acts more (+) or less often (−) than {other}{where}: {listed(shown, most=8)}."
