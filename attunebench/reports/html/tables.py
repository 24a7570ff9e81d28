"""Tables of analyses as the page shows them: cells in words, what sorts them, how dark they are, what is behind them.

Draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from attunebench.analyses.table import Cell, Column, Table, number_of, plot
from attunebench.reports.analyses.words import SMALL_MARK, leading_keys, notes_of, row_n, value_text, words_of
from attunebench.reports.html.charts import Picture, picture

if TYPE_CHECKING:
    from attunebench.reports.html.drills import Drills

LONG = 40
"""A table of more rows than this is closed at first."""
_DEEPEST = 100
_BRIEF = 2


class ShownCell(NamedTuple):
    """A cell. `sort` is what a column is ordered by, `shade` 1–100 (negative: the other colour), `drill` a place."""

    value: str
    interval: str = ""
    beside: str = ""
    sort: str = ""
    shade: int = 0
    drill: int | None = None
    key: bool = False


Rows = Sequence[Sequence[ShownCell]]


class ShownTable(NamedTuple):
    """A table with its picture or heat map. `long`: it is folded at first.

    `heat`: the heads and rows of its shaded cells alone, without their intervals. `sorted_by`: id of the column by
    which its rows fall.
    """

    id: str
    table: Table
    rows: Rows
    notes: Sequence[str]
    picture: Picture | None
    heat: tuple[Sequence[Column], Rows] | None
    long: bool
    sorted_by: str = ""


def shown_table(table: Table, drills: Drills, looks: Mapping[str, str], prefix: str, sorted_by: str = "") -> ShownTable:
    """The table as the page shows it; its id begins with `prefix`. `looks`: label of a model → name of its looks."""
    keys, reach = leading_keys(table), _reach(table)
    shaded = table.chart.values if table.chart and reach else ()
    rows = []
    for row in table.rows:
        n, cells = row_n(table, row), list[ShownCell]()
        for place, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            words = words_of(cell, column, n)
            # A word is sorted by itself, and undefined goes last.
            sort = f"{cell.value:.6g}" if isinstance(cell.value, (int, float)) else ""
            shade = _shade(cell, reach) if reach and column.id in shaded else 0
            about = " · ".join([table.title, *(key.value for key in cells[:keys])])
            beside, drill = ", ".join(words.beside), drills.place(cell.drill, about)
            cells.append(ShownCell(words.value, words.interval, beside, sort, shade, drill, place < keys))
        rows.append(cells)
    return ShownTable(
        f"{prefix}-{table.id}".replace("_", "-"),
        table,
        rows,
        notes_of(table),
        picture(table, looks),
        _heat(table, rows, [place for place, column in enumerate(table.columns) if column.id in shaded], keys),
        long=len(rows) > LONG or bool(shaded),
        sorted_by=sorted_by,
    )


def _reach(table: Table) -> tuple[float, float] | None:
    """(low, high) over all shaded columns of a heat map or matrix; low is negative where it diverges."""
    if table.chart is None or table.chart.kind not in ("heatmap", "matrix"):
        return None
    drawn = plot(table, table.chart)
    if all(number_of(cell) is None for row in drawn.rows for cell in row.cells):
        return None
    low, high = drawn.span(intervals=False)
    return (low, high) if low >= 0 else (-max(high, -low), max(high, -low))


def _shade(cell: Cell, reach: tuple[float, float]) -> int:
    value, (low, high) = number_of(cell), reach
    if value is None:
        return 0
    if low < 0:
        return round(_DEEPEST * value / high)
    return max(1, round(_DEEPEST * (value - low) / (high - low))) if high > low else 1


def _heat(table: Table, rows: Rows, places: Sequence[int], keys: int) -> tuple[Sequence[Column], Rows] | None:
    """Heads and rows of a heat map; values of a share or correlation have two digits, so that many stand side by
    side."""
    if not places:
        return None
    made = []
    for shown, row in zip(rows, table.rows, strict=True):
        label = ShownCell(shown[0].value, beside=" · ".join(cell.value for cell in shown[1:keys]), key=True)
        brief = [(place, _brief(row[place], table.columns[place])) for place in places]
        made.append([label, *(shown[place]._replace(value=text, interval="", beside="") for place, text in brief)])
    return [Column("row", "", "text"), *(table.columns[place] for place in places)], made


def _brief(cell: Cell, column: Column) -> str:
    if column.unit in ("share", "number") and (column.digits or _BRIEF) >= _BRIEF:
        column = replace(column, digits=_BRIEF)
    return value_text(cell.value, column) + (SMALL_MARK if cell.small else "")
