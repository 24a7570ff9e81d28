"""What an analysis hands on: tables with their doubt, and in words what they show and what they cannot.

Every renderer (terminal, markdown, CSV, JSON, HTML, figures) draws from this alone. Knows no metric and no format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from attunebench.scores.table import ScoreTable
from attunebench.statistics.multiple import Correction

Unit = Literal["text", "count", "share", "points", "number", "p", "rank", "usd", "seconds"]
"""How a number is written: share 0.612, points 61.2 (0–100), p 0.003 or < 0.001; `number` has three digits."""
ChartKind = Literal["intervals", "bars", "heatmap", "matrix", "lines", "scatter", "dumbbells"]

NOT_ESTIMABLE = "not estimable"
"""Mark of a value whose interval cannot be estimated, since every conversation (participant) has the same one."""
NOT_ESTIMABLE_NOTE = (
    f"“{NOT_ESTIMABLE}”: every conversation (or participant) has the same value, so no interval can be estimated; "
    "shares of right answers have Wilson's interval instead."
)
SMALL = 20
"""Under this many conversations a subgroup gets a warning and no claim (spec 07)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How an analysis is made. `mode` None: every mode, each for itself, where the analysis can, else the primary one.

    `correction` is over all tests of a table. `by_participant` makes the participant the unit of resampling.
    """

    mode: str | None = None
    metrics: tuple[str, ...] = ()
    seed: int = 0
    resamples: int = 10_000
    level: float = 0.95
    alpha: float = 0.05
    power: float = 0.80
    correction: Correction = "holm"
    by_participant: bool = False
    baselines: bool = False
    small: int = SMALL
    threshold: float = 0.5
    """Set beforehand: capabilities count as independent below this |ρ|."""

    @property
    def units(self) -> str:
        """What is resampled and permuted, in a word."""
        return "participants" if self.by_participant else "conversations"

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for each use, so that no table depends on which others are made."""
        return np.random.default_rng([self.seed, *name.encode()])


@dataclass(frozen=True, slots=True)
class Drill:
    """Which answers stand behind a cell, so that a reader can look at them; None means all of them.

    `group` is the key of a group. `turns`: (conversation id, turn number). One of `metric` and `question` (with its
    `block`) says what of them the cell is about.
    """

    group: tuple[str, str, str] | None = None
    metric: str | None = None
    question: str | None = None
    block: str | None = None
    conversations: tuple[str, ...] | None = None
    turns: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table, with its doubt. None is undefined and shown as "–".

    `n` counts what the value is over, `p` is corrected where `corrected` says so. `small`: too little for a claim.
    `mark` is a short word beside the number ("best", "screener"), `link` the URL of a file that a reader's screen can
    open.
    """

    value: float | int | str | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p: float | None = None
    p_corrected: float | None = None
    small: bool = False
    mark: str = ""
    drill: Drill | None = None
    link: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: id for machines, label for people, what it means and which way is better (None: neither)."""

    id: str
    label: str
    unit: Unit = "number"
    meaning: str = ""
    higher_is_better: bool | None = None
    digits: int | None = None
    rounds_down: bool = False
    """1 is shown only where nothing is missing."""


@dataclass(frozen=True, slots=True)
class Chart:
    """How a table is best drawn: `label` and `values` name columns; `lines` are references (chance): label → value.

    A `heatmap` or `matrix` has a row for each row and a column for each of `values`; `lines` has a line for each row
    over `values`; `scatter` takes two of `values`, `dumbbells` joins two; `intervals` and `bars` draw each of them.
    `first`: only so many rows are drawn (None: all).
    """

    kind: ChartKind
    label: str
    values: tuple[str, ...]
    title: str = ""
    axis: str = ""
    lines: Mapping[str, float] = field(default_factory=dict)
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Rows have a cell for each column. `caption` says n, what the intervals are and what was controlled."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    chart: Chart | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """One question asked of the scores. `shows` and `cannot` are sentences made from what was found.

    `missing` says in a sentence why there is no table (no human answers, scores of an older version …).
    """

    name: str
    title: str
    question: str
    shows: str = ""
    cannot: str = ""
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What an analysis is given: the study, the same results under other labels or settings, and how."""

    study: ScoreTable
    settings: Settings
    others: Sequence[ScoreTable] = ()


def text(value: str, *, mark: str = "", drill: Drill | None = None) -> Cell:
    """A cell of words."""
    return Cell(value, mark=mark, drill=drill)


def known(value: float) -> float | None:
    """None for NaN: what arrays call undefined, as cells call it."""
    return None if np.isnan(value) else float(value)


def legend(tables: Sequence[Table]) -> tuple[str, ...]:
    """What the marks of these tables mean, as far as they need a word."""
    marks = {cell.mark for table in tables for row in table.rows for cell in row}
    return (NOT_ESTIMABLE_NOTE,) if NOT_ESTIMABLE in marks else ()
