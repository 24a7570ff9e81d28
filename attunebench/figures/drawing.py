"""How a plot looks in print: type of 7 points or more at the final size, ink only for data. Knows no analysis."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from itertools import zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from attunebench.analyses.palette import OUTLINES, Style
from attunebench.analyses.table import Cell, PlotRow, number_of
from attunebench.figures.sheets import Floats, Page, Panel, n_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attunebench.figures.source import Look, Styled

INK, FAINT, PALE = "#222222", "#6B6B6B", "#EDEFF2"
SUMMARY = Style(INK, "#FFFFFF", "circle", ())
"""The looks of a row that is no model's."""
ROLES: Mapping[str | None, Style] = {
    "person": Style(INK, "#FFFFFF", "circle", ()),
    "all models": Style(FAINT, "#FFFFFF", "diamond", (4.0, 2.0)),
    "reference": Style(FAINT, "#FFFFFF", "bar", (1.2, 1.4)),
}
_WIDTHS: Mapping[str | None, float] = {"person": 2.4, "all models": 1.4, "reference": 1.0}
SMALL_TYPE, HEADING = 7.0, 8.5
_STYLE = resources.files("attunebench.figures") / "print.mplstyle"
_FEWEST_ROWS = 4
_TALLEST = 9.4
"""Inches that a page leaves for a figure."""
_LETTER, _TICK = 0.061, 0.37
"""Inches of a letter, and of a number on an axis with the room that it needs."""
_DECADES = 8.0
"""From this ratio of the greatest to the least on, an axis of costs is logarithmic."""
_DASHES: Mapping[str, Any] = {"chance": (0, (4, 2)), "base rate": (0, (1, 1.5))}
_MEANINGS = {"chance": "chance (blind guessing)", "base rate": "base rate of the other conversations"}
_DOT: Any = {"linestyle": "none", "marker": "o", "markersize": 2.0, "markeredgewidth": 0.0, "alpha": 0.35}
_POINT: Any = {"linestyle": "none", "zorder": 4, "clip_on": False, "in_layout": False}
_SERIES = ("o", "o", "D", "s", "^", "v")
"""Markers of joined values that are no model's, in the order of the columns; the first is hollow."""


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

    lines = textwrap.wrap(title, int(look.inches / 0.078))
    layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.04, wspace=0.03, hspace=0.04)
    figure = Figure(figsize=(look.inches, min(height + 0.14 * (len(lines) - 1), _TALLEST)), layout=layout)
    figure.suptitle("\n".join(lines), x=0.005, ha="left", fontsize=HEADING, fontweight="bold")
    return figure


def settle(figure: Figure) -> None:
    """Lay the figure out once and for all, the same in every format; numbers and words fit the width of their axes."""
    from matplotlib.ticker import AutoLocator

    engine = figure.get_layout_engine()
    if engine is None:
        return
    engine.execute(figure)
    for axes in figure.axes:
        wide = axes.get_position().width * figure.get_figwidth()
        if isinstance(locator := axes.xaxis.get_major_locator(), AutoLocator):
            locator.set_params(nbins=min(6, max(2, int(wide / _TICK))), steps=[1, 2, 5, 10])
        axes.set_title(_wrapped(axes.get_title(loc="left"), wide / 1.2))
        axes.set_xlabel(_wrapped(axes.get_xlabel(), 1.15 * wide))
    engine.execute(figure)
    figure.set_layout_engine("none")


def _wrapped(text: str, inches: float) -> str:
    width = max(12, int(inches / _LETTER))
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, width, break_long_words=False))


def compose(source: Styled, title: str, panels: Sequence[Panel], page: Page) -> tuple[Figure, Sequence[str]]:
    """The panels on a page, row by row, with the keys that they need, and the labels that are on it."""
    look = source.look
    across = min((page.wide or len(panels)) if look.wide else page.single or page.wide, len(panels))
    lines = [panels[start : start + across] for start in range(0, len(panels), across)]
    labels = list(dict.fromkeys(of for panel in panels for of in (panel.of, *panel.labels) if of in source.styles))
    keys = _keys(source, panels, labels if page.legend else (), page)
    columns = max(1, int(look.inches / (0.5 + 0.85 * _LETTER * max(map(len, keys), default=1))))
    most = [max(_FEWEST_ROWS, *(len(panel.labels) for panel in line)) for line in lines]
    heights = [page.high or page.row * rows for rows in most]
    apart = page.top + (0.0 if page.high else page.head) * len(lines) + 0.15 * -(-len(keys) // columns)
    if not (look.wide or (page.single and apart + sum(heights) <= _TALLEST)):
        wide: Styled = replace(source, look=replace(look, width="double"))  # type: ignore[type-var]  # a dataclass
        return compose(wide, title, panels, page)
    figure = new_figure(look, apart + sum(heights), title)
    grid = figure.subplots(len(lines), across, squeeze=False, height_ratios=heights, **page.share)
    for place, (axes, panel) in enumerate(zip_longest(grid.flat, panels)):
        if panel is None:
            axes.set_axis_off()
            continue
        first = place % across == 0
        _DRAW.get(panel.plot.kind, _rows)(axes, panel, source, first or panel.labels != panels[place - 1].labels)
        axes.set_axisbelow(True)
        heading, colour = (source.names[panel.of], source.styles[panel.of].colour) if panel.of else ("", INK)
        axes.set_title(heading or panel.plot.title, color=colour)
        axes.set_xlabel((panel.axis or _axis(panel)) + _references(axes, panel, look))
        if panel.ticks:
            axes.set_xticks(panel.ticks)
        if panel.upright and first:
            axes.set_ylabel(panel.upright)
        for points, head, entries in panel.beside:
            _side_column(axes, points, head, entries)
    legend(figure, keys, columns)
    return figure, labels


def _axis(panel: Panel) -> str:
    """The plot's words for its axis, with what its values are over."""
    return ", ".join(
        filter(None, (panel.plot.axis, n_text((cell for row in panel.plot.rows for cell in row.cells), "")))
    )


def _keys(source: Styled, panels: Sequence[Panel], models: Sequence[str], page: Page) -> dict[str, dict[str, Any]]:
    """Name → looks of all that a reader of these panels cannot know: models, joined values, hollow markers, lines."""
    marker: dict[str, Any] = {"markersize": 4.5, "markeredgewidth": 0.3}
    marker |= {} if page.legend == "lines" else {"linestyle": "none"}
    keys = {source.names[label]: _line(source.styles[label]) | marker for label in models}
    for panel in panels:
        plot, small = panel.plot, any(cell.small for row in panel.plot.rows for cell in row.cells)
        if plot.kind == "dumbbells":
            for place, one in enumerate(plot.columns):
                looks = _series(source, one.label, place, SUMMARY)
                keys[source.names[one.label]] = {"linestyle": "none", "markersize": 4.2, **looks}
        if (
            small
            and not panel.of
            and (plot.kind != "dumbbells" or any(of.label in source.styles for of in plot.columns))
        ):
            shape = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 4.2}
            keys |= {panel.filled: shape, panel.hollow: shape | {"markerfacecolor": "white"}}
        if plot.kind == "bars" and len(plot.columns) > 1:
            keys[plot.columns[1].label] = {"color": FAINT, "linewidth": 1.3, "linestyle": (0, (2, 1))}
        keys |= {_MEANINGS.get(name, name): _reference(name) for name in _near(panel)[0] if name[0] != "−"}
    return keys


def legend(figure: Figure, keys: Mapping[str, Mapping[str, Any]], columns: int) -> None:
    """Below the panels, the looks of lines and markers by name."""
    from matplotlib.lines import Line2D

    if keys:
        handles = [Line2D([], [], **looks) for looks in keys.values()]
        figure.legend(handles, list(keys), loc="outside lower left", ncols=columns)


def _rows(axes: Axes, panel: Panel, source: Styled, named: bool) -> None:
    """Intervals, bars and joined values: a row for each of the plot's, from the top."""
    kind = panel.plot.kind
    bands = list(dict.fromkeys(row.band for row in panel.plot.rows))
    for y, row in enumerate(panel.plot.rows):
        style, small = _style(source, panel, row), row.cells[0].small
        if row.band not in ("", "None") and bands.index(row.band) % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color=PALE, linewidth=0, zorder=0)
        (value, low, high), *others = map(_ends, row.cells)
        if np.isnan([value, *(at for at, *_ in others)]).all():
            axes.text(0.01, y, "–", transform=axes.get_yaxis_transform(), va="center", color=FAINT)
        elif kind == "dumbbells":
            _joined(axes, panel, source, y, row)
        elif kind == "boxes":
            _box(axes, y, [value, *(at for at, *_ in others)], style, panel.dots[y] if panel.dots else np.array([]))
            _dot(axes, others[-1][0], y, style, small=row.cells[-1].small, size=4.6)
        else:
            if kind == "bars":
                axes.barh(y, value, height=0.72, color=style.colour, alpha=0.3, linewidth=0, zorder=2)
            axes.plot([low, high], [y, y], color=style.colour, linewidth=_WIDTHS.get(row.role, 1.2), zorder=3)
            if not panel.of:
                _dot(axes, value, y, style, small=small)
            for at, *_ in others:
                axes.plot([at, at], [y - 0.45, y + 0.45], color=FAINT, linewidth=1.3, linestyle=(0, (2, 1)), zorder=4)
    if kind == "bars":
        axes.axvline(0, color=FAINT, linewidth=0.6)
    _names(axes, panel, source, named)


def _joined(axes: Axes, panel: Panel, source: Styled, y: int, row: PlotRow) -> None:
    """The values of a row, joined; over each other with their intervals where they have a share of the row."""
    style, count = _style(source, panel, row), len(row.cells)
    heights = [y + panel.spread * ((place + 0.5) / count - 0.5) for place in range(count)]
    ends = list(map(_ends, row.cells))
    if panel.joined:
        joined = [(value, height) for (value, *_), height in zip(ends, heights, strict=True) if not np.isnan(value)]
        axes.plot(*zip(*joined, strict=True), color=style.colour, linewidth=1.2, alpha=0.6, zorder=2)
    for place, ((value, low, high), height, cell) in enumerate(zip(ends, heights, row.cells, strict=True)):
        looks = _series(source, panel.plot.columns[place].label, place, style, small=cell.small)
        if panel.spread:
            axes.plot([low, high], [height, height], color=looks["markeredgecolor"], linewidth=0.8, zorder=3)
        axes.plot([value], [height], markersize=4.2, **_POINT, **looks)


def _series(source: Styled, label: str, place: int, style: Style, *, small: bool = False) -> dict[str, Any]:
    """The looks of a column's values: a model's own, or a marker of their place in the colour of the row."""
    if label in source.styles:
        style, marker, hollow = source.styles[label], _marker(source.styles[label]), small
    else:
        marker, hollow = _SERIES[place % len(_SERIES)], place == 0
    edge = {"markeredgecolor": style.colour, "markeredgewidth": 0.9 if hollow else 0.3}
    return {"marker": marker, "markerfacecolor": "white" if hollow else style.colour, **edge}


def _style(source: Styled, panel: Panel, row: PlotRow) -> Style:
    names = (panel.of, row.label, row.name)
    return ROLES.get(row.role) or next((source.styles[one] for one in names if one in source.styles), SUMMARY)


def _names(axes: Axes, panel: Panel, source: Styled, named: bool) -> None:
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


def _dot(axes: Axes, x: float, y: float, style: Style, *, small: bool = False, size: float = 5.0) -> None:
    """One value: filled, or hollow where it is over too little for a claim."""
    looks: Any = {"markerfacecolor": "white" if small else style.colour, "markeredgecolor": style.colour}
    looks |= {"markersize": size, "markeredgewidth": 0.9 if small else 0.3}
    axes.plot([x], [y], marker=_marker(style), **_POINT, **looks)


def _box(axes: Axes, y: int, quantiles: Sequence[float], style: Style, dots: Floats) -> None:
    """A dot for each conversation, the middle half as a bar, and the median across it."""
    _, lower, median, upper, *_ = quantiles
    # Up and down within a row, so that equal values lie side by side; the same each time.
    jitter = 0.36 * (np.modf(np.arange(len(dots)) * 0.6180339887)[0] * 2 - 1)
    axes.plot(np.sort(dots), y + jitter, color=style.colour, zorder=1, **_DOT)
    axes.barh(y, upper - lower, left=lower, height=0.42, color="white", edgecolor=style.colour)
    axes.vlines(median, y - 0.21, y + 0.21, color=style.colour, linewidth=1.4, zorder=3)


def _lines(axes: Axes, panel: Panel, source: Styled, _named: bool) -> None:
    """A line for each row over the plot's columns; models stand side by side within a step, others are named at their
    ends."""
    steps, count = np.arange(len(panel.plot.columns)), len(panel.labels)
    named: list[tuple[float, str, Style]] = []
    for place, row in enumerate(panel.plot.rows):
        style, order = _style(source, panel, row), 4 if row.role else 3
        at = steps + (0.0 if row.role else 0.5 * ((place + 0.5) / count - 0.5))
        value, low, high = np.array(list(map(_ends, row.cells))).T
        looks = _line(style) | ({"marker": "", "linewidth": _WIDTHS[row.role]} if row.role else {})
        looks |= {"markersize": 4.2, "markeredgewidth": 0.5, "zorder": order}
        small = np.array([cell.small for cell in row.cells])
        axes.plot(at, value, **looks)
        if small.any():
            axes.plot(at[small], value[small], **looks | {"linestyle": "none", "markerfacecolor": "white"})
        axes.vlines(at, low, high, color=style.colour, linewidth=0.6, alpha=0.55, zorder=2)
        named += [(float(value[-1]), row.label, style)] if row.role else []
    for upper, (value, label, style) in zip(("top", "bottom"), sorted(named, key=itemgetter(0)), strict=False):
        where: Any = {"xytext": (3, 0), "textcoords": "offset points", "va": upper if len(named) > 1 else "center"}
        axes.annotate(
            label.replace(" ", "\n"), (steps[-1] + 0.25, value), fontsize=SMALL_TYPE, color=style.colour, **where
        )
    axes.set_xticks(steps, [column.label for column in panel.plot.columns])
    axes.set_xlim(-0.4, len(steps) - 0.6)
    axes.yaxis.grid(True)


def _scatter(axes: Axes, panel: Panel, source: Styled, _named: bool) -> None:
    """A point for each row at x and y, with intervals both ways; a plain dot where the row has no name."""
    axes.grid(True)
    across: list[tuple[float, float, float]] = []
    for row in panel.plot.rows:
        (x, left, right), (y, low, high) = map(_ends, row.cells)
        if np.isnan(x + y):
            continue
        if not row.label:
            axes.plot([x], [y], color=INK, **_DOT | {"markersize": 3.2, "alpha": 0.5})
            continue
        style = _style(source, panel, row)
        axes.plot([left, right], [y, y], color=style.colour, linewidth=0.9, zorder=2)
        axes.plot([x, x], [low, high], color=style.colour, linewidth=0.9, zorder=2)
        _dot(axes, x, y, style, small=row.cells[0].small)
        across.append((x, left, right))
    if across and min(across)[0] > 0 and max(across)[0] / min(across)[0] > _DECADES:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    elif across:
        _fit(axes, float(np.nanmin(across)), float(np.nanmax(across)))


_DRAW: Mapping[str, Callable[[Any, Panel, Styled, bool], None]] = {"lines": _lines, "scatter": _scatter}


def _near(panel: Panel) -> tuple[dict[str, float], dict[str, float]]:
    """Reference lines that are drawn, and those that lie too far away."""
    if panel.plot.kind == "scatter":
        return {}, {}
    if panel.limits is not None:
        return dict(panel.plot.lines), {}
    return panel.plot.references(intervals=panel.plot.kind != "dumbbells" or panel.spread > 0)


def _references(axes: Axes, panel: Panel, look: Look) -> str:
    """Sets the limits of the axis of values and draws its reference lines; words for those that are too far away."""
    plot, (near, far) = panel.plot, _near(panel)
    if plot.kind == "scatter":
        return ""
    intervals = plot.kind != "dumbbells" or panel.spread > 0
    if panel.limits is not None:
        axes.set_xlim(*panel.limits)
    elif plot.kind != "lines":
        _fit(axes, *plot.span(near.values(), intervals=intervals), bounds=panel.bounds)
    for name, at in near.items():
        (axes.axhline if plot.kind == "lines" else axes.axvline)(at, zorder=1, **_reference(name))
    if plot.shade is not None:
        axes.axvspan(*plot.shade, color=PALE, linewidth=0, zorder=0)
    low = plot.span(intervals=intervals)[0]
    words = [
        f"{'◂ ' if at < low else ''}{name} {at:.{1 if abs(at) > 1.5 else 2}f}{'' if at < low else ' ▸'}"
        for name, at in far.items()
    ]
    return "\n" * bool(words) + (", " if look.wide else "\n").join(words)


def _fit(axes: Axes, low: float, high: float, bounds: tuple[float, float] = (-np.inf, np.inf)) -> None:
    """Limits around what is drawn, within what is possible at all; a single value gets room on both sides."""
    room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.05)
    axes.set_xlim(max(low - room, min(bounds[0], low)), min(high + room, max(bounds[1], high)))


def _ends(cell: Cell) -> tuple[float, float, float]:
    """Value, low and high; NaN where there is none."""
    low, high = (np.nan if end is None else end for end in (cell.low, cell.high))
    value = number_of(cell)
    return np.nan if value is None else value, low, high


def _reference(name: str) -> dict[str, Any]:
    """The looks of a reference line."""
    return {"color": FAINT, "linewidth": 0.9, "linestyle": _DASHES.get(name, "-" if name.startswith("no ") else ":")}


def _marker(style: Style) -> Any:
    """A style's marker as matplotlib takes it."""
    outline = OUTLINES[style.marker]
    return np.array([*outline, outline[0]])


def _line(style: Style) -> dict[str, Any]:
    """A style's line with its markers as matplotlib takes it."""
    dash = (0, style.dash) if style.dash else "-"
    return {"color": style.colour, "linestyle": dash, "marker": _marker(style)}
