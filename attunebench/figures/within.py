"""Within models: the perspective gap as dumbbells, drift over a talk as lines, and groups of told diagnoses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Table
from attunebench.figures import canvas
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Points, Source, column, counts, n_text, points, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_THIRDS = ("early", "middle", "late")
_GROUPS = "groups-"


def perspective_gap(source: Source) -> list[Picture]:
    """Per model its accuracy on what the reply did and on what the person wanted, joined; the gap beside it."""
    analysis, table = source.analysis("perspective-gap"), source.table("perspective-gap", "models")
    labels = words(table, "model")
    title = f"Perspective gap, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.95 + canvas.rows_high(len(labels)), title)
    (axes,) = canvas.panels(figure, 1, 1)
    om, hp = points(table, "om"), points(table, "hp")
    canvas.dumbbell_rows(axes, labels, hp, om, source.styles, source.names)
    canvas.fit(axes, *canvas.span_of(_values(om), *hp.value))
    gaps = [_gap(cell, common.claimed(cell, source.settings)) for cell in column(table, "gap")]
    canvas.side_column(axes, 8, "gap in points", gaps)
    axes.set_xlabel(f"accuracy (share of yes/no questions), {n_text(counts(table, 'n'))}")
    caption = (
        "Hollow circle: Binary HP, what the person wanted; the model's own marker: Binary OM, what the reply did. On "
        "the right the gap in points of 100 with its interval; ★: told from 0 after correction.",
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("perspective-gap", title, figure, caption)]


def _values(given: Points) -> Points:
    """The values alone: a dumbbell shows no intervals of its ends."""
    gap = np.full_like(given.value, np.nan)
    return Points(given.value, gap, gap, given.n, given.small, given.marks)


def _gap(cell: Cell, told: bool) -> str:
    value = common.value_of(cell)
    if np.isnan(value):
        return "–"
    interval = ""
    if cell.low is not None and cell.high is not None:
        interval = f" [{canvas.signed(100 * cell.low)}, {canvas.signed(100 * cell.high)}]"
    return f"{canvas.signed(100 * value)}{interval}{' ★' if told else ''}"


def turn_drift(source: Source) -> list[Picture]:
    """A line per model over the thirds of a talk, a panel for each metric."""
    analysis = source.analysis("turn-drift")
    tables = [t for t in analysis.tables if t.rows and all(any(c.id == third for c in t.columns) for third in _THIRDS)]
    if not tables:
        raise LackingError("No talk here has three turns, so there are no thirds.")
    across = min(3 if source.look.wide else 2, len(tables))
    down = -(-len(tables) // across)
    labels = words(tables[0], "model")
    columns = 3 if source.look.wide else 2
    height = 0.5 + down * 1.95 + 0.15 * -(-len(labels) // columns)
    title = f"Drift over a talk, {source.mode} mode"
    figure = canvas.new_figure(source.look, height, title)
    boxes = canvas.panels(figure, down, across)
    for axes, table in zip(boxes, tables, strict=False):
        _lines(axes, table, source)
    for axes in boxes[len(tables) :]:
        axes.set_axis_off()
    canvas.model_legend(figure, labels, source.styles, source.names, columns=columns)
    caption = (
        "Mean over the turns of each third of a talk, with intervals; models stand side by side within a third so that "
        "they can be told apart. n counts conversations of three turns or more.",
        tables[0].caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("turn-drift", title, figure, caption)]


def _lines(axes: Axes, table: Table, source: Source) -> None:
    labels = words(table, "model")
    thirds = [points(table, third) for third in _THIRDS]
    for row, label in enumerate(labels):
        style = source.styles[label]
        at = np.arange(len(_THIRDS)) + 0.5 * ((row + 0.5) / len(labels) - 0.5)
        value, low, high = (np.array([getattr(p, name)[row] for p in thirds]) for name in ("value", "low", "high"))
        axes.plot(
            at,
            value,
            color=style.colour,
            linestyle=canvas.line_dash(style),
            marker=canvas.marker_of(style),
            markersize=4.2,
            markeredgewidth=0.3,
            zorder=3,
        )
        axes.vlines(at, low, high, color=style.colour, linewidth=0.6, alpha=0.55, zorder=2)
    axes.set_xticks(range(len(_THIRDS)), _THIRDS)
    axes.set_xlim(-0.4, len(_THIRDS) - 0.6)
    axes.yaxis.grid(True)
    canvas.panel_title(
        axes, table.title.removesuffix(" by third"), source.look, 3 if source.look.wide else 2, names=0.6
    )
    axes.set_xlabel(f"third of the talk, {n_text(counts(table, 'n'), '')}")
    axes.set_ylabel("mean over turns")


def diagnosis_groups(source: Source) -> list[Picture]:
    """Emotion VA and Binary OM per group of told diagnoses: a panel for each group, a row for each model."""
    analysis = source.analysis("affect-gap")
    tables = [table for table in analysis.tables if table.id.startswith(_GROUPS) and table.rows]
    if not tables:
        raise LackingError("No conversation tells of diagnoses, so there are no groups.")
    groups = [one for one in tables[0].columns if one.unit != "text"]
    labels = words(tables[0], "model")
    across = len(groups) if source.look.wide else 2
    down = len(tables) * -(-len(groups) // across)
    title = f"By told diagnoses, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.5 + down * (0.66 + canvas.rows_high(len(labels), 0.168)), title)
    boxes = iter(enumerate(canvas.panels(figure, down, across)))
    for table in tables:
        rows = words(table, "model")
        ends = [canvas.span_of(points(table, one.id)) for one in groups]
        for one in groups:
            at, axes = next(boxes)
            values = points(table, one.id)
            canvas.interval_rows(axes, rows, values, source.styles, source.names if at % across == 0 else None)
            canvas.fit(axes, min(low for low, _ in ends), max(high for _, high in ends))
            heading = f"{table.title.removesuffix(' by group')}: {one.label}"
            canvas.panel_title(axes, heading, source.look, across)
            axes.set_xlabel(f"mean score, {n_text(values.n, '')}")
    caption = (
        "Mean per model in the conversations of people who told of no diagnosis, of one of the two kinds, or of any, "
        "with intervals; the panels of a metric share their axis. Diagnoses are self-reported. n counts conversations; "
        "hollow: too few, or a single participant, for a claim.",
        *(table.caption for table in tables[:1]),
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("diagnosis-groups", title, figure, caption)]
