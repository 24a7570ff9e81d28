"""What figures are composed of: panels of rows, lines or points, each drawn from columns of an analysis's tables.

Owns how a panel of each kind looks and how panels share a page. Knows no analysis by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attunebench.figures import canvas
from attunebench.figures.model import Picture
from attunebench.figures.source import Floats, Points, Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["intervals", "bars", "dumbbells", "spread", "podium", "lines", "points", "profile"]
DOT: Any = {"linestyle": "none", "marker": "o", "markersize": 2.0, "markeredgewidth": 0.0, "alpha": 0.35}
_DECADES = 8.0
"""From this ratio of the greatest to the least on, an axis of costs is logarithmic."""


@dataclass(frozen=True)
class Panel:
    """A pair of axes.

    `values`: one column; for dumbbells the hollow end and the model's own marker; for points x and y; for lines one for
    each of `steps`; for a profile the model's metrics. `lines` are references, label → value. `beside`: columns of
    words on the right, (points off the axes, heading, entries). `bands` shades rows. `dots`: single values behind each
    row of a spread, whose three `quartiles` are columns. `limits` None fits the axis to what is drawn.
    """

    kind: Kind
    title: str
    axis: str
    labels: Sequence[str]
    values: Sequence[Points]
    lines: Mapping[str, float] = field(default_factory=dict)
    within: tuple[float, float] = (-np.inf, np.inf)
    beside: Sequence[tuple[float, str, Sequence[str]]] = ()
    bands: Sequence[bool] = ()
    steps: Sequence[str] = ()
    dots: Sequence[Floats] = ()
    quartiles: Sequence[Floats] = ()
    limits: tuple[float, float] | None = None
    colour: str = canvas.INK
    upright: str = ""
    """The label of the upright axis, where it has one."""


@dataclass(frozen=True)
class Page:
    """How panels share a page. `wide` and `single`: panels beside each other in a figure of two columns and of one.

    `row`: inches of a row; `high`: inches of a panel, where it has no rows of its own. `names`: inches for names.
    `share`: axes that panels share ("sharex", "sharey"). `legend`: the models below, with lines or markers only.
    """

    wide: int
    single: int = 1
    row: float = canvas.ROW
    high: float | None = None
    head: float = 0.6
    top: float = 0.5
    names: float = 1.5
    share: Mapping[str, bool] = field(default_factory=dict)
    legend: Literal["", "lines", "markers"] = ""
    meanings: Mapping[str, str] = field(default_factory=dict)


def compose(
    source: Source, id: str, title: str, panels: Sequence[Panel], page: Page, caption: Sequence[str]
) -> Picture:
    """The panels on a page, row by row, with the legends that they need; names that were cut are in the caption."""
    look = source.look
    across = min(page.wide if look.wide else page.single, len(panels))
    down = -(-len(panels) // across)
    labels = list(dict.fromkeys(label for panel in panels for label in panel.labels if label in source.styles))
    each = page.high or page.head + canvas.rows_high(max(len(panel.labels) for panel in panels), page.row)
    columns = 3 if look.wide else 2
    legend = 0.15 * -(-len(labels) // columns) if page.legend else 0.0
    figure = canvas.new_figure(look, page.top + down * each + legend, title)
    boxes = canvas.panels(figure, down, across, **page.share)
    drawn: list[str] = []
    for place, (axes, panel) in enumerate(zip(boxes, panels, strict=False)):
        first = place % across == 0
        named = first or (panel.kind != "profile" and panel.labels != panels[place - 1].labels)
        _DRAW[panel.kind](axes, panel, source, named)
        axes.set_axisbelow(True)
        lines, far = _frame(axes, panel)
        drawn += lines
        if panel.title:
            canvas.panel_title(axes, panel.title, look, across, names=page.names, colour=panel.colour)
        axes.set_xlabel(panel.axis + (f"\n{far}" if far else ""))
        if panel.upright and first:
            axes.set_ylabel(panel.upright)
        for points, heading, entries in panel.beside:
            canvas.side_column(axes, points, heading, entries)
    for axes in boxes[len(panels) :]:
        axes.set_axis_off()
    if page.legend:
        with_lines = page.legend == "lines"
        canvas.model_legend(figure, labels, source.styles, source.names, columns=columns, lines=with_lines)
    canvas.line_legend(figure, drawn, page.meanings)
    return Picture(id, title, figure, (*(part for part in caption if part), *source.shortened(labels)))


def _frame(axes: Axes, panel: Panel) -> tuple[list[str], str]:
    """Reference lines and limits of the axis of values."""
    if panel.kind in ("podium", "profile", "points", "spread"):
        return [], ""
    if panel.limits is not None:
        axes.set_xlim(*panel.limits)
        for name, at in panel.lines.items():
            axes.axvline(at, color=canvas.FAINT, linewidth=0.9, linestyle=canvas.REFERENCE_DASHES[name], zorder=1)
        return list(panel.lines), ""
    if panel.kind == "lines":
        return [], ""
    if panel.kind == "dumbbells":
        canvas.fit(axes, *canvas.span_of(*panel.values, intervals=False))
        return [], ""
    return canvas.reference_lines(axes, panel.values[0], panel.lines, within=panel.within)


def _rows(draw: Callable[..., None]) -> Callable[[Axes, Panel, Source, bool], None]:
    """A panel of rows with the models' names, where it is the first of its line."""

    def drawn(axes: Axes, panel: Panel, source: Source, first: bool) -> None:
        for row, shaded in enumerate(panel.bands):
            if shaded:
                axes.axhspan(row - 0.5, row + 0.5, color=canvas.PALE, linewidth=0, zorder=0)
        draw(axes, panel.labels, *panel.values, source.styles, source.names if first else None)

    return drawn


def _podium(axes: Axes, panel: Panel, source: Source, _first: bool) -> None:
    """Few rows with their names above them; ★ where a mark says best."""
    values = panel.values[0]
    canvas.interval_rows(axes, panel.labels, values, source.styles, None)
    axes.xaxis.grid(False)
    canvas.fit(axes, *canvas.span_of(values), margin=0.12, bounds=panel.within)
    for row, label in enumerate(panel.labels):
        axes.annotate(
            f"{source.names[label]}{' ★' if 'best' in values.marks[row].split() else ''}",
            (0.0, row),
            xycoords=axes.get_yaxis_transform(),
            xytext=(0, 3.5),
            textcoords="offset points",
            va="bottom",
            fontsize=canvas.SMALL_TYPE,
        )
    axes.set_ylim(len(panel.labels) - 0.6, -0.95)


def _spread(axes: Axes, panel: Panel, source: Source, _first: bool) -> None:
    """A dot for each conversation, the middle half as a bar, the median across it, the mean as the model's marker."""
    quarter, median, upper = panel.quartiles
    for row, label in enumerate(panel.labels):
        style, dots = source.styles[label], np.sort(panel.dots[row])
        # Up and down within a row, so that equal values lie side by side; the same each time.
        jitter = 0.36 * (np.modf(np.arange(len(dots)) * 0.6180339887)[0] * 2 - 1)
        axes.plot(dots, row + jitter, color=style.colour, zorder=1, **DOT)
        axes.barh(row, upper[row] - quarter[row], left=quarter[row], height=0.42, color="white", edgecolor=style.colour)
        axes.vlines(median[row], row - 0.21, row + 0.21, color=style.colour, linewidth=1.4, zorder=3)
        if panel.values[0].known[row]:
            small = bool(panel.values[0].small[row])
            canvas.dot(axes, panel.values[0].value[row], row, style, small=small, size=4.6)
    canvas.name_rows(axes, panel.labels, source.names)
    axes.xaxis.grid(True)


def _lines(axes: Axes, panel: Panel, source: Source, _first: bool) -> None:
    """A line for each model over the steps; models stand side by side within a step."""
    value, low, high = (np.array([getattr(p, end) for p in panel.values]) for end in ("value", "low", "high"))
    for row, label in enumerate(panel.labels):
        style = source.styles[label]
        at = np.arange(len(panel.steps)) + 0.5 * ((row + 0.5) / len(panel.labels) - 0.5)
        looks: Any = {"color": style.colour, "linestyle": canvas.line_dash(style), "marker": canvas.marker_of(style)}
        axes.plot(at, value[:, row], markersize=4.2, markeredgewidth=0.3, zorder=3, **looks)
        axes.vlines(at, low[:, row], high[:, row], color=style.colour, linewidth=0.6, alpha=0.55, zorder=2)
    axes.set_xticks(range(len(panel.steps)), panel.steps)
    axes.set_xlim(-0.4, len(panel.steps) - 0.6)
    axes.yaxis.grid(True)


def _points(axes: Axes, panel: Panel, source: Source, _first: bool) -> None:
    """A point for each label at x and y, with intervals both ways; without labels a plain dot for each value."""
    x, y = panel.values
    axes.grid(True)
    if not panel.labels:
        axes.plot(x.value, y.value, color=canvas.INK, **DOT | {"markersize": 3.2, "alpha": 0.5})
        return
    for row, label in enumerate(panel.labels):
        style = source.styles[label]
        if not (x.known[row] and y.known[row]):
            continue
        axes.plot([x.low[row], x.high[row]], [y.value[row]] * 2, color=style.colour, linewidth=0.9, zorder=2)
        axes.plot([x.value[row]] * 2, [y.low[row], y.high[row]], color=style.colour, linewidth=0.9, zorder=2)
        canvas.dot(axes, x.value[row], y.value[row], style, small=bool(x.small[row]))
    some = x.value[x.known]
    if some.size and some.min() > 0 and some.max() / some.min() > _DECADES:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    elif some.size:
        canvas.fit(axes, *canvas.span_of(x))


def _profile(axes: Axes, panel: Panel, source: Source, first: bool) -> None:
    """One model's metrics as bars, with the mean over all models (the second column) as a line across each."""
    (own, middle), colour = panel.values, source.styles[panel.labels[0]].colour
    rows = np.arange(len(panel.steps))
    axes.barh(rows, np.nan_to_num(own.value), height=0.7, color=colour, alpha=0.45, linewidth=0)
    axes.hlines(rows, own.low, own.high, color=colour, linewidth=1.1)
    axes.vlines(middle.value, rows - 0.42, rows + 0.42, color="black", linewidth=1.0, zorder=3)
    for row in rows[~own.known]:
        axes.text(0.02, row, "–", va="center", color=canvas.FAINT)
    axes.axvline(0, color=canvas.FAINT, linewidth=0.6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(rows, panel.steps if first else [""] * len(rows))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.grid(True)
    if panel.limits is not None:
        axes.set_xlim(*panel.limits)
    axes.tick_params(labelbottom=True)


_DRAW: Mapping[Kind, Callable[[Any, Panel, Source, bool], None]] = {
    "intervals": _rows(canvas.interval_rows),
    "bars": _rows(canvas.bar_rows),
    "dumbbells": _rows(canvas.dumbbell_rows),
    "spread": _spread,
    "podium": _podium,
    "lines": _lines,
    "points": _points,
    "profile": _profile,
}
