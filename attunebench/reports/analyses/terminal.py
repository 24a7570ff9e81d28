"""Draws analyses for a terminal with rich: the answer first, then its tables, then what they cannot show."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attunebench.analyses.model import Analysis, Cell, Table
from attunebench.reports import layout
from attunebench.reports.analyses.words import SMALL_LEGEND, is_small, leading_keys, row_n, words_of
from attunebench.reports.terminal import draw_grid, new_console, say
from attunebench.text import clean

if TYPE_CHECKING:
    from rich.console import Console

_NARROWEST = 60
_LINK_ID = re.compile(r"(?<=\x1b\]8;)id=[^;]*")
"""Where a hyperlink begins, rich writes a number by chance, and two renderings are to be the same."""
_PIECES = 3
"""A table that the width cuts in more pieces than these ends there unless all is asked for: nobody reads the rest."""
_KEY_SHARE = 0.4
"""No more of the width than this is given to the names in the key columns."""


def render(
    analyses: Sequence[Analysis],
    *,
    width: int = 80,
    colour: bool = False,
    no_color: bool = False,
    rows: int | None,
    rules: str = "",
) -> str:
    """The analyses as text of at most `width` columns, with at most `rows` rows of each table (None: all)."""
    console = new_console(max(width, _NARROWEST), colour=colour, no_color=no_color)
    if rules:
        say(console, f"Rules: {rules}", "dim")
        console.print()
    for position, analysis in enumerate(analyses):
        if position:
            console.print()
            console.print()
        _analysis(console, analysis, rows)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in _LINK_ID.sub("", console.file.getvalue()).split("\n"))


def _analysis(console: Console, analysis: Analysis, rows: int | None) -> None:
    say(console, clean(analysis.title), "bold")
    say(console, clean(analysis.question), "dim")
    for warning in analysis.warnings:
        say(console, f"! {clean(warning)}", "yellow", indent="  ")
    if analysis.missing:
        say(console, f"Not made: {clean(analysis.missing)}", "", indent="  ")
    if analysis.shows:
        console.print()
        say(console, clean(analysis.shows), "")
    for table in analysis.tables:
        console.print()
        _table(console, table, rows)
    if analysis.cannot or analysis.notes:
        console.print()
    if analysis.cannot:
        say(console, f"What this cannot show: {clean(analysis.cannot)}", "", indent="  ")
    for note in analysis.notes:
        say(console, clean(note), "dim", indent="  ")


def _table(console: Console, table: Table, rows: int | None) -> None:
    say(console, clean(table.title), "bold")
    shown = table.rows if rows is None else table.rows[:rows]
    pieces = _grid(table, shown, console.width).cut(console.width, lean=True)
    drawn = pieces if rows is None else pieces[:_PIECES]
    for grid in drawn:
        console.print()
        draw_grid(console, grid)
    more = [f"{count} more {what}" for count, what in _left_out(table, shown, pieces[len(drawn) :]) if count]
    if more:
        shows = f"… and {' and '.join(more)}; --all-rows or another --format shows them."
        say(console, shows, "dim", indent="  ")
    for line in (table.caption, *table.notes, *([SMALL_LEGEND] if is_small(table) else [])):
        if line:
            say(console, clean(line), "dim", indent="  ")


def _left_out(table: Table, shown: Sequence[tuple[Cell, ...]], pieces: Sequence[layout.Grid]) -> list[tuple[int, str]]:
    """How many rows and columns are not drawn."""
    columns = [column for piece in pieces for column in piece.columns if not column.key]
    return [(len(table.rows) - len(shown), "rows"), (len(columns), "columns")]


def _grid(table: Table, rows: Sequence[tuple[Cell, ...]], width: int) -> layout.Grid:
    keys = leading_keys(table)
    columns = []
    counts = [row_n(table, row) for row in rows]
    limits = _limits(table, rows, keys, width)
    room = max(width - sum(limits) - layout.GAP * keys, _NARROWEST // 3)
    for index, column in enumerate(table.columns):
        words = [words_of(row[index], column, n) for row, n in zip(rows, counts, strict=True)]
        key = index < keys
        columns.append(
            layout.Column(
                head=clean(column.label),
                words=tuple(clean(w.line) if key else _stacked(w.lines) for w in words),
                key=key,
                right=not key and column.unit != "text",
                limit=limits[index] if key else room if column.unit == "text" else None,
                links=tuple(row[index].link for row in rows) if any(row[index].link for row in rows) else (),
            )
        )
    return layout.Grid(tuple(columns))


def _limits(table: Table, rows: Sequence[tuple[Cell, ...]], keys: int, width: int) -> list[int]:
    """How wide the words of each key may be: the share that short ones (an ID) do not need goes to the long ones."""
    needs = [max((len(words_of(row[i], table.columns[i], None).line) for row in rows), default=0) for i in range(keys)]
    left = int(width * _KEY_SHARE) - layout.GAP * (keys - 1)
    limits = [0] * keys
    for count, index in enumerate(sorted(range(keys), key=lambda i: needs[i])):
        limits[index] = max(min(needs[index], left // (keys - count)), 1)
        left -= limits[index]
    return limits


def _stacked(text: str) -> str:
    """An interval stands on a line of its own, and no blank in a line is a place to break it."""
    return "\n".join(clean(line).replace(" ", layout.NO_BREAK) for line in text.split("\n"))
