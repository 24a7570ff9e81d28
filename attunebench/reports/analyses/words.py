"""How a cell of an analysis is written: its digits, its interval, its n where the row does not say it, its marks.

Shared by every renderer, so that a number looks the same everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attunebench.analyses.table import Analysis, Cell, Column, Table
from attunebench.metrics.rates import rounded_down
from attunebench.text import UNDEFINED, number, p_value

SMALL_MARK = "°"
SMALL_LEGEND = f"{SMALL_MARK} too few conversations, participants or histories for a claim."
N_COLUMNS = frozenset(("n", "conversations"))
"""Ids of columns that say for a whole row what its values are over."""

_DIGITS = {"share": 3, "points": 1, "number": 3, "rank": 1, "usd": 4, "seconds": 1}


@dataclass(frozen=True, slots=True)
class Words:
    """A cell in words. `interval` is "[0.581, 0.643]", or the mark of a value that has none, or ""; `beside` what else
    must be said ("n 12", "p 0.03")."""

    value: str
    interval: str = ""
    beside: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, str, str]:
        return self.value, self.interval, ", ".join(self.beside)

    @property
    def line(self) -> str:
        """All of it on one line."""
        return " ".join(filter(None, self.parts))


def words_of(cell: Cell, column: Column, row_n: int | None) -> Words:
    """A cell in words; its n is left out where it is that of the row."""
    if cell.digits is not None:
        column = replace(column, digits=cell.digits)
    value, interval = value_text(cell.value, column), cell.mark
    if cell.small:
        value += SMALL_MARK
    if cell.low is not None and cell.high is not None:
        value += f" {cell.mark}" if cell.mark else ""
        interval = f"[{value_text(cell.low, column)}, {value_text(cell.high, column)}]"
    beside = []
    if cell.n is not None and cell.n != row_n:
        beside.append(f"n {cell.n}")
    if cell.p_corrected is not None:
        beside.append(f"p {p_value(cell.p_corrected)} corrected")
    elif cell.p is not None:
        beside.append(f"p {p_value(cell.p)}")
    return Words(value, interval, tuple(beside))


def value_text(value: float | int | str | None, column: Column) -> str:
    """A value as people read it; undefined is a dash."""
    if value is None or isinstance(value, str):
        return UNDEFINED if value is None else value
    if column.unit == "p":
        return p_value(value)
    if column.unit == "count" and column.digits is None:
        return str(round(value))
    if column.unit == "rank" and float(value).is_integer():
        return str(int(value))
    digits = column.digits if column.digits is not None else _DIGITS.get(column.unit, 3)
    value = rounded_down(value, digits) if column.rounds_down else value
    return f"${number(value, digits)}" if column.unit == "usd" else number(value, digits)


def row_n(table: Table, row: Sequence[Cell]) -> int | None:
    """What the values of a row are over, where a column of the table says it."""
    for column, cell in zip(table.columns, row, strict=True):
        if column.id in N_COLUMNS and isinstance(cell.value, int):
            return cell.value
    return None


def notes_of(table: Table) -> tuple[str, ...]:
    """Its notes, and what marks a cell with too little behind it."""
    small = any(cell.small for row in table.rows for cell in row)
    return (*table.notes, SMALL_LEGEND) if small else table.notes


def lines_below(table: Table) -> tuple[str, ...]:
    """What is said under a table: its caption and its notes."""
    return tuple(filter(None, (table.caption, *table.notes)))


def notes_once(analyses: Sequence[Analysis]) -> tuple[list[Analysis], tuple[str, ...]]:
    """The analyses without the notes that several of them have, and what is said once below all of them."""
    times = Counter(note for analysis in analyses for note in analysis.notes)
    shared = [note for note, count in times.items() if count > 1]
    cells = (cell for one in analyses for table in one.tables for row in table.rows for cell in row)
    shared += [SMALL_LEGEND] if any(cell.small for cell in cells) else []
    own = [replace(one, notes=tuple(note for note in one.notes if note not in shared)) for one in analyses]
    return own, tuple(shared)


def leading_keys(table: Table) -> int:
    """How many columns at the left say what a row is."""
    count = 0
    for column in table.columns:
        if column.unit != "text":
            break
        count += 1
    return max(1, count)
