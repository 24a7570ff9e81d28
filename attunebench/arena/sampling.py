"""How the numbers of an arena are computed, and where their intervals come from: resampled histories, never verdicts.

Fifteen raters of one pair are no fifteen pieces of evidence. Where there are few raters they are resampled too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from attunebench.arena.table import VerdictTable
from attunebench.statistics.bootstrap import Counts, Floats, Resampling, percentile_interval, resample_weights

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
