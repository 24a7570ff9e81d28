"""From scores to what people and programs read: `build_report` chooses, `render` draws, `explain` tells what it means.

Pure: a dict in, text out. No file is read here and no score computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from attunebench.reports import analyses
from attunebench.reports.build import By, build_report
from attunebench.reports.explain import explain
from attunebench.reports.layout import as_analysis
from attunebench.reports.model import Report

__all__ = [
    "FORMATS",
    "By",
    "Format",
    "Report",
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
    width: int = 80,
    colour: bool = False,
    **options: Any,
) -> str:
    """The scores as a report in a format; the same text for the same scores and options.

    `width` and `colour` are for the terminal alone; `options` are those of `build_report`, whose errors it raises, and
    UsageError for a format that does not exist.
    """
    return draw(build_report(scores, **options), format, width=width, colour=colour)


def draw(report: Report, format: Format, *, width: int = 80, colour: bool = False, no_color: bool = False) -> str:
    """A report in a format; UsageError for a format that does not exist."""
    people = format not in ("csv", "json")
    analysis = as_analysis(report, rounded=people)
    if format == "terminal":
        analysis = replace(analysis, notes=(*analysis.notes, *_NEXT))
    rules = "" if people else report.rules  # people have them in the summary
    return analyses.render([analysis], format, width=width, colour=colour, no_color=no_color, rows=None, rules=rules)
