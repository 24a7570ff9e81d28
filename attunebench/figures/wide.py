"""Branch errors, and the answers about the whole talk as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attunebench.analyses import common
from attunebench.analyses.model import Table
from attunebench.constants import BRANCHES
from attunebench.figures import canvas
from attunebench.figures.grids import references
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Source, n_text, points, words
from attunebench.metrics.registry import REGISTRY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def branch_errors(source: Source) -> list[Picture]:
    """Error in points per model, a panel for each branch."""
    analysis, table = source.analysis("branch-errors"), source.table("branch-errors", "errors")
    labels = words(table, "model")
    across = len(BRANCHES) if source.look.wide else 2
    down = -(-len(BRANCHES) // across)
    title = f"Four Branch error, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.6 + down * (0.55 + canvas.rows_high(len(labels))), title)
    for at, (axes, branch) in enumerate(zip(canvas.panels(figure, down, across, sharex=True), BRANCHES, strict=False)):
        values = points(table, branch)
        canvas.interval_rows(axes, labels, values, source.styles, source.names if at % across == 0 else None)
        axes.set_title(branch)
        axes.set_xlabel(f"points, {n_text(values.n, '')}")
        axes.set_xlim(left=0)
    caption = (
        "Mean absolute error of the predicted branch scores in points of the person's scale 1–7, lower is better, with "
        "intervals. All panels share one axis; n counts conversations.",
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("branch-errors", title, figure, caption)]


def conversation_wide(source: Source) -> list[Picture]:
    """Bars per model for each question about the talk, and for the follow-up among those who were asked."""
    analysis, table = source.analysis("conversation-wide"), source.table("conversation-wide", "questions")
    shown = [one.id for one in table.columns if one.id in REGISTRY and points(table, one.id).known.any()]
    if not shown:
        raise LackingError("No result holds answers about a whole talk.")
    labels = words(table, "model")
    across = min(3 if source.look.wide else 2, len(shown))
    down = -(-len(shown) // across)
    title = f"Answers about the whole talk, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.6 + down * (0.6 + canvas.rows_high(len(labels), 0.175)), title)
    boxes = canvas.panels(figure, down, across)
    drawn: list[str] = []
    for at, (axes, metric_id) in enumerate(zip(boxes, shown, strict=False)):
        drawn += _bars(axes, table, metric_id, source, named=at % across == 0)
    for axes in boxes[len(shown) :]:
        axes.set_axis_off()
    canvas.line_legend(
        figure, drawn, {"chance": "chance (blind guessing)", "base rate": "base rate of the other talks"}
    )
    caption = (
        "Mean score per model from 0 to 1 with its interval (no line: not estimable, the same value in all "
        "conversations); n counts conversations.",
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("conversation-wide", title, figure, caption)]


def _bars(axes: Axes, table: Table, metric_id: str, source: Source, *, named: bool) -> list[str]:
    labels, values = words(table, "model"), points(table, metric_id)
    canvas.bar_rows(axes, labels, values, source.styles, source.names if named else None)
    lines = references(source.models(), metric_id)
    for name, at in lines.items():
        axes.axvline(at, color=canvas.FAINT, linewidth=0.9, linestyle=canvas.REFERENCE_DASHES[name], zorder=1)
    axes.set_xlim(0, 1)
    canvas.panel_title(axes, common.label_of(metric_id), source.look, 3 if source.look.wide else 2)
    worse = "" if common.better(metric_id) else "\nlower is better"
    axes.set_xlabel(f"share, {n_text(values.n, '')}{worse}")
    return list(lines)
