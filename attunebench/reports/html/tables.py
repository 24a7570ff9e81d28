"""Tables of analyses as the page shows them: cells in words, what sorts them, what is behind them.

Draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attunebench.analyses.table import Drill, Table
from attunebench.reports.analyses.words import leading_keys, notes_of, row_n, words_of
from attunebench.reports.html.charts import picture
from attunebench.reports.html.picture import Picture

if TYPE_CHECKING:
    from attunebench.reports.html.footnotes import Footnotes

_FIRST, _FEW = 12, 5
"""So many rows of a table are shown at first: of one with more words than `_WORDY` in these the smaller number."""
_WORDY = 200


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
    """A table with its picture; `first` of its rows are shown until a reader asks for all.

    `sorted_by`: id of the column by which its rows fall. `caption` is what no other table says, `notes` are the numbers
    of what others say as well.
    """

    id: str
    table: Table
    rows: Rows
    caption: str
    notes: Sequence[int]
    picture: Picture | None
    first: int
    sorted_by: str = ""


def shown_table(
    table: Table,
    place: Callable[[Drill | None, str], int | None],
    looks: Mapping[str, str],
    footnotes: Footnotes,
    prefix: str,
    sorted_by: str = "",
    oracles: Collection[str] = (),
) -> ShownTable:
    """The table as the page shows it; its id begins with `prefix`. `place`: what is behind a cell, by
    its place in the page's list. `looks`: label of a model → name of its looks;
    `oracles`: labels of groups that answer from the labels."""
    keys, rows = leading_keys(table), []
    for row in table.rows:
        n, cells = row_n(table, row), list[ShownCell]()
        for at, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            words = words_of(cell, column, n)
            # A word is sorted by itself, and undefined goes last.
            sort = f"{cell.value:.6g}" if isinstance(cell.value, (int, float)) else ""
            # The list names its model itself; which of several lists of turns it is, the column says.
            about = [table.title, *(key.value for key in cells[:keys] if key.value not in looks)]
            about += [column.label] if cell.drill and cell.drill.turns is not None else []
            beside, drill = ", ".join(words.beside), place(cell.drill, " · ".join(about))
            cells.append(ShownCell(words.value, words.interval, beside, sort, drill, at < keys))
        rows.append(cells)
    caption, shared = footnotes.split(table.caption)
    return ShownTable(
        f"{prefix}-{table.id}".replace("_", "-"),
        table,
        rows,
        caption,
        footnotes.numbers([*shared, *notes_of(table)]),
        picture(table, looks, lambda drill: place(drill, ""), oracles),
        _FEW if _words(rows[:_FIRST]) > _WORDY else _FIRST,
        sorted_by,
    )


def _words(rows: Rows) -> int:
    return sum(len(f"{cell.value} {cell.interval} {cell.beside}".split()) for row in rows for cell in row)
