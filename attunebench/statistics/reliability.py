"""How reproducible a ranking of models is, and what two metrics would correlate at without their noise.

Works on plain arrays. A weak correlation between two metrics means little where either cannot rank the models the same
way twice; these numbers tell the two cases apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attunebench.statistics.bootstrap import (
    Floats,
    Labels,
    mean_as_ratio,
    percentile_interval,
    resampled_ratios,
    sum_by_cluster,
)
from attunebench.statistics.correlation import Method, rank_correlations


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Reliability of one ranking, in [−1, 1]; NaN is undefined.

    `reliability` is stepped up to all conversations, `half` is the mean correlation between halves as it was found.
    `low` and `high` enclose the central 95 % of the splits: how much the split matters, not a confidence interval.
    `n` counts the conversations with a value, `models` the models, `splits` those in which a correlation existed.
    """

    reliability: float
    low: float
    high: float
    half: float
    n: int
    models: int
    splits: int


def split_half(
    values: Floats,
    *,
    rng: np.random.Generator,
    splits: int = 1000,
    method: Method = "spearman",
    clusters: Labels | None = None,
) -> SplitHalf:
    """Rank correlation of the models' means between random halves, stepped up by Spearman and Brown.

    `values` is (conversations, models), NaN a gap. With `clusters` (labels 0 … k − 1) a cluster goes into one half as
    a whole: a person in both halves would make them agree. The correction is applied to the mean over the splits.
    Under two conversations (clusters) or two models everything is NaN. Source: spec 07; Spearman 1910, Brown 1910.
    """
    above, below = mean_as_ratio(values)
    n, models = int(below.any(axis=1).sum()), int(below.any(axis=0).sum())
    above, below = sum_by_cluster(above, clusters), sum_by_cluster(below, clusters)
    filled = below.any(axis=1)
    above, below = above[filled], below[filled]
    if len(above) < 2 or models < 2:
        return SplitHalf(np.nan, np.nan, np.nan, np.nan, n, models, 0)
    first = rng.permuted(np.tile(np.arange(len(above)) < len(above) // 2, (splits, 1)), axis=1)
    halves = np.stack([resampled_ratios(half.astype(np.uint16), above, below) for half in (first, ~first)], axis=1)
    found = rank_correlations(halves, method)[:, 0, 1]
    found = found[~np.isnan(found)]
    if not found.size:
        return SplitHalf(np.nan, np.nan, np.nan, np.nan, n, models, 0)
    low, high = percentile_interval(stepped_up(found)[:, None], keep_constant=True)
    half = float(found.mean())
    return SplitHalf(float(stepped_up(half)), float(low[0]), float(high[0]), half, n, models, len(found))


def stepped_up(half: ArrayLike) -> Floats:
    """Spearman and Brown's reliability of the whole from the correlation between its halves: 2r/(1 + |r|).

    Below 0, where 2r/(1 + r) would run to −∞, the formula is mirrored, so that the result stays in [−1, 1].
    """
    r = np.asarray(half, dtype=np.float64)
    return np.asarray(2 * r / (1 + np.abs(r)))


def disattenuated(rho: ArrayLike, reliability_a: ArrayLike, reliability_b: ArrayLike) -> Floats:
    """ρ/√(reliability_a · reliability_b): the correlation that noiseless metrics would have, clipped to [−1, 1].

    NaN where a reliability is not above 0: such a ranking holds nothing reproducible that could correlate. Values at
    the clip mean "as high as it can be", and the lower the reliabilities, the less the result can be trusted.
    Arguments broadcast. Source: spec 07; Spearman 1904.
    """
    a, b = np.asarray(reliability_a, dtype=np.float64), np.asarray(reliability_b, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.asarray(rho, dtype=np.float64) / np.sqrt(a * b)
    return np.asarray(np.where((a > 0) & (b > 0), np.clip(found, -1.0, 1.0), np.nan))
