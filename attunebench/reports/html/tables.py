"""Tables of analyses as the page shows them: cells in words, what sorts them, how dark they are, what is behind them.

A long table is cut into one part for each value of its first column. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from attunebench.analyses.table import Cell, Column, Table, plot
from attunebench.reports.analyses.words import SMALL_MARK, leading_keys, notes_of, row_n, value_text, words_of
from attunebench.reports.html.charts import Picture, picture
from attunebench.reports.html.drills import Drills

LONG = 40
"""A table of more rows than this is closed, and cut into parts where its first column repeats."""
_DEEPEST = 100
_BRIEF = 2


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell. `sort` is what a column is ordered by, `shade` 1–100 (negative: the other colour), `drill` a place."""

    value: str
    interval: str = ""
    beside: str = ""
    sort: str = ""
    shade: int = 0
    drill: int | None = None
    key: bool = False


Parts = tuple[tuple[str, tuple[tuple[ShownCell, ...], ...]], ...]
"""Headings ("" for the whole table) and the rows under them."""


@dataclass(frozen=True, slots=True)
class Heat:
    """The shaded cells of a table alone, without their intervals: `rows` have a label, what tells more of it, cells."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[ShownCell, ...]], ...]


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table, its picture or heat map, and what is said under it. `long`: it is folded at first.

    So many of its last rows stand `apart`, whatever it is sorted by.
    """

    id: str
    title: str
    columns: tuple[Column, ...]
    parts: Parts
    caption: str
    notes: tuple[str, ...]
    picture: Picture | None
    heat: Heat | None
    long: bool
    n_rows: int
    apart: int
    sorted_by: str


def shown_table(table: Table, drills: Drills, looks: Mapping[str, str], prefix: str, sorted_by: str = "") -> ShownTable:
    """The table as the page shows it; its id begins with `prefix`. `looks`: label of a model → name of its looks.

    `sorted_by`: id of the column by which its rows fall.
    """
    keys, ranges = leading_keys(table), _ranges(table)
    rows = []
    for row in table.rows:
        n = row_n(table, row)
        cells = enumerate(zip(row, table.columns, strict=True))
        rows.append(
            tuple(shown_cell(c, column, n, drills, ranges.get(column.id), key=p < keys) for p, (c, column) in cells)
        )
    return ShownTable(
        id=f"{prefix}-{table.id}".replace("_", "-"),
        title=table.title,
        columns=table.columns,
        parts=_parts(rows, keys),
        caption=table.caption,
        notes=notes_of(table),
        picture=picture(table, looks),
        heat=_heat(table, rows, ranges, keys),
        long=len(rows) > LONG or bool(ranges),
        n_rows=len(rows),
        apart=table.apart,
        sorted_by=sorted_by,
    )


def _ranges(table: Table) -> Mapping[str, tuple[float, float]]:
    """Column id → (low, high) over all shaded columns of a heat map or matrix; low is negative where it diverges."""
    drawn = plot(table)
    if drawn is None or drawn.kind not in ("heatmap", "matrix"):
        return {}
    low, high = drawn.span(intervals=False)
    reach = (low, high) if low >= 0 else (-max(high, -low), max(high, -low))
    return {column.id: reach for column in drawn.columns}


def _heat(
    table: Table, rows: Sequence[tuple[ShownCell, ...]], ranges: Mapping[str, tuple[float, float]], keys: int
) -> Heat | None:
    """The heat map of a table; values of a share or correlation have two digits, so that many stand side by side."""
    if not ranges:
        return None
    places = [place for place, column in enumerate(table.columns) if column.id in ranges]
    made = []
    for shown, row in zip(rows, table.rows, strict=True):
        cells = tuple(
            replace(shown[place], value=_brief(row[place], table.columns[place]), interval="", beside="")
            for place in places
        )
        made.append((shown[0].value, " · ".join(cell.value for cell in shown[1:keys]), cells))
    return Heat(tuple(table.columns[place].label for place in places), tuple(made))


def _brief(cell: Cell, column: Column) -> str:
    if column.unit in ("share", "number") and (column.digits or _BRIEF) >= _BRIEF:
        column = replace(column, digits=_BRIEF)
    return value_text(cell.value, column) + (SMALL_MARK if cell.small else "")


def shown_cell(
    cell: Cell,
    column: Column,
    n: int | None,
    drills: Drills,
    reach: tuple[float, float] | None = None,
    *,
    key: bool = False,
) -> ShownCell:
    """A cell in words; `n` is that of its row, `reach` the range over which a heat map shades it."""
    words = words_of(cell, column, n)
    return ShownCell(
        value=words.value,
        interval=words.interval,
        beside=", ".join(words.beside),
        # A word is sorted by itself, and undefined goes last.
        sort=f"{cell.value:.6g}" if isinstance(cell.value, (int, float)) else "",
        shade=_shade(cell, reach),
        drill=drills.place(cell.drill),
        key=key,
    )


def _shade(cell: Cell, reach: tuple[float, float] | None) -> int:
    if reach is None or not isinstance(cell.value, (int, float)):
        return 0
    low, high = reach
    if low < 0:
        return round(_DEEPEST * cell.value / high) if high else 0
    return max(1, round(_DEEPEST * (cell.value - low) / (high - low))) if high > low else 1


def _parts(rows: Sequence[tuple[ShownCell, ...]], keys: int) -> Parts:
    """One part for each value of the first column, if the table is long and that column repeats."""
    by_first: dict[str, list[tuple[ShownCell, ...]]] = {}
    for row in rows:
        by_first.setdefault(row[0].value, []).append(row)
    if len(rows) <= LONG or keys < 2 or len(by_first) > len(rows) / 3 or len(by_first) < 2:
        return (("", tuple(rows)),)
    return tuple((first, tuple(same)) for first, same in by_first.items())
