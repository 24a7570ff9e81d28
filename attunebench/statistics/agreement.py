"""How far raters agree beyond chance: two judges, a judge and a person, several annotators.

One row per unit that was rated, NaN a rating that was not given, which never counts as disagreement. Every coefficient
is a function of sums over units, so that resampling units (or clusters of them) needs no second pass over the ratings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attunebench.statistics.bootstrap import Floats, Resampling, parts_of, percentile_interval, ratio

Scale = Literal["nominal", "interval"]

_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, at most 1 (or a mean difference); NaN is undefined. `n` counts the units with two ratings or more,
    `clusters` theirs.

    `low` and `high` are a percentile interval, NaN without a resampling or where `clusters` < 2.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int


def percent_agreement(a: Floats, b: Floats, resampling: Resampling | None = None) -> Agreement:
    """Share of the units with both ratings on which the two raters say the same, in [0, 1]."""
    return _mean_of_both(a, b, np.equal(a, b).astype(np.float64), resampling)


def mean_difference(a: Floats, b: Floats, resampling: Resampling | None = None) -> Agreement:
    """Mean of a − b over the units that both rated. A cluster of many units counts for more than one of few."""
    return _mean_of_both(a, b, a - b, resampling)


def cohen_kappa(
    a: Floats, b: Floats, labels: int, *, quadratic: bool = False, resampling: Resampling | None = None
) -> Agreement:
    """Agreement beyond that of two raters with these habits who rate at random, in [−1, 1].

    Ratings are the numbers 0 … `labels` − 1; with `quadratic` weights, where these are in order, a far miss counts more
    than a near one. NaN where both raters say one and the same thing throughout. Where one label dominates, κ is low
    however well the raters agree: see `gwet_ac1`. Source: spec 07; Cohen 1960, 1968.
    """
    steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))).astype(np.float64)
    penalty = steps**2 if quadratic else np.sign(steps)

    def kappa(tables: Floats) -> Floats:
        expected = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
        missed, by_chance = ((table * penalty).sum(axis=(1, 2)) for table in (tables, expected))
        return 1 - ratio(missed * tables.sum(axis=(1, 2)), by_chance)

    return _summary(_cross_table(a, b, labels), kappa, resampling)


def gwet_ac1(a: Floats, b: Floats, labels: int, *, resampling: Resampling | None = None) -> Agreement:
    """Agreement beyond chance that does not collapse where one label dominates (a "yes" to nearly everything).

    Ratings are the numbers 0 … `labels` − 1. Chance is taken as Σ π(1 − π)/(q − 1) over the q ≥ 2 labels with π the
    mean share of each, so it is small for skewed ratings. Source: spec 07; Gwet 2008.
    """
    if labels < 2:
        raise ValueError("AC1 needs at least two possible labels")

    def ac1(tables: Floats) -> Floats:
        shares = ratio(tables, tables.sum(axis=(1, 2), keepdims=True))
        habits = (shares.sum(axis=1) + shares.sum(axis=2)) / 2
        chance = (habits * (1 - habits)).sum(axis=1) / (labels - 1)
        return np.asarray((np.trace(shares, axis1=1, axis2=2) - chance) / (1 - chance))

    return _summary(_cross_table(a, b, labels), ac1, resampling)


def krippendorff_alpha(table: Floats, level: Scale = "nominal", resampling: Resampling | None = None) -> Agreement:
    """1 − observed / expected disagreement among any number of raters, at most 1; 0 is chance.

    `table` is (units, raters); units with a single rating do not count. `level` is the level of measurement: how far
    apart two ratings are. NaN where all ratings are the same. Source: spec 07; Krippendorff, Content Analysis (2018),
    ch. 12.
    """
    known = ~np.isnan(table)
    known &= known.sum(axis=1, keepdims=True) > 1
    n = known.sum(axis=1).astype(np.float64)
    # Disagreement is squared distance: of numbers, or of points each of which lies on an axis of its own.
    if level == "interval":
        points = (table - np.min(table, where=known, initial=np.inf))[..., None]
    else:
        points = (table[..., None] == np.unique(table[known])).astype(np.float64)
    points = np.where(known[..., None], points, 0.0)
    sums, squares = points.sum(axis=1), (points**2).sum(axis=(1, 2))
    observed = np.nan_to_num(ratio(n * squares - (sums**2).sum(axis=1), n - 1))

    def alpha(parts: Floats) -> Floats:
        n, squares, observed = parts[:, :3].T
        return 1 - ratio(observed * (n - 1), n * squares - (parts[:, 3:] ** 2).sum(axis=1))

    return _summary(np.column_stack([n, squares, observed, sums]), alpha, resampling)


def _mean_of_both(a: Floats, b: Floats, values: Floats, resampling: Resampling | None) -> Agreement:
    """The mean of the values over the units that both rated."""
    both = ~np.isnan(a + b)
    cells = np.stack([np.where(both, values, 0.0), both], axis=1)
    return _summary(cells, lambda sums: ratio(sums[:, 0], sums[:, 1]), resampling)


def _cross_table(a: Floats, b: Floats, labels: int) -> Floats:
    """Per unit a table with a 1 where the two ratings meet, all 0 where one is missing: (units, labels, labels)."""
    cells = np.zeros((len(a), labels, labels))
    both = np.flatnonzero(~np.isnan(a + b))
    cells[both, a[both].astype(np.intp), b[both].astype(np.intp)] = 1
    return cells


def _summary(cells: Floats, coefficient: Callable[[Floats], Floats], resampling: Resampling | None) -> Agreement:
    """The coefficient of the summed cells (units, …), and its interval from resampled sums."""
    counted = np.asarray(cells.any(axis=tuple(range(1, cells.ndim))))
    n = int(counted.sum())
    groups = n if resampling is None or resampling.clusters is None else len(np.unique(resampling.clusters[counted]))
    value = float(coefficient(cells.sum(axis=0, keepdims=True))[0])
    if resampling is None or groups < 2:
        return Agreement(value, np.nan, np.nan, n, groups)
    flat, weights = resampling.sums(cells.reshape(len(cells), -1)), resampling.weights
    samples = [
        coefficient((weights[part].astype(np.float64) @ flat).reshape(-1, *cells.shape[1:]))
        for part in parts_of(len(weights), flat.shape[1], _CHUNK_CELLS)
    ]
    low, high = percentile_interval(np.concatenate(samples)[:, None], resampling.level)
    return Agreement(value, float(low[0]), float(high[0]), n, groups)
