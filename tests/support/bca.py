"""BCa intervals of means, as `score --ci bca` makes them of ratios."""

from __future__ import annotations

from typing import Any

from attunebench.statistics.bootstrap import Floats, Labels, Resampling, mean_as_ratio, resample_weights
from attunebench.statistics.intervals import BcaIntervals, bca_ratios


def bca_of_means(values: Floats, *, rng: Any, resamples: int, clusters: Labels | None = None) -> BcaIntervals:
    """The intervals of the columns' means over rows, or clusters of them."""
    above, below = mean_as_ratio(values)
    units = len(values) if clusters is None else int(clusters.max()) + 1
    return bca_ratios(above, below, Resampling(resample_weights(units, resamples, rng), clusters))
