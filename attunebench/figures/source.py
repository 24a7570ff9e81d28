"""Where figures take their numbers from: the tables of the analyses, read as arrays, and each model's looks.

So a figure shows what the table says. Computes no statistic and draws nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attunebench import analyses
from attunebench.analyses.base import NOTHING_SCORED, Settings, Subject, in_mode, primary_mode, value_of
from attunebench.analyses.palette import Style, palette
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Analysis, Cell, Table
from attunebench.figures.model import LackingError, Look
from attunebench.scores.table import ScoreTable
from attunebench.text import printable

Floats = NDArray[np.float64]

SUMMARY = Style("#000000", "#FFFFFF", "bar", ())
"""The looks of a row over all models, and of a reference."""
_LONGEST_NAME = 26


@dataclass(frozen=True, slots=True)
class Points:
    """A column of a table: values with their intervals, NaN where undefined; `small` is too little for a claim."""

    value: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]
    small: NDArray[np.bool_]
    marks: tuple[str, ...]

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Points:
        return cls(
            np.array([value_of(cell) for cell in cells]),
            np.array([np.nan if cell.low is None else cell.low for cell in cells]),
            np.array([np.nan if cell.high is None else cell.high for cell in cells]),
            np.array([cell.n or 0 for cell in cells], dtype=np.int64),
            np.array([cell.small for cell in cells], dtype=bool),
            tuple(cell.mark for cell in cells),
        )

    @classmethod
    def bare(cls, value: Floats, low: Floats | None = None, high: Floats | None = None) -> Points:
        """Values of arrays, with their intervals if they have any."""
        gap = np.full_like(value, np.nan)
        none = np.zeros(value.shape, dtype=np.int64)
        ends = (gap if low is None else low, gap if high is None else high)
        return cls(value, *ends, none, none.astype(bool), ("",) * len(value))

    @property
    def known(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.value)

    def take(self, order: Sequence[int]) -> Points:
        """The points at these positions."""
        rows = np.array(order, dtype=np.intp)
        marks = tuple(self.marks[i] for i in order)
        return Points(self.value[rows], self.low[rows], self.high[rows], self.n[rows], self.small[rows], marks)


@dataclass(frozen=True)
class Source:
    """What a figure is drawn from. `settings` are those of the analyses; `mode` None there is the primary one."""

    study: ScoreTable
    settings: Settings
    look: Look = field(default_factory=Look)
    made: dict[tuple[str, str | None], Analysis] = field(default_factory=dict)

    def analysis(self, name: str, mode: str | None = None) -> Analysis:
        """An analysis, made once. `LackingError` with its own words where the scores cannot give it."""
        key = (name, mode or self.settings.mode)
        if key not in self.made:
            settings = replace(self.settings, mode=key[1], metrics=())
            self.made[key] = analyses.analyse(name, Subject(self.study, settings))
        found = self.made[key]
        if found.missing or not found.tables:
            raise LackingError(found.missing or "The analysis of these scores has no table.")
        return found

    def table(self, name: str, table_id: str, mode: str | None = None) -> Table:
        """A table of an analysis; `LackingError` where it is not there or empty."""
        for table in self.analysis(name, mode).tables:
            if table.id == table_id and table.rows:
                return table
        raise LackingError(f"The analysis {name} has nothing of this for these scores.")

    @property
    def mode(self) -> str:
        """The one mode of figures that show one."""
        return self.settings.mode or primary_mode(self.study)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes of figures that are drawn for each."""
        return (self.settings.mode,) if self.settings.mode else self.study.modes

    def models(self, mode: str | None = None) -> ScoreTable:
        """The models of a mode with the conversations that at least one has; `LackingError` where there are none."""
        chosen = in_mode(self.study, mode or self.mode, self.settings)
        if not chosen.groups:
            raise LackingError(NOTHING_SCORED)
        return chosen

    @cached_property
    def styles(self) -> Mapping[str, Style]:
        """Label → looks, over the whole study; of a row that is no model, those of a summary."""
        looks = palette(self.study.groups)
        return defaultdict(lambda: SUMMARY, {group.label: looks[group.model_key] for group in self.study.groups})

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Label → the name that is drawn: of one line, and short enough to leave room for the figure."""
        return _Names(short_names([group.label for group in self.study.groups]))

    def shortened(self, labels: Sequence[str]) -> tuple[str, ...]:
        """A sentence for the caption that gives the full names of those that were shortened; () for none."""
        cut = [(self.names[label], label) for label in dict.fromkeys(labels) if "…" in self.names[label]]
        if not cut:
            return ()
        return ("Shortened names: " + "; ".join(f"{short} is {printable(label, 200)}" for short, label in cut) + ".",)


class _Names(dict[str, str]):
    """Names of models; a row that is no model keeps its own."""

    def __missing__(self, label: str) -> str:
        return label


def short_names(labels: Sequence[str], longest: int = _LONGEST_NAME) -> dict[str, str]:
    """Label → at most `longest` characters: head and tail, since versions stand at the end.

    Names that would become the same show where they begin to differ, and where even that is the same, a number.
    """
    whole = {label: printable(label, 500) or "(no name)" for label in dict.fromkeys(labels)}
    tail = longest // 2 - 1
    cut = {
        label: name if len(name) <= longest else f"{name[: longest - tail - 1]}…{name[-tail:]}"
        for label, name in whole.items()
    }
    found: dict[str, str] = {}
    for label, name in cut.items():
        alike = [whole[other] for other, same in cut.items() if same == name]
        if len(alike) > 1:
            name = _where_they_differ(whole[label], alike, longest)
        plain, count = name, 1
        while name in found.values():
            count += 1
            name = f"{plain} #{count}"
        found[label] = name
    return found


def _where_they_differ(name: str, alike: Sequence[str], longest: int) -> str:
    """A few first characters and those around the first that is not the same in all names."""
    if len(name) <= longest:
        return name
    first, last = min(alike), max(alike)
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    head = longest // 4
    start = max(head + 1, min(shared - 3, len(name) - (longest - head - 1)))
    rest = name[start:]
    room = longest - head - 1
    return f"{name[:head]}…{rest if len(rest) <= room else rest[: room - 1] + '…'}"


def column(table: Table, column_id: str) -> list[Cell]:
    """The cells of a column."""
    at = position(table, column_id)
    return [row[at] for row in table.rows]


def points(table: Table, column_id: str) -> Points:
    """A column as arrays."""
    return Points.of(column(table, column_id))


def words(table: Table, column_id: str) -> list[str]:
    """A column of words."""
    return [str(cell.value) for cell in column(table, column_id)]


def position(table: Table, column_id: str) -> int:
    """Where a column stands in the rows."""
    return next(at for at, one in enumerate(table.columns) if one.id == column_id)


def has(table: Table, column_id: str) -> bool:
    """Whether the table has the column."""
    return any(one.id == column_id for one in table.columns)


def means(study: ScoreTable, metric_id: str, settings: Settings) -> Points:
    """A metric's mean per group with its interval, as the tables of all analyses have it."""
    sampling = Sampling.of(study, settings)
    return Points.of(sampling.cells(study.values(metric_id), of=metric_id))


def n_text(counts: NDArray[np.int64], noun: str = "conversations") -> str:
    """ "n = 66 conversations", "n = 60–66 conversations" over those that have any."""
    some = counts[counts > 0]
    if not some.size:
        return "n = 0"
    low, high = int(some.min()), int(some.max())
    if high == 1:
        noun = noun.removesuffix("s")
    return (f"n = {low:,} {noun}" if low == high else f"n = {low:,}–{high:,} {noun}").strip()


def counts(table: Table, column_id: str) -> NDArray[np.int64]:
    """A column of counts; 0 where one is undefined."""
    return np.nan_to_num(points(table, column_id).value).astype(np.int64)
