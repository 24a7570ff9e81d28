"""Composite and Pairwise side by side, and the first three in each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Table
from attunebench.figures import canvas
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Points, Source, column, n_text, points, words
from attunebench.metrics.registry import REGISTRY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TOP = 3


def leaderboard(source: Source) -> list[Picture]:
    """Both rankings with intervals, tiers as bands, and each model's rank with the places it could have had."""
    analysis = source.analysis("leaderboard")
    tables = [table for table in analysis.tables if table.id in REGISTRY]
    if not tables:
        raise LackingError("Neither the Composite nor Pairwise is defined for any conversation.")
    wide = source.look.wide
    rows = len(tables[0].rows)
    height = 1.0 + canvas.rows_high(rows)
    title = f"Composite and Pairwise, {source.mode} mode"
    figure = canvas.new_figure(source.look, height if wide else height * len(tables) - 0.3, title)
    grid = (1, len(tables)) if wide else (len(tables), 1)
    drawn: list[str] = []
    for axes, table in zip(canvas.panels(figure, *grid), tables, strict=True):
        drawn += _ranking(axes, table, source)
    meanings = {"chance": "chance (1/2 for A or B)", "base rate": "base rate (labels of the other talks)"}
    canvas.line_legend(figure, drawn, meanings)
    labels = words(tables[0], "model")
    caption = (
        "Mean per model, best first, with its interval. Bands are tiers: models of a tier are not told apart from its "
        "best. On the right the rank, and in brackets the places it takes over resamples.",
        tables[0].caption,
        "Hollow: too few conversations for a claim; no line: the interval is not estimable.",
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("leaderboard", title, figure, caption)]


def _ranking(axes: Axes, table: Table, source: Source) -> list[str]:
    labels, score = words(table, "model"), points(table, "score")
    canvas.interval_rows(axes, labels, score, source.styles, source.names)
    _tiers(axes, column(table, "tier"))
    assert table.chart is not None
    drawn, far = canvas.reference_lines(axes, score, table.chart.lines)
    canvas.side_column(axes, 5, "tier", [_whole(cell) for cell in column(table, "tier")])
    canvas.side_column(axes, 25, "rank", [_rank(cell) for cell in column(table, "rank")])
    axes.set_title(table.title)
    axes.set_xlabel(f"{canvas.unit_words(table.id)}, {n_text(score.n)}" + (f"\n{far}" if far else ""))
    return drawn


def _tiers(axes: Axes, cells: Sequence[Cell]) -> None:
    """A band behind the rows of every other tier."""
    for row, cell in enumerate(cells):
        if common.value_of(cell) % 2 == 1:
            axes.axhspan(row - 0.5, row + 0.5, color=canvas.PALE, linewidth=0, zorder=0)


def _whole(cell: Cell) -> str:
    value = common.value_of(cell)
    return "–" if np.isnan(value) else f"{value:g}"


def _rank(cell: Cell) -> str:
    rank = _whole(cell)
    return rank if rank == "–" or cell.low is None or cell.high is None else f"{rank} ({cell.low:g}–{cell.high:g})"


def top_three(source: Source) -> list[Picture]:
    """The three best means in each metric; a star only where the first is told apart from all others."""
    table = source.table("leaders", "means")
    analysis = source.analysis("leaders")
    metrics = [one.id for one in table.columns if one.id in REGISTRY and points(table, one.id).known.any()]
    labels = words(table, "model")
    if len(labels) < 2:
        raise LackingError("The first three need two models; only one was scored here.")
    across = 4 if source.look.wide else 2
    down = -(-len(metrics) // across)
    top = min(_TOP, len(labels))
    title = f"First {top} in each metric, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.5 + down * (0.62 + 0.24 * top), title)
    boxes = canvas.panels(figure, down, across)
    for axes, metric_id in zip(boxes, metrics, strict=False):
        _podium(axes, metric_id, labels, points(table, metric_id), source)
    for axes in boxes[len(metrics) :]:
        axes.set_axis_off()
    caption = (
        "The highest means of each metric with their intervals (the lowest where lower is better). ★: told apart from "
        "all other models; without it the order may be chance. n counts conversations. The axes differ between panels.",
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("top-three", title, figure, caption)]


def _podium(axes: Axes, metric_id: str, labels: Sequence[str], values: Points, source: Source) -> None:
    order = [i for i in common.by_value(values.value, higher_is_better=common.better(metric_id)) if values.known[i]]
    first = order[:_TOP]
    top = values.take(first)
    chosen = [labels[i] for i in first]
    canvas.interval_rows(axes, chosen, top, source.styles, None)
    axes.xaxis.grid(False)
    canvas.fit(axes, *canvas.span_of(top), margin=0.12, bounds=canvas.bounds(metric_id))
    for row, label in enumerate(chosen):
        star = " ★" if "best" in top.marks[row].split() else ""
        axes.annotate(
            f"{source.names[label]}{star}",
            (0.0, row),
            xycoords=axes.get_yaxis_transform(),
            xytext=(0, 3.5),
            textcoords="offset points",
            va="bottom",
            fontsize=canvas.SMALL_TYPE,
        )
    axes.set_ylim(len(chosen) - 0.6, -0.95)
    canvas.panel_title(axes, common.label_of(metric_id), source.look, 4 if source.look.wide else 2, names=0.0)
    axes.set_xlabel(f"{canvas.unit_words(metric_id)}, {n_text(top.n, '')}")
