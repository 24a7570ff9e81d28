"""A table's `Chart` laid out for the page: everything in percent of the plot's width and height, axes with round ticks.

Owns where things stand; the template draws them as SVG. A heat map or matrix is no picture of its own: the cells of
its table are shaded (`shades`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attunebench.analyses.table import Cell, Chart, Column, Table
from attunebench.reports.analyses.words import value_text
from attunebench.text import number

_TICKS = 5
_MARGIN = 0.04
_WITHIN = 1.0
"""A reference line farther away than the data's own span is named, not drawn: it would press the data together."""
_MOST_ROWS = 60
_MOST_LINES = 16

SHAPES = ("circle", "square", "diamond", "triangle-up", "star")
"""Names of outlines: those of several values in one row, v0 … v4."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis: `low` and `high` are at 0 and 100 %."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """Where a value stands, in percent."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


class Mark(NamedTuple):
    """A value: place, interval and marker; `look` names a model's looks or is "" for the page's own."""

    at: float
    low: float | None = None
    high: float | None = None
    look: str = ""
    hollow: bool = False
    y: float = 0.0
    title: str = ""


class _Line(NamedTuple):
    """A row of the table, of which a picture shows its chart's values."""

    label: str
    look: str
    cells: tuple[Cell, ...]


class Row(NamedTuple):
    """A labelled line of marks; `bar` is (from, to) where it is drawn as a bar."""

    label: str
    marks: tuple[Mark, ...]
    look: str = ""
    bar: tuple[float, float] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart ready to be drawn. `kind`: rows (of marks or bars), lines or scatter. `legend`: look, hollow, label.

    `outside` names reference lines that lie too far away. `more` counts rows that are in the table alone.
    """

    kind: str
    title: str
    axis: str
    x: Axis
    rows: tuple[Row, ...]
    y: Axis | None = None
    y_label: str = ""
    lines: tuple[tuple[float, str], ...] = ()
    outside: tuple[str, ...] = ()
    legend: tuple[tuple[str, bool, str], ...] = ()
    names: tuple[tuple[float, str], ...] = ()
    more: int = 0
    paths: tuple[tuple[str, str], ...] = ()


def picture(table: Table, looks: Mapping[str, str]) -> Picture | None:
    """The picture of a table, or None: no chart, one that shades cells, or nothing to draw.

    `looks`: label of a model → the name of its looks.
    """
    chart = table.chart
    if chart is None or chart.kind in ("heatmap", "matrix"):
        return None
    index = {column.id: place for place, column in enumerate(table.columns)}
    places = [index[name] for name in chart.values if name in index]
    if chart.label not in index or not places:
        return None
    lines = []
    for row in table.rows[: chart.first]:
        cells = tuple(row[place] for place in places)
        if any(_number(cell) is not None for cell in cells):
            label = _label(row, table, index[chart.label])
            lines.append(_Line(label, looks.get(label, ""), cells))
    draw = {"lines": _lines, "scatter": _scatter}.get(chart.kind, _rows)
    return draw(chart, [table.columns[place] for place in places], lines) if lines else None


def shades(table: Table) -> Mapping[str, tuple[float, float]]:
    """Column id → (low, high) over all shaded columns of a heat map or matrix; low is negative where it diverges."""
    chart = table.chart
    if chart is None or chart.kind not in ("heatmap", "matrix"):
        return {}
    places = [place for place, column in enumerate(table.columns) if column.id in chart.values]
    numbers = [n for row in table.rows for place in places if (n := _number(row[place])) is not None]
    if not numbers:
        return {}
    low, high = min(numbers), max(numbers)
    if low < 0:
        high = max(high, -low)
        low = -high
    return {table.columns[place].id: (low, high) for place in places}


def axis_over(values: Sequence[float]) -> Axis:
    """An axis with round ticks over the values and a little beyond."""
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    low, high = low - _MARGIN * span, high + _MARGIN * span
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    step = factor * power
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (factor == 2.5)
    first = math.ceil(low / step)
    ticks = []
    while first * step <= high:
        value = round(first * step, 10)
        ticks.append((round(100 * (value - low) / (high - low), 2), number(value, digits).replace("-", "−")))
        first += 1
    return Axis(low, high, tuple(ticks))


def _rows(chart: Chart, columns: Sequence[Column], lines: Sequence[_Line]) -> Picture:
    """Intervals, bars and dumbbells: a line for each row."""
    shown = lines[:_MOST_ROWS]
    bars, single = chart.kind == "bars" and len(columns) == 1, len(columns) == 1
    numbers = [end for line in shown for cell in line.cells for end in _ends(cell)] + ([0.0] if bars else [])
    drawn, outside = _references(chart, numbers)
    axis = axis_over([*numbers, *(value for value, _ in drawn)])
    rows = []
    for line in shown:
        marks = []
        for order, (cell, column) in enumerate(zip(line.cells, columns, strict=True)):
            if (value := _number(cell)) is not None:
                low, high = (None if end is None else axis.at(end) for end in (cell.low, cell.high))
                look, title = line.look if single else _order_look(order), f"{column.label} {value_text(value, column)}"
                marks.append(Mark(axis.at(value), low, high, look, hollow=order % 2 == 1, title=title))
        ends = [mark.at for mark in marks] + ([axis.at(0.0)] if bars else [])
        joined = bars or (chart.kind == "dumbbells" and len(marks) > 1)
        texts = (value_text(cell.value, column) for cell, column in zip(line.cells, columns, strict=True))
        bar = (min(ends), max(ends)) if joined else None
        rows.append(Row(line.label, tuple(marks), line.look, bar, " · ".join(texts)))
    legend = tuple((_order_look(order), order % 2 == 1, column.label) for order, column in enumerate(columns))
    return Picture(
        "rows",
        chart.title,
        chart.axis or columns[0].label,
        axis,
        tuple(rows),
        lines=tuple((axis.at(value), name) for value, name in drawn),
        outside=outside,
        legend=() if single else legend,
        more=len(lines) - len(shown),
    )


def _lines(chart: Chart, columns: Sequence[Column], lines: Sequence[_Line]) -> Picture:
    """A line for each row over the value columns."""
    shown = lines[:_MOST_LINES]
    numbers = [n for line in shown for cell in line.cells if (n := _number(cell)) is not None]
    drawn, outside = _references(chart, numbers)
    axis = axis_over([*numbers, *(value for value, _ in drawn)])
    steps = [round(100 * (order + 0.5) / len(columns), 2) for order in range(len(columns))]
    rows = []
    for line in shown:
        marks = [
            Mark(x, look=line.look, y=round(100 - axis.at(n), 2), title=f"{line.label}: {value_text(n, column)}")
            for x, cell, column in zip(steps, line.cells, columns, strict=True)
            if (n := _number(cell)) is not None
        ]
        rows.append(Row(line.label, tuple(marks), line.look))
    return Picture(
        "lines",
        chart.title,
        "",
        Axis(0, 1, ()),
        tuple(rows),
        y=axis,
        y_label=chart.axis,
        lines=tuple((round(100 - axis.at(value), 2), name) for value, name in drawn),
        outside=outside,
        legend=tuple((line.look, False, line.label) for line in shown),
        names=tuple((x, column.label) for x, column in zip(steps, columns, strict=True)),
        more=len(lines) - len(shown),
        paths=tuple((row.look, " ".join(f"{mark.at},{mark.y}" for mark in row.marks)) for row in rows),
    )


def _scatter(chart: Chart, columns: Sequence[Column], lines: Sequence[_Line]) -> Picture | None:
    """A point for each row at its first two values."""
    if len(columns) < 2:
        return None
    points = [
        (line, x, y)
        for line in lines
        if (x := _number(line.cells[0])) is not None and (y := _number(line.cells[1])) is not None
    ]
    if not points:
        return None
    across, up = axis_over([x for _, x, _ in points]), axis_over([y for _, _, y in points])
    rows = tuple(
        Row(line.label, (Mark(across.at(x), look=line.look, y=round(100 - up.at(y), 2), title=line.label),), line.look)
        for line, x, y in points
    )
    legend = tuple((row.look, False, row.label) for row in rows if row.look)
    labels = [column.label for column in columns]
    return Picture("scatter", chart.title, labels[0], across, rows, y=up, y_label=labels[1], legend=legend)


def _order_look(order: int) -> str:
    """Shapes tell the values of a row apart: two of each, filled and hollow."""
    return f"v{order // 2 % len(SHAPES)}"


def _references(chart: Chart, numbers: Sequence[float]) -> tuple[list[tuple[float, str]], tuple[str, ...]]:
    """Reference lines near the data, and the names of those too far away."""
    low, high = min(numbers), max(numbers)
    reach = _WITHIN * (high - low or abs(high) or 1.0)
    near = [(value, name) for name, value in chart.lines.items() if low - reach <= value <= high + reach]
    kept = {name for _, name in near}
    return near, tuple(f"{name} {value:.3g}" for name, value in chart.lines.items() if name not in kept)


def _label(row: Sequence[Cell], table: Table, place: int) -> str:
    """The row's label, with the text columns before it where they tell more."""
    before = [
        str(cell.value) for cell, column in zip(row[:place], table.columns, strict=False) if column.unit == "text"
    ]
    return " · ".join([*before, str(row[place].value)])


def _ends(cell: Cell) -> list[float]:
    value = _number(cell)
    return [] if value is None else [value, *(end for end in (cell.low, cell.high) if end is not None)]


def _number(cell: Cell) -> float | None:
    known = isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool)
    return float(cell.value) if known and math.isfinite(cell.value) else None  # type: ignore[arg-type]
