"""What supporters do (acts such as validation or advice), and which acts raters name when they say why (spec 10.3.4).

Acts are found by the words of `acts.json`: a reply *does* an act, a rationale *cites* it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from attunebench.arena.cells import difference_cells, excludes, share_cells, without_empty_columns
from attunebench.arena.folder import Arena
from attunebench.arena.objects import ADVERSARIAL, REGULAR, ReplyKind
from attunebench.arena.sampling import ArenaSettings, Draws, intervals_text
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels, ratio, ratio_of_sums, sum_by_cluster
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
    cited, told = _Citing(arena, table, settings).tables()
    if not cited and not arena.replies:
        raise Missing("This arena has no rationales and no replies to search for acts.")
    if arena.replies:
        done, shown = _Doing(arena, table, settings).table()
        cited, told = [*cited, done], f"{told} {shown}".strip()
    return Analysis(
        shows=told,
        cannot=_CANNOT,
        tables=tuple(cited),
        notes=(
            f"Acts: {'; '.join(f'{act.name} ({act.meaning})' for act in lexicon())}.",
            intervals_text(table, settings),
        ),
    )


def rows_of_raters(table: VerdictTable) -> dict[str, Labels]:
    """The rows of people together and of each judge."""
    judged = table.judges[table.rater]
    rows = {} if judged.all() else {PEOPLE: np.flatnonzero(~judged)}
    return rows | {table.raters[at]: np.flatnonzero(table.rater == at) for at in np.unique(table.rater[judged])}


class _Citing:
    """Verdicts with a rationale: `told`, and which acts each cites, `cited`."""

    def __init__(self, arena: Arena, table: VerdictTable, settings: ArenaSettings) -> None:
        rationales = [one.rationale for one in arena.verdicts if not one.check]
        there = np.array([bool(text.strip()) for text in rationales], dtype=bool) & ~np.isnan(table.winner)
        self.settings, self.told = settings, table.where(there)
        self.cited = acts_in([text for text, one in zip(rationales, there, strict=True) if one], "cited")

    def tables(self) -> tuple[list[Table], str]:
        """What people and judges cite, and where there are several what each judge does; in a sentence too."""
        raters, judged = rows_of_raters(self.told), self.told.judges[self.told.rater]
        if not raters:
            return [], "No verdict has a rationale."
        rows = {PEOPLE: np.flatnonzero(~judged), JUDGES: np.flatnonzero(judged)}
        (people, drawn), (judges, also) = (self._shares(of, self.cited[of], 1.0, name) for name, of in rows.items())
        difference = difference_cells(people, judges, drawn - also, self.settings, [None] * len(people))
        both = all(map(len, rows.values()))
        cited = table(
            "cited",
            "Which acts do rationales cite?",
            words("act", [act.name for act in lexicon()]),
            column(PEOPLE, people, PEOPLE, "share", "Share of rationales by people that cite the act."),
            column(JUDGES, judges, JUDGES, "share", "Share of rationales by judges that cite the act."),
            column("difference", difference, "people − judges", "share", "People's share minus judges' share."),
            *self._overlap(*rows.values()),
            caption=f"n: rationales. {_certain(self.told)}",
            chart=Chart(
                "dumbbells" if both else "intervals", "act", tuple(name for name, of in rows.items() if len(of)),
                "Acts cited in rationales", "share of rationales", lead=True,
            ),
        )  # fmt: skip
        text = [_most(name, cells) for name, cells in ((PEOPLE, people), (JUDGES, judges)) if len(rows[name])]
        text += [_differences(difference, "People", "judges", "cite")] if both else []
        several = [self._by_rater(raters)] if len(raters) > 1 + (PEOPLE in raters) else []
        return [without_empty_columns(cited), *several], " ".join(text)

    def _shares(self, rows: Labels, above: Floats, below: ArrayLike, rater: str) -> tuple[list[Cell], Floats]:
        """Of each act Σ above / Σ below over these verdicts."""
        part, drills = self.told.where(rows), [Drill(where=(("rater", rater),))] * above.shape[1]
        of = np.broadcast_to(below, above.shape)
        return share_cells(Draws(part, self.settings).sums, part.unit, above, of, self.settings, drills)

    def _overlap(self, people: Labels, judges: Labels) -> list[Filled]:
        """How often a person and a judge who prefer the same reply of a pair cite the same act."""
        key, size = 3 * self.told.pair + (self.told.winner + 1).astype(np.intp), 3 * len(self.told.pairs)
        count = np.bincount(key[judges], minlength=size)
        rows = people[count[key[people]] > 0]
        one, place = self.cited[rows], key[rows]
        other = sum_by_cluster(self.cited[judges], key[judges], size)[place] / count[place, None]
        cells, _ = self._shares(rows, one * other, one + other - one * other, PEOPLE)
        first, second = (ratio_of_sums(side, np.ones_like(side)) for side in (one, other))
        chance = ratio(first * second, first + second - first * second)
        meaning = "Where a person and a judge prefer the same reply and one cites it: how often both do; n: by people."
        independent = "Expected overlap if both cited the act independently, at the same rates."
        return [
            column("overlap", cells, "overlap", "share", meaning),
            column("by_chance", chance, "by chance", "share", independent),
        ]

    def _by_rater(self, raters: Mapping[str, Labels]) -> Table:
        """A row for people and for each judge."""
        columns = [column(act.name.replace(" ", "_"), (), act.name, "share", f"It {act.meaning}.") for act in lexicon()]
        names = tuple(one.column.id for one in columns)
        return table(
            "cited-by",
            "Which acts does each judge cite?",
            words("rater"),
            *columns,
            rows=[[name, *self._shares(of, self.cited[of], 1.0, name)[0]] for name, of in raters.items()],
            caption=f"Share of the rater's rationales that cite the act; n: rationales. {_certain(self.told)}",
            chart=Chart("heatmap", "rater", names, "Acts cited by each rater", "share of rationales"),
        )


class _Doing:
    """The replies of an arena: of which kind and to which history each is, and which acts it does, `done`."""

    def __init__(self, arena: Arena, verdicts: VerdictTable, settings: ArenaSettings) -> None:
        place, replies = {name: at for at, name in enumerate(verdicts.histories)}, arena.replies.values()
        self.settings, self.draws = settings, settings.resampling(verdicts).weights.astype(np.float64)
        self.kind = np.array([one.kind for one in replies], dtype=np.str_)
        self.history = np.array([place[one.history] for one in replies], dtype=np.intp)
        self.unit, self.certain = verdicts.units[self.history], _certain(verdicts)
        self.slice = np.array(verdicts.slices, dtype=np.str_)[self.history]
        self.done = acts_in([one.text for one in replies], "done")
        self.model: ReplyKind = next((kind for kind in _MODELS if (self.kind == kind).any()), "model")

    def table(self) -> tuple[Table, str]:
        """How often replies of each kind do each act, in adversarial and in regular histories."""
        slices = {name: self.slice == name for name in (ADVERSARIAL, REGULAR) if (self.slice == name).any()}
        if not all(of.all() for of in slices.values()) or not slices:
            slices[_EVERYWHERE] = self.slice == self.slice
        rows = [row for name, of in slices.items() for row in self._rows(name, of)]
        compared, name = rows[0][-1].n, next(iter(slices))
        shown = ("human", self.model) if compared else tuple(kind for kind in _KINDS if (self.kind == kind).any())[:1]
        made = table(
            "done",
            "Which acts do replies perform?",
            words("slice"),
            words("act"),
            *(column(one, (), _LABELS.get(one, one), "share", "Share that perform the act.") for one in _KINDS),
            column("difference", (), f"human − {self.model}", "share", _SAME),
            rows=rows,
            caption=f"n: replies. {self.certain}",
            chart=Chart(
                "dumbbells" if compared else "intervals", "act", shown, "Acts performed in replies", "share of replies",
                across="slice",
            ),
        )  # fmt: skip
        where = "" if name == _EVERYWHERE else f" in {name} histories"
        difference = [row[-1] for row in rows[: len(lexicon())]]
        text = _differences(difference, "Human replies", f"{self.model} replies", "perform", where) if compared else ""
        return without_empty_columns(made), text

    def _rows(self, name: str, there: NDArray[np.bool_]) -> list[list[Any]]:
        """A row for each act: the slice, the act, a cell for each kind, and the difference of people and models."""
        rows = {kind: there & (self.kind == kind) for kind in _KINDS}
        where = () if name == _EVERYWHERE else (("slice", name),)
        columns = [self._shares(rows[kind], ("kind", kind), *where)[0] for kind in _KINDS]
        people, models = rows["human"], rows[self.model]
        shared = np.isin(self.history, np.intersect1d(self.history[people], self.history[models]))
        one, drawn = self._shares(people & shared, ("kind", "human"), *where)
        other, also = self._shares(models & shared, ("kind", self.model), *where)
        columns.append(difference_cells(one, other, drawn - also, self.settings, [cell.drill for cell in one]))
        return [[name, act.name, *cells] for act, *cells in zip(lexicon(), *columns, strict=True)]

    def _shares(self, rows: NDArray[np.bool_], *where: tuple[str, str]) -> tuple[list[Cell], Floats]:
        unit, done = self.unit[rows], self.done[rows]
        return share_cells(
            lambda values: self.draws @ sum_by_cluster(values, unit, self.draws.shape[1]),
            unit, done, np.ones_like(done), self.settings, [Drill(where=where)] * done.shape[1],
        )  # fmt: skip


def _certain(table: VerdictTable) -> str:
    return f"A share of 0 or 1 has a Wilson interval in which each {table.unit_names[0]} counts once."


def _most(side: str, cells: Sequence[Cell]) -> str:
    """Which act people or judges cite most."""
    at = int(np.argmax([number_of(cell) or 0.0 for cell in cells]))
    often = f"{lexicon()[at].name} most often ({with_interval(cells[at])}, n = {cells[at].n})"
    return f"{side.capitalize()} cite {often if cells[at].value else 'none of the acts'}."


def _differences(cells: Sequence[Cell], one: str, other: str, verb: str, where: str = "") -> str:
    """The acts in which two sides differ significantly."""
    shown = [
        f"{act.name} ({with_interval(cell, sign=True)}, n = {cell.n})"
        for act, cell in zip(lexicon(), cells, strict=True)
        if excludes(cell)
    ]
    if all(cell.small or cell.value is None for cell in cells):
        return f"Too few histories or conversations to compare {one.lower()} with {other}{where}."
    if not shown:
        return f"{one} and {other} do not differ significantly in any act{where}."
    return f"{one} {verb} these acts more (+) or less often (−) than {other}{where}: {listed(shown, most=8)}."
