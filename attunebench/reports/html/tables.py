"""Tables of analyses as the page shows them: cells in words, what sorts them, what is behind them.

Draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attunebench.analyses.table import Table
from attunebench.reports.analyses.words import leading_keys, notes_of, row_n, words_of
from attunebench.reports.html.charts import picture
from attunebench.reports.html.picture import Picture

if TYPE_CHECKING:
    from attunebench.reports.html.drills import Drills

LONG = 40
"""A table of more rows than this is closed at first."""


class ShownCell(NamedTuple):
    """A cell. `sort` is what a column is ordered by, `drill` a place."""

    value: str
    interval: str = ""
    beside: str = ""
    sort: str = ""
    drill: int | None = None
    key: bool = False


Rows = Sequence[Sequence[ShownCell]]


class ShownTable(NamedTuple):
    """A table with its picture. `long`: it is folded at first. `sorted_by`: id of the column by which its rows fall."""

    id: str
    table: Table
    rows: Rows
    notes: Sequence[str]
    picture: Picture | None
    long: bool
    sorted_by: str = ""


def shown_table(table: Table, drills: Drills, looks: Mapping[str, str], prefix: str, sorted_by: str = "") -> ShownTable:
    """The table as the page shows it; its id begins with `prefix`. `looks`: label of a model → name of its looks."""
    keys, rows = leading_keys(table), []
    for row in table.rows:
        n, cells = row_n(table, row), list[ShownCell]()
        for place, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            words = words_of(cell, column, n)
            # A word is sorted by itself, and undefined goes last.
            sort = f"{cell.value:.6g}" if isinstance(cell.value, (int, float)) else ""
            about = " · ".join([table.title, *(key.value for key in cells[:keys])])
            beside, drill = ", ".join(words.beside), drills.place(cell.drill, about)
            cells.append(ShownCell(words.value, words.interval, beside, sort, drill, place < keys))
        rows.append(cells)
    return ShownTable(
        f"{prefix}-{table.id}".replace("_", "-"),
        table,
        rows,
        notes_of(table),
        picture(table, looks, drills.place),
        long=len(rows) > LONG,
        sorted_by=sorted_by,
    )
