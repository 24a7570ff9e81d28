"""Rankings of models by several skills: how they correlate, how reproducible each is, and which pairs are related.

Knows no capability by name. A verdict takes the whole interval, and to be related a test over the models as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import NOT_ESTIMABLE, Cell, Settings, known
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import CorrelationMatrix, correlation_matrix
from attunebench.statistics.multiple import adjust
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import least_spearman_p, spearman_p
from attunebench.statistics.reliability import SplitHalf, disattenuated, split_half

Verdict = Literal["independent", "related", "undecided", "too few models", "too few"]


@dataclass(frozen=True)
class Correlated:
    """Named rankings of the models, their correlations and reliabilities, over some conversations.

    `p` is that of the models' order in one ranking having nothing to do with that in the other, `least` the smallest
    that so many models can give; NaN where nothing was tested.
    """

    names: tuple[str, ...]
    matrix: CorrelationMatrix
    p: Floats
    p_corrected: Floats
    least: Floats
    halves: tuple[SplitHalf, ...]
    conversations: int
    participants: int
    small: bool

    def verdict(self, a: int, b: int, settings: Settings) -> Verdict:
        """Only an interval that lies within ±threshold, or beyond it, decides.

        Few models can stand in the same order by chance, and every resample of them does too: to call two rankings
        related takes the corrected test as well, which very few models cannot pass.
        """
        low, high = self.matrix.low[a, b], self.matrix.high[a, b]
        threshold, alpha = settings.threshold, settings.alpha
        if self.small or np.isnan(low):
            return "too few"
        if -threshold < low and high < threshold:
            return "independent"
        if self.beyond_reach(settings)[a, b]:
            return "too few models"
        beyond = low >= threshold or high <= -threshold
        return "related" if beyond and self.p_corrected[a, b] <= alpha else "undecided"

    def beyond_reach(self, settings: Settings) -> NDArray[np.bool_]:
        """Pairs that cannot be found related, whatever the models do: (rankings, rankings)."""
        tests = np.where(np.triu(np.ones_like(self.least), 1) > 0, self.least, np.nan)
        beyond = common.beyond_reach(tests, settings, together=False)
        return np.asarray(beyond | beyond.T)

    def corrected(self, a: int, b: int) -> float:
        """The correlation without the noise of both rankings; NaN where one of them holds nothing reproducible."""
        halves = self.halves[a].reliability, self.halves[b].reliability
        return float(disattenuated(self.matrix.rho[a, b], *halves))

    def cell(self, a: int, b: int) -> Cell:
        """The correlation; its n is said where it is not that of all models."""
        m, n = self.matrix, int(self.matrix.n[a, b])
        low, high = known(m.low[a, b]), known(m.high[a, b])
        one_value = low is not None and low == high  # of models in one order, which all resamples repeat
        return Cell(
            known(m.rho[a, b]),
            None if one_value else low,
            None if one_value else high,
            n=n if n < int(m.n.max()) else None,
            p=known(self.p[a, b]),
            p_corrected=known(self.p_corrected[a, b]),
            small=self.small,
            mark=NOT_ESTIMABLE if one_value else "",
        )


def correlated(
    study: ScoreTable, tables: Mapping[str, Floats], settings: Settings, use: str, *, tested: bool = True
) -> Correlated:
    """Correlate the rankings by some values (conversations, models); `use` names the chance. Tests are optional."""
    sampling = Sampling.of(study, settings)
    values = np.stack(list(tables.values()))
    matrix = correlation_matrix(
        values,
        sampling.weights,
        clusters=sampling.clusters,
        rng=settings.rng(f"independence {use}"),
        level=settings.level,
    )
    halves = tuple(
        split_half(table, rng=settings.rng(f"split-half {name}"), clusters=sampling.clusters)
        for name, table in tables.items()
    )
    p = p_corrected = least = np.full(matrix.rho.shape, np.nan)
    if tested:
        p, p_corrected = _tests(sampling, tables, settings, use)
        least = np.vectorize(least_spearman_p, otypes=[float])(matrix.n)
    people = len(set(study.clusters.tolist()))
    return Correlated(
        tuple(tables),
        matrix,
        p,
        p_corrected,
        least,
        halves,
        len(study.ids),
        people,
        len(study.ids) < settings.small or people < 2,
    )


def _tests(sampling: Sampling, tables: Mapping[str, Floats], settings: Settings, use: str) -> tuple[Floats, Floats]:
    """p of each pair of rankings, and corrected over all pairs: (rankings, rankings)."""
    means = [sampling.estimate(table).value for table in tables.values()]
    rng = settings.rng(f"independence orders {use}")
    first, second = np.triu_indices(len(means), 1)
    draws = permutations_needed(len(first), settings.alpha)
    pairs = zip(first, second, strict=True)
    p = np.array([spearman_p(means[a], means[b], rng=rng, permutations=draws) for a, b in pairs])
    found = []
    for values in (p, adjust(p, common.plain_correction(settings))):
        table = np.full((len(means), len(means)), np.nan)
        table[first, second] = table[second, first] = values
        found.append(table)
    return found[0], found[1]
