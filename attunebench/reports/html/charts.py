"""A table's plot laid out for the page: everything in percent of its width and height, axes with round ticks.

Owns where things stand; the template draws them as SVG. A heat map or matrix is no picture of its own: the cells of
its table are shaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
    rows: list[Row]
    x: Axis | None = None
    x_label: str = ""
    y: Axis | None = None
    y_label: str = ""
    legend: Sequence[tuple[str, bool, str]] = ()
    names: Sequence[tuple[float, str]] = ()
    title: str = ""
    lines: Sequence[tuple[float, str]] = ()
    outside: Sequence[str] = ()
    more: int = 0


def picture(table: Table, looks: Mapping[str, str]) -> Picture | None:
    """The picture of a table, or None: no chart, one that shades cells, or nothing to draw.

    `looks`: label of a model → the name of its looks.
    """
    if table.chart is None or table.chart.kind in ("heatmap", "matrix"):
        return None
    drawn = plot(table, table.chart)
    needed = 2 if drawn.kind == "scatter" else 1
    known = [row for row in drawn.rows if sum(number_of(cell) is not None for cell in row.cells) >= needed]
    if not known:
        return None
    shown = replace(drawn, rows=tuple(known[: _MOST.get(drawn.kind, _MOST_ROWS)]))
    near, far = shown.references(intervals=drawn.kind != "lines")
    made = {"lines": _lines, "scatter": _scatter}.get(drawn.kind, _rows)(shown, looks, near)
    axis = made.x if made.kind == "rows" else made.y
    places = {name: axis.at(value) for name, value in near.items()} if axis else {}
    return made._replace(
        title=drawn.title,
        lines=[(at if made.kind == "rows" else round(100 - at, 2), name) for name, at in places.items()],
        outside=[f"{name} {value:.3g}" for name, value in far.items()],
        more=len(known) - len(shown.rows),
    )


def axis_over(values: Iterable[float]) -> Axis:
    """An axis with round ticks over the values and a little beyond."""
    values = list(values)
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    low, high = low - _MARGIN * span, high + _MARGIN * span
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    step = factor * power
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (factor == 2.5)
    ticks = [round(k * step, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    bare = Axis(low, high)
    return Axis(low, high, tuple((bare.at(value), number(value, digits).replace("-", "−")) for value in ticks))


def _rows(drawn: Plot, looks: Mapping[str, str], near: Mapping[str, float]) -> Picture:
    """Intervals, bars and dumbbells: a line for each row."""
    single = len(drawn.columns) == 1
    bars = drawn.kind == "bars" and single
    axis = axis_over(drawn.span([*near.values(), *([0.0] if bars else [])]))
    shown = []
    for label, cells, *_ in drawn.rows:
        marks, texts = [], []
        for order, (cell, column) in enumerate(zip(cells, drawn.columns, strict=True)):
            texts.append(value_text(cell.value, column))
            if (value := number_of(cell)) is not None:
                look = looks.get(label, "") if single else f"v{order // 2 % len(SHAPES)}"
                low, high = (None if end is None else axis.at(end) for end in (cell.low, cell.high))
                title = f"{column.label} {texts[-1]}"
                marks.append(Mark(axis.at(value), low, high, look, hollow=order % 2 == 1, title=title))
        joined = [mark.at for mark in marks] + ([axis.at(0.0)] if bars else [])
        bar = (min(joined), max(joined)) if bars or (drawn.kind == "dumbbells" and len(marks) > 1) else None
        shown.append(Row(label, marks, looks.get(label, ""), bar, " · ".join(texts)))
    # Shapes tell the values of a row apart: two of each, filled and hollow.
    legend = [(f"v{k // 2 % len(SHAPES)}", k % 2 == 1, column.label) for k, column in enumerate(drawn.columns)]
    return Picture("rows", shown, axis, drawn.axis or drawn.columns[0].label, legend=[] if single else legend)


def _lines(drawn: Plot, looks: Mapping[str, str], near: Mapping[str, float]) -> Picture:
    """A line for each row over the value columns."""
    axis, count = axis_over(drawn.span(near.values(), intervals=False)), len(drawn.columns)
    steps = [round(100 * (order + 0.5) / count, 2) for order in range(count)]
    shown = []
    for label, cells, *_ in drawn.rows:
        look = looks.get(label, "")
        marks = [
            Mark(x, look=look, y=round(100 - axis.at(up), 2), title=f"{label}: {value_text(up, column)}")
            for x, cell, column in zip(steps, cells, drawn.columns, strict=True)
            if (up := number_of(cell)) is not None
        ]
        shown.append(Row(label, marks, look))
    legend = [(row.look, False, row.label) for row in shown]
    names = [(x, column.label) for x, column in zip(steps, drawn.columns, strict=True)]
    return Picture("lines", shown, y=axis, y_label=drawn.axis, legend=legend, names=names)


def _scatter(drawn: Plot, looks: Mapping[str, str], _near: Mapping[str, float]) -> Picture:
    """A point for each row at its first two values."""
    points = [tuple(number_of(cell) or 0.0 for cell in row.cells[:2]) for row in drawn.rows]
    across, up = (axis_over(values) for values in zip(*points, strict=True))
    shown = []
    for (label, *_), (x, y) in zip(drawn.rows, points, strict=True):
        look = looks.get(label, "")
        shown.append(Row(label, [Mark(across.at(x), look=look, y=round(100 - up.at(y), 2), title=label)], look))
    legend = [(row.look, False, row.label) for row in shown if row.look]
    x_label, y_label = (column.label for column in drawn.columns[:2])
    return Picture("scatter", shown, across, x_label, up, y_label, legend)
