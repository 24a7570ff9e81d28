"""Heat maps: cells of colour with their numbers in them, which is what is read; the colour leads the eye."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attunebench.analyses.table import number_of
from attunebench.figures.drawing import FAINT, INK, PALE, SMALL_TYPE, new_figure
from attunebench.figures.sheets import Floats, HeatMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attunebench.figures.source import Styled

_WIDEST_CELL, _GAP, _LINE = 0.7, 0.35, 0.115
"""Inches of the widest column; the gap beside labels, in columns; inches of one more line of a row's name."""
_TINY = 6.0


def heat_map(source: Styled, title: str, heat: HeatMap) -> tuple[Figure, Sequence[str]]:
    """The heat map, two columns of a page wide where it cannot be read in one, and the labels that are on it."""
    plot, look, count = heat.plot, source.look, len(heat.plot.columns)
    if not look.wide and count * heat.cell + heat.names > look.inches:
        look = replace(look, width="double")
    names = [textwrap.fill(source.names[one.label], heat.wrap) for one in plot.rows]
    heads = [source.names[one.label] for one in plot.columns]
    rows = np.array([heat.row + _LINE * name.count("\n") for name in names])
    top = 0.62 + 0.047 * max(map(len, heads))
    figure = new_figure(look, top + float(rows.sum()) + 0.16 * plot.axis.count("\n"), title)
    axes = figure.subplots()
    left = np.arange(count) + _GAP * bool(heat.aside) * (np.arange(count) >= heat.aside)
    edges = np.concatenate([[0.0], np.cumsum(rows)]) / heat.row
    _cells(axes, heat, left, edges)
    axes.set_xlim(0, left[-1] + 1)
    axes.set_ylim(edges[-1], 0)
    if (left[-1] + 1) * _WIDEST_CELL + heat.names < figure.get_figwidth():
        axes.set_aspect(heat.row / _WIDEST_CELL, anchor="NW")
    axes.set_yticks((edges[:-1] + edges[1:]) / 2, names)
    axes.set_xticks(left + 0.5, heads, rotation=50, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(plot.axis)
    return figure, [*(one.label for one in plot.rows), *(one.label for one in plot.columns)]


def _cells(axes: Axes, heat: HeatMap, left: Floats, edges: Floats) -> None:
    """The cells with their texts: white on dark colours, faint where they are labels."""
    from matplotlib.collections import PolyCollection

    values = np.array([list(map(number_of, one.cells)) for one in heat.plot.rows], dtype=np.float64)
    values[:, : heat.aside] = np.nan
    shades, squares = _shades(values, heat.ends, heat.diverging), []
    shades[:, : heat.aside] = 1.0
    for y, x in np.ndindex(values.shape):
        squares.append([(left[x] + i, edges[y + j]) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
        first, *more = heat.texts[y][x].split("\n")
        dark = shades[y, x, :3] @ (0.2126, 0.7152, 0.0722) < 0.5
        looks: Any = {
            "ha": "center",
            "in_layout": False,
            "color": "white" if dark else FAINT if x < heat.aside else INK,
        }
        middle, weight = float(edges[y] + edges[y + 1]) / 2, "bold" if heat.bold[y][x] else "normal"
        at = middle - 0.2 * bool(more) * (edges[y + 1] - edges[y])
        axes.text(left[x] + 0.5, at, first, va="center", fontsize=SMALL_TYPE, fontweight=weight, **looks)
        if more:
            axes.text(left[x] + 0.5, middle + 0.02, "\n".join(more), va="top", fontsize=_TINY, **looks)
    axes.add_collection(PolyCollection(squares, facecolors=shades.reshape(-1, 4), edgecolors="white", linewidths=0.5))


def _shades(values: Floats, ends: tuple[float, float], diverging: bool) -> Floats:
    """The colour of each cell, (rows, columns, 4); pale grey where it is undefined."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    low, high = ends
    places = (np.clip(values, low, high) - low) / (high - low) if high > low else 0 * values + 0.5
    scale = colormaps["PuOr" if diverging else "Blues"]
    colours = np.array(scale(0.12 + 0.76 * places if diverging else 0.04 + 0.86 * places))
    colours[np.isnan(values)] = to_rgba(PALE)
    return colours
