"""Draws a report for a terminal with rich, at any width from about 60 columns.

Owns looks alone: what is bold, what is dim, where a table is cut. Foreign names are cleaned, and no text is markup.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attunebench.reports import layout
from attunebench.reports.model import Group, Report, Section
from attunebench.text import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from attunebench.reports.layout import Column, Grid

_NARROWEST = 60
_MORE = "More about a metric: attune-bench report --explain METRIC, with the name in round brackets."
_NEXT = (
    "Which models differ: attune-bench compare. For whom, when and where they fail: attune-bench analyze. All of it as "
    "a page: attune-bench report --format html."
)
_MEANING_NEEDS = 45
_NARROW_LABEL = 20
_KEY_SHARE = 0.38
"""No more of the width than this is given to the longest name of a model."""


def render(report: Report, *, width: int = 80, colour: bool = False, no_color: bool = False) -> str:
    """The report as text of at most `width` columns. `colour` adds escape codes, `no_color` keeps bold and dim only."""
    console = new_console(max(width, _NARROWEST), colour=colour, no_color=no_color)
    _heading(console, report)
    for section in report.sections:
        _section(console, section, report.groups)
    _closing(console, report)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def new_console(width: int, *, colour: bool, no_color: bool) -> Console:
    """A console that writes into a string, and in which nothing is markup."""
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=no_color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def _heading(console: Console, report: Report) -> None:
    for warning in report.warnings:
        say(console, f"! {clean(warning)}", "yellow", indent="  ")
    if report.warnings:
        console.print()
    say(console, report.title, "bold")
    for line in report.summary:
        say(console, clean(line), "dim", indent="  ")


def _section(console: Console, section: Section, groups: Sequence[Group]) -> None:
    console.print()
    say(console, section.title, "bold")
    say(console, section.explanation, "dim")
    grids = _grids(section, groups, console.width)
    explained = any(column.prose for column in grids[0].columns)
    for grid in grids:
        console.print()
        draw_grid(console, grid)
    legend = [] if explained else [f"{name} ({ids}): {text}" for name, ids, text in section.legend]
    if legend or section.notes:
        console.print()
    for line in legend:
        say(console, line, "dim", indent="  ")
    for note in section.notes:
        say(console, clean(note), "", indent="  ")


def _grids(section: Section, groups: Sequence[Group], width: int) -> list[Grid]:
    """Groups stand side by side where they all have room, else one below the other in as many tables as it takes."""
    if len(groups) == 1:
        return _of_one_group(section, width)
    for widest_label in () if section.leaderboard else (None, _NARROW_LABEL):
        grid = layout.by_metric(section, groups, clean, widest_label=widest_label)
        if grid.width <= width:
            return [grid]
    return layout.by_group(section, groups, clean, widest_name=int(width * _KEY_SHARE)).cut(width)


def _of_one_group(section: Section, width: int) -> list[Grid]:
    """With meanings in the table where they have room, else without; they then stand below it."""
    grid = layout.of_one_group(section, clean, explained=True)
    others = sum(column.width + layout.GAP for column in grid.columns if not column.prose)
    if width - others >= _MEANING_NEEDS:
        return [grid]
    grid = layout.of_one_group(section, clean, explained=False)
    values = sum(column.width + layout.GAP for column in grid.columns if not column.key)
    return grid.narrowed(max(width - values, _NARROW_LABEL)).cut(width)


def draw_grid(console: Console, grid: Grid) -> None:
    """A grid with a rule under its head."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, layout.GAP - 1, 0, 0))
    for column in grid.columns:
        table.add_column(
            _wrapped(column.head, replace(column, key=True)),
            width=None if column.prose else column.width,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=not column.prose,
        )
    for index, words in enumerate(grid.rows):
        if index in grid.rules:
            table.add_section()
        cells = zip(words, grid.columns, strict=True)
        table.add_row(*(_wrapped(word, column, column.links[index] if column.links else "") for word, column in cells))
    console.print(table)


def _wrapped(word: str, column: Column, link: str = "") -> Text:
    """Broken here and not by rich, which would break an interval as readily as a name."""
    from rich.style import Style
    from rich.text import Text

    lines = [word] if column.prose else [piece for line in word.split("\n") for piece in _pieces(line, column)]
    shown = "\n".join(line.rstrip() for line in lines).replace(layout.NO_BREAK, " ")
    return Text(shown, Style(link=link) if link else "")


def _pieces(line: str, column: Column) -> list[str]:
    """Blanks put values under values, and mean nothing in a key."""
    return textwrap.wrap(line, column.width, break_on_hyphens=False, drop_whitespace=column.key)


def _closing(console: Console, report: Report) -> None:
    console.print()
    for note in (*report.notes, _MORE, _NEXT):
        say(console, clean(note), "dim", indent="  ")


def say(console: Console, text: str, style: str, *, indent: str = "") -> None:
    """One paragraph, its further lines indented."""
    from rich.text import Text

    lines = textwrap.wrap(text, console.width, subsequent_indent=indent, break_on_hyphens=False)
    console.print(Text("\n".join(lines), style=style))
