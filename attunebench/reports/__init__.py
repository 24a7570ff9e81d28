"""From scores to what people and programs read: `build_report` chooses, `render` draws, `explain` tells what it means.

Pure: a dict in, text out. No file is read here and no score computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from attunebench.errors import UsageError
from attunebench.reports import analyses, machine
from attunebench.reports.build import By, build_report
from attunebench.reports.explain import explain
from attunebench.reports.layout import as_analysis
from attunebench.reports.model import Report

__all__ = [
    "FORMATS",
    "By",
    "Estimate",
    "Format",
    "Group",
    "Report",
    "Row",
    "Section",
    "build_report",
    "explain",
    "render",
]

Format = Literal["terminal", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
_NEXT = (
    "More about a metric: attune-bench report --explain METRIC, with the name in round brackets.",
    "Which models differ: attune-bench compare. For whom, when and where they fail: attune-bench analyze. All of it as "
    "a page: attune-bench report --format html.",
)


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
    if format == "csv":
        return machine.render_csv(report)
    if format == "json":
        return machine.render_json(report)
    if format in ("terminal", "markdown"):
        analysis = as_analysis(report)
        if format == "terminal":
            analysis = replace(analysis, notes=(*analysis.notes, *_NEXT))
        return analyses.render([analysis], format, width=width, colour=colour, no_color=no_color, rows=None)
    raise UsageError(f"There is no report format {format!r}; choose one of {', '.join(FORMATS)}.")
