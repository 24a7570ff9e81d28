"""What a picture of a table consists of, before the template draws it: places in percent, names of looks and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attunebench.analyses.table import Role


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis: `low` and `high` are at 0 and 100 %."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        """Where a value stands, in percent."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


class Mark(NamedTuple):
    """A value: place, interval and marker; `look` names whose colour it has, `shape` its outline ("": the look's).

    `up`: the interval upwards, where `low` and `high` are that to the right.
    """

    at: float
    low: float | None = None
    high: float | None = None
    look: str = ""
    hollow: bool = False
    y: float = 0.0
    title: str = ""
    shape: str = ""
    up: tuple[float, float] | None = None


class Strip(NamedTuple):
    """A row within a panel. `bar`: (from, to) of a bar or what joins its marks; `box`: five ends of a box."""

    marks: Sequence[Mark]
    bar: tuple[float, float] | None = None
    box: tuple[float, ...] = ()


class Row(NamedTuple):
    """A labelled line; `values` in words, with the place of what is behind each. `band`: it has a ground.
    `apart`: it is not compared with the others."""

    label: str
    look: str
    strips: Sequence[Strip]
    values: Sequence[tuple[str, int | None]] = ()
    mark: str = ""
    role: Role | None = None
    band: bool = False
    apart: bool = False


class Line(NamedTuple):
    """A reference at its place, its name, and where that stands: aligned at start, middle or end, in line 0, 1 …"""

    at: float
    name: str
    align: str = "middle"
    level: int = 0


class Panel(NamedTuple):
    """Rows over one axis. `outside`: references that lie too far off; `shade`: the ends of a ground."""

    title: str
    look: str
    axis: Axis
    lines: Sequence[Line]
    outside: Sequence[str] = ()
    shade: tuple[float, float] | None = None


class Key(NamedTuple):
    """An entry of the legend."""

    look: str
    shape: str
    hollow: bool
    label: str


class End(NamedTuple):
    """A label beside the end of a line, or beside a point: `y` is the label's place, `at` that of what it names."""

    label: str
    look: str
    role: str
    y: float
    at: float
    x: float = 100.0
    side: str = "right"


class HeatCell(NamedTuple):
    """A cell in brief; `shade` 1–100, negative in the other colour, 0 without."""

    text: str
    shade: int
    drill: int | None
    title: str
    mark: str = ""


class Heat(NamedTuple):
    """Columns (label, look, title, class of its place), rows of cells, and what the ends of the colours mean."""

    columns: Sequence[tuple[str, str, str, str]]
    rows: Sequence[tuple[Row, Sequence[HeatCell]]]
    key: Sequence[str]
    parted: bool
    remarks: Sequence[str] = ()


class Picture(NamedTuple):
    """A plot ready to be drawn. `kind`: rows (of marks, bars or boxes in panels), lines, scatter or heat.

    `names` label the places of columns. `more` counts rows that are in the table alone.
    """

    kind: str
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    rows: Sequence[Row] = ()
    abreast: Sequence[Sequence[tuple[int, Panel]]] = ()
    x: Axis | None = None
    y: Axis | None = None
    legend: Sequence[Key] = ()
    names: Sequence[tuple[float, str]] = ()
    lines: Sequence[Line] = ()
    outside: Sequence[str] = ()
    ends: Sequence[End] = ()
    heat: Heat | None = None
    more: int = 0
    all_named: bool = False
