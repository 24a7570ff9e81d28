"""Score against what it took: money, seconds and tokens of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attunebench.figures import canvas
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Points, Source, has, means, n_text, points, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS = (
    ("money", "cost", "Money", "US dollars per conversation"),
    ("usage", "seconds", "Time", "seconds per conversation"),
    ("usage", "completion_tokens", "Tokens of replies", "tokens per conversation"),
)
_DECADES = 8.0
"""From this ratio of the greatest to the least on, an axis is logarithmic."""


def cost(source: Source) -> list[Picture]:
    """Composite against cost, time and tokens, with intervals both ways; those that the results tell."""
    analysis = source.analysis("cost")
    tables = {table.id: table for table in analysis.tables if table.rows}
    shown = [one for one in _PANELS if one[0] in tables and has(tables[one[0]], one[1])]
    shown = [one for one in shown if np.nansum(points(tables[one[0]], one[1]).value) > 0]
    if not shown:
        raise LackingError("No result says what it cost, how long it took or how many tokens it used.")
    study = source.models()
    composite = means(study, "composite", source.settings)
    labels = list(study.labels)
    across = len(shown) if source.look.wide else 1
    down = -(-len(shown) // across)
    columns = 3 if source.look.wide else 2
    title = f"Composite against what it took, {source.mode} mode"
    figure = canvas.new_figure(source.look, 0.5 + down * 2.3 + 0.15 * -(-len(labels) // columns), title)
    boxes = canvas.panels(figure, down, across, sharey=True)
    for place, (axes, (table_id, column_id, heading, unit)) in enumerate(zip(boxes, shown, strict=True)):
        table = tables[table_id]
        taken = points(table, column_id)
        where = [labels.index(label) for label in words(table, "model")]
        _scatter(axes, [labels[i] for i in where], taken, composite.take(where), source)
        axes.set_title(heading)
        axes.set_xlabel(f"{unit}\n{n_text(taken.n)}")
        if place % across == 0:
            axes.set_ylabel("Composite (points of 100)")
    canvas.model_legend(figure, labels, source.styles, source.names, columns=columns, lines=False)
    caption = (
        "Mean Composite against the mean of what a conversation took, with intervals both ways; a model whose results "
        "do not say it is not in that panel. Axes that span much are logarithmic.",
        *(tables[name].caption for name in dict.fromkeys(one[0] for one in shown)),
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("cost", title, figure, caption)]


def _scatter(axes: Axes, labels: list[str], taken: Points, composite: Points, source: Source) -> None:
    for row, label in enumerate(labels):
        style = source.styles[label]
        x, y = taken.value[row], composite.value[row]
        if np.isnan(x) or np.isnan(y):
            continue
        axes.plot([taken.low[row], taken.high[row]], [y, y], color=style.colour, linewidth=0.9, zorder=2)
        axes.plot([x, x], [composite.low[row], composite.high[row]], color=style.colour, linewidth=0.9, zorder=2)
        canvas.dot(axes, x, y, style, small=bool(taken.small[row]))
    some = taken.value[taken.known]
    if some.size and some.min() > 0 and some.max() / some.min() > _DECADES:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    elif some.size:
        canvas.fit(axes, *canvas.span_of(taken))
    axes.grid(True)
