"""A table's plot laid out for the page: everything in percent of its width and height, axes with round ticks.

Owns where things stand; the template draws them as SVG. A heat map or matrix is no picture of its own: the cells of
its table are shaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from attunebench.analyses.table import Plot, Table, number_of, plot
from attunebench.reports.analyses.words import value_text
from attunebench.text import number

_TICKS = 5
_MARGIN = 0.04
_MOST = {"lines": 16}
"""Rows that are drawn, by kind; the others are in the table alone."""
_MOST_ROWS = 60

SHAPES = ("circle", "square", "diamond", "triangle-up", "star")
"""Names of outlines: those of several values in one row, v0 … v4."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis: `low` and `high` are at 0 and 100 %."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()

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


class Row(NamedTuple):
    """A labelled line of marks; `bar` is (from, to) where it is drawn as a bar."""

    label: str
    marks: list[Mark]
    look: str
    bar: tuple[float, float] | None = None
    text: str = ""


class Picture(NamedTuple):
    """A plot ready to be drawn. `kind`: rows (of marks or bars), lines or scatter; `legend`: look, hollow, label.

    `lines` are references at their place, `outside` those that lie too far away. `names` label the places of columns.
    `more` counts rows that are in the table alone.
    """

    kind: str
    title: str
    rows: list[Row]
    x: Axis | None
    x_label: str
    y: Axis | None = None
    y_label: str = ""
    lines: Sequence[tuple[float, str]] = ()
    outside: Sequence[str] = ()
    legend: Sequence[tuple[str, bool, str]] = ()
    names: Sequence[tuple[float, str]] = ()
    more: int = 0


def picture(table: Table, looks: Mapping[str, str]) -> Picture | None:
    """The picture of a table, or None: no chart, one that shades cells, or nothing to draw.

    `looks`: label of a model → the name of its looks.
    """
    if table.chart is None or table.chart.kind in ("heatmap", "matrix"):
        return None
    drawn = plot(table, table.chart)
    known = [row for row in drawn.rows if any(number_of(cell) is not None for cell in row.cells)]
    shown = replace(drawn, rows=tuple(known[: _MOST.get(drawn.kind, _MOST_ROWS)]))
    if not known:
        return None
    made = {"lines": _lines, "scatter": _scatter}.get(drawn.kind, _rows)(shown, looks)
    return made and made._replace(more=len(known) - len(shown.rows))


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
    values = [round(k * step, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    bare = Axis(low, high)
    return Axis(low, high, tuple((bare.at(value), number(value, digits).replace("-", "−")) for value in values))


def _rows(drawn: Plot, looks: Mapping[str, str]) -> Picture:
    """Intervals, bars and dumbbells: a line for each row."""
    single = len(drawn.columns) == 1
    bars = drawn.kind == "bars" and single
    near, far = drawn.references()
    axis = axis_over(drawn.span([*near.values(), *([0.0] if bars else [])]))
    shown = []
    for label, cells in drawn.rows:
        marks = []
        for order, (cell, column) in enumerate(zip(cells, drawn.columns, strict=True)):
            if (value := number_of(cell)) is not None:
                look = looks.get(label, "") if single else f"v{order // 2 % len(SHAPES)}"
                low, high = (None if end is None else axis.at(end) for end in (cell.low, cell.high))
                title = f"{column.label} {value_text(value, column)}"
                marks.append(Mark(axis.at(value), low, high, look, hollow=order % 2 == 1, title=title))
        joined = [mark.at for mark in marks] + ([axis.at(0.0)] if bars else [])
        bar = (min(joined), max(joined)) if bars or (drawn.kind == "dumbbells" and len(marks) > 1) else None
        texts = (value_text(cell.value, column) for cell, column in zip(cells, drawn.columns, strict=True))
        shown.append(Row(label, marks, looks.get(label, ""), bar, " · ".join(texts)))
    # Shapes tell the values of a row apart: two of each, filled and hollow.
    legend = [(f"v{k // 2 % len(SHAPES)}", k % 2 == 1, column.label) for k, column in enumerate(drawn.columns)]
    return Picture(
        "rows",
        drawn.title,
        shown,
        axis,
        drawn.axis or drawn.columns[0].label,
        lines=[(axis.at(value), name) for name, value in near.items()],
        outside=[f"{name} {value:.3g}" for name, value in far.items()],
        legend=[] if single else legend,
    )


def _lines(drawn: Plot, looks: Mapping[str, str]) -> Picture:
    """A line for each row over the value columns."""
    near, far = drawn.references(intervals=False)
    axis, count = axis_over(drawn.span(near.values(), intervals=False)), len(drawn.columns)
    steps = [round(100 * (order + 0.5) / count, 2) for order in range(count)]
    shown = []
    for label, cells in drawn.rows:
        marks = [
            Mark(
                x, look=looks.get(label, ""), y=round(100 - axis.at(up), 2), title=f"{label}: {value_text(up, column)}"
            )
            for x, cell, column in zip(steps, cells, drawn.columns, strict=True)
            if (up := number_of(cell)) is not None
        ]
        shown.append(Row(label, marks, looks.get(label, "")))
    return Picture(
        "lines",
        drawn.title,
        shown,
        None,
        "",
        axis,
        drawn.axis,
        lines=[(round(100 - axis.at(value), 2), name) for name, value in near.items()],
        outside=[f"{name} {value:.3g}" for name, value in far.items()],
        legend=[(row.look, False, row.label) for row in shown],
        names=[(x, column.label) for x, column in zip(steps, drawn.columns, strict=True)],
    )


def _scatter(drawn: Plot, looks: Mapping[str, str]) -> Picture | None:
    """A point for each row at its first two values."""
    points = [
        (label, x, y)
        for label, cells in drawn.rows
        if len(cells) > 1 and (x := number_of(cells[0])) is not None and (y := number_of(cells[1])) is not None
    ]
    if not points:
        return None
    across, up = axis_over([x for _, x, _ in points]), axis_over([y for _, _, y in points])
    shown = []
    for label, x, y in points:
        look = looks.get(label, "")
        shown.append(Row(label, [Mark(across.at(x), look=look, y=round(100 - up.at(y), 2), title=label)], look))
    legend = [(row.look, False, row.label) for row in shown if row.look]
    x_label, y_label = (column.label for column in drawn.columns[:2])
    return Picture("scatter", drawn.title, shown, across, x_label, up, y_label, legend=legend)
