"""Heat maps: cells of colour with their numbers in them, which is what is read; the colour leads the eye."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attunebench.figures import canvas
from attunebench.figures.canvas import INK, PALE, SMALL_TYPE
from attunebench.figures.model import Picture
from attunebench.figures.source import Source

Floats = NDArray[np.float64]

_WIDEST_CELL, _NARROWEST_CELL, _BESIDE_CELLS = 0.7, 0.26, 1.7
"""Inches; the last is the least that names of rows take."""


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map: names, values (rows, columns), what stands in each cell, and which of them stand out.

    Colours run from `low` to `high`: light to dark, or, `diverging`, orange to purple around their middle. `row` and
    `names`: inches of a row and of the names of rows. `split`: a line is drawn before that column.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Floats
    texts: Sequence[Sequence[str]]
    bold: NDArray[np.bool_]
    low: float
    high: float
    axis: str
    diverging: bool = False
    row: float = 0.22
    names: float = 1.9
    top: float = 1.85
    split: int | None = None

    def shades(self) -> NDArray[np.float64]:
        """The colour of each cell, (rows, columns, 4); pale grey where it is undefined."""
        from matplotlib import colormaps
        from matplotlib.colors import to_rgba

        room = self.high - self.low
        places = (np.clip(self.values, self.low, self.high) - self.low) / room if room > 0 else 0 * self.values + 0.5
        scale = colormaps["PuOr"] if self.diverging else colormaps["Blues"]
        colours = np.array(scale(0.12 + 0.76 * places if self.diverging else 0.04 + 0.86 * places))
        colours[np.isnan(self.values)] = to_rgba(PALE)
        return colours


def heat_map(source: Source, id: str, title: str, heat: Heat, caption: Sequence[str], labels: Sequence[str]) -> Picture:
    """Cells with their numbers, rows from the top, the names of columns above; few columns don't fill the width.

    Where the numbers would not be readable in one column of a page, the figure is two wide, and its caption says so.
    """
    from matplotlib.collections import PolyCollection

    look, note = source.look, ""
    if not look.wide and len(heat.columns) * _NARROWEST_CELL + _BESIDE_CELLS > look.inches:
        look, note = replace(look, width="double"), "Two columns wide, since one would make its numbers unreadable."
    figure = canvas.new_figure(look, heat.top + len(heat.rows) * heat.row, title)
    (axes,) = canvas.panels(figure, 1, 1)
    squares, colours, shades = [], [], heat.shades()
    for row in range(len(heat.rows)):
        for place in range(len(heat.columns)):
            colour = shades[row, place]
            squares.append([(place, row), (place + 1, row), (place + 1, row + 1), (place, row + 1)])
            colours.append(colour)
            dark = 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2] < 0.5
            axes.text(
                place + 0.5,
                row + 0.52,
                heat.texts[row][place],
                ha="center",
                va="center",
                fontsize=SMALL_TYPE,
                fontweight="bold" if heat.bold[row, place] else "normal",
                color="white" if dark else INK,
            )
    axes.add_collection(PolyCollection(squares, facecolors=colours, edgecolors="white", linewidths=0.5))
    axes.set_xlim(0, len(heat.columns))
    axes.set_ylim(len(heat.rows), 0)
    if len(heat.columns) * _WIDEST_CELL + heat.names < figure.get_figwidth():
        axes.set_aspect(heat.row / _WIDEST_CELL, anchor="NW")
    axes.set_yticks(np.arange(len(heat.rows)) + 0.5, heat.rows)
    axes.set_xticks(np.arange(len(heat.columns)) + 0.5, heat.columns, rotation=50, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if heat.split is not None:
        axes.axvline(heat.split, color=INK, linewidth=1.0)
    axes.set_xlabel(heat.axis)
    return Picture(id, title, figure, (*filter(None, (caption[0], note, *caption[1:])), *source.shortened(labels)))
