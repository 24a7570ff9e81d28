"""How a plot looks in print: type of 7 points or more at the final size, ink only for data. Knows no analysis."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from attunebench.analyses.palette import OUTLINES, Style
from attunebench.analyses.table import Cell, number_of
from attunebench.figures.sheets import Floats, Page, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attunebench.figures.source import Look, Source

INK, FAINT, PALE = "#222222", "#6B6B6B", "#EDEFF2"
SMALL_TYPE, TYPE, HEADING = 7.0, 7.5, 8.5
_STYLE = resources.files("attunebench.figures") / "print.mplstyle"
_FEWEST_ROWS = 4
_NARROW = 2.5
"""Inches of a panel under which its axis has few numbers."""
_TALLEST = 9.4
"""Inches that a page leaves for a figure."""
_DECADES = 8.0
"""From this ratio of the greatest to the least on, an axis of costs is logarithmic."""
_DASHES: Mapping[str, Any] = {"chance": (0, (4, 2)), "base rate": (0, (1, 1.5))}
_MEANINGS = {"chance": "chance (blind guessing)", "base rate": "base rate of the other conversations"}
_DOT: Any = {"linestyle": "none", "marker": "o", "markersize": 2.0, "markeredgewidth": 0.0, "alpha": 0.35}


@contextmanager
def drawing() -> Iterator[None]:
    """Our settings, whatever a user's own matplotlib is set to; both drawing and saving happen under them."""
    import matplotlib

    # Only the user's names can lack a glyph; a box in its place says that, a warning on stderr helps nobody.
    with resources.as_file(_STYLE) as style, matplotlib.rc_context(fname=style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def new_figure(look: Look, height: float, title: str) -> Figure:
    """An empty figure as wide as asked for and `height` inches high, with its title on the left."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.04, wspace=0.03, hspace=0.04)
    figure = Figure(figsize=(look.inches, min(height, _TALLEST)), layout=layout)
    figure.suptitle(title, x=0.005, ha="left", fontsize=HEADING, fontweight="bold")
    return figure


def settle(figure: Figure) -> None:
    """Lay the figure out once and for all: the same in every format, and not again for each."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")


def compose(source: Source, title: str, panels: Sequence[Panel], page: Page) -> tuple[Figure, Sequence[str]]:
    """The panels on a page, row by row, with the legends that they need, and the labels that are on it."""
    look = source.look
    across = min((page.wide or len(panels)) if look.wide else page.single, len(panels))
    down = -(-len(panels) // across)
    labels = list(dict.fromkeys(of for panel in panels for of in (panel.of, *panel.labels) if of in source.styles))
    rows = max(_FEWEST_ROWS, *(len(panel.labels) for panel in panels))
    legend = 0.15 * -(-len(labels) // (3 if look.wide else 2)) if page.legend else 0.0
    figure = new_figure(look, page.top + down * (page.high or page.head + page.row * rows) + legend, title)
    grid = figure.subplots(down, across, squeeze=False, **page.share)
    drawn: dict[str, None] = {}
    for place, (axes, panel) in enumerate(zip_longest(grid.flat, panels)):
        if panel is None:
            axes.set_axis_off()
            continue
        axes.locator_params(axis="x", nbins=4 if look.inches / across < _NARROW else 6)
        first = place % across == 0
        _DRAW.get(panel.plot.kind, _rows)(axes, panel, source, first or panel.labels != panels[place - 1].labels)
        axes.set_axisbelow(True)
        near, far = _references(axes, panel, look)
        drawn |= dict.fromkeys(near)
        heading, colour = (source.names[panel.of], source.styles[panel.of].colour) if panel.of else ("", INK)
        # A title in lines that fit the panel's width.
        room = max(10, int((look.inches - page.names) / across / 0.08))
        axes.set_title(
            "\n".join(textwrap.wrap(heading or panel.plot.title, room, break_long_words=False)), color=colour
        )
        axes.set_xlabel((panel.plot.axis if panel.axis is None else panel.axis) + far)
        if panel.ticks:
            axes.set_xticks(panel.ticks)
        if panel.upright and first:
            axes.set_ylabel(panel.upright)
        for points, head, entries in panel.beside:
            _side_column(axes, points, head, entries)
    if page.legend:
        marker = {
            "markersize": 4.5,
            "markeredgewidth": 0.3,
            **({} if page.legend == "lines" else {"linestyle": "none"}),
        }
        models = {source.names[label]: _line(source.styles[label]) | marker for label in labels}
        _legend(figure, models, "outside lower left", 3 if look.wide else 2)
    lines = {_MEANINGS.get(name, name): _reference(name) for name in drawn}
    _legend(figure, lines, "outside lower right", len(lines) if look.wide else 1)
    figure.supxlabel(page.below, fontsize=TYPE)
    return figure, labels


def _rows(axes: Axes, panel: Panel, source: Source, named: bool) -> None:
    """Intervals, bars and dumbbells: a row for each of the plot's, from the top."""
    kind = panel.plot.kind
    for y in (y for y, shaded in enumerate(panel.bands) if shaded):
        axes.axhspan(y - 0.5, y + 0.5, color=PALE, linewidth=0, zorder=0)
    for y, row in enumerate(panel.plot.rows):
        style, small = source.styles[panel.of or row.label], row.cells[0].small
        (value, low, high), *others = map(_ends, row.cells)
        if np.isnan(value) or (kind == "dumbbells" and np.isnan(others[0][0])):
            axes.text(0.01, y, "–", transform=axes.get_yaxis_transform(), va="center", color=FAINT)
        elif kind == "dumbbells":
            axes.plot([value, others[0][0]], [y, y], color=style.colour, linewidth=1.2, zorder=2)
            _dot(axes, value, y, style, small=True, marker="o", size=4.2)
            _dot(axes, others[0][0], y, style)
        elif panel.dots:
            _spread(axes, y, [quartile for quartile, *_ in others], style, panel.dots[y])
            _dot(axes, value, y, style, small=small, size=4.6)
        else:
            if kind == "bars":
                axes.barh(y, value, height=0.72, color=style.colour, alpha=0.3, linewidth=0, zorder=2)
            axes.plot([low, high], [y, y], color=style.colour, linewidth=1.2, zorder=3)
            if not panel.of:
                _dot(axes, value, y, style, small=small)
            axes.vlines([at for at, *_ in others], y - 0.42, y + 0.42, color="black", linewidth=1.0, zorder=3)
    if kind == "bars":
        axes.axvline(0, color=FAINT, linewidth=0.6)
    _names(axes, panel, source, named)


def _names(axes: Axes, panel: Panel, source: Source, named: bool) -> None:
    """The first label on top; without names the rows stand bare beside those that have them."""
    names, count = [source.names[label] for label in panel.labels], len(panel.labels)
    axes.set_yticks(range(count), names if named and not panel.above else [""] * count)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(labelbottom=True)
    axes.spines["left"].set_visible(False)
    axes.xaxis.grid(not panel.above)
    axes.set_ylim(count - 0.4, -0.6)
    if panel.above:
        axes.set_ylim(count - 0.6, -0.95)
        for y, row in enumerate(panel.plot.rows):
            star = " ★" if "best" in row.cells[0].mark.split() else ""
            _note(axes, f"{names[y]}{star}", (0.0, y), (0, 3.5), va="bottom")


def _note(axes: Axes, text: str, at: tuple[float, float], off: tuple[float, float], **more: Any) -> None:
    """Small type beside a row: `at` (share of the width, row), `off` by points."""
    place: Any = {"xycoords": axes.get_yaxis_transform(), "xytext": off, "textcoords": "offset points"}
    axes.annotate(text, at, fontsize=SMALL_TYPE, annotation_clip=False, **place, **more)


def _side_column(axes: Axes, points: float, heading: str, entries: Sequence[str]) -> None:
    """Words on the right of the rows, `points` off the axes, under a heading."""
    _note(axes, heading, (1.0, -0.7), (points, 0), va="bottom", color=FAINT)
    for y, entry in enumerate(entries):
        _note(axes, entry, (1.0, y), (points, 0), va="center", color=INK)


def _dot(
    axes: Axes, x: float, y: float, style: Style, *, small: bool = False, marker: Any = None, size: float = 5.0
) -> None:
    """One value: filled, or hollow where it is over too little for a claim."""
    looks: Any = {"markerfacecolor": "white" if small else style.colour, "markeredgecolor": style.colour}
    looks |= {"markersize": size, "markeredgewidth": 0.9 if small else 0.3, "zorder": 4, "clip_on": False}
    axes.plot([x], [y], linestyle="none", marker=_marker(style) if marker is None else marker, **looks)


def _spread(axes: Axes, y: int, quartiles: Sequence[float], style: Style, dots: Floats) -> None:
    """A dot for each conversation, the middle half as a bar, and the median across it."""
    lower, median, upper = quartiles
    # Up and down within a row, so that equal values lie side by side; the same each time.
    jitter = 0.36 * (np.modf(np.arange(len(dots)) * 0.6180339887)[0] * 2 - 1)
    axes.plot(np.sort(dots), y + jitter, color=style.colour, zorder=1, **_DOT)
    axes.barh(y, upper - lower, left=lower, height=0.42, color="white", edgecolor=style.colour)
    axes.vlines(median, y - 0.21, y + 0.21, color=style.colour, linewidth=1.4, zorder=3)


def _lines(axes: Axes, panel: Panel, source: Source, _named: bool) -> None:
    """A line for each row over the plot's columns; models stand side by side within a step."""
    steps, count = np.arange(len(panel.plot.columns)), len(panel.labels)
    for place, row in enumerate(panel.plot.rows):
        style, at = source.styles[row.label], steps + 0.5 * ((place + 0.5) / count - 0.5)
        value, low, high = np.array(list(map(_ends, row.cells))).T
        axes.plot(at, value, markersize=4.2, markeredgewidth=0.3, zorder=3, **_line(style))
        axes.vlines(at, low, high, color=style.colour, linewidth=0.6, alpha=0.55, zorder=2)
    axes.set_xticks(steps, [column.label for column in panel.plot.columns])
    axes.set_xlim(-0.4, len(steps) - 0.6)
    axes.yaxis.grid(True)


def _scatter(axes: Axes, panel: Panel, source: Source, _named: bool) -> None:
    """A point for each row at x and y, with intervals both ways; a plain dot where the row has no name."""
    axes.grid(True)
    across: list[tuple[float, float, float]] = []
    for label, cells, *_ in panel.plot.rows:
        (x, left, right), (y, low, high) = map(_ends, cells)
        if np.isnan(x + y):
            continue
        if not label:
            axes.plot([x], [y], color=INK, **_DOT | {"markersize": 3.2, "alpha": 0.5})
            continue
        style = source.styles[label]
        axes.plot([left, right], [y, y], color=style.colour, linewidth=0.9, zorder=2)
        axes.plot([x, x], [low, high], color=style.colour, linewidth=0.9, zorder=2)
        _dot(axes, x, y, style, small=cells[0].small)
        across.append((x, left, right))
    if across and min(across)[0] > 0 and max(across)[0] / min(across)[0] > _DECADES:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    elif across:
        _fit(axes, float(np.nanmin(across)), float(np.nanmax(across)))


_DRAW: Mapping[str, Callable[[Any, Panel, Source, bool], None]] = {"lines": _lines, "scatter": _scatter}


def _references(axes: Axes, panel: Panel, look: Look) -> tuple[dict[str, float], str]:
    """Limits of the axis of values, and the reference lines that it has; words for those that are too far away."""
    plot, far = panel.plot, dict[str, float]()
    if plot.kind in _DRAW or panel.dots:
        return {}, ""
    near, intervals = dict(plot.lines), plot.kind != "dumbbells"
    if panel.limits is not None:
        axes.set_xlim(*panel.limits)
    else:
        near, far = plot.references(intervals=intervals)
        _fit(axes, *plot.span(near.values(), intervals=intervals), bounds=panel.bounds)
    for name, at in near.items():
        axes.axvline(at, zorder=1, **_reference(name))
    low = plot.span(intervals=intervals)[0]
    words = [
        f"{'◂ ' if at < low else ''}{name} {at:.{1 if abs(at) > 1.5 else 2}f}{'' if at < low else ' ▸'}"
        for name, at in far.items()
    ]
    return near, "\n" * bool(words) + (", " if look.wide else "\n").join(words)


def _fit(axes: Axes, low: float, high: float, bounds: tuple[float, float] = (-np.inf, np.inf)) -> None:
    """Limits around what is drawn, within what is possible at all; a single value gets room on both sides."""
    room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.05)
    axes.set_xlim(max(low - room, min(bounds[0], low)), min(high + room, max(bounds[1], high)))


def _legend(figure: Figure, named: Mapping[str, Mapping[str, Any]], place: Any, columns: int) -> None:
    """Below the panels, the looks of lines and markers by name."""
    from matplotlib.lines import Line2D

    if named:
        handles = [Line2D([], [], **looks) for looks in named.values()]
        figure.legend(handles, list(named), loc=place, ncols=columns)


def _ends(cell: Cell) -> tuple[float, float, float]:
    """Value, low and high; NaN where there is none."""
    low, high = (np.nan if end is None else end for end in (cell.low, cell.high))
    value = number_of(cell)
    return np.nan if value is None else value, low, high


def _reference(name: str) -> dict[str, Any]:
    """The looks of a reference line."""
    return {"color": FAINT, "linewidth": 0.9, "linestyle": _DASHES.get(name, ":")}


def _marker(style: Style) -> Any:
    """A style's marker as matplotlib takes it."""
    outline = OUTLINES[style.marker]
    return np.array([*outline, outline[0]])


def _line(style: Style) -> dict[str, Any]:
    """A style's line with its markers as matplotlib takes it."""
    dash = (0, style.dash) if style.dash else "-"
    return {"color": style.colour, "linestyle": dash, "marker": _marker(style)}
