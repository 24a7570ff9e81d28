"""Where figures take their numbers from: the tables of the analyses, so that a figure shows what the table says.

Computes no statistic and draws nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from attunebench import analyses
from attunebench.analyses.base import NOTHING_SCORED, Settings, Subject, best_first, in_mode, primary_mode
from attunebench.analyses.palette import Style, palette
from attunebench.analyses.sampling import Sampling, claimed
from attunebench.analyses.table import Analysis, Cell, Missing, Plot, Table, plot
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import Group, ScoreTable
from attunebench.text import number, printable

Width = Literal["single", "double"]
INCHES: dict[Width, float] = {"single": 89 / 25.4, "double": 183 / 25.4}
"""One column and two of a journal's page, 89 and 183 mm."""

_LONGEST_NAME = 26


@dataclass(frozen=True, slots=True)
class Look:
    """How figures are drawn: how wide, and how many dots an inch has in a raster format."""

    width: Width = "double"
    dpi: int = 300

    @property
    def inches(self) -> float:
        return INCHES[self.width]

    @property
    def wide(self) -> bool:
        return self.width == "double"


class Styled:
    """What is drawn, as far as its looks go: how wide it is, and how those look and are called who are in it."""

    look: Look

    @property
    def groups(self) -> Sequence[Group]:
        """All that have a colour of their own."""
        raise NotImplementedError

    @cached_property
    def styles(self) -> Mapping[str, Style]:
        """Label → looks, over all that are there."""
        looks = palette(self.groups)
        return {group.label: looks[group.model_key] for group in self.groups}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Label → the name that is drawn: of one line, and short enough to leave room for the figure."""
        return _Names(short_names([group.label for group in self.groups]))

    def shortened(self, labels: Sequence[str]) -> tuple[str, ...]:
        """A sentence for the caption that gives the full names of those that were shortened; () for none."""
        cut = [(self.names[label], label) for label in dict.fromkeys(labels) if "…" in self.names.get(label, "")]
        if not cut:
            return ()
        return ("Shortened names: " + "; ".join(f"{short} is {printable(label, 200)}" for short, label in cut) + ".",)


@dataclass(frozen=True)
class Source(Styled):
    """What a figure is drawn from. `settings` are those of the analyses; `mode` None there is the primary one."""

    study: ScoreTable
    settings: Settings
    look: Look = field(default_factory=Look)
    _made: dict[str, Analysis] = field(default_factory=dict)

    @property
    def groups(self) -> Sequence[Group]:
        return self.study.groups

    def analysis(self, name: str) -> Analysis:
        """An analysis, made once; Missing, with its own reason, where it has no table."""
        if name not in self._made:
            self._made[name] = analyses.analyse(name, Subject(self.study, self.settings))
        found = self._made[name]
        if found.missing or not found.tables:
            raise Missing(found.missing or "The analysis of these scores has no table.")
        return found

    def table(self, name: str, table_id: str) -> Table:
        """A table of an analysis. Raises Missing if there is none, or if it is empty."""
        for table in self.analysis(name).tables:
            if table.id == table_id and table.rows:
                return table
        raise Missing(f"The analysis {name} has no data for this figure in these scores.")

    @property
    def mode(self) -> str:
        """The one mode of figures that show one."""
        return self.settings.mode or primary_mode(self.study)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes of figures that are drawn for each."""
        return (self.settings.mode,) if self.settings.mode else self.study.modes

    def models(self, mode: str | None = None) -> ScoreTable:
        """The models of a mode by falling Composite, with the conversations that at least one has; Missing without
        any."""
        chosen = in_mode(self.study, mode or self.mode, self.settings)
        if not chosen.groups:
            raise Missing(NOTHING_SCORED)
        return chosen.with_groups([chosen.groups[place] for place in best_first(self.means(chosen, "composite"))])

    def means(self, study: ScoreTable, metric_id: str) -> list[Cell]:
        """A metric's mean per group with its interval, as the tables of all analyses have it."""
        return Sampling.of(study, self.settings).cells(study.values(metric_id), of=metric_id)

    def claimed(self, cell: Cell) -> bool:
        """Whether a tested value is significant, with enough behind it."""
        return claimed(cell, self.settings)

    def bold(self, drawn: Plot) -> list[list[bool]]:
        """Which values of a heat map may be claimed."""
        return [[self.claimed(cell) for cell in row.cells] for row in drawn.rows]


class _Names(dict[str, str]):
    """Names of models; a row that is no model keeps its own."""

    def __missing__(self, label: str) -> str:
        return label


def short_names(labels: Sequence[str], longest: int = _LONGEST_NAME) -> dict[str, str]:
    """Label → at most `longest` characters: head and tail, since versions stand at the end; a number where two would
    be the same."""
    tail = longest // 2 - 1
    found: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        whole = printable(label, 500) or "(no name)"
        name = whole if len(whole) <= longest else f"{whole[: longest - tail - 1]}…{whole[-tail:]}"
        numbered = (name if count == 1 else f"{name} #{count}" for count in itertools.count(1))
        found[label] = next(one for one in numbered if one not in found.values())
    return found


def charted(table: Table, **changes: Any) -> Plot:
    """The table's own chart, with what print draws otherwise."""
    if table.chart is None:
        raise Missing(f"The table {table.title} has no chart.")
    return plot(table, replace(table.chart, **changes))


def cells(table: Table, column_id: str) -> list[Cell]:
    """The cells of a column."""
    at = [one.id for one in table.columns].index(column_id)
    return [row[at] for row in table.rows]


def has(table: Table, *column_ids: str) -> bool:
    """Whether the table has the columns."""
    return set(column_ids) <= {one.id for one in table.columns}


def unit_words(metric_id: str) -> str:
    """What a metric is counted in, for an axis."""
    card = REGISTRY[metric_id]
    if card.unit == "points":
        return f"points of {card.high:g}"
    if (card.low, card.high) == (0, 1):
        return "share" if card.unit == "share" else "0 to 1"
    return f"{card.low:g} to {card.high:g}".replace("-", "−")


def percent(value: float | None, undefined: str = "–") -> str:
    """ "43"; `undefined` for None."""
    return undefined if value is None else f"{100 * value:.0f}"


def signed(value: float | None) -> str:
    """ "+4.3" or "−4.3"."""
    return number(value, 1, sign=True).replace("-", "−")
