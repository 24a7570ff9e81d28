"""Draws analyses and comparisons: any list of `Analysis` as terminal text, markdown, CSV or JSON.

Pure: tables in, text out. Knows no analysis by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attunebench.analyses.table import Analysis
from attunebench.errors import UsageError
from attunebench.reports.analyses import machine, markdown, terminal

FORMATS = ("terminal", "markdown", "csv", "json")
TERMINAL_ROWS = 40
"""A terminal shows no more rows of a table unless it is asked to; the other formats have all of them."""


def render(
    analyses: Sequence[Analysis],
    format: str = "terminal",
    *,
    width: int = 80,
    colour: bool = False,
    no_color: bool = False,
    rows: int | None = TERMINAL_ROWS,
    rules: str = "",
) -> str:
    """The analyses in a format; the same text for the same tables. UsageError for a format that does not exist.

    `width`, `colour`, `no_color` and `rows` (None: all rows of a table) are for the terminal alone. `rules` names in
    the first line whose rules the scores follow; "" for tables that are made of no scores.
    """
    if format == "terminal":
        return terminal.render(analyses, width=width, colour=colour, no_color=no_color, rows=rows, rules=rules)
    if format == "markdown":
        return markdown.render(analyses, rules)
    if format == "csv":
        return machine.render_csv(analyses, rules)
    if format == "json":
        return machine.render_json(analyses, rules)
    raise UsageError(f"There is no format {format!r}; choose one of {', '.join(FORMATS)}.")


render_findings = terminal.render_findings


def files(analyses: Sequence[Analysis], rules: str = "") -> Mapping[str, str]:
    """File name → content for a folder: `<analysis>.json`, and `<analysis>.<table>.csv` with a line for each row."""
    made: dict[str, str] = {}
    for analysis in analyses:
        made[f"{analysis.name}.json"] = machine.render_json([analysis], rules)
        for table in analysis.tables:
            made[f"{analysis.name}.{table.id}.csv"] = machine.table_csv(table)
    return made
