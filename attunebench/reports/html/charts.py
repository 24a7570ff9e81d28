"""A table's plot laid out for the page: everything in percent of its width and height, axes with round ticks.

Owns where things stand and what looks like whom: a model has its colour everywhere, the person is a thick line of ink,
all models are dashed grey. The template draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from attunebench.analyses.table import Cell, Column, Drill, Plot, PlotRow, Scale, Table, number_of, plot
from attunebench.reports.analyses.words import SMALL_MARK, value_text
from attunebench.reports.html.labels import beside_points, spread
from attunebench.reports.html.picture import Axis as Axis
from attunebench.reports.html.picture import End, Heat, HeatCell, Key, Line, Panel, Picture, Row, Strip
from attunebench.reports.html.picture import Mark as Mark
from attunebench.text import number

_TICKS = 5
_FEW_TICKS = 2
"""Ticks of a panel that has others beside it."""
_MARGIN = 0.04
_MOST_ROWS = 40
"""Rows that are drawn; the others are in the table alone."""
_NAMED = 2
"""Panels beyond so many have the names of their references in the first alone, if all have the same."""
_ABREAST = 4
"""Panels that stand side by side."""
_WIDTH, _LETTER = 260.0, 6.4
"""Pixels of the panels of a picture together in a column of the page, and of a letter of small type."""
_APART = 4.0
"""Percent of the width between names in one line."""
_LIKE = 10.0
_BRIEF = 2
_DEEPEST = 100
_PLACE = {"reference": "ref-row", "person": "person", "all models": "all"}

_VALUES = ("circle", "square", "diamond", "triangle-up", "star")
SHAPES = {
    **{f"v{place}": shape for place, shape in enumerate(_VALUES)},
    **{"tick": "bar", "person": "circle", "all": "diamond", "ref-row": "square"},
}
"""Symbol → its outline: of several values in one row, of a reference, and of what is no model."""

Looks = Mapping[str, str]
"""Label of a model → the name of its looks."""


def picture(
    table: Table,
    looks: Looks,
    drill: Callable[[Drill | None], int | None] = lambda _: None,
    oracles: Collection[str] = (),
) -> Picture | None:
    """The picture of a table, or None without a chart or without anything to draw.

    `drill`: the place of what is behind a cell in the page's list. `oracles`: labels of groups that answer from the
    labels: rows of intervals have them last and off the axis, which is of the models.
    """
    if table.chart is None:
        return None
    whole = plot(table, table.chart)
    needed = 2 if whole.kind == "scatter" else 1
    known = [place for place, row in enumerate(whole.rows) if _defined(row) >= needed]
    if not known or not whole.columns:
        return None
    if whole.kind == "scatter" and 1 == len({number_of(whole.rows[place].cells[0]) for place in known}) < len(known):
        return None  # all at one place across, such as models that cost nothing
    shown = known[:_MOST_ROWS]
    left = whole.more + len(known) - len(shown)
    ceiling = [place for place in shown if whole.kind == "intervals" and whole.rows[place].name in oracles]
    shown = [*(place for place in shown if place not in ceiling), *ceiling]
    whole = replace(_only(whole, shown), panels=tuple(_only(one, shown) for one in whole.panels))
    draw = {"lines": _lines, "scatter": _scatter, "heatmap": _heat, "matrix": _heat}.get(
        whole.kind, partial(_rows, apart=len(ceiling))
    )
    return draw(whole, looks, drill)._replace(title=whole.title, more=left)


def axis_over(values: Iterable[float], ticks: int = _TICKS) -> Axis:
    """An axis with round ticks over the values and a little beyond."""
    values = list(values)
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    low, high = low - _MARGIN * span, high + _MARGIN * span
    rough = (high - low) / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    step = factor * power
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (factor == 2.5)
    places = [round(k * step, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    bare = Axis(low, high)
    return Axis(low, high, tuple((bare.at(value), number(value, digits).replace("-", "−")) for value in places))


def _defined(row: PlotRow) -> int:
    return sum(number_of(cell) is not None for cell in row.cells)


def _only(drawn: Plot, places: Sequence[int]) -> Plot:
    return replace(drawn, rows=tuple(drawn.rows[place] for place in places))


def _look(row: PlotRow, looks: Looks) -> str:
    return _PLACE[row.role] if row.role else looks.get(row.name, "")


# Rows of intervals, bars, boxes and dumbbells


def _rows(whole: Plot, looks: Looks, drill: Callable[[Drill | None], int | None], apart: int) -> Picture:
    """A line for each row, in one panel or in several side by side; the last `apart` of them are not compared."""
    plots = whole.panels or (whole,)
    compared = range(len(whole.rows) - apart) or range(len(whole.rows))
    panels = _panels(whole, [_only(one, compared) for one in plots], looks)
    axes = [one.axis for one in panels]
    bands = dict.fromkeys(row.band for row in whole.rows)
    shaded = {band for place, band in enumerate(bands) if place % 2 == 0} if len(bands) > 1 else set()
    rows = []
    for place, row in enumerate(whole.rows):
        look = _look(row, looks)
        strips = [
            _strip(one, one.rows[place], axis, look or looks.get(one.title, ""))
            for one, axis in zip(plots, axes, strict=True)
        ]
        few = () if whole.panels or len(row.cells) > 2 else zip(row.cells, whole.columns, strict=True)
        values = [(_short(cell, column), drill(cell.drill)) for cell, column in few]
        rows.append(Row(row.label, look, strips, values, row.mark, row.role, row.band in shaded, place not in compared))
    numbered = list(enumerate(panels))
    width = math.ceil(len(panels) / math.ceil(len(panels) / _ABREAST))
    abreast = [numbered[start : start + width] for start in range(0, len(panels), width)]
    label = whole.axis or ("" if whole.panels else whole.columns[0].label)
    return Picture("rows", x_label=label, rows=rows, abreast=abreast, legend=_keys(whole, plots[0]))


def _panels(whole: Plot, plots: Sequence[Plot], looks: Looks) -> list[Panel]:
    """The axes with their references; one axis for all, unless they are written in different units."""
    units = {(one.columns[0].unit, one.columns[0].digits) for one in plots}
    alike = len(units) == 1 and _one_scale(plots)
    shared = axis_over(chain.from_iterable(map(_reach, plots)), _FEW_TICKS) if alike else None
    ticks = _FEW_TICKS if len(plots) > 1 else _TICKS
    axes = [(shared if len(plots) > 1 else None) or axis_over(_reach(one), ticks) for one in plots]
    panels = [
        Panel(
            one.title if whole.panels else "",
            looks.get(one.title, ""),
            axis,
            _labelled({name: axis.at(at) for name, at in one.references()[0].items()}, min(len(plots), _ABREAST)),
            _outside(one.references()[1]),
            None if one.shade is None else (axis.at(one.shade[0]), axis.at(one.shade[1])),
        )
        for one, axis in zip(plots, axes, strict=True)
    ]
    if len(panels) > _NAMED and len({tuple(line.name for line in one.lines) for one in panels}) == 1:
        bare = [one._replace(lines=[line._replace(name="") for line in one.lines]) for one in panels[1:]]
        panels = [panels[0], *bare]
    return panels


def _one_scale(plots: Sequence[Plot]) -> bool:
    """Whether panels of the same columns, such as one for each metric, are of like size."""
    if any(one.columns != plots[0].columns for one in plots):
        return True
    sizes = [max(map(abs, _reach(one))) or 1.0 for one in plots]
    return max(sizes) <= _LIKE * min(sizes)


def _short(cell: Cell, column: Column) -> str:
    return value_text(cell.value, column) + (SMALL_MARK if cell.small else "")


def _reach(one: Plot) -> list[float]:
    """What the axis of a panel must hold."""
    near = one.references()[0].values()
    low, high = one.span([*near, *([0.0] if one.kind == "bars" else [])])
    return [low, high or 1.0 if one.kind == "bars" else high]


def _strip(one: Plot, row: PlotRow, axis: Axis, look: str) -> Strip:
    if one.kind == "boxes":
        *ends, middle = (number_of(cell) for cell in (*row.cells[:5], row.cells[-1]))
        box = tuple(axis.at(end) for end in ends if end is not None)
        title = f"{one.columns[-1].label} {value_text(middle, one.columns[-1])}"
        marks = [] if middle is None else [Mark(axis.at(middle), look=look, title=title)]
        return Strip(marks, box=box if len(box) == 5 else ())
    single, marks = len(row.cells) == 1, []
    for order, (cell, column) in enumerate(zip(row.cells, one.columns, strict=True)):
        if (value := number_of(cell)) is not None:
            low, high = (None if end is None else axis.at(end) for end in (cell.low, cell.high))
            shape, hollow = ("", cell.small) if single else _outline(one, order)
            mark = Mark(
                axis.at(value), low, high, look, hollow, title=f"{column.label} {_short(cell, column)}", shape=shape
            )
            if not axis.low <= value <= axis.high:  # an oracle's
                mark = mark._replace(at=min(100.0, max(0.0, mark.at)), low=None, high=None, hollow=False, shape="off")
            marks.append(mark)
    joined = [mark.at for mark in marks] + ([axis.at(0.0)] if one.kind == "bars" else [])
    bar = (min(joined), max(joined)) if one.kind in ("bars", "dumbbells") and len(joined) > 1 else None
    if one.kind == "dumbbells":  # their intervals would hide each other
        marks = [mark._replace(low=None, high=None) for mark in marks]
    return Strip(marks, bar)


def _outline(one: Plot, order: int) -> tuple[str, bool]:
    """Shapes tell the values of a row apart: two of each, filled and hollow; a reference is a tick."""
    if one.roles.get(one.columns[order].id) == "reference":
        return "tick", False
    own = sum(one.roles.get(column.id) != "reference" for column in one.columns[:order])
    return f"v{own // 2 % len(_VALUES)}", own % 2 == 1


def _keys(whole: Plot, first: Plot) -> list[Key]:
    """What markers mean: the values of a row; else filled and hollow, where a value has too little behind it."""
    if whole.kind == "boxes":
        return [Key("", "box", False, "minimum, quartiles with median, maximum"), Key("", "own", False, "mean")]
    if len(first.columns) > 1:
        return [Key("", *_outline(first, order), column.label) for order, column in enumerate(first.columns)]
    small = [cell.small for row in whole.rows for cell in row.cells if number_of(cell) is not None]
    if not any(small):
        return []
    few = Key("", "own", True, "too few for a claim")
    return [few] if all(small) else [Key("", "own", False, "enough for a claim"), few]


def _labelled(places: Mapping[str, float], panels: int) -> list[Line]:
    """References with the place of their names, which stand in lines above each other where they would overlap."""
    lines: list[Line] = []
    ends: list[tuple[float, float]] = []
    for name, at in sorted(places.items(), key=lambda one: one[1]):
        half = min(50.0, 100 * _LETTER * len(name) / 2 / (_WIDTH / panels))
        align = "start" if at < half else "end" if at > 100 - half else "middle"
        middle = min(max(at, half), 100 - half)
        taken = {line.level for line, (_, end) in zip(lines, ends, strict=True) if end + _APART > middle - half}
        lines.append(Line(at, name, align, min(set(range(len(lines) + 1)) - taken)))
        ends.append((middle - half, middle + half))
    return lines


def _outside(far: Mapping[str, float]) -> list[str]:
    """References that lie too far off, in words."""
    return [f"{name} {value:.3g}" for name, value in far.items()]


# Lines and scatter


def _across(near: Mapping[str, float], axis: Axis) -> list[Line]:
    """References across the picture, at their height from the top."""
    return [Line(round(100 - axis.at(value), 2), name) for name, value in near.items()]


def _lines(drawn: Plot, looks: Looks, _drill: object) -> Picture:
    """A line for each row over the value columns, labelled at its end."""
    near, far = drawn.references(intervals=False)
    axis, count = axis_over(drawn.span(near.values(), intervals=False)), len(drawn.columns)
    steps = [round(100 * (order + 0.5) / count, 2) for order in range(count)]
    shown, ends = [], []
    for row in sorted(drawn.rows, key=lambda row: row.role is not None):
        look = _look(row, looks)
        marks = [
            Mark(x, look=look, y=round(100 - axis.at(up), 2), title=f"{row.label}: {value_text(up, column)}")
            for x, cell, column in zip(steps, row.cells, drawn.columns, strict=True)
            if (up := number_of(cell)) is not None
        ]
        shown.append(Row(row.label, look, [Strip(marks)], role=row.role))
        ends.append(End(row.label, look, row.role or "", marks[-1].y, marks[-1].y, marks[-1].at))
    lines = _across(near, axis)
    ends += [End(line.name, "", "reference", line.at, line.at) for line in lines]
    return Picture(
        "lines",
        y=axis,
        y_label=drawn.axis,
        rows=shown,
        legend=[Key(row.look, "", False, row.label) for row in shown if not row.role],
        names=[(x, column.label) for x, column in zip(steps, drawn.columns, strict=True)],
        lines=lines,
        outside=_outside(far),
        ends=[end._replace(y=y) for end, y in zip(ends, spread([end.at for end in ends]), strict=True)],
        all_named=True,
    )


def _scatter(drawn: Plot, looks: Looks, _drill: object) -> Picture:
    """A point with both intervals for each row at its first two values, named beside it where there is room."""
    sides = [replace(drawn, rows=tuple(r._replace(cells=(r.cells[k],)) for r in drawn.rows), lines={}) for k in (0, 1)]
    near, far = replace(sides[1], lines=drawn.lines).references()
    across, up = axis_over(sides[0].span()), axis_over(sides[1].span(near.values()))
    shown = [_point(drawn, row, across, up, looks) for row in drawn.rows]
    points = [(f"{row.label} {row.mark}".strip(), row.strips[0].marks[0]) for row in shown]
    places = beside_points([(label, mark.at, mark.y) for label, mark in points])
    named = [
        End(label, mark.look, "", mark.y, mark.y, mark.at, side)
        for (label, mark), side in zip(points, places, strict=True)
        if side
    ]
    return Picture(
        "scatter",
        x=across,
        x_label=drawn.columns[0].label if not drawn.axis else drawn.axis,
        y=up,
        y_label=drawn.columns[1].label,
        rows=shown,
        legend=[Key(row.look, "", False, row.label) for row in shown if row.look],
        lines=_across(near, up),
        outside=_outside(far),
        ends=named,
        all_named=len(named) == len(shown),
    )


def _point(drawn: Plot, row: PlotRow, across: Axis, up: Axis, looks: Looks) -> Row:
    look, sides = _look(row, looks), list(zip((across, up), row.cells[:2], strict=True))
    x, y = (axis.at(number_of(cell) or 0.0) for axis, cell in sides)
    right, over = (
        None if cell.low is None or cell.high is None else (axis.at(cell.low), axis.at(cell.high))
        for axis, cell in sides
    )
    low, high = right or (None, None)
    title = f"{row.label}: {', '.join(map(_short, row.cells[:2], drawn.columns[:2]))}"
    ends = None if over is None else (round(100 - over[1], 2), round(100 - over[0], 2))
    mark = Mark(x, low, high, look, y=round(100 - y, 2), title=title, up=ends)
    return Row(row.label, look, [Strip([mark])], mark=row.mark, role=row.role)


# Heat maps


def _heat(drawn: Plot, looks: Looks, drill: Callable[[Drill | None], int | None]) -> Picture:
    """Shaded cells with their values; columns that are no model's and no colour's stand apart."""
    scales, rows = drawn.scales(), []
    for row in drawn.rows:
        triples = zip(row.cells, drawn.columns, scales, strict=True)
        cells = [_heat_cell(row.label, *triple, drill) for triple in triples]
        rows.append((Row(row.label, _look(row, looks), (), mark=row.mark, role=row.role), cells))
    columns = []
    for place, column in enumerate(drawn.columns):
        role, before = (drawn.roles.get(drawn.columns[k].id) for k in (place, max(0, place - 1)))
        apart = "apart" if role != before else ""
        columns.append((column.label, looks.get(column.label, ""), column.meaning or column.label, apart))
    shaded = [(column, scale) for column, scale in zip(drawn.columns, scales, strict=True) if scale is not None]
    several = len({scale for _, scale in shaded}) > 1
    key: list[str] = []
    if shaded:
        column, (low, high, middle) = shaded[0]
        ends = [low, high] if middle is None else [low, middle, high]
        key = [value_text(end, column) for end in ends]
        if several:
            key = ["column minimum", "column maximum"]
    both = any(scale.middle is not None for _, scale in shaded)
    few = any(cell.small for row in drawn.rows for cell in row.cells)
    remarks = [
        *(["orange: below 0"] if several and both else []),
        *([f"{SMALL_MARK} too few for a claim"] if few else []),
    ]
    return Picture("heat", x_label=drawn.axis, heat=Heat(columns, rows, key, both and not several, remarks))


def _heat_cell(
    label: str, cell: Cell, column: Column, scale: Scale | None, drill: Callable[[Drill | None], int | None]
) -> HeatCell:
    value, shade = number_of(cell), 0
    if value is not None and scale is not None:
        low, high, middle = scale
        start = low if middle is None else middle
        part = (value - start) / (high - start) if high > start else 0.0
        shade = round(_DEEPEST * part) or (1 if middle is None else 0)
    brief = replace(column, digits=_BRIEF) if column.unit in ("share", "number") and column.digits != 1 else column
    title = f"{label}, {column.label}: {value_text(cell.value, column)}"
    text = "" if value is None else _short(cell, brief)
    return HeatCell(text, shade, drill(cell.drill), title, cell.mark if value is not None else "")
