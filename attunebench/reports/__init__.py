"""From scores to what people and programs read: `build_report` chooses, `render` draws, `explain` tells what it means.

Pure: a dict in, text out. No file is read here and no score computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from attunebench.errors import UsageError
from attunebench.reports import machine, markdown, terminal
from attunebench.reports.build import By, build_report
from attunebench.reports.explain import explain
from attunebench.reports.model import Cell, Group, Report, Row, Section

__all__ = ["FORMATS", "By", "Cell", "Format", "Group", "Report", "Row", "Section", "build_report", "explain", "render"]

Format = Literal["terminal", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render(
    scores: Mapping[str, Any],
    *,
    format: Format = "terminal",
    metrics: Sequence[str] | None = None,
    show_all: bool = False,
    by: By | None = None,
    skill_against: str | None = None,
    width: int = 80,
    colour: bool = False,
) -> str:
    """The scores as a report in a format; the same text for the same scores and options.

    `width` and `colour` are for the terminal alone; the other options are those of `build_report`, whose errors it
    raises, and UsageError for a format that does not exist.
    """
    built = build_report(scores, metrics=metrics, show_all=show_all, by=by, skill_against=skill_against)
    return draw(built, format, width=width, colour=colour)


def draw(report: Report, format: Format, *, width: int = 80, colour: bool = False, no_color: bool = False) -> str:
    """A report in a format; UsageError for a format that does not exist."""
    if format == "terminal":
        return terminal.render(report, width=width, colour=colour, no_color=no_color)
    if format == "markdown":
        return markdown.render(report)
    if format == "csv":
        return machine.render_csv(report)
    if format == "json":
        return machine.render_json(report)
    raise UsageError(f"There is no report format {format!r}; choose one of {', '.join(FORMATS)}.")
