"""Two sides measured on the same rows: their mean difference, its interval, its p, and what could have been found.

Rows are conversations, columns are what is compared (a pair of models in a metric, say). Works on plain arrays; chance
comes in as `rng`. All columns share their resamples and their flips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
    Floats,
    Labels,
    mean_as_ratio,
    percentile_interval,
    resample_weights,
    resampled_ratios,
    standard_errors,
    sum_by_cluster,
)
from attunebench.statistics.power import minimum_detectable_effect

_ROUNDING = 1e-9
"""Statistics closer than this, relatively, are equal: the same sum taken in another order differs in its last bits."""

_NOTHING = 1e-12
"""Differences under this share of what they are differences of are rounding, and count as 0."""

_CHUNK_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class PairedTests:
    """One entry per column; NaN is undefined. `difference` is the mean of a − b over the rows that both sides have.

    `n` counts these rows and `clusters` the clusters they come from (the rows themselves where nothing is clustered).
    `sd` is of the differences, `se` of their mean. `mde` is the difference that would be found with the asked power.
    `observed` is |T| per column and `null` |T*| (permutations, columns), the flips being the same in all columns:
    what `multiple.max_t` takes.
    """

    difference: Floats
    n: NDArray[np.int64]
    clusters: NDArray[np.int64]
    sd: Floats
    se: Floats
    low: Floats
    high: Floats
    p: Floats
    mde: Floats
    null: Floats
    observed: Floats


def paired_tests(
    a: Floats,
    b: Floats,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    permutations: int = 10_000,
    clusters: Labels | None = None,
    level: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.8,
) -> PairedTests:
    """Compare a with b, column by column. Both are (rows, columns) with NaN for gaps; `clusters` labels rows 0 … k − 1.

    The interval is the percentile bootstrap over rows, or over whole clusters. p is that of the sign-flip permutation,
    (1 + #{|T*| ≥ |T|})/(permutations + 1), which flips rows or whole clusters: exact where the differences are
    symmetric about 0 under the null, close to it otherwise. T is the sum of the differences over the root of their sum
    of squares (of clusters: of their sums); a flip leaves the latter as it is, so T orders flips as Student's t does
    and has a variance of 1 in every column. `se` is sd/√n, clustered √(Σ_c (Σ_i e_ic)²)/n, and `mde` follows from it.

    A column with under two rows (clusters) is NaN throughout; where no row differs p is 1, and where all differ by the
    same `mde` is NaN. `null` takes 8 bytes for each permutation and column. Source: spec 07.
    """
    if not len(a):
        a, b, clusters = np.full((1, a.shape[1]), np.nan), np.zeros((1, a.shape[1])), None
    differences = _differences(a, b)
    above, below = mean_as_ratio(differences)
    n = below.sum(axis=0).astype(np.int64)
    if clusters is None:
        sums, counts = above, below
    else:
        sums, counts = sum_by_cluster(above, clusters), sum_by_cluster(below, clusters)
    units = (counts > 0).sum(axis=0)
    undefined = units < 2
    difference, sd = _mean_and_sd(above, below, n)
    se = np.where(sd > 0, standard_errors(above, below, clusters), 0.0)
    weights = resample_weights(len(sums), resamples, rng)
    low, high = percentile_interval(resampled_ratios(weights, sums, counts), level)
    for column in (difference, sd, se, low, high):
        column[undefined] = np.nan
    observed, null = _sign_flips(sums, rng, permutations)
    observed[undefined] = null[:, undefined] = np.nan
    p = (1 + (null >= observed * (1 - _ROUNDING)).sum(axis=0)) / (permutations + 1)
    p[undefined] = np.nan
    mde = minimum_detectable_effect(se, 1, alpha=alpha, power=power)
    return PairedTests(difference, n, units, sd, se, low, high, p, mde, null, observed)


def _differences(a: Floats, b: Floats) -> Floats:
    differences = a - b
    with np.errstate(invalid="ignore"):
        differences[np.abs(differences) <= _NOTHING * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return np.asarray(differences)


def _mean_and_sd(above: Floats, below: Floats, n: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The latter exactly 0 where all differences are the same."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = above.sum(axis=0) / n
        sd = np.sqrt(((above - mean * below) ** 2).sum(axis=0) / (n - 1))
        sd[sd <= _NOTHING * np.abs(mean)] = 0.0
    return mean, sd


def _sign_flips(sums: Floats, rng: np.random.Generator, permutations: int) -> tuple[Floats, Floats]:
    """|T| as it is, and for each permutation of the signs of the units (units, columns)."""
    root = np.sqrt((sums**2).sum(axis=0))
    scaled = sums / np.where(root > 0, root, 1.0)
    null = np.empty((permutations, sums.shape[1]))
    size = max(1, _CHUNK_CELLS // len(sums))
    for start in range(0, permutations, size):
        rows = slice(start, min(start + size, permutations))
        signs = rng.integers(0, 2, size=(rows.stop - start, len(sums)), dtype=np.int8).astype(np.float64)
        np.abs((2 * signs - 1) @ scaled, out=null[rows])
    return np.abs(scaled.sum(axis=0)), null
