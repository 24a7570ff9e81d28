"""Draws analyses for a terminal with rich: the answer first, then its tables, then what they cannot show.

Owns looks alone: what is bold, what is dim, where a table is cut. Foreign text is cleaned, and no text is markup.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attunebench.analyses.table import Analysis, Cell, Table
from attunebench.reports.analyses.grid import GAP, NO_BREAK, Column, Grid
from attunebench.reports.analyses.words import Words, leading_keys, lines_below, notes_once, row_n, words_of
from attunebench.text import clean, p_value, sentences_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_NARROWEST = 60
_PIECES = 3
"""A table that the width cuts in more pieces than these ends there unless all is asked for: nobody reads the rest."""
_CLAUSE_END = re.compile(r"(?<=[.;])\s+")
_FINDING_LINES, _FINDING_LENGTH = 3, 200
"""A finding has at most so many lines and characters: thirty of them are to be read at a glance."""
_INLINE_KEY = 20
"""Names become no narrower than this to keep a value and its interval on one line."""


def render(
    analyses: Sequence[Analysis],
    *,
    width: int = 80,
    colour: bool = False,
    no_color: bool = False,
    rows: int | None,
    rules: str = "",
) -> str:
    """The analyses as text of at most `width` columns, with at most `rows` rows of each table (None: all).

    `colour` adds escape codes, `no_color` keeps only bold and dim of them.
    """
    console, (own, shared) = _console(width, colour, no_color, rules), notes_once(analyses)
    for position, analysis in enumerate(own):
        if position:
            console.print()
            console.print()
        _draw_analysis(console, analysis, rows)
    if shared:
        console.print()
    for note in shared:
        _say(console, note, "dim", indent="  ")
    return _text(console)


def render_findings(
    analyses: Sequence[Analysis],
    *,
    width: int = 80,
    colour: bool = False,
    no_color: bool = False,
    rules: str = "",
    head: str = "Analysis",
    with_n: bool = True,
    below: Sequence[str] = (),
) -> str:
    """What each of many analyses found, a few lines each, without its tables; warnings once, then lines `below`."""
    console = _console(width, colour, no_color, rules)
    warnings = dict.fromkeys(warning for analysis in analyses for warning in analysis.warnings)
    for warning in warnings:
        _say(console, f"! {clean(warning)}", "yellow", indent="  ")
    if warnings:
        console.print()
    columns = [Column(head, tuple(analysis.name for analysis in analyses), key=True)]
    if with_n:
        columns.append(Column("n", tuple(str(n_of(analysis) or "") for analysis in analyses), right=True))
        below = ("n: largest number of conversations in the first table of each analysis.", *below)
    room = console.width - sum(column.width + GAP for column in columns)
    columns.append(Column("Finding", tuple(finding(analysis, room) for analysis in analyses), limit=room))
    _draw_grid(console, Grid(tuple(columns)))
    console.print()
    for line in below:
        _say(console, line, "dim", indent="  ")
    return _text(console)


def n_of(analysis: Analysis) -> int:
    """How many conversations are behind the first of its tables that says so, at most; 0 where none does."""
    for table in analysis.tables:
        counts = [row_n(table, row) for row in table.rows] + [cell.n for row in table.rows for cell in row]
        if most := max((count for count in counts if count is not None), default=0):
            return most
    return 0


def finding(analysis: Analysis, room: int) -> str:
    """The beginning of what it shows, up to the end of a clause that there is room for; of a list its number alone."""
    titles = f"Tables: {'; '.join(table.title for table in analysis.tables)}."
    said = clean(f"Not computed: {analysis.missing}" if analysis.missing else analysis.shows or titles)

    def fits(text: str) -> bool:
        lines = textwrap.wrap(f"{text} …", room, break_on_hyphens=False)
        return len(text) <= _FINDING_LENGTH and len(lines) <= _FINDING_LINES

    first, *clauses = _CLAUSE_END.split(" ".join(dict.fromkeys(sentences_of(said))))
    begun = textwrap.wrap(first, room, max_lines=_FINDING_LINES, placeholder=" …", break_on_hyphens=False)
    text = " ".join(begun)
    for clause in () if text.endswith("…") else clauses:
        if not fits(f"{text} {clause}"):
            counted, listed, _ = clause.partition(": ")
            longer = f"{text} {counted}:" if listed and re.search(r"\d", counted) else text
            return f"{longer if fits(longer) else text} …"
        text = f"{text} {clause}"
    return text


def _console(width: int, colour: bool, no_color: bool, rules: str) -> Console:
    """Draws into memory; names the rules of the scores first, unless they are ""."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=max(width, _NARROWEST),
        force_terminal=colour,
        force_jupyter=False,  # it would display in the notebook what is drawn here
        color_system="standard" if colour else None,
        no_color=no_color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    if rules:
        _say(console, f"Rules: {rules}", "dim")
        console.print()
    return console


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def _draw_analysis(console: Console, analysis: Analysis, rows: int | None) -> None:
    _say(console, analysis.title, "bold")
    if analysis.question:
        _say(console, analysis.question, "dim")
    for warning in analysis.warnings:
        _say(console, f"! {clean(warning)}", "yellow", indent="  ")
    if analysis.missing:
        _say(console, f"Not computed: {clean(analysis.missing)}", "", indent="  ")
    if analysis.shows:
        console.print()
        _say(console, analysis.shows, "")
    for table in analysis.tables:
        console.print()
        _draw_table(console, table, rows)
    if analysis.cannot or analysis.notes:
        console.print()
    if analysis.cannot:
        _say(console, f"Limits: {clean(analysis.cannot)}", "", indent="  ")
    for note in analysis.notes:
        _say(console, note, "dim", indent="  ")


def _draw_table(console: Console, table: Table, rows: int | None) -> None:
    _say(console, table.title, "bold")
    shown = table.rows if rows is None else table.rows[:rows]
    pieces = _pieces(table, shown, console.width)
    drawn = pieces if rows is None else pieces[:_PIECES]
    for grid in drawn:
        console.print()
        _draw_grid(console, grid)
    columns = [one for piece in pieces[len(drawn) :] for one in piece.columns if not (one.key or one.tied)]
    left_out = ((len(table.rows) - len(shown), "rows"), (len(columns), "columns"))
    if more := [f"{count} more {what}" for count, what in left_out if count]:
        shows = f"… and {' and '.join(more)}; --full or another --format shows them."
        _say(console, shows, "dim", indent="  ")
    if below := lines_below(table):
        console.print()
    for line in below:
        _say(console, line, "dim", indent="  ")


def _pieces(table: Table, rows: Sequence[Sequence[Cell]], width: int) -> list[Grid]:
    """Whole with value and interval on one line where that has room, else with intervals below values, and cut."""
    keys = leading_keys(table)
    counts = [row_n(table, row) for row in rows]

    def drawn(place: int, *, inline: bool) -> Iterator[Column]:
        """A column, and the p of its values beside it."""
        about, cells = table.columns[place], [row[place] for row in rows]
        plain = [replace(cell, p=None, p_corrected=None) for cell in cells]
        words = [words_of(cell, about, n) for cell, n in zip(plain, counts, strict=True)]
        is_text = about.unit == "text" or place < keys
        yield Column(
            # What n counts is said below a table; the word is wider than its numbers.
            head=clean("n" if about.id == "n" and not inline else about.label),
            words=tuple(clean(word.line) for word in words) if is_text else _numbers(words, inline=inline),
            key=place < keys,
            right=not is_text and not (inline and any(word.interval for word in words)),
            limit=width // 2 if is_text and place >= keys else None,
        )
        if any(cell.p is not None or cell.p_corrected is not None for cell in cells):
            corrected = any(cell.p_corrected is not None for cell in cells)
            shown = tuple(_p_text(cell, corrected=corrected) for cell in cells)
            yield Column("p corr." if corrected else "p", shown, right=True, tied=True)

    def grid(*, inline: bool) -> Grid:
        columns = [one for place in range(len(table.columns)) for one in drawn(place, inline=inline)]
        return Grid(tuple(columns), table.apart if len(rows) == len(table.rows) else 0)

    whole = grid(inline=True).narrowed(width, _INLINE_KEY)
    return [whole] if whole.width <= width else grid(inline=False).cut(width)


def _p_text(cell: Cell, *, corrected: bool) -> str:
    """A cell's p; of a cell that lacks the corrected one which others have, the plain one, marked."""
    if cell.p_corrected is not None or cell.p is None:
        return "" if cell.p_corrected is None else p_value(cell.p_corrected)
    return f"{p_value(cell.p)} raw" if corrected else p_value(cell.p)


def _numbers(words: Sequence[Words], *, inline: bool) -> tuple[str, ...]:
    """Values under values and intervals under intervals, or each interval on a line below its value. No blank in a
    line is a place to break it."""
    parts = [tuple(clean(part) for part in word.parts) for word in words]
    if inline:
        value, interval = (max((len(part[place]) for part in parts), default=0) for place in (0, 1))
        lines = [" ".join((f"{v:>{value}}", f"{i:<{interval}}", rest)).rstrip() for v, i, rest in parts]
        widest = max(map(len, lines), default=0)
        lines = [f"{line:<{widest}}" if line else "" for line in lines]
    else:
        lines = ["\n".join(filter(None, part)) for part in parts]
    return tuple(line.replace(" ", NO_BREAK) for line in lines)


def _draw_grid(console: Console, grid: Grid) -> None:
    """A grid with a rule under its head."""
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for column in grid.columns:
        head = _wrapped(column.head, column)
        table.add_column(head, width=column.width, justify="right" if column.right else "left", no_wrap=True)
    for place, words in enumerate(grid.rows):
        if place == len(grid.rows) - grid.apart:
            table.add_section()
        table.add_row(*map(_wrapped, words, grid.columns))
    console.print(table)


def _wrapped(word: str, column: Column) -> Text:
    """Broken here and not by rich, which would break an interval as readily as a name."""
    from rich.text import Text

    lines = [piece for line in word.split("\n") for piece in textwrap.wrap(line, column.width, break_on_hyphens=False)]
    return Text("\n".join(lines).replace(NO_BREAK, " "))


def _say(console: Console, text: str, style: str, *, indent: str = "") -> None:
    """One paragraph of foreign text, its further lines indented."""
    from rich.text import Text

    lines = textwrap.wrap(clean(text), console.width, subsequent_indent=indent, break_on_hyphens=False)
    console.print(Text("\n".join(lines), style=style))
