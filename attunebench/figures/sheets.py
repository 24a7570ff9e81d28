"""What a figure is before it is drawn: panels on a page or a heat map. `catalogue.json` is the one list of figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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

    `axis` "" is the plot's, with n. `beside`: columns of words on the right, (points off the axes, heading, a word for
    each row). `limits` None fits the axis of values to what is drawn, within `bounds`; `upright`
    labels the other axis. `of`: the model that all rows are about. `above`: names stand above their rows. `dots`:
    single values behind each row. `spread`: the share of a row over which joined values lie, so that their intervals
    can be drawn. `joined`: a row's values are joined by a line. `filled`,
    `hollow`: what markers mean.
    """

    plot: Plot
    axis: str = ""
    beside: Sequence[tuple[float, str, Sequence[str]]] = ()
    limits: tuple[float, float] | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    of: str = ""
    above: bool = False
    dots: Sequence[Floats] = ()
    upright: str = ""
    ticks: Sequence[float] = ()
    spread: float = 0.0
    joined: bool = True
    filled: str = "enough conversations for a claim"
    hollow: str = "too few conversations for a claim"

    @property
    def labels(self) -> list[str]:
        return [row.label for row in self.plot.rows]


@dataclass(frozen=True)
class Page:
    """How panels share a page. `wide` and `single`: panels beside each other in a figure of two columns and of one;
    `wide` 0: all of them; `single` 0: the figure needs two columns of a page.

    `row`: inches of a row; `high`: inches of a panel, where it has no rows of its own. `names`: inches for names.
    `share`: axes that panels share ("sharex", "sharey"). `legend`: the models below, with lines or markers only.
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


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """Its caption has the entry's lead and `sample` (None: that of the mode); its methods the captions of `tables`,
    `notes`, and what the entry's analysis says.

    `id` "" is the entry's name; `of` says of what the figure is, None: of the mode.
    """

    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    sample: str | None = None
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

    `texts` has what is printed for each row and column, after a line break in smaller type; `bold` what stands out.
    Colours run between `ends`: light to dark, or, `diverging`, orange to purple around their middle. The first `aside`
    columns are labels: without a colour, and apart. `row`, `cell` and `names`: inches of a row of one line, of the
    narrowest column, and of the names of rows; `wrap`: characters of a line of these.
    """

    plot: Plot
    texts: Sequence[Sequence[str]]
    bold: Sequence[Sequence[bool]]
    ends: tuple[float, float]
    diverging: bool = False
    aside: int = 0
    row: float = 0.22
    cell: float = 0.26
    names: float = 1.7
    wrap: int = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure: its name on the command line, its title, what scores must hold for it, how to read it, its page, and
    the analysis that it shows. `details` say in the methods note what the caption has no room for."""

    name: str
    title: str
    needs: str
    lead: str
    details: str = ""
    page: Mapping[str, Any] = field(default_factory=dict)
    analysis: str = ""


_TEXTS = json.loads((resources.files("attunebench.figures") / "catalogue.json").read_text(encoding="utf-8"))
FIGURES: Mapping[str, Entry] = MappingProxyType({name: Entry(name, **texts) for name, texts in _TEXTS.items()})
"""Name → entry, in the order in which they are drawn."""


def n_text(over: Iterable[Cell], noun: str = "conversations") -> str:
    """ "n = 66 conversations", "n = 60–66 conversations": what values are over, or the counts of a column of counts."""
    counts = [cell.value if cell.n is None and isinstance(cell.value, int) else cell.n for cell in over]
    some = [count for count in counts if count]
    if not some:
        return "n = 0"
    low, high = min(some), max(some)
    if high == 1:
        noun = noun.removesuffix("s")
    return (f"n = {low:,} {noun}" if low == high else f"n = {low:,}–{high:,} {noun}").strip()
