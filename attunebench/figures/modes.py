"""Modes against each other: a heat map of differences, and the ranks before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Table
from attunebench.figures import canvas
from attunebench.figures.heat import Heat, heat_map, roomy
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Source, column, counts, has, n_text, points, words
from attunebench.metrics.registry import REGISTRY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIFFERENCES, _RANKS = "_minus_", "_ranks"
_RANKED = ("composite", "pairwise_accuracy")
_NAMES = 1.9
"""Inches for the names of models."""
_WORTH_SAYING = 2
"""Ranks that a shift must have to be written beside it."""


def mode_differences(source: Source) -> list[Picture]:
    """Each other mode minus the primary one, per model and metric; all in points of 100."""
    analysis = source.analysis("modes")
    tables = [table for table in analysis.tables if _DIFFERENCES in table.id and table.rows]
    if not tables:
        raise LackingError("There is no second mode of the same models to hold against the first.")
    return [_differences(source, table) for table in tables]


def _differences(source: Source, table: Table) -> Picture:
    analysis = source.analysis("modes")
    metrics = [one.id for one in table.columns if one.id in REGISTRY]
    scale = np.array([1.0 if REGISTRY[m].unit == "points" else 100.0 for m in metrics])
    values = np.array([points(table, m).value for m in metrics]).T * scale
    apart = np.array([[common.claimed(cell, source.settings) for cell in column(table, m)] for m in metrics]).T
    ends = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else 1.0
    texts = [[canvas.signed(x) for x in row] for row in values]
    labels = words(table, "model")
    title = f"Difference between modes, {table.title}"
    look, note = roomy(source.look, len(metrics))
    figure = canvas.new_figure(look, 1.85 + len(labels) * 0.22, title)
    (axes,) = canvas.panels(figure, 1, 1)
    names = [source.names[label] for label in labels]
    heat = Heat(values, texts, apart, -ends, ends, diverging=True)
    heat_map(figure, axes, heat, names, [common.label_of(m) for m in metrics], cell_high=0.22, beside=_NAMES)
    axes.set_xlabel(f"difference in hundredths of the metric (Composite: points), {n_text(counts(table, 'n'))}")
    caption = (
        "Mean paired difference per model and metric; the Composite in points of 100, all others in hundredths, so "
        "that +1.0 is one point. Bold: told from 0 after correction.",
        *note,
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return Picture(f"mode-differences-{table.id.partition(_DIFFERENCES)[0]}", title, figure, caption)


def mode_ranks(source: Source) -> list[Picture]:
    """Rank in the primary mode and in each other one, by Composite and by Pairwise."""
    analysis = source.analysis("modes")
    tables = [table for table in analysis.tables if table.id.endswith(_RANKS) and table.rows]
    if not tables:
        raise LackingError("There is no second mode of the same models to hold against the first.")
    metrics = [m for m in _RANKED if all(has(table, f"{m}_before") for table in tables)]
    rows = max(len(table.rows) for table in tables)
    down, across = (len(tables), len(metrics)) if source.look.wide else (len(tables) * len(metrics), 1)
    title = "Ranks in each mode"
    figure = canvas.new_figure(source.look, 0.5 + down * (0.6 + canvas.rows_high(rows, 0.17)), title)
    boxes = iter(canvas.panels(figure, down, across))
    for table in tables:
        for metric_id in metrics:
            _ranks(next(boxes), table, metric_id, source)
    labels = list(dict.fromkeys(label for table in tables for label in words(table, "model")))
    caption = (
        "Hollow circle: rank in the primary mode; the model's own marker: rank in the other mode. Models in the order "
        f"of the primary mode. Shifts of {_WORTH_SAYING} ranks or more are written beside it.",
        *(f"{table.title}: {table.caption}" for table in tables),
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("mode-ranks", title, figure, caption)]


def _ranks(axes: Axes, table: Table, metric_id: str, source: Source) -> None:
    before, after = points(table, f"{metric_id}_before"), points(table, f"{metric_id}_after")
    order = common.by_value(before.value, higher_is_better=False)
    labels = [words(table, "model")[i] for i in order]
    before, after = before.take(order), after.take(order)
    canvas.dumbbell_rows(axes, labels, before, after, source.styles, source.names)
    canvas.side_column(axes, 6, "", [_shift(a - b) for a, b in zip(before.value, after.value, strict=True)])
    axes.set_xlim(0.5, len(labels) + 0.5)
    axes.set_xticks(_ticks(len(labels)))
    axes.set_title(f"{common.label_of(metric_id)}: {table.title.removeprefix('Ranks under ').replace(' and ', ' → ')}")
    axes.set_xlabel("rank (1 is best)")


def _shift(places: float) -> str:
    return (
        "" if np.isnan(places) or abs(places) < _WORTH_SAYING else f"{abs(places):g} {'up' if places > 0 else 'down'}"
    )


def _ticks(count: int) -> Sequence[int]:
    return range(1, count + 1, 1 if count <= 11 else 2)
