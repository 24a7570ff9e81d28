"""A table's `Chart` laid out for the page: everything in percent of the plot's width and height, axes with round ticks.

Owns where things stand; the template draws them as SVG. A heat map or matrix is no picture of its own: the cells of
its table are shaded (`shades`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attunebench.analyses.model import Cell, Chart, Column, Table
from attunebench.reports.analyses.words import value_text

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


@dataclass(frozen=True, slots=True)
class Mark:
    """A value: place, interval and marker; `look` names a model's looks or is "" for the page's own."""

    at: float
    low: float | None = None
    high: float | None = None
    look: str = ""
    hollow: bool = False
    y: float = 0.0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Row:
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
    paths: tuple[tuple[str, str], ...] = field(default=())


def picture(table: Table, looks: Mapping[str, str]) -> Picture | None:
    """The picture of a table, or None: no chart, one that shades cells, or nothing to draw.

    `looks`: label of a model → the name of its looks.
    """
    chart = table.chart
    if chart is None or chart.kind in ("heatmap", "matrix"):
        return None
    index = {column.id: place for place, column in enumerate(table.columns)}
    values = [index[name] for name in chart.values if name in index]
    if chart.label not in index or not values:
        return None
    drawn = [row for row in table.rows[: chart.first] if any(_number(row[place]) is not None for place in values)]
    if not drawn:
        return None
    labels = [_label(row, table, index[chart.label]) for row in drawn]
    draw = {"lines": _lines, "scatter": _scatter}.get(chart.kind, _rows)
    return draw(chart, table.columns, drawn, labels, values, looks)


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
    step = _round_step((high - low) / _TICKS)
    first = math.ceil(low / step)
    ticks = []
    while first * step <= high:
        value = round(first * step, 10)
        ticks.append((round(100 * (value - low) / (high - low), 2), _tick(value, step)))
        first += 1
    return Axis(low, high, tuple(ticks))


def _rows(
    chart: Chart,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    labels: Sequence[str],
    values: Sequence[int],
    looks: Mapping[str, str],
) -> Picture:
    """Intervals, bars and dumbbells: a line for each row."""
    shown = rows[:_MOST_ROWS]
    bars = chart.kind == "bars" and len(values) == 1
    numbers = [n for row in shown for place in values for n in _ends(row[place])] + ([0.0] if bars else [])
    drawn, outside = _references(chart, numbers)
    axis = axis_over([*numbers, *(value for value, _ in drawn)])
    made = [
        _row(columns, row, label, values, axis, looks.get(label, ""), bars=bars, joined=chart.kind == "dumbbells")
        for row, label in zip(shown, labels, strict=False)
    ]
    legend = tuple((_order_look(order), order % 2 == 1, columns[p].label) for order, p in enumerate(values))
    return Picture(
        "rows",
        chart.title,
        chart.axis or columns[values[0]].label,
        axis,
        tuple(made),
        lines=tuple((axis.at(value), name) for value, name in drawn),
        outside=outside,
        legend=legend if len(values) > 1 else (),
        more=len(rows) - len(shown),
    )


def _row(
    columns: Sequence[Column],
    row: Sequence[Cell],
    label: str,
    values: Sequence[int],
    axis: Axis,
    look: str,
    *,
    bars: bool,
    joined: bool,
) -> Row:
    """The marks of one row; `bars` draws it from 0, `joined` from its lowest mark to its highest."""
    marks = []
    for order, place in enumerate(values):
        if (value := _number(row[place])) is None:
            continue
        low, high = (None if end is None else axis.at(end) for end in (row[place].low, row[place].high))
        title = f"{columns[place].label} {value_text(value, columns[place])}"
        own = look if len(values) == 1 else _order_look(order)
        marks.append(Mark(axis.at(value), low, high, look=own, hollow=order % 2 == 1, title=title))
    ends = [mark.at for mark in marks] + ([axis.at(0.0)] if bars else [])
    return Row(
        label,
        tuple(marks),
        look,
        bar=(min(ends), max(ends)) if bars or (joined and len(marks) > 1) else None,
        text=" · ".join(value_text(row[place].value, columns[place]) for place in values),
    )


def _lines(
    chart: Chart,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    labels: Sequence[str],
    values: Sequence[int],
    looks: Mapping[str, str],
) -> Picture:
    """A line for each row over the value columns."""
    shown = rows[:_MOST_LINES]
    numbers = [n for row in shown for place in values if (n := _number(row[place])) is not None]
    drawn, outside = _references(chart, numbers)
    axis = axis_over([*numbers, *(value for value, _ in drawn)])
    steps = [round(100 * (order + 0.5) / len(values), 2) for order in range(len(values))]
    made, paths = [], []
    for row, label in zip(shown, labels, strict=False):
        look = looks.get(label, "")
        marks = [
            Mark(x, look=look, y=round(100 - axis.at(n), 2), title=f"{label}: {value_text(n, columns[place])}")
            for x, place in zip(steps, values, strict=True)
            if (n := _number(row[place])) is not None
        ]
        made.append(Row(label, tuple(marks), look))
        paths.append((look, " ".join(f"{mark.at},{mark.y}" for mark in marks)))
    return Picture(
        "lines",
        chart.title,
        "",
        Axis(0, 1, ()),
        tuple(made),
        y=axis,
        y_label=chart.axis,
        lines=tuple((round(100 - axis.at(value), 2), name) for value, name in drawn),
        outside=outside,
        legend=tuple((looks.get(label, ""), False, label) for label in labels[: len(shown)]),
        names=tuple((x, columns[place].label) for x, place in zip(steps, values, strict=True)),
        more=len(rows) - len(shown),
        paths=tuple(paths),
    )


def _scatter(
    chart: Chart,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    labels: Sequence[str],
    values: Sequence[int],
    looks: Mapping[str, str],
) -> Picture | None:
    """A point for each row at its first two values."""
    if len(values) < 2:
        return None
    points = [
        (label, x, y)
        for row, label in zip(rows, labels, strict=True)
        if (x := _number(row[values[0]])) is not None and (y := _number(row[values[1]])) is not None
    ]
    if not points:
        return None
    across, up = axis_over([x for _, x, _ in points]), axis_over([y for _, _, y in points])
    first, second = columns[values[0]], columns[values[1]]
    made = [
        Row(
            label,
            (Mark(across.at(x), look=looks.get(label, ""), y=round(100 - up.at(y), 2), title=label),),
            looks.get(label, ""),
            text=f"{value_text(x, first)} · {value_text(y, second)}",
        )
        for label, x, y in points
    ]
    legend = tuple((row.look, False, row.label) for row in made if row.look)
    return Picture("scatter", chart.title, first.label, across, tuple(made), y=up, y_label=second.label, legend=legend)


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


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)


def _tick(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (1 if f"{step:e}".startswith("2.5") else 0)
    text = f"{value:.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text.replace("-", "−")
