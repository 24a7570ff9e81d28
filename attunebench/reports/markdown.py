"""Writes a report as GitHub-flavoured markdown: warnings as quotes, a table and a list of meanings for each section."""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.reports import layout
from attunebench.reports.layout import Grid
from attunebench.reports.model import Group, Report, Section
from attunebench.text import markdown_text

_SIDE_BY_SIDE = 4
"""Up to so many groups are columns; more are rows."""


def render(report: Report) -> str:
    """The whole report; ends with a line break."""
    blocks = [f"# {report.title}", "\n".join(f"- {markdown_text(line)}" for line in report.summary)]
    blocks += [f"> **{markdown_text(warning)}**" for warning in report.warnings]
    for section in report.sections:
        blocks += _section(section, report.groups)
    blocks += [markdown_text(note) for note in report.notes]
    return "\n\n".join(blocks) + "\n"


def _section(section: Section, groups: Sequence[Group]) -> list[str]:
    blocks = [f"## {section.title}", markdown_text(section.explanation)]
    if len(groups) == 1:
        return [*blocks, _table(layout.of_one_group(section, markdown_text, explained=True)), *_notes(section)]
    if section.leaderboard or len(groups) > _SIDE_BY_SIDE:
        grid = layout.by_group(section, groups, markdown_text)
    else:
        grid = layout.by_metric(section, groups, markdown_text)
    legend = "\n".join(f"- **{name}** (`{ids}`): {markdown_text(text)}" for name, ids, text in section.legend)
    return [*blocks, _table(grid), legend, *_notes(section)]


def _notes(section: Section) -> list[str]:
    return [markdown_text(note) for note in section.notes]


def _table(grid: Grid) -> str:
    head = [column.head for column in grid.columns]
    marks = ["---:" if column.right else "---" for column in grid.columns]
    lines = [head, marks, *grid.rows]
    # Blanks that put values under values mean nothing to markdown.
    return "\n".join(f"| {' | '.join(' '.join(word.split()) for word in line)} |" for line in lines)
