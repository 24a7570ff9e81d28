"""Heat maps: cells of colour with their numbers in them, which is what is read; the colour leads the eye."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attunebench.figures.canvas import INK, PALE, SMALL_TYPE
from attunebench.figures.model import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_WIDEST_CELL, _NARROWEST_CELL, _BESIDE_CELLS = 0.7, 0.26, 1.7
"""Inches; the last is the least that names of rows take."""


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map: values (rows, columns), what stands in each cell, and which of them stand out.

    Colours run from `low` to `high`: light to dark, or, `diverging`, orange to purple around their middle.
    """

    values: Floats
    texts: Sequence[Sequence[str]]
    bold: NDArray[np.bool_]
    low: float
    high: float
    diverging: bool = False

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


def heat_map(
    figure: Figure,
    axes: Axes,
    heat: Heat,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    cell_high: float,
    beside: float,
) -> None:
    """Cells with their numbers, rows from the top, the names of columns above; few columns don't fill the width.

    `cell_high` are the inches that the height of the figure leaves for a row, `beside` those that names of rows take.
    """
    from matplotlib.collections import PolyCollection

    squares, colours, shades = [], [], heat.shades()
    for row in range(len(rows)):
        for place in range(len(columns)):
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
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), 0)
    if len(columns) * _WIDEST_CELL + beside < figure.get_figwidth():
        axes.set_aspect(cell_high / _WIDEST_CELL, anchor="NW")
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=50, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def roomy(look: Look, columns: int) -> tuple[Look, tuple[str, ...]]:
    """The look that has room for a heat map's numbers, and for the caption that it is another one than was asked."""
    if look.wide or columns * _NARROWEST_CELL + _BESIDE_CELLS <= look.inches:
        return look, ()
    return replace(look, width="double"), ("Two columns wide, since its numbers would not be readable in one.",)
