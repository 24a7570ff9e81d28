"""Two sides measured on the same rows: their mean difference, its interval, its p, and what could have been found.

Rows are conversations, columns are what is compared (a pair of models in a metric, say). Works on plain arrays; chance
comes in as `rng`. All columns share their resamples and their flips.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
    Floats,
    Labels,
    mean_as_ratio,
    ratio_intervals,
    remembered,
    resample_weights,
    standard_errors,
    sum_by_cluster,
)
from attunebench.statistics.multiple import minimum_detectable_effect
from attunebench.statistics.permutation import FEWEST, at_least, permutation_p, permutations_needed

_NOTHING = 1e-12
"""Differences under this share of what they are differences of are rounding, and count as 0."""

_CHUNK_CELLS = 2_000_000
_BLOCK_CELLS = 10_000_000
"""Kept permutations times columns that are in memory at once, if not all are asked for."""
_EXACT_UNITS = 14
"""Up to so many units all flips are gone through (8,192)."""
_MOST_CELLS = 20_000_000
"""More permutations times columns than this take too long; then p beyond the reach of fewer follows the tail."""


@dataclass(frozen=True, slots=True)
class PairedTests:
    """One entry per column; NaN is undefined. `difference` is the mean of a − b over the rows that both sides have.

    `n` counts these rows and `clusters` the clusters they come from (the rows themselves where nothing is clustered).
    `sd` is of the differences, `se` of their mean. `mde` is the difference that would be found with the asked power.
    `least` is the smallest p that the column's number of units can give. `observed` is |T| per column and `null` |T*|
    (permutations, columns), the flips being the same in all columns: what `multiple.max_t` takes. `null` holds at most
    10,000 of the flips.
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
    least: Floats
    null: Floats
    observed: Floats


def paired_tests(
    a: Floats,
    b: Floats,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    permutations: int | None = None,
    tests: int | None = None,
    clusters: Labels | None = None,
    level: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.8,
    joint: bool = True,
) -> PairedTests:
    """Compare a with b, column by column. Both are (rows, columns) with NaN for gaps; `clusters` labels rows 0 … k − 1.

    The interval is the percentile bootstrap over rows, or over whole clusters. p is that of the sign-flip permutation,
    (1 + #{|T*| ≥ |T|})/(permutations + 1), which flips rows or whole clusters: exact where the differences are
    symmetric about 0 under the null, close to it otherwise. Up to 14 units all flips are gone through. Otherwise
    `permutations` are drawn, by default as many as the family of `tests` (by default the columns) needs at `alpha`, or
    10,000 with the tail of `permutation_p` where that is too many. The resamples have no part in p. T is the sum of
    the differences over the root of their sum of squares (of clusters: of their sums); a flip leaves the latter as it
    is, so T orders flips as Student's t does and has a variance of 1 in every column. `se` is sd/√n, clustered
    √(Σ_c (Σ_i e_ic)²)/n, and `mde` follows from it. Without `joint` there is no `null`, whose memory grows with the
    columns.

    A column with under two rows (clusters) is NaN throughout; where no row differs p is 1, and where all differ by the
    same `mde` is NaN. Source: spec 07.
    """
    if not len(a):
        a, b, clusters = np.full((1, a.shape[1]), np.nan), np.zeros((1, a.shape[1])), None
    differences = _differences(a, b)
    above, below = mean_as_ratio(differences)
    n = below.sum(axis=0).astype(np.int64)
    sums, counts = sum_by_cluster(above, clusters), sum_by_cluster(below, clusters)
    units = (counts > 0).sum(axis=0)
    undefined = units < 2
    difference, sd = _mean_and_sd(above, below, n)
    se = np.where(sd > 0, standard_errors(above, below, clusters), 0.0)
    weights = resample_weights(len(sums), resamples, rng)
    low, high = ratio_intervals(weights, sums, counts, level)
    for column in (difference, sd, se, low, high):
        column[undefined] = np.nan
    needed = permutations_needed(a.shape[1] if tests is None else tests, alpha)
    drawn = permutations or (needed if needed * a.shape[1] <= _MOST_CELLS else FEWEST)
    least = 0.5 ** np.maximum(units - 1.0, 0.0)
    too_few = permutations is None and drawn < needed
    p, observed, null = _permuted(sums[(counts > 0).any(axis=1)], rng.spawn(1)[0], drawn, too_few, least, joint)
    p[undefined] = least[undefined] = observed[undefined] = null[:, undefined] = np.nan
    mde = minimum_detectable_effect(se, 1, alpha=alpha, power=power)
    return PairedTests(difference, n, units, sd, se, low, high, p, mde, least, null, observed)


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


def _permuted(
    sums: Floats, rng: np.random.Generator, permutations: int, too_few: bool, least: Floats, joint: bool
) -> tuple[Floats, Floats, Floats]:
    """p, |T| and, if `joint`, |T*| of each column; some columns at a time, all under the same flips."""
    columns = sums.shape[1]
    p, observed, nulls = np.empty(columns), np.empty(columns), list[Floats]()
    width = max(1, _BLOCK_CELLS // FEWEST)
    for start in range(0, columns, width):
        block = slice(start, start + width)
        reached, made, observed[block], null = _sign_flips(
            sums[:, block], copy.deepcopy(rng), permutations, min(width, columns)
        )
        needed = null if too_few and made == permutations else None
        p[block] = permutation_p(observed[block], reached, made, needed, least[block])
        if joint:
            nulls.append(null)
    return p, observed, np.concatenate(nulls, axis=1) if nulls else np.empty((0, columns))


def _sign_flips(
    sums: Floats, rng: np.random.Generator, permutations: int, width: int
) -> tuple[NDArray[np.int64], int, Floats, Floats]:
    """Flip the units of (units, columns): how many flips reach |T|, of how many; |T|; and |T*| of the first 10,000.

    All flips that there are where units are few, else so many random ones. `width`: the columns of the widest block,
    since random numbers come in portions that follow from it.
    """
    root = np.sqrt((sums**2).sum(axis=0))
    scaled = sums / np.where(root > 0, root, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    exact = len(sums) <= _EXACT_UNITS
    if exact:
        # A flip and its mirror image have one |T|, so the last sign stays; the data as they are come on top of these.
        permutations = 2 ** max(0, len(sums) - 1) - 1
    null = np.empty((min(permutations, FEWEST), sums.shape[1]))
    reached = np.zeros(sums.shape[1], dtype=np.int64)
    size = max(1, _CHUNK_CELLS // max(1, len(sums), width))
    for start in range(0, permutations, size):
        rows = np.arange(start, min(start + size, permutations))
        signs = _signs_of(rows + 1, len(sums)) if exact else _random_signs(len(rows), len(sums), rng)
        drawn = signs.astype(np.float64) @ scaled
        np.abs(drawn, out=drawn)
        reached += at_least(observed, drawn).sum(axis=0)
        kept = drawn[: max(0, len(null) - start)]
        null[start : start + len(kept)] = kept
    return reached, permutations, observed, null


def _signs_of(numbers: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """The signs of the flips of these numbers: unit i is flipped where bit i is set."""
    return np.asarray(1 - 2 * (numbers[:, None] >> np.arange(units) & 1))


@remembered
def _random_signs(rows: int, units: int, rng: np.random.Generator) -> NDArray[np.int8]:
    return np.asarray(2 * rng.integers(0, 2, size=(rows, units), dtype=np.int8) - 1, dtype=np.int8)
