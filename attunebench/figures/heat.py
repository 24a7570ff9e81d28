"""Heat maps: cells of colour with their numbers in them, which is what is read; the colour leads the eye."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attunebench.analyses.table import number_of
from attunebench.figures.drawing import INK, PALE, SMALL_TYPE, new_figure
from attunebench.figures.sheets import Floats, HeatMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attunebench.figures.source import Source

_WIDEST_CELL, _NARROWEST_CELL, _BESIDE_CELLS = 0.7, 0.26, 1.7
"""Inches; the last is the least that names of rows take."""


def heat_map(source: Source, title: str, heat: HeatMap) -> tuple[Figure, Sequence[str], str]:
    """The heat map, the labels that are on it, and a note.

    Where the numbers would not be readable in one column of a page, the figure is two wide, and the note says so.
    """
    from matplotlib.collections import PolyCollection

    plot, look, note, columns = heat.plot, source.look, "", [source.names[column.label] for column in heat.plot.columns]
    if not look.wide and len(columns) * _NARROWEST_CELL + _BESIDE_CELLS > look.inches:
        look, note = replace(look, width="double"), "Drawn two columns wide to keep its numbers readable."
    figure = new_figure(look, heat.top + len(plot.rows) * heat.row, title)
    axes = figure.subplots()
    values = np.array([list(map(number_of, one.cells)) for one in plot.rows], dtype=np.float64)
    shades, squares = _shades(values, heat.ends, heat.diverging), []
    for (y, x), value in np.ndenumerate(values):
        squares.append([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)])
        axes.text(
            x + 0.5,
            y + 0.52,
            heat.text(None if np.isnan(value) else value),
            ha="center",
            va="center",
            fontsize=SMALL_TYPE,
            fontweight="bold" if heat.bold(plot.rows[y].cells[x]) else "normal",
            color="white" if shades[y, x, :3] @ (0.2126, 0.7152, 0.0722) < 0.5 else INK,
        )
    axes.add_collection(PolyCollection(squares, facecolors=shades.reshape(-1, 4), edgecolors="white", linewidths=0.5))
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(plot.rows), 0)
    if len(columns) * _WIDEST_CELL + heat.names < figure.get_figwidth():
        axes.set_aspect(heat.row / _WIDEST_CELL, anchor="NW")
    axes.set_yticks(np.arange(len(plot.rows)) + 0.5, [source.names[one.label] for one in plot.rows])
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=50, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if heat.split is not None:
        axes.axvline(heat.split, color=INK, linewidth=1.0)
    axes.set_xlabel(plot.axis)
    labels = [*(one.label for one in plot.rows), *(one.label for one in plot.columns)]
    return figure, labels, note


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
