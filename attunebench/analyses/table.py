"""Tables of numbers with their doubt, built column by column, and the analysis that they belong to.

Every renderer (terminal, Markdown, CSV, JSON, HTML, figures) draws from this alone. Knows no metric, no scores and no
format.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

Unit = Literal["text", "count", "share", "points", "number", "p", "rank", "usd", "seconds"]
"""How a number is written: share 0.612, points 61.2 (0–100), p 0.003 or < 0.001; `number` has three digits."""
ChartKind = Literal["intervals", "bars", "heatmap", "matrix", "lines", "scatter", "dumbbells"]
Role = Literal["person", "all models"]
"""What is no model in a chart: the person (a thick neutral line) or all models (dashed grey); labelled at its end."""

NOT_ESTIMABLE = "not estimable"
"""Mark of a value whose interval cannot be estimated, since every conversation (participant) has the same one."""
ZERO_INFLATED = "mostly one value"
"""Mark of a mean over values of which nine in ten or more are equal: its interval is too narrow."""
_MARKS = {
    NOT_ESTIMABLE: "every conversation (or participant) has the same value, so no interval can be estimated; shares of "
    "right answers have Wilson's interval instead.",
    ZERO_INFLATED: "at least nine in ten conversations share one value (mostly 0), so the percentile interval is "
    "narrower than it should be.",
}


class Missing(Exception):  # noqa: N818
    """An analysis has nothing to show; the message says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Drill:
    """Which answers stand behind a cell; None means all of them. `group` is a key, `turns` (conversation id, number).

    One of `metric` and `question` (with its `block`) says what of them the cell is about.
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

    `n` counts what the value is over. `small`: too little for a claim. `mark` is a short word beside the number
    ("best"). `digits` take the place of the column's where each row is of another kind.
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
    digits: int | None = None


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

    A `heatmap` or `matrix` has a column for each of `values`, `lines` a line for each row over them; `scatter` takes
    two, `dumbbells` joins two; `intervals` and `bars` draw each of them. `first`: only so many rows are drawn.
    `roles`: ids of columns or labels of rows that are no model's.
    """

    kind: ChartKind
    label: str
    values: tuple[str, ...]
    title: str = ""
    axis: str = ""
    lines: Mapping[str, float] = field(default_factory=dict)
    first: int | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Rows have a cell for each column. `caption` says n, what the intervals are and what was controlled.

    So many of the last rows stand `apart`: references, which are no part of what is compared.
    """

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    chart: Chart | None = None
    apart: int = 0


class PlotRow(NamedTuple):
    """What a row is of, and a cell for each of the plot's columns."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart with its numbers: the page draws it as SVG and `figures` for print."""

    kind: ChartKind
    title: str
    axis: str
    columns: tuple[Column, ...]
    rows: tuple[PlotRow, ...]
    lines: Mapping[str, float] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)

    def span(self, more: Iterable[float] = (), *, intervals: bool = True) -> tuple[float, float]:
        """The least and greatest of its values, of their intervals and of `more`; (0, 1) without any."""
        numbers = [*more]
        for cell in (cell for row in self.rows for cell in row.cells):
            if (value := number_of(cell)) is not None:
                numbers += [value, *(end for end in (cell.low, cell.high) if intervals and end is not None)]
        return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)

    def references(self, *, intervals: bool = True) -> tuple[dict[str, float], dict[str, float]]:
        """Its lines near the values, and those so far off that drawing them would press the values together."""
        low, high = self.span(intervals=intervals)
        reach = high - low or abs(high) or 1.0
        near = {name: at for name, at in self.lines.items() if low - reach <= at <= high + reach}
        return near, {name: at for name, at in self.lines.items() if name not in near}


def plot(table: Table, chart: Chart) -> Plot:
    """A chart of the table with its numbers; columns that the table lacks are left out."""
    index = {one.id: place for place, one in enumerate(table.columns)}
    places = [index[name] for name in chart.values if name in index]
    at = index[chart.label]
    # Text columns before the label tell more of what a row is.
    named = [*(place for place in range(at) if table.columns[place].unit == "text"), at]
    rows = tuple(
        PlotRow(" · ".join(str(row[place].value) for place in named), tuple(row[place] for place in places))
        for row in table.rows[: chart.first]
    )
    columns = tuple(table.columns[place] for place in places)
    return Plot(chart.kind, chart.title, chart.axis, columns, rows, chart.lines, chart.roles)


@dataclass(frozen=True, slots=True)
class Analysis:
    """One question asked of the scores. `shows` says in sentences what the numbers show, `cannot` what they do not.

    `missing` says why there is no table. An analysis of the catalogue leaves empty what its entry has: name, title,
    question and a `cannot` that no number changes.
    """

    name: str = ""
    title: str = ""
    question: str = ""
    shows: str = ""
    cannot: str = ""
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""


class Filled(NamedTuple):
    """A column with its cells, one for each row."""

    column: Column
    cells: list[Cell]

    def repeated(self, times: int) -> Filled:
        """Each row so many times."""
        return Filled(self.column, [cell for cell in self.cells for _ in range(times)])


def column(
    id: str,
    values: Iterable[Cell | Any] = (),
    label: str = "",
    unit: Unit = "number",
    meaning: str = "",
    *,
    better: bool | None = None,
    digits: int | None = None,
    rounds_down: bool = False,
) -> Filled:
    """A column of cells or bare values; NaN is undefined. `label` is the id in words unless given."""
    cells = [as_cell(value) for value in values]
    return Filled(Column(id, label or id.replace("_", " "), unit, meaning, better, digits, rounds_down), cells)


def words(id: str, values: Iterable[Cell | str | None] = (), label: str = "", meaning: str = "") -> Filled:
    """A column of text."""
    return column(id, values, label, "text", meaning)


def counts(id: str, values: Iterable[Cell | Any] = (), label: str = "", meaning: str = "") -> Filled:
    """A column of whole numbers."""
    return column(id, values, label, "count", meaning)


def numbers_of(cells: Iterable[Cell], meaning: str = "") -> Filled:
    """The column "n": how many conversations are behind each of the cells."""
    return counts("n", [cell.n for cell in cells], "conversations", meaning)


def ranks(id: str, values: Iterable[Cell | Any], label: str = "", meaning: str = "") -> Filled:
    """A column of ranks: 1 is the best."""
    return column(id, values, label, "rank", meaning, better=False)


def table(
    id: str,
    title: str,
    *filled: Filled,
    rows: Iterable[Sequence[Cell | Any]] | None = None,
    order: Iterable[int] | None = None,
    caption: str = "",
    notes: tuple[str, ...] = (),
    chart: Chart | None = None,
    apart: int = 0,
) -> Table:
    """A table of these columns, or of `rows` of cells and bare values where these have none; in an `order`."""
    by_row = zip(*(one.cells for one in filled), strict=True) if rows is None else (map(as_cell, row) for row in rows)
    lines = list(map(tuple, by_row))
    shown = tuple(lines if order is None else [lines[position] for position in order])
    return Table(id, title, tuple(one.column for one in filled), shown, caption, notes, chart, apart)


def as_cell(value: Any) -> Cell:
    """A cell as it is; a bare value as a cell without doubt: no numpy type, None for NaN."""
    if isinstance(value, Cell):
        return value
    plain = value.item() if isinstance(value, np.generic) else value
    return Cell(None if plain != plain else plain)


def number_of(cell: Cell) -> float | None:
    """The cell's value if it is a finite number."""
    value = cell.value
    plain = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if plain else None  # type: ignore[arg-type]


def cell_of(value: float, low: float = np.nan, high: float = np.nan, **rest: Any) -> Cell:
    """A cell of numbers of which NaN is undefined; `rest` are further fields."""
    return Cell(known(value), known(low), known(high), **rest)


def known(value: float) -> float | None:
    """None for NaN: what arrays call undefined, as cells call it."""
    return None if np.isnan(value) else float(value)


def legend(tables: Sequence[Table]) -> tuple[str, ...]:
    """What the marks of these tables mean, as far as they need a sentence."""
    marks = {cell.mark for table in tables for row in table.rows for cell in row}
    return tuple(f"“{mark}”: {meaning}" for mark, meaning in _MARKS.items() if mark in marks)
