"""Intervals besides the percentile bootstrap: Wilson for proportions, BCa for skewed means; and when not to trust one.

Columns are quantities; NaN is a gap in what comes in and undefined in what goes out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attunebench.statistics.bootstrap import (
    Estimates,
    Floats,
    Labels,
    Resampling,
    percentile_interval,
    ratio,
    ratio_of_sums,
    resampled_ratios,
    standard_errors,
)

_NOTHING = 1e-12
"""A spread under this share of the value is rounding: the column is constant."""


@dataclass(frozen=True, slots=True)
class BcaIntervals:
    """One entry per column. `fell_back`: BCa is not defined there, and the bounds are those of the percentiles."""

    low: Floats
    high: Floats
    fell_back: NDArray[np.bool_]


def wilson_interval(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score interval of a proportion, within [0, 1]; NaN where n is 0. Arguments broadcast.

    Sensible down to small n and at 0 and n successes, for independent trials. Source: spec 07, Wilson 1927.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    counts, trials = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    share, per_trial = ratio(counts, trials), ratio(z**2, trials)
    centre = (share + per_trial / 2) / (1 + per_trial)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = z / (1 + per_trial) * np.sqrt(share * (1 - share) / trials + per_trial / (4 * trials))
    # At the ends the bound is the end itself, which rounding would miss by a last bit.
    return np.where(share == 0, 0.0, centre - half), np.where(share == 1, 1.0, centre + half)


def with_wilson(
    found: Estimates, denominators: Floats, shares: NDArray[np.bool_], resampling: Resampling
) -> tuple[Estimates, NDArray[np.bool_]]:
    """The estimates, with Wilson's interval for `shares` of right answers that are the same in all units.

    Resamples of such a column do not differ. Each unit counts as one answer. Also which columns got it; a single unit
    has none.
    """
    units = resampling.defined(denominators)
    alike = shares & np.isnan(found.low) & ~np.isnan(found.value) & (units > 1)
    low, high = wilson_interval(found.value * units, units, resampling.level)
    return replace(found, low=np.where(alike, low, found.low), high=np.where(alike, high, found.high)), alike


def clustered_wilson(
    numerators: Floats, denominators: Floats, clusters: Labels | None = None, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's interval of each column's share, for answers that come in rows (one conversation's) and are alike.

    The n answers of a column count as n/d independent ones, d ≥ 1 being the variance of the share between rows (or
    `clusters` of them) over the binomial one. Where that is not to be had (a share of 0 or 1, a single row) each row
    counts as one answer at most. NaN where nothing was answered. Source: Korn & Graubard 1998, with Wilson's interval.
    """
    n, rows = denominators.sum(axis=0), (denominators > 0).sum(axis=0)
    variance = standard_errors(numerators, denominators, clusters) ** 2
    share = ratio(numerators.sum(axis=0), n)
    worth = np.where(variance > 0, ratio(share * (1 - share), variance), rows)
    worth = np.where(np.isnan(variance), rows, np.minimum(worth, n))
    return wilson_interval(share * worth, worth, level)


def bca_ratios(numerators: Floats, denominators: Floats, resampling: Resampling) -> BcaIntervals:
    """BCa intervals of each column's ratio of sums.

    Acceleration comes from leaving out one unit at a time (Efron 1987; Efron & Tibshirani 1993, 14.3). Where a column
    does not vary, or all resamples lie on one side of the estimate, BCa is not defined and the percentile interval
    stands in, flagged. Under two defined units there is no interval. Source: spec 07.
    """
    above, below = resampling.sums(numerators), resampling.sums(denominators)
    samples, level = resampled_ratios(resampling.weights, above, below), resampling.level
    ends = _bca_ends(samples, ratio_of_sums(above, below), _acceleration(above, below), level)
    low, high = percentile_interval(samples, level)
    none = (below > 0).sum(axis=0) < 2
    defined = np.isfinite(ends).all(axis=0)
    for column in np.flatnonzero(defined & ~none):
        known = samples[:, column][~np.isnan(samples[:, column])]
        low[column], high[column] = np.quantile(known, ends[:, column])
    low[none] = high[none] = np.nan
    return BcaIntervals(low, high, ~defined & ~none)


def _acceleration(numerators: Floats, denominators: Floats) -> Floats:
    """Skewness of the estimates that lack one unit each, over 6; NaN where they are all the same."""
    defined = denominators > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (numerators.sum(axis=0) - numerators) / (denominators.sum(axis=0) - denominators)
        without = np.where(defined, without, 0.0)
        mean = without.sum(axis=0) / defined.sum(axis=0)
        deviations = np.where(defined, mean - without, 0.0)
        constant = np.abs(deviations).max(axis=0, initial=0.0) <= _NOTHING * np.abs(mean)
        acceleration = (deviations**3).sum(axis=0) / (6 * ((deviations**2).sum(axis=0)) ** 1.5)
    return np.where(constant, np.nan, acceleration)


def _bca_ends(samples: Floats, estimate: Floats, acceleration: Floats, level: float) -> Floats:
    """The shares of the resamples at which the interval ends: (2, columns); not finite where BCa is undefined."""
    from scipy.special import ndtr, ndtri

    with np.errstate(invalid="ignore", divide="ignore"):
        # A resample that equals the estimate lies half below it; of few distinct values that is a good part of them.
        same = np.abs(samples - estimate) <= _NOTHING * np.nanmax(np.abs(samples), axis=0, initial=0.0)
        below = ((samples < estimate) & ~same).sum(axis=0) + same.sum(axis=0) / 2
        bias = ndtri(below / (~np.isnan(samples)).sum(axis=0))
        shifted = bias + np.array([[ndtri((1 - level) / 2)], [ndtri((1 + level) / 2)]])
        ends = ndtr(bias + shifted / (1 - acceleration * shifted))
    return np.asarray(np.where(np.isfinite(bias), ends, np.nan))


def zero_inflated(values: Floats, threshold: float = 0.9) -> NDArray[np.bool_]:
    """Columns in which at least `threshold` of the defined rows are 0, or share any other single value.

    Percentile intervals of such columns are too narrow: with 97 % zeros a nominal 95 % covers 93 % at best, and with
    all rows alike it is a point. A pile at the ceiling is no better than one at 0. Source: spec 07.
    """
    flags = np.zeros(values.shape[1], dtype=np.bool_)
    for index, column in enumerate(values.T):
        _, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        flags[index] = counts.size > 0 and counts.max() >= threshold * counts.sum()
    return flags
