"""The first picture of a page: every model's Composite with its interval and tier, and its pillars beside it.

Lays out a panel for each metric over the same rows; the template draws them. Computes no score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attunebench.analyses.table import Cell, Column, Drill, ends_of, number_of
from attunebench.comparison import Ranking
from attunebench.reports.analyses.words import words_of
from attunebench.reports.html.charts import Axis, Mark, axis_over
from attunebench.reports.model import Group
from attunebench.reports.model import Row as Metric
from attunebench.scores.table import Key
from attunebench.text import number

_REACH = 1.5
"""What lies farther from the models than so many times their span is named at the edge instead of drawn."""
_TICKS = 3
_RIM = 7.0
"""Percent of the width at either end without a tick: panels stand side by side."""
_EDGE = 22.0
"""Percent of the width: names of references nearer to an edge than this are aligned with it."""


class Reference(NamedTuple):
    """A level to exceed: its place (None: beyond the axis), name, value in words, and how its name is aligned."""

    at: float | None
    name: str
    value: str
    align: str


class Panel(NamedTuple):
    """A metric over the rows: a mark for each (None: undefined; of shape "off" at an edge: beyond the axis)."""

    label: str
    meaning: str
    axis: Axis
    marks: list[Mark | None]
    references: list[Reference]


class Line(NamedTuple):
    """A row: its group, the main value in words and what stands behind it, and its tier; `first` of it or not."""

    group: Group
    look: str
    value: str
    interval: str
    drill: Drill
    tier: int | None
    first: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """Panels over the same rows, the last `apart` of them not ranked. `bands`: (top, height) of every other tier."""

    rows: list[Line]
    panels: list[Panel]
    bands: list[tuple[float, float]]
    apart: int

    def y(self, row: float) -> float:
        """How far down a row begins, in percent of the height."""
        return round(100 * row / len(self.rows), 2)

    @property
    def n(self) -> int | None:
        """The number of conversations, where all rows have the same."""
        counts = {row.group.n for row in self.rows}
        return counts.pop() if len(counts) == 1 else None


def forest(
    metrics: Sequence[Metric],
    base_rate: Mapping[str, Cell],
    groups: Sequence[Group],
    ranking: Ranking,
    looks: Mapping[tuple[str, str], str],
) -> Forest:
    """The forest of the groups that are ranked, best first, and below them of the others of their mode.

    The first of `metrics` ranks them; metrics have a cell for each of `groups`. `looks`: model key → name of its looks.
    """
    main, mode = metrics[0], ranking.groups[0].mode
    tiers: dict[Key, int] = {}
    if not ranking.small and len(ranking.ranked) > 1:
        tiers = {ranking.groups[i].key: k for k, members in enumerate(ranking.tiers, start=1) for i in members}
    ranked = {group.key for group in ranking.groups}
    last = len(ranking.tiers) + 1

    def order(place: int) -> tuple[bool, int, float]:
        key = groups[place].key
        return key not in ranked, tiers.get(key, last), -(number_of(main.cells[place]) or 0.0)

    shown = [i for i, group in enumerate(groups) if group.mode == mode and number_of(main.cells[i]) is not None]
    shown.sort(key=order)
    starts = {tier: at for at, tier in reversed([(at, tiers.get(groups[i].key)) for at, i in enumerate(shown)])}
    rows = []
    for at, place in enumerate(shown):
        group, cell, tier = groups[place], main.cells[place], tiers.get(groups[place].key)
        words, drill = _words(cell, main.digits), Drill(group.key, main.id)
        rows.append(Line(group, looks[group.key[:2]], *words, drill, tier, tier is not None and starts[tier] == at))
    apart = sum(groups[i].key not in ranked for i in shown)
    bands = [
        (100 * start / len(rows), 100 * sum(row.tier == tier for row in rows) / len(rows))
        for tier, start in starts.items()
        if tier is not None and tier % 2
    ]
    panels = [
        _panel(metric, base_rate, [metric.cells[i] for i in shown], apart, rows)
        for metric in metrics
        if any(number_of(metric.cells[i]) is not None for i in shown)
    ]
    return Forest(rows, panels, sorted(bands), apart)


def _panel(
    metric: Metric, base_rate: Mapping[str, Cell], cells: Sequence[Cell], apart: int, rows: Sequence[Line]
) -> Panel:
    compared = list(ends_of(cells[: len(cells) - apart])) or list(ends_of(cells))
    low, high = min(compared), max(compared)
    reach = _REACH * ((high - low) or abs(high) or 1.0)

    def near(value: float) -> bool:
        return low - reach <= value <= high + reach

    levels = {"base rate": number_of(base_rate.get(metric.id, Cell(None))), "chance": metric.card.chance}
    known = {name: value for name, value in levels.items() if value is not None}
    axis = axis_over([*compared, *filter(near, (*known.values(), *ends_of(cells)))])
    ticks = [tick for tick in axis.ticks if _RIM < tick[0] < 100 - _RIM]
    axis = Axis(axis.low, axis.high, tuple(ticks[:: -(-len(ticks) // _TICKS) or 1]))
    references = [
        Reference(axis.at(value) if near(value) else None, name, number(value, metric.digits), _side(axis.at(value)))
        for name, value in known.items()
    ]
    marks = [_mark(cell, axis, row, metric) for cell, row in zip(cells, rows, strict=True)]
    return Panel(metric.card.label, metric.card.meaning, axis, marks, references)


def _mark(cell: Cell, axis: Axis, row: Line, metric: Metric) -> Mark | None:
    value = number_of(cell)
    if value is None:
        return None
    title = " ".join((f"{row.group.marked}: {metric.card.label}", *_words(cell, metric.digits)))
    if not axis.low <= value <= axis.high:
        return Mark(100.0 if value > axis.high else 0.0, look=row.look, title=title, shape="off")
    low, high = (None if end is None else min(100.0, max(0.0, axis.at(end))) for end in (cell.low, cell.high))
    return Mark(axis.at(value), low, high, row.look, title=title)


def _side(at: float) -> str:
    return "start" if at < _EDGE else "end" if at > 100 - _EDGE else "middle"


def _words(cell: Cell, digits: int) -> tuple[str, str]:
    """The value and its interval."""
    said = words_of(cell, Column("", "", digits=digits), cell.n)
    return said.value, said.interval
