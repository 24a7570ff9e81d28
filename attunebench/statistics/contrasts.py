"""Is a value higher inside a group of conversations than outside?

Rows are conversations, columns are quantities, the group is a mask over the rows. Which groups are worth asking about,
and which are too small for a claim, is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
    Counts,
    Floats,
    Labels,
    mean_as_ratio,
    parts_of,
    percentile_interval,
    ratio_of_sums,
    resample_weights,
    resampled_ratios,
    sum_by_cluster,
)
from attunebench.statistics.multiple import at_least, minimum_detectable_effect
from attunebench.statistics.permutation import FEWEST, permutation_p, permutations_needed

Mask = NDArray[np.bool_]

_CHUNK_ROWS = 1000
_MOST = 50_000
"""More permutations take too long for one contrast of many; then p beyond the reach of fewer follows the tail."""


@dataclass(frozen=True, slots=True)
class GroupContrast:
    """One entry per column; NaN is undefined. `estimate` is the mean inside the group minus the mean outside.

    `n_in` and `n_out` count the defined rows, `clusters_in` and `clusters_out` the clusters that these come from (the
    rows themselves where nothing is clustered). `mde` is the difference that would be found with the asked power.
    `least` is the smallest p that these numbers of clusters can give.
    """

    estimate: Floats
    inside: Floats
    outside: Floats
    n_in: NDArray[np.int64]
    n_out: NDArray[np.int64]
    clusters_in: NDArray[np.int64]
    clusters_out: NDArray[np.int64]
    se: Floats
    low: Floats
    high: Floats
    p: Floats
    mde: Floats
    least: Floats


def group_difference(
    values: Floats,
    inside: Mask,
    *,
    clusters: Labels | None = None,
    rng: np.random.Generator,
    resamples: int = 10_000,
    permutations: int | None = None,
    tests: int | None = None,
    level: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.8,
) -> GroupContrast:
    """Mean of each column over the rows inside the group minus the mean over the others; NaN is a gap.

    `values` is (rows, columns), `inside` (rows,), `clusters` a label per row. All columns share their chance.

    The percentile interval resamples inside and outside separately: the sizes of the groups are given, and a small
    group must not vanish from a resample. Clusters are resampled whole, those with rows on both sides as a third kind.

    p comes from permuting who is inside, with the statistic divided by its own standard error (Welch): groups of
    unequal spread and size would otherwise reject too often or too seldom (Janssen 1997; Chung & Romano 2013). Whole
    clusters change sides. Where a cluster has rows on both sides none can change sides; there each cluster's share
    in the difference flips its sign (Kline & Santos 2012). p = (1 + #{|T*| ≥ |T|})/(permutations + 1), with as many
    permutations as the family of `tests` (by default the columns) needs at `alpha`, or 10,000 with the tail of
    `permutation_p` where that is too many. The resamples have no part in p.

    Fewer than two rows (clusters) on a side: the estimate stands without interval, p and mde (NaN). Source: spec 07.
    """
    centres, centred = _centred(values)
    above, below = mean_as_ratio(centred)
    layout = _Layout.of(inside, clusters)
    means = np.stack([ratio_of_sums(above[part], below[part]) for part in layout.sides])
    n = np.stack([below[part].sum(axis=0).astype(np.int64) for part in layout.sides])
    units = np.stack([(layout.sums(below, part) > 0).sum(axis=0) for part in layout.sides])
    known = (units > 1).all(axis=0)
    se, least = _standard_error(above, below, layout), layout.least(*units)
    se[~known] = least[~known] = np.nan
    low, high, p = np.full((3, len(se)), np.nan)
    if known.any():
        above, below = above[:, known], below[:, known]
        low[known], high[known] = _interval(above, below, layout, _stratified(layout.kinds, resamples, rng), level)
        needed = permutations_needed(values.shape[1] if tests is None else tests, alpha)
        drawn = permutations or (needed if needed <= _MOST else FEWEST)
        statistics = _statistics(above, below, layout, rng.spawn(1)[0], drawn)
        # A side without values: no evidence in the data, and as extreme as can be in a permutation.
        observed, null = (np.where(np.isnan(t), of, t) for t, of in ((statistics[0], 0.0), (statistics[1:], np.inf)))
        df = np.inf if layout.straddled else units.min(axis=0)[known] - 1.0
        tail = null if permutations is None and drawn < needed else None
        p[known] = permutation_p(observed, at_least(observed, null).sum(axis=0), len(null), tail, least[known], df)
    mde = minimum_detectable_effect(se, alpha=alpha, power=power)
    sides, counts = (means[0] + centres, means[1] + centres), (n[0], n[1], units[0], units[1])
    return GroupContrast(means[0] - means[1], *sides, *counts, se, low, high, p, mde, least)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Who is inside, and the units (rows, or whole clusters) that are resampled and permuted.

    `kinds` has an entry per unit: 0 has rows outside only, 1 inside only, 2 on both sides.
    """

    sides: tuple[Mask, Mask]
    units: Labels
    kinds: Labels
    clustered: bool

    @classmethod
    def of(cls, inside: Mask, clusters: Labels | None) -> _Layout:
        # Numbered anew: a cluster that has no row among these must not be drawn.
        units = np.arange(len(inside)) if clusters is None else np.unique(clusters, return_inverse=True)[1].reshape(-1)
        shares = np.bincount(units, weights=inside) / np.bincount(units)
        kinds = np.where(shares == 0, 0, np.where(shares == 1, 1, 2)).astype(np.intp)
        return cls((inside, ~inside), units, kinds, clusters is not None)

    @property
    def straddled(self) -> bool:
        """Whether a unit has rows on both sides."""
        return bool((self.kinds == 2).any())

    def least(self, units_in: Labels, units_out: Labels) -> Floats:
        """The smallest p of a column with so many units inside and outside: one of all the ways to arrange them."""
        if self.straddled:
            # A unit on both sides flips once, so that there are no fewer flips than this.
            return np.asarray(0.5 ** (np.maximum(units_in, units_out) - 1.0))
        both = zip(units_in.tolist(), units_out.tolist(), strict=True)
        # Groups of one size can change sides, which leaves |T| as it is.
        return np.array([(2 if a == b else 1) / comb(a + b, a) for a, b in both])

    def sums(self, columns: Floats, part: Mask) -> Floats:
        """Sums per unit over the rows of one side: (units, columns)."""
        return sum_by_cluster(columns * part[:, None], self.units)


def _centred(values: Floats) -> tuple[Floats, Floats]:
    """Column means, and the values without them: sums of squares then lose no digits. Constant columns become 0."""
    centres = ratio_of_sums(*mean_as_ratio(values))
    centred = values - centres
    centred[np.abs(centred) <= 1e-12 * np.abs(centres)] = 0.0
    return centres, centred


def _standard_error(above: Floats, below: Floats, layout: _Layout) -> Floats:
    """Of the difference of the two means; clusters with rows on both sides bring their covariance in."""
    influence = np.zeros_like(above)
    with np.errstate(invalid="ignore", divide="ignore"):
        for part, sign in zip(layout.sides, (1, -1), strict=True):
            n = below[part].sum(axis=0)
            small_sample = 1.0 if layout.clustered else np.sqrt(n / (n - 1))
            residuals = above[part] - ratio_of_sums(above[part], below[part]) * below[part]
            influence[part] = sign * small_sample * residuals / n
        return np.asarray(np.sqrt((sum_by_cluster(influence, layout.units) ** 2).sum(axis=0)))


def _stratified(kinds: Labels, resamples: int, rng: np.random.Generator) -> Counts:
    """Bootstrap weights in which each kind of unit keeps its number: (resamples, units)."""
    weights = np.zeros((resamples, len(kinds)), dtype=np.uint16)
    for kind in np.unique(kinds):
        members = np.flatnonzero(kinds == kind)
        weights[:, members] = resample_weights(len(members), resamples, rng)
    return weights


def _interval(above: Floats, below: Floats, layout: _Layout, weights: Counts, level: float) -> tuple[Floats, Floats]:
    sides = []
    for part in layout.sides:
        touched = np.unique(layout.units[part])
        sums = (layout.sums(above, part)[touched], layout.sums(below, part)[touched])
        sides.append(resampled_ratios(weights[:, touched], *sums))
    return percentile_interval(sides[0] - sides[1], level)


def _statistics(above: Floats, below: Floats, layout: _Layout, rng: np.random.Generator, permutations: int) -> Floats:
    """|T| (permutations + 1, columns), of the data as they are in the first row. NaN where a side is without values."""
    if layout.straddled:
        return _flipped(above, below, layout, rng, permutations)
    masks = np.tile(layout.kinds == 1, (permutations + 1, 1))
    rng.permuted(masks[1:], axis=1, out=masks[1:])
    sums, counts = sum_by_cluster(above, layout.units), sum_by_cluster(below, layout.units)
    moments = np.stack([sums, counts, sums**2, sums * counts, counts**2], axis=1)
    # Columns that are defined in the same rows share most of their moments.
    columns, which = np.unique(moments.reshape(len(sums), -1), axis=1, return_inverse=True)
    which = which.reshape(moments.shape[1:])
    statistics = []
    for part in parts_of(len(masks), 1, _CHUNK_ROWS):
        inner = masks[part].astype(np.float64) @ columns
        sides = [side[:, which].swapaxes(0, 1) for side in (inner, columns.sum(axis=0) - inner)]
        statistics.append(_studentised(sides[0], sides[1], layout.clustered))
    return np.concatenate(statistics)


def _flipped(above: Floats, below: Floats, layout: _Layout, rng: np.random.Generator, permutations: int) -> Floats:
    """|T| where clusters straddle the group: were there no difference, a cluster's part could be its negative.

    The columns' means are 0, so a cluster's part is what its rows add to the difference under the null hypothesis.
    """
    parts = np.zeros_like(above)
    for part, sign in zip(layout.sides, (1, -1), strict=True):
        parts[part] = sign * above[part] / below[part].sum(axis=0)
    parts = sum_by_cluster(parts, layout.units)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(permutations + 1, len(parts)))
    signs[0] = 1.0
    return np.asarray(np.abs(signs @ parts) / np.maximum(np.sqrt((parts**2).sum(axis=0)), np.finfo(float).tiny))


def _studentised(inner: Floats, outer: Floats, clustered: bool) -> Floats:
    """|T| per permutation and column, from each side's moments (moments, permutations, columns)."""

    def squared_error(moments: Floats) -> Floats:
        """Of one side's mean: Σ(sum − mean·count)²/n², with n/(n − 1) where nothing is clustered."""
        sums, counts, squares, products, squared_counts = moments
        mean = sums / counts
        spread = np.maximum(squares - 2 * mean * products + mean**2 * squared_counts, 0.0)
        return np.asarray(spread / counts**2 if clustered else spread / (counts * (counts - 1)))

    with np.errstate(invalid="ignore", divide="ignore"):
        differences = np.abs(inner[0] / inner[1] - outer[0] / outer[1])
        error = np.sqrt(squared_error(inner) + squared_error(outer))
        return np.asarray(np.where(differences == 0, 0.0, differences / error))
