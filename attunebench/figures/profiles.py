"""Each model's profile: its metrics as bars, with the mean over models marked on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attunebench.analyses import common
from attunebench.figures import canvas
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Floats, Source, means, n_text
from attunebench.metrics.registry import REGISTRY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.155


def profiles(source: Source) -> list[Picture]:
    """A panel per model with a bar for each metric of the Composite."""
    study = source.models()
    metrics = tuple(m for m in common.defined_metrics(study, common.CANONICAL) if m != "composite")
    if not metrics:
        raise LackingError("None of the metrics of the Composite is defined here.")
    order = common.by_value(means(study, "composite", source.settings).value)
    labels = [study.labels[i] for i in order]
    found = [means(study, m, source.settings).take(order) for m in metrics]
    values, lows, highs = (np.array([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    across = min(4 if source.look.wide else 2, len(labels))
    down = -(-len(labels) // across)
    title = f"Profiles, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.55 + down * (0.42 + len(metrics) * _ROW), title)
    boxes = canvas.panels(figure, down, across, sharex=True)
    middle = common.mean_over_models(values)
    for at, (axes, label) in enumerate(zip(boxes, labels, strict=False)):
        _profile(axes, metrics, values[:, at], lows[:, at], highs[:, at], middle, source.styles[label].colour)
        axes.set_yticks(range(len(metrics)), [_short(m) for m in metrics] if at % across == 0 else [])
        axes.tick_params(labelbottom=at + across >= len(labels))
        colour = source.styles[label].colour
        canvas.panel_title(axes, source.names[label], source.look, across, names=0.8, colour=colour)
    for axes in boxes[len(labels) :]:
        axes.set_axis_off()
    low = min(0.0, float(np.nanmin(np.concatenate([values, lows]))))
    boxes[0].set_xlim(max(low, -1.0), 1.0)
    n = n_text(np.concatenate([one.n for one in found]))
    figure.supxlabel(f"mean of the metric (1 is best), {n}", fontsize=canvas.TYPE)
    caption = (
        "Each bar is a mean of the model with its interval; the black line across is the mean over all models shown. "
        "All metrics run to 1; PANAS is 0 where predicting no change would have done as well, and can be negative.",
        f"{common.sample_text(study)}. {common.intervals_text(source.settings)}. Nothing is controlled for.",
        *source.shortened(labels),
    )
    return [Picture("profiles", title, figure, caption)]


def _profile(
    axes: Axes, metrics: Sequence[str], values: Floats, lows: Floats, highs: Floats, middle: Floats, colour: str
) -> None:
    rows = np.arange(len(metrics))
    axes.barh(rows, np.nan_to_num(values), height=0.7, color=colour, alpha=0.45, linewidth=0)
    axes.hlines(rows, lows, highs, color=colour, linewidth=1.1)
    axes.vlines(middle, rows - 0.42, rows + 0.42, color="black", linewidth=1.0, zorder=3)
    for row in rows[np.isnan(values)]:
        axes.text(0.02, row, "–", va="center", color=canvas.FAINT)
    axes.axvline(0, color=canvas.FAINT, linewidth=0.6)
    axes.set_ylim(len(metrics) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.grid(True)


def _short(metric_id: str) -> str:
    return REGISTRY[metric_id].label.removesuffix(", baseline-adjusted")
