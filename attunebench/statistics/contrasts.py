"""Is a value higher inside a group of conversations than outside?

Rows are conversations, columns are quantities, the group is a mask over the rows. Which groups are worth asking about,
and which are too small for a claim, is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
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
    centres = ratio_of_sums(*mean_as_ratio(values))
    centred = values - centres  # sums of squares then lose no digits
    centred[np.abs(centred) <= 1e-12 * np.abs(centres)] = 0.0
    groups = _Groups.of(centred, inside, clusters)
    (mean_in, n_in, units_in), (mean_out, n_out, units_out) = groups.sides
    known = (units_in > 1) & (units_out > 1)
    se, least = groups.standard_error(), groups.least(units_in, units_out)
    se[~known] = least[~known] = np.nan
    low, high, p = np.full((3, len(se)), np.nan)
    if known.any():
        tested = groups.columns(known)
        low[known], high[known] = tested.interval(resamples, rng, level)
        needed = permutations_needed(values.shape[1] if tests is None else tests, alpha)
        drawn = permutations or (needed if needed <= _MOST else FEWEST)
        statistics = (tested.flipped if groups.straddled else tested.permuted)(drawn, rng.spawn(1)[0])
        # A side without values: no evidence in the data, and as extreme as can be in a permutation.
        observed, null = (np.where(np.isnan(t), of, t) for t, of in ((statistics[0], 0.0), (statistics[1:], np.inf)))
        df = np.inf if groups.straddled else np.minimum(units_in, units_out)[known] - 1.0
        tail = null if permutations is None and drawn < needed else None
        p[known] = permutation_p(observed, at_least(observed, null).sum(axis=0), len(null), tail, least[known], df)
    mde = minimum_detectable_effect(se, alpha=alpha, power=power)
    means = (mean_in - mean_out, mean_in + centres, mean_out + centres)
    return GroupContrast(*means, n_in, n_out, units_in, units_out, se, low, high, p, mde, least)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The rows of a group and the others, of columns whose means are 0.

    `units` labels the rows that are resampled and permuted together (rows, or whole clusters). `kinds` has an entry per
    unit: 0 has rows outside only, 1 inside only, 2 on both sides.
    """

    above: Floats
    below: Floats
    masks: tuple[Mask, Mask]
    units: Labels
    kinds: Labels
    clustered: bool

    @classmethod
    def of(cls, values: Floats, inside: Mask, clusters: Labels | None) -> _Groups:
        # Numbered anew: a cluster that has no row among these must not be drawn.
        units = np.arange(len(inside)) if clusters is None else np.unique(clusters, return_inverse=True)[1].reshape(-1)
        shares = np.bincount(units, weights=inside) / np.bincount(units)
        kinds = np.where(shares == 0, 0, np.where(shares == 1, 1, 2)).astype(np.intp)
        return cls(*mean_as_ratio(values), (inside, ~inside), units, kinds, clusters is not None)

    def columns(self, chosen: Mask) -> _Groups:
        """Some of the columns alone."""
        return replace(self, above=self.above[:, chosen], below=self.below[:, chosen])

    @property
    def straddled(self) -> bool:
        """Whether a unit has rows on both sides."""
        return bool((self.kinds == 2).any())

    @property
    def sides(self) -> list[tuple[Floats, Labels, Labels]]:
        """The mean of each column inside and outside, and over how many rows and units it is."""
        found = []
        for part in self.masks:
            above, below = self.above[part], self.below[part]
            units = (self.sums(self.below, part) > 0).sum(axis=0)
            found.append((ratio_of_sums(above, below), below.sum(axis=0).astype(np.int64), units))
        return found

    def sums(self, columns: Floats, part: Mask) -> Floats:
        """Sums per unit over the rows of one side: (units, columns)."""
        return sum_by_cluster(columns * part[:, None], self.units)

    def least(self, units_in: Labels, units_out: Labels) -> Floats:
        """The smallest p of a column with so many units inside and outside: one of all the ways to arrange them."""
        if self.straddled:
            # A unit on both sides flips once, so that there are no fewer flips than this.
            return np.asarray(0.5 ** (np.maximum(units_in, units_out) - 1.0))
        both = zip(units_in.tolist(), units_out.tolist(), strict=True)
        # Groups of one size can change sides, which leaves |T| as it is.
        return np.array([(2 if a == b else 1) / comb(a + b, a) for a, b in both])

    def standard_error(self) -> Floats:
        """Of the difference of the two means; clusters with rows on both sides bring their covariance in."""
        influence = np.zeros_like(self.above)
        with np.errstate(invalid="ignore", divide="ignore"):
            for part, sign in zip(self.masks, (1, -1), strict=True):
                above, below, n = self.above[part], self.below[part], self.below[part].sum(axis=0)
                small_sample = 1.0 if self.clustered else np.sqrt(n / (n - 1))
                influence[part] = sign * small_sample * (above - ratio_of_sums(above, below) * below) / n
            return np.asarray(np.sqrt((sum_by_cluster(influence, self.units) ** 2).sum(axis=0)))

    def interval(self, resamples: int, rng: np.random.Generator, level: float) -> tuple[Floats, Floats]:
        """The percentile interval of the difference; each kind of unit keeps its number in all resamples."""
        weights = np.zeros((resamples, len(self.kinds)), dtype=np.uint16)
        for kind in np.unique(self.kinds):
            members = np.flatnonzero(self.kinds == kind)
            weights[:, members] = resample_weights(len(members), resamples, rng)
        inside, outside = (
            resampled_ratios(weights[:, units], self.sums(self.above, part)[units], self.sums(self.below, part)[units])
            for part, units in ((part, np.unique(self.units[part])) for part in self.masks)
        )
        return percentile_interval(inside - outside, level)

    def permuted(self, permutations: int, rng: np.random.Generator) -> Floats:
        """|T| (permutations + 1, columns), of the data in the first row. NaN where a side is without values."""
        masks = np.tile(self.kinds == 1, (permutations + 1, 1))
        rng.permuted(masks[1:], axis=1, out=masks[1:])
        sums, counts = sum_by_cluster(self.above, self.units), sum_by_cluster(self.below, self.units)
        moments = np.stack([sums, counts, sums**2, sums * counts, counts**2], axis=1)
        # Columns that are defined in the same rows share most of their moments.
        columns, which = np.unique(moments.reshape(len(sums), -1), axis=1, return_inverse=True)
        which = which.reshape(moments.shape[1:])
        statistics = []
        for part in parts_of(len(masks), 1, _CHUNK_ROWS):
            inner = masks[part].astype(np.float64) @ columns
            sides = (inner, columns.sum(axis=0) - inner)
            inside, outside = (side[:, which].swapaxes(0, 1) for side in sides)
            statistics.append(_studentised(inside, outside, self.clustered))
        return np.concatenate(statistics)

    def flipped(self, permutations: int, rng: np.random.Generator) -> Floats:
        """|T| where clusters straddle the group: were there no difference, a cluster's part could be its negative.

        The columns' means are 0, so a cluster's part is what its rows add to the difference under the null hypothesis.
        """
        parts = np.zeros_like(self.above)
        for part, sign in zip(self.masks, (1, -1), strict=True):
            parts[part] = sign * self.above[part] / self.below[part].sum(axis=0)
        parts = sum_by_cluster(parts, self.units)
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
