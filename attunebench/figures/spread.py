"""How scores spread over conversations, and what goes with an easy or a hard one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Table
from attunebench.figures import canvas
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Floats, Source, column, counts, n_text, points, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPREAD = "spread_"
_DOT: Any = {"linestyle": "none", "marker": "o", "markersize": 2.0, "markeredgewidth": 0.0, "alpha": 0.35}


def distributions(source: Source) -> list[Picture]:
    """Each conversation's value as a dot, with quartiles, median and mean, per model."""
    analysis = source.analysis("distributions")
    tables = [table for table in analysis.tables if table.id.startswith(_SPREAD) and table.rows]
    if not tables:
        raise LackingError("The Composite is not defined for any conversation.")
    labels = words(tables[0], "model")
    across = len(tables) if source.look.wide else 1
    down = len(tables) // across
    title = f"Distributions over conversations, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.55 + down * (0.5 + canvas.rows_high(len(labels), 0.24)), title)
    for axes, table in zip(canvas.panels(figure, down, across), tables, strict=True):
        _spread(axes, table, source)
    caption = (
        "A dot is a conversation (mean over its epochs), the bar the middle half, the line across it the median, and "
        "the model's marker the mean.",
        tables[0].caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("distributions", title, figure, caption)]


def _spread(axes: Axes, table: Table, source: Source) -> None:
    metric_id = table.id.removeprefix(_SPREAD)
    labels = words(table, "model")
    study = source.models()
    values = study.values(metric_id)
    at = {label: place for place, label in enumerate(study.labels)}
    quarter, median, upper = (points(table, name).value for name in ("quarter", "median", "three_quarters"))
    mean = points(table, "mean")
    for row, label in enumerate(labels):
        style = source.styles[label]
        found = values[:, at[label]]
        found = np.sort(found[~np.isnan(found)])
        axes.plot(found, row + _jitter(len(found)), color=style.colour, zorder=1, **_DOT)
        axes.barh(row, upper[row] - quarter[row], left=quarter[row], height=0.42, color="white", edgecolor=style.colour)
        axes.vlines(median[row], row - 0.21, row + 0.21, color=style.colour, linewidth=1.4, zorder=3)
        if mean.known[row]:
            canvas.dot(axes, mean.value[row], row, style, small=bool(mean.small[row]), size=4.6)
    canvas.name_rows(axes, labels, source.names)
    axes.xaxis.grid(True)
    axes.set_title(common.label_of(metric_id))
    axes.set_xlabel(f"{canvas.unit_words(metric_id)}, {n_text(counts(table, 'n'))}")


def _jitter(count: int) -> Floats:
    """Up and down within a row, so that like values lie side by side; the same each time, with no chance in it."""
    return np.asarray(0.36 * (np.modf(np.arange(count) * 0.6180339887)[0] * 2 - 1))


def difficulty(source: Source) -> list[Picture]:
    """Each conversation's Composite, mean over models, against its turn metrics."""
    analysis, table = source.analysis("distributions"), source.table("distributions", "difficulty")
    study = source.models()
    composite = common.mean_over_models(study.values("composite"))
    rows = {label: row for row, label in enumerate(words(table, "metric"))}
    metrics = [m for m in common.defined_metrics(study, common.CANONICAL) if common.label_of(m) in rows]
    if not metrics:
        raise LackingError("No metric of single turns is defined here.")
    across = min(3 if source.look.wide else 2, len(metrics))
    down = -(-len(metrics) // across)
    title = f"Difficulty of conversations, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.5 + down * 2.0, title)
    boxes = canvas.panels(figure, down, across, sharey=True)
    cells = column(table, "rho")
    for place, (axes, metric_id) in enumerate(zip(boxes, metrics, strict=False)):
        values = common.mean_over_models(study.values(metric_id))
        axes.plot(values, composite, color=canvas.INK, **_DOT | {"markersize": 3.2, "alpha": 0.5})
        row = rows[common.label_of(metric_id)]
        axes.set_title(common.label_of(metric_id))
        rho = common.with_interval(cells[row], 2).replace("-", "−")
        n = int((~np.isnan(values) & ~np.isnan(composite)).sum())
        axes.set_xlabel(f"{canvas.unit_words(metric_id)}, n = {n}\nρ = {rho}")
        axes.grid(True)
        if place % across == 0:
            axes.set_ylabel("Composite (points of 100)")
    for axes in boxes[len(metrics) :]:
        axes.set_axis_off()
    caption = (
        f"A dot is a conversation: means over {common.counted(len(study.groups), 'model')}. ρ is Spearman's rank "
        "correlation over conversations with its interval. The turn metrics are part of the Composite, so that some "
        "of the correlation is there by construction.",
        table.caption,
        analysis.cannot,
    )
    return [Picture("difficulty", title, figure, caption)]
