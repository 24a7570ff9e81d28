"""Rankings of models by several skills: how they correlate, how reproducible each is, and which pairs are related.

Knows no capability by name. A verdict takes the whole interval, and to be related a test over the models as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings
from attunebench.analyses.sampling import Sampling, beyond_reach, cells_of, claimed, plain_correction
from attunebench.analyses.table import NOT_ESTIMABLE, Cell
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats, Labels
from attunebench.statistics.correlation import (
    CorrelationMatrix,
    SplitHalf,
    correlation_matrix,
    disattenuated,
    split_half,
)
from attunebench.statistics.multiple import adjust
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import least_spearman_p, spearman_p

Verdict = Literal["independent", "related", "undecided", "too few models", "too few"]


class Pair(NamedTuple):
    """Two rankings: their correlation over `models`, the same without the noise of both, and what follows from it."""

    a: str
    b: str
    models: int
    rho: Cell
    corrected: Cell
    verdict: Verdict


@dataclass(frozen=True)
class Correlated:
    """Rankings by name, with their split-half reliabilities and their correlations pair by pair.

    `itself`: the correlation of each ranking with itself, None where it holds no difference. `decidable`: whether any
    pair could be found related, whatever the models do.
    """

    study: ScoreTable
    halves: Mapping[str, SplitHalf]
    reliability: Mapping[str, Cell]
    itself: Mapping[str, Cell]
    pairs: tuple[Pair, ...]
    decidable: bool


def correlated(
    study: ScoreTable, tables: Mapping[str, Floats], settings: Settings, use: str, *, tested: bool = True
) -> Correlated:
    """Correlate the rankings by some values (conversations, models); `use` names the chance. Tests are optional."""
    sampling, values, names = Sampling.of(study, settings), np.stack(list(tables.values())), list(tables)
    rng, clusters = settings.rng(f"independence {use}"), sampling.clusters
    matrix = correlation_matrix(values, sampling.weights, clusters=clusters, rng=rng, level=settings.level)
    halves = {
        name: split_half(table, rng=settings.rng(f"split-half {name}"), clusters=clusters)
        for name, table in tables.items()
    }
    reliable, *ends = np.array([(half.reliability, half.low, half.high) for half in halves.values()]).T
    small = len(study.ids) < settings.small or len(set(study.clusters.tolist())) < 2
    first, second = at = np.triu_indices(len(names), 1)
    p = least = np.full(len(first), np.nan)
    if tested:
        means, rng = [sampling.estimate(table).value for table in values], settings.rng(f"independence orders {use}")
        draws = permutations_needed(len(first), settings.alpha)
        pairs = zip(first, second, strict=True)
        p = np.array([spearman_p(means[a], means[b], rng=rng, permutations=draws) for a, b in pairs])
        least = np.array([least_spearman_p(int(models)) for models in matrix.n[at]])
    beyond = beyond_reach(least, settings, together=False)
    clean = [disattenuated(matrix.rho[a, b], reliable[a], reliable[b]) for a, b in zip(first, second, strict=True)]
    rhos = _cells(matrix, at, p, adjust(p, plain_correction(settings)), small)
    columns = ([names[a] for a in first], [names[b] for b in second], matrix.n[at].tolist(), rhos)
    verdicts = [
        _verdict(low, high, cell, few, settings)
        for low, high, cell, few in zip(matrix.low[at], matrix.high[at], rhos, beyond, strict=True)
    ]
    return Correlated(
        study,
        halves,
        dict(zip(names, cells_of(reliable, ends[0], ends[1], small=small), strict=True)),
        dict(zip(names, cells_of(np.diag(matrix.rho)), strict=True)),
        tuple(map(Pair, *columns, cells_of(np.array(clean), small=small), verdicts)),
        not beyond.all(),
    )


def _cells(
    matrix: CorrelationMatrix, at: tuple[Labels, ...], p: Floats, p_corrected: Floats, small: bool
) -> list[Cell]:
    """A cell for each pair; its n stands where it is not that of all models."""
    low, high = matrix.low[at], matrix.high[at]
    one_order = low == high  # of the models, which all resamples repeat
    low, high = np.where(one_order, np.nan, np.stack([low, high]))
    cells = cells_of(matrix.rho[at], low, high, small=small, p=p, p_corrected=p_corrected)
    return [
        replace(cell, n=int(models) if models < matrix.n.max() else None, mark=NOT_ESTIMABLE if alike else "")
        for cell, models, alike in zip(cells, matrix.n[at], one_order, strict=True)
    ]


def _verdict(low: float, high: float, cell: Cell, beyond: bool, settings: Settings) -> Verdict:
    """Only an interval that lies within ±threshold, or beyond it, decides.

    Few models can stand in the same order by chance, and every resample of them does too: to call two rankings
    related takes the corrected test as well, which very few models cannot pass.
    """
    if cell.small or np.isnan(low):
        return "too few"
    if -settings.threshold < low and high < settings.threshold:
        return "independent"
    if beyond:
        return "too few models"
    return "related" if max(low, -high) >= settings.threshold and claimed(cell, settings) else "undecided"
