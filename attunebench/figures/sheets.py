"""What a figure is before it is drawn: panels on a page or a heat map. `catalogue.json` is the one list of figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.table import Cell, Plot, Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """A plot, and what print adds to it.

    `axis` None is the plot's. `beside`: columns of words on the right, (points off the axes, heading, a word for each
    row); `bands` shades rows. `limits` None fits the axis of values to what is drawn, within `bounds`; `upright` labels
    the other axis. `of`: the model that all rows are about. `above`: names stand above their rows. `dots`: single
    values behind each row, whose cells are then mean, lower quartile, median and upper quartile.
    """

    plot: Plot
    axis: str | None = None
    beside: Sequence[tuple[float, str, Sequence[str]]] = ()
    bands: Sequence[bool] = ()
    limits: tuple[float, float] | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    of: str = ""
    above: bool = False
    dots: Sequence[Floats] = ()
    upright: str = ""
    ticks: Sequence[float] = ()

    @property
    def labels(self) -> list[str]:
        return [row.label for row in self.plot.rows]


@dataclass(frozen=True)
class Page:
    """How panels share a page. `wide` and `single`: panels beside each other in a figure of two columns and of one; 0:
    all of them.

    `row`: inches of a row; `high`: inches of a panel, where it has no rows of its own. `names`: inches for names.
    `share`: axes that panels share ("sharex", "sharey"). `legend`: the models below, with lines or markers only.
    `below`: the label of the axis that all panels have.
    """

    wide: int = 0
    single: int = 1
    row: float = 0.19
    high: float | None = None
    head: float = 0.6
    top: float = 0.5
    names: float = 1.5
    share: Mapping[str, Any] = field(default_factory=dict)
    legend: Literal["", "lines", "markers"] = ""
    below: str = ""


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """Its caption has the entry's lead, the captions of `tables`, `notes`, and what the entry's analysis says.

    `id` "" is the entry's name; `of` says of what the figure is, None: of the mode.
    """

    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    id: str = ""
    of: str | None = None


@dataclass(frozen=True)
class Sheet(_Shown):
    """The panels of one figure; `page` has what differs from the entry's."""

    panels: Sequence[Panel]
    page: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HeatMap(_Shown):
    """Cells with their numbers, rows from the top, the names of columns above; few columns don't fill the width.

    `bold` numbers may be claimed. Colours run between `ends`: light to dark, or, `diverging`, orange to purple around
    their middle. `row`, `names` and `top`: inches of a row, of the names of rows, and of what is above. `split`: a line
    is drawn before that column.
    """

    plot: Plot
    text: Callable[[float | None], str]
    bold: Callable[[Cell], bool]
    ends: tuple[float, float]
    diverging: bool = False
    row: float = 0.22
    names: float = 1.9
    top: float = 1.85
    split: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure: its name on the command line, its title, what scores must hold for it, how to read it, its page, and
    the analysis that it shows."""

    name: str
    title: str
    needs: str
    lead: str
    page: Mapping[str, Any] = field(default_factory=dict)
    analysis: str = ""


_TEXTS = json.loads((resources.files("attunebench.figures") / "catalogue.json").read_text(encoding="utf-8"))
FIGURES: Mapping[str, Entry] = MappingProxyType({name: Entry(name, **texts) for name, texts in _TEXTS.items()})
"""Name → entry, in the order in which they are drawn."""
