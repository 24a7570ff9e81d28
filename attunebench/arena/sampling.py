"""How the numbers of an arena are computed, and where their intervals come from: resampled histories, never verdicts.

Fifteen raters of one pair are no fifteen pieces of evidence. Where there are few raters they are resampled too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attunebench.analyses.sampling import cells_of
from attunebench.analyses.table import NOT_ESTIMABLE, Cell, Drill, cell_of, number_of
from attunebench.arena.table import VerdictTable
from attunebench.statistics.bootstrap import (
    Counts,
    Floats,
    Labels,
    Resampling,
    percentile_interval,
    ratio,
    ratio_of_sums,
    resample_weights,
    sum_by_cluster,
)
from attunebench.statistics.intervals import wilson_interval

Ties = Literal["half", "dropped", "davidson"]
Ensemble = Literal["majority", "mean"]

FEW_RATERS = 20
"""Under this many raters their own chance is told from that of histories no longer, so both are resampled."""


@dataclass(frozen=True, slots=True)
class ArenaSettings:
    """How an arena is scored. `ties` in ratings; `anchor`: the author whose rating is 1000 ("": the mean of all);
    `ensemble`: how several judges become one; `ambiguous`: pairs with a smaller majority of people are so called;
    `small`: under this many histories a number carries a warning."""

    ties: Ties = "half"
    anchor: str = ""
    ensemble: Ensemble = "majority"
    ambiguous: float = 2 / 3
    seed: int = 0
    resamples: int = 2000
    level: float = 0.95
    small: int = 20

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for each use, so that no number depends on which others are computed."""
        return np.random.default_rng([self.seed, *name.encode()])

    def resampling(self, table: VerdictTable) -> Resampling:
        """Of rows that are verdicts, over their histories. Only for a table with rows."""
        draws = resample_weights(len(table.histories), self.resamples, self.rng("histories"))
        return Resampling(draws, table.history, self.level)


class Draws:
    """Sums over the verdicts of a table in each resample. `raters`: whether raters are resampled as well."""

    def __init__(self, table: VerdictTable, settings: ArenaSettings) -> None:
        self.table, self.settings = table, settings
        there = np.unique(table.rater)
        self.raters = 1 < len(there) < FEW_RATERS and not table.judges[there].all()
        self._histories: Counts = resample_weights(
            max(1, len(table.histories)), settings.resamples, settings.rng("histories")
        )
        self._place = np.searchsorted(there, table.rater) if self.raters else np.zeros(len(table), dtype=np.intp)
        self._weights: Counts = (
            resample_weights(len(there), settings.resamples, settings.rng("raters"))
            if self.raters
            else np.ones((settings.resamples, 1))
        )

    def sums(self, values: Floats) -> Floats:
        """Σ weight · value over the verdicts: (resamples, columns) from (verdicts, columns), without NaN."""
        units, columns = len(self.table.histories), values.shape[1]
        drawn = np.zeros((self.settings.resamples, columns))
        for rater in range(self._weights.shape[1]):
            rows = np.flatnonzero(self._place == rater)
            cells = np.zeros((max(1, units), columns))
            np.add.at(cells, self.table.history[rows], values[rows])
            drawn += self._weights[:, rater, None] * (self._histories.astype(np.float64) @ cells)
        return drawn

    def interval(self, samples: Floats) -> tuple[Floats, Floats]:
        """The percentile interval of each column of (resamples, columns); NaN under two histories."""
        if len(np.unique(self.table.history)) < 2:
            gap = np.full(samples.shape[1], np.nan)
            return gap, gap
        return percentile_interval(samples, self.settings.level)


def share_cells(
    sums: Callable[[Floats], Floats],
    history: Labels,
    above: Floats,
    below: Floats,
    settings: ArenaSettings,
    drills: Sequence[Drill | None] | None = None,
) -> tuple[list[Cell], Floats]:
    """Σ above / Σ below of each column of rows, and its resamples: (resamples, columns). n counts rows.

    `sums` are those of `Draws`, `history` says of which history each row is. A share that is 0 or 1 in all histories
    has Wilson's interval, each history counting once; one that is over a single history has none.
    """
    size, value = above.shape[1], ratio_of_sums(above, below)
    drawn = sums(np.hstack([above, below]))
    samples = ratio(drawn[:, :size], drawn[:, size:])
    low, high = percentile_interval(samples, settings.level)
    units = (sum_by_cluster(below, history) > 0).sum(axis=0)
    sure = np.isnan(low) & ((value == 0) | (value == 1))
    ends = wilson_interval(value * units, units, settings.level)
    low, high = (
        np.where(units < 2, np.nan, np.where(sure, end, bound)) for end, bound in zip(ends, (low, high), strict=True)
    )
    n = (below > 0).sum(axis=0)
    return cells_of(value, low, high, n, units < settings.small, drills, units=units), samples


def difference_cells(
    one: Sequence[Cell], other: Sequence[Cell], samples: Floats, settings: ArenaSettings, drills: Sequence[Drill | None]
) -> list[Cell]:
    """One minus the other, from cells of shares and the differences of their resamples. n is the smaller of the two."""
    low, high = percentile_interval(samples, settings.level)
    cells = []
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        value, n = (number_of(a), number_of(b)), min(a.n or 0, b.n or 0)
        if value[0] is None or value[1] is None:
            cells.append(Cell(None, n=n))
            continue
        ends = (low[place], high[place]) if a.low is not None and b.low is not None else (np.nan, np.nan)
        mark = NOT_ESTIMABLE if np.isnan(ends[0]) else ""
        small = a.small or b.small
        cells.append(cell_of(value[0] - value[1], *ends, n=n, small=small, mark=mark, drill=drills[place]))
    return cells
