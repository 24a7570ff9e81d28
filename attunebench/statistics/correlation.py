"""Rank correlations of metrics over models: are models that are good at one thing good at another, how reproducible is
a ranking of models, and what would two metrics correlate at without their noise?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attunebench.statistics.bootstrap import (
    Floats,
    Labels,
    Resampling,
    mean_as_ratio,
    parts_of,
    percentile_interval,
    ratio,
    ratio_of_sums,
    resampled_ratios,
    steady,
    sum_by_cluster,
)

Method = Literal["spearman", "kendall"]

FEWEST_MODELS = 4
"""Under so many models a correlation has no interval: of three models there are only six orders."""

_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class CorrelationMatrix:
    """Correlations between K metrics over models, each array (K, K), in [−1, 1]; NaN is undefined.

    `n` counts the models for which both metrics are defined.
    """

    rho: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]


def correlation_matrix(
    values: Floats, resampling: Resampling, *, method: Method = "spearman", rng: np.random.Generator
) -> CorrelationMatrix:
    """Correlation between the metrics' means per model, with a percentile interval.

    `values` is (metrics, conversations, models), NaN a gap; a model's mean is over its own defined conversations.

    The interval resamples conversations and in each resample also the models, so that it speaks of models like these;
    of conversations alone it would be too narrow where models lie closer together than their standard errors (coverage
    of 0.80 in simulations). It errs to the wide side. Means of few conversations are noisy, which draws every
    correlation towards 0; `disattenuated` undoes that, the interval here does not. Under four models with both metrics
    there is no interval (NaN). A metric in which all models are tied has no correlation (NaN, not 0). Source: spec 07.
    """
    metrics, conversations, models = values.shape
    above, below = mean_as_ratio(values.transpose(1, 0, 2).reshape(conversations, metrics * models))
    means = ratio_of_sums(above, below).reshape(metrics, models)
    samples = resampling.ratios(above, below).reshape(len(resampling.weights), metrics, models)
    drawn = rng.integers(0, models, size=(len(samples), 1, models))
    resampled = rank_correlations(np.take_along_axis(samples, drawn, axis=2), method).reshape(len(samples), metrics**2)
    low, high = (
        b.reshape(metrics, metrics) for b in percentile_interval(resampled, resampling.level, keep_constant=True)
    )
    defined = (~np.isnan(means)).astype(np.int64)
    n = defined @ defined.T
    low[n < FEWEST_MODELS] = high[n < FEWEST_MODELS] = np.nan
    return CorrelationMatrix(rank_correlations(means[None], method)[0], low, high, n)


def rank_correlations(values: Floats, method: Method = "spearman") -> Floats:
    """Correlations between the rows of each table: (tables, rows, points) → (tables, rows, rows). Gaps pairwise.

    "spearman" is ρ with mean ranks for ties, "kendall" is τ-b, both as in scipy.stats. NaN where a side is all tied.
    Values closer than 1e-10 of a row's largest are ties: means of equal numbers differ in their last bits.
    """
    found = np.empty((*values.shape[:2], values.shape[1]))
    for part in parts_of(len(values), values.shape[1] * values.shape[2] ** 2, _CHUNK_CELLS):
        found[part] = _correlations(steady(values[part]), method)
    return found


def _correlations(values: Floats, method: Method) -> Floats:
    known = ~np.isnan(values)
    if method == "spearman" and known.all():
        from scipy.stats import rankdata

        ranks = rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2
        squares = (ranks**2).sum(axis=-1)
        return _correlation(ranks @ ranks.swapaxes(-1, -2), squares[:, :, None], squares[:, None, :])
    # Both coefficients can be had from the signs of all differences between points, which know how to leave gaps out:
    # those of a point sum to twice its centred mean rank.
    with np.errstate(invalid="ignore"):
        signs = np.nan_to_num(np.sign(values[..., :, None] - values[..., None, :]))
    defined = known.astype(np.float64)
    if method == "kendall":
        flat = signs.reshape(*values.shape[:2], -1)
        untied = flat**2 @ (defined[..., :, None] * defined[..., None, :]).reshape(flat.shape).swapaxes(-1, -2)
        return _correlation(flat @ flat.swapaxes(-1, -2), untied, untied.swapaxes(-1, -2))
    # ranks[t, a, i, b]: of point i in row a, among the points that are defined in row b as well.
    ranks = (signs @ defined[:, None].swapaxes(-1, -2)) * defined.swapaxes(-1, -2)[:, None]
    squares = (ranks**2).sum(axis=2)
    return _correlation(np.einsum("taib,tbia->tab", ranks, ranks), squares, squares.swapaxes(-1, -2))


def _correlation(products: Floats, squares: Floats, other_squares: Floats) -> Floats:
    return np.clip(ratio(products, np.sqrt(squares * other_squares)), -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Reliability of one ranking, in [−1, 1]; NaN is undefined.

    `reliability` is stepped up to all conversations, `half` is the mean correlation between halves as it was found.
    `low` and `high` enclose the central 95 % of the splits: how much the split matters, not a confidence interval.
    `n` counts the conversations with a value, `models` the models.
    """

    reliability: float
    low: float
    high: float
    half: float
    n: int
    models: int


def split_half(
    values: Floats, *, rng: np.random.Generator, splits: int = 1000, clusters: Labels | None = None
) -> SplitHalf:
    """Spearman's ρ of the models' means between random halves, stepped up by Spearman and Brown.

    `values` is (conversations, models), NaN a gap. With `clusters` (labels 0 … k − 1) a cluster goes into one half as
    a whole: a person in both halves would make them agree. The correction is applied to the mean over the splits.
    Under two conversations (clusters) or two models everything is NaN. Source: spec 07; Spearman 1910, Brown 1910.
    """
    above, below = mean_as_ratio(values)
    n, models = int(below.any(axis=1).sum()), int(below.any(axis=0).sum())
    above, below = sum_by_cluster(above, clusters), sum_by_cluster(below, clusters)
    filled = below.any(axis=1)
    above, below = above[filled], below[filled]
    found = np.empty(0)
    if len(above) > 1 and models > 1:
        first = rng.permuted(np.tile(np.arange(len(above)) < len(above) // 2, (splits, 1)), axis=1)
        halves = np.stack([resampled_ratios(half.astype(np.uint16), above, below) for half in (first, ~first)], axis=1)
        found = rank_correlations(halves)[:, 0, 1]
        found = found[~np.isnan(found)]
    if not found.size:
        return SplitHalf(np.nan, np.nan, np.nan, np.nan, n, models)
    low, high = percentile_interval(stepped_up(found)[:, None], keep_constant=True)
    half = float(found.mean())
    return SplitHalf(float(stepped_up(half)), float(low[0]), float(high[0]), half, n, models)


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
    a, b = (np.where(np.asarray(one) > 0, one, np.nan) for one in (reliability_a, reliability_b))
    return np.clip(ratio(rho, np.sqrt(a * b)), -1.0, 1.0)
