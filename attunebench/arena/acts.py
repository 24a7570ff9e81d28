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
from numpy.typing import NDArray

from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    ChartKind,
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
from attunebench.arena.cells import difference_cells, excludes, share_cells
from attunebench.arena.folder import Arena
from attunebench.arena.objects import ADVERSARIAL, REGULAR, ReplyKind
from attunebench.arena.sampling import ArenaSettings, Draws, intervals_text
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels, ratio, sum_by_cluster
from attunebench.text import levelled

WARMTH = "generic warmth"
_CANNOT = (
    "Acts are found by English phrases, which miss many: of the demo replies labelled as validating, under half are "
    "found, and nearly all that are found are correct. Compare shares between columns; they are not totals. A "
    "rationale that notes that an act is missing also cites it. The prompt for judges names validation, scope and "
    "stock warmth, which may lead them to cite these. Intervals are not corrected for multiple comparisons: of 20 "
    "differences without an effect, one excludes 0 by chance."
)
_KINDS: tuple[ReplyKind, ...] = ("human", "model", "original", "alternate", "edited")
_MODELS: tuple[ReplyKind, ...] = ("model", "original", "alternate")
_EVERYWHERE = "all"
_LABELS = {"human": "human replies", "model": "model replies", "edited": "edited model replies"}
_SAME = "Over histories with replies of both kinds; n: replies of the kind with fewer."
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
    made = [*citing.tables(), *([_Doing(arena, table, settings).table()] if arena.replies else [])]
    if not made:
        raise Missing("This arena has no rationales and no replies to search for acts.")
    return Analysis(
        shows=" ".join(filter(None, (_cited_text(made), _done_text(made)))),
        cannot=_CANNOT,
        tables=tuple(made),
        notes=(
            f"Acts: {'; '.join(f'{act.name} ({act.meaning})' for act in lexicon())}.",
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
        return share_cells(sums, part.unit, cited, np.ones_like(cited), self.settings, drills)

    def _cited(self) -> Table:
        sides = {PEOPLE: np.flatnonzero(~self.judged), JUDGES: np.flatnonzero(self.judged)}
        there = {name: self.shares(rows, name) for name, rows in sides.items() if len(rows)}
        columns = [
            column(name, cells, name, "share", f"Share of rationales by {name} that cite the act.")
            for name, (cells, _) in there.items()
        ]
        if len(there) > 1:
            (people, drawn), (judges, also) = there.values()
            difference = difference_cells(people, judges, drawn - also, self.settings, [None] * len(people))
            meaning = "People's share minus judges' share."
            columns += [
                column("difference", difference, "people − judges", "share", meaning),
                *self._overlap(*sides.values()),
            ]
        kind: ChartKind = "dumbbells" if len(there) > 1 else "intervals"
        return table(
            "cited",
            "Which acts do rationales cite?",
            words("act", [act.name for act in lexicon()]),
            *columns,
            caption="n: rationales.",
            chart=Chart(kind, "act", tuple(there), "Acts cited in rationales", "share of rationales", lead=True),
        )

    def _overlap(self, people: Labels, judges: Labels) -> list[Filled]:
        """How often a person and a judge who prefer the same reply of a pair cite the same act."""
        key = self.told.pair * 3 + self.told.winner.astype(np.intp)
        size = 3 * len(self.told.pairs) + 2
        count = np.bincount(key[judges] + 1, minlength=size)
        rows = people[count[key[people] + 1] > 0]
        place = key[rows] + 1
        by_judges = sum_by_cluster(self.cited[judges], key[judges] + 1, size)
        one, other = self.cited[rows], by_judges[place] / count[place, None]
        both, part = one * other, self.told.where(rows)
        drills = [Drill(where=(("rater", PEOPLE),))] * one.shape[1]
        either = one + other - both
        cells, _ = share_cells(Draws(part, self.settings).sums, part.unit, both, either, self.settings, drills)
        first, second = (side.mean(axis=0) if len(rows) else np.full(one.shape[1], np.nan) for side in (one, other))
        chance = ratio(first * second, first + second - first * second)
        meaning = "Where a person and a judge prefer the same reply and one cites it: how often both do; n: by people."
        independent = "Expected overlap if both cited the act independently, at the same rates."
        return [
            column("overlap", cells, "overlap", "share", meaning),
            column("by_chance", chance, "by chance", "share", independent),
        ]

    def _by_rater(self) -> Table:
        """A row for people and for each judge."""
        groups = [(PEOPLE, np.flatnonzero(~self.judged))]
        groups += [
            (self.told.raters[at], np.flatnonzero(self.told.rater == at))
            for at in np.unique(self.told.rater[self.judged])
        ]
        rows = [[name, *self.shares(rows, name)[0]] for name, rows in groups if len(rows)]
        columns = [column(act.name.replace(" ", "_"), (), act.name, "share", f"It {act.meaning}.") for act in lexicon()]
        names = tuple(one.column.id for one in columns)
        return table(
            "cited-by",
            "Which acts does each judge cite?",
            words("rater"),
            *columns,
            rows=rows,
            caption="Share of the rater's rationales that cite the act; n: rationales.",
            chart=Chart("heatmap", "rater", names, "Acts cited by each rater", "share of rationales"),
        )


class _Doing:
    """The replies of an arena: of which kind and to which history each is, and which acts it does, `done`."""

    def __init__(self, arena: Arena, verdicts: VerdictTable, settings: ArenaSettings) -> None:
        place, replies = {name: at for at, name in enumerate(verdicts.histories)}, arena.replies.values()
        self.settings, self.draws = settings, settings.resampling(verdicts).weights.astype(np.float64)
        self.kind = np.array([one.kind for one in replies], dtype=np.str_)
        self.history = np.array([place[one.history] for one in replies], dtype=np.intp)
        self.unit = verdicts.units[self.history]
        self.slice = np.array(verdicts.slices, dtype=np.str_)[self.history]
        self.done = acts_in([one.text for one in replies], "done")
        self.kinds = [kind for kind in _KINDS if (self.kind == kind).any()]
        models = [kind for kind in self.kinds if kind in _MODELS]
        self.compared: tuple[ReplyKind, ...] = ("human", models[0]) if "human" in self.kinds and models else ()

    def table(self) -> Table:
        """How often replies of each kind do each act, in adversarial and in regular histories."""
        slices = [name for name in (ADVERSARIAL, REGULAR) if (self.slice == name).any()]
        slices += [_EVERYWHERE] if len(np.unique(self.slice)) > 1 or not slices else []
        difference = column("difference", (), f"human − {self.compared[-1]}" if self.compared else "", "share", _SAME)
        kind: ChartKind = "dumbbells" if self.compared else "intervals"
        shown = self.compared or tuple(self.kinds[:1])
        return table(
            "done",
            "Which acts do replies perform?",
            words("slice"),
            words("act"),
            *(column(one, (), _LABELS.get(one, one), "share", "Share that perform the act.") for one in self.kinds),
            *([difference] if self.compared else []),
            rows=[row for name in slices for row in self._rows(name)],
            caption="n: replies.",
            chart=Chart(kind, "act", shown, "Acts performed in replies", "share of replies", across="slice"),
        )

    def _rows(self, name: str) -> list[list[Cell | str]]:
        """A row for each act: the slice, the act, a cell for each kind, and the difference of the two compared."""
        everywhere = name == _EVERYWHERE
        rows = {kind: (self.kind == kind) & (everywhere | (self.slice == name)) for kind in self.kinds}
        where = () if everywhere else (("slice", name),)
        columns = [self._shares(rows[kind], ("kind", kind), *where)[0] for kind in self.kinds]
        if self.compared:
            both = [self.history[rows[kind]] for kind in self.compared]
            shared = np.isin(self.history, np.intersect1d(both[0], both[1]))
            sides = [self._shares(rows[kind] & shared, ("kind", kind), *where) for kind in self.compared]
            (one, drawn), (other, also) = sides
            columns.append(difference_cells(one, other, drawn - also, self.settings, [cell.drill for cell in one]))
        return [[name, act.name, *cells] for act, *cells in zip(lexicon(), *columns, strict=True)]

    def _shares(self, rows: NDArray[np.bool_], *where: tuple[str, str]) -> tuple[list[Cell], Floats]:
        unit, done = self.unit[rows], self.done[rows]
        return share_cells(
            lambda values: self.draws @ sum_by_cluster(values, unit, self.draws.shape[1]),
            unit, done, np.ones_like(done), self.settings, [Drill(where=where)] * done.shape[1],
        )  # fmt: skip


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
    return _differences(made, 1, rows, "Human replies", f"{other} replies", "perform", where)


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
        return f"Differences between {one.lower()} and {other}{where} cannot be estimated."
    if not shown:
        return f"{one} and {other} do not differ significantly in any act{where}."
    return f"{one} {verb} these acts more (+) or less often (−) than {other}{where}: {listed(shown, most=8)}."
