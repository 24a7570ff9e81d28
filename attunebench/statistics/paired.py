"""Two sides measured on the same rows: their mean difference, its interval, its p, and what could have been found.

Rows are conversations, columns are what is compared (a pair of models in a metric, say); all columns share their
resamples and their flips.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
    Floats,
    Labels,
    Resampling,
    mean_as_ratio,
    parts_of,
    ratio_intervals,
    ratio_of_sums,
    remembered,
    resample_weights,
    standard_errors,
    sum_by_cluster,
)
from attunebench.statistics.multiple import at_least, minimum_detectable_effect
from attunebench.statistics.permutation import FEWEST, permutation_p, permutations_needed

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
    """One entry per column; NaN is undefined. `difference` is the mean of a − b over the `n` rows that both sides have.

    `se` is its standard error, `mde` the difference that would be found with the asked power, `least` the smallest p
    that the column's number of units can give. `observed` is |T| per column and `null` |T*| (permutations, columns) of
    at most 10,000 flips, the same in all columns: what `multiple.max_t` takes.
    """

    difference: Floats
    n: NDArray[np.int64]
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
    above, below = mean_as_ratio(_differences(a, b))
    difference = ratio_of_sums(above, below)
    sums, counts = sum_by_cluster(above, clusters), sum_by_cluster(below, clusters)
    units = (counts > 0).sum(axis=0)
    se, residuals = standard_errors(above, below, clusters), above - difference * below
    se[np.abs(residuals).max(axis=0) <= _NOTHING * np.abs(difference)] = 0.0
    low, high = ratio_intervals(sums, counts, Resampling(resample_weights(len(sums), resamples, rng), None, level))
    needed = permutations_needed(a.shape[1] if tests is None else tests, alpha)
    drawn = permutations or (needed if needed * a.shape[1] <= _MOST_CELLS else FEWEST)
    least = 0.5 ** np.maximum(units - 1.0, 0.0)
    too_few = permutations is None and drawn < needed
    p, observed, null = _permuted(sums[(counts > 0).any(axis=1)], rng.spawn(1)[0], drawn, too_few, least, joint)
    for column in (difference, se, p, least, observed, null.T):
        column[units < 2] = np.nan
    mde = minimum_detectable_effect(se, alpha=alpha, power=power)
    return PairedTests(difference, below.sum(axis=0).astype(np.int64), se, low, high, p, mde, least, null, observed)


def _differences(a: Floats, b: Floats) -> Floats:
    differences = a - b
    differences[np.abs(differences) <= _NOTHING * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return np.asarray(differences)


def _permuted(
    sums: Floats, rng: np.random.Generator, permutations: int, too_few: bool, least: Floats, joint: bool
) -> tuple[Floats, Floats, Floats]:
    """p, |T| and, if `joint`, |T*| of each column; some columns at a time, all under the same flips."""
    columns = sums.shape[1]
    p, observed, nulls = np.empty(columns), np.empty(columns), list[Floats]()
    for block in parts_of(columns, FEWEST, _BLOCK_CELLS):
        width = min(columns, _BLOCK_CELLS // FEWEST)
        reached, made, observed[block], null = _sign_flips(sums[:, block], copy.deepcopy(rng), permutations, width)
        needed = null if too_few and made == permutations else None
        p[block] = permutation_p(observed[block], reached, made, needed, least[block])
        nulls += [null] if joint else []
    return p, observed, np.concatenate(nulls, axis=1) if nulls else np.empty((0, columns))


def _sign_flips(
    sums: Floats, rng: np.random.Generator, permutations: int, width: int
) -> tuple[NDArray[np.int64], int, Floats, Floats]:
    """Flip the units of (units, columns): how many flips reach |T|, of how many; |T|; and |T*| of the first 10,000.

    All flips that there are where units are few, else so many random ones. `width`: the columns of the widest block,
    since random numbers come in portions that follow from it.
    """
    units, columns = sums.shape
    root = np.sqrt((sums**2).sum(axis=0))
    scaled = sums / np.where(root > 0, root, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    exact = units <= _EXACT_UNITS
    if exact:
        # A flip and its mirror image have one |T|, so the last sign stays; the data as they are come on top of these.
        permutations = 2 ** max(0, units - 1) - 1
    null, reached = np.empty((min(permutations, FEWEST), columns)), np.zeros(columns, dtype=np.int64)
    for part in parts_of(permutations, max(units, width), _CHUNK_CELLS):
        if exact:  # unit i is flipped where bit i of the flip's number is set
            signs = 1 - 2 * (np.arange(part.start + 1, part.stop + 1)[:, None] >> np.arange(units) & 1)
        else:
            signs = _random_signs(part.stop - part.start, units, rng)
        drawn = np.abs(signs.astype(np.float64) @ scaled)
        reached += at_least(observed, drawn).sum(axis=0)
        null[part] = drawn[: max(0, len(null) - part.start)]
    return reached, permutations, observed, null


@remembered
def _random_signs(rows: int, units: int, rng: np.random.Generator) -> NDArray[np.int8]:
    return np.asarray(2 * rng.integers(0, 2, size=(rows, units), dtype=np.int8) - 1, dtype=np.int8)
