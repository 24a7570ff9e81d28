"""How much of the way from a baseline to the ceiling a score has come. Works on plain arrays, knows no metric.

Rows are conversations, columns are models; NaN is undefined. Higher must be better; turn the sign of the others round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
    Counts,
    Floats,
    Labels,
    percentile_interval,
    ratio_of_sums,
    resampled_ratios,
    sum_by_cluster,
)

_NOTHING = 1e-12
"""A mean distance below this is rounding: baseline and ceiling are the same."""


@dataclass(frozen=True, slots=True)
class Skills:
    """One entry per column; NaN is undefined. `n` counts the rows in which score, baseline and ceiling are defined."""

    value: Floats
    n: NDArray[np.int64]
    low: Floats
    high: Floats


def skill(
    scores: Floats,
    baseline: Floats,
    ceiling: Floats | float,
    weights: Counts,
    *,
    clusters: Labels | None = None,
    level: float = 0.95,
) -> Skills:
    """(mean score − mean baseline) / (mean ceiling − mean baseline) over the rows in common: 0 baseline, 1 ceiling.

    `scores`: (rows, columns); `baseline` and `ceiling`: (rows,), (rows, columns) or, for a ceiling, one number. A ratio
    of means, since a mean of ratios is ruled by rows with little room; below 0 is worse than the baseline. `weights`
    come from `bootstrap.resample_weights` for the number of rows, or of clusters (labels 0 … k − 1). NaN where the
    means of ceiling and baseline are equal or the wrong way round; resamples in which they are do not count. No
    interval under two rows (clusters). Source: spec 4 (baselines), our choice.
    """
    below = np.broadcast_to(_columns(baseline), scores.shape)
    above = np.broadcast_to(_columns(np.asarray(ceiling, dtype=np.float64)), scores.shape)
    defined = ~(np.isnan(scores) | np.isnan(below) | np.isnan(above))
    gained, room = np.where(defined, scores - below, 0.0), np.where(defined, above - below, 0.0)
    n, units = defined.sum(axis=0), defined.astype(np.float64)
    gained, room, units = (sum_by_cluster(part, clusters) for part in (gained, room, units))
    enough = room.sum(axis=0) > _NOTHING * np.maximum(n, 1)
    value = np.where(enough, ratio_of_sums(gained, room), np.nan)
    low, high = percentile_interval(resampled_ratios(weights, gained, room), level)
    none = ~enough | ((units > 0).sum(axis=0) < 2)
    low[none] = high[none] = np.nan
    return Skills(value, n, low, high)


def _columns(values: Floats) -> Floats:
    return values[:, None] if values.ndim == 1 else values
