"""How far two measurements of the same units go together: Spearman's ρ of plain arrays, with an interval.

Knows not what the units are; whoever has several rows for one unit takes their mean first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attunebench.statistics.bootstrap import Floats, percentile_interval
from attunebench.statistics.correlation import rank_correlations

FEWEST_UNITS = 10
"""Under so many units there is no interval: resamples of them hold hardly any distinct values."""

_CHUNK_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Association:
    """ρ in [−1, 1] over `n` units; NaN is undefined."""

    rho: float
    low: float
    high: float
    n: int


def spearman(
    x: Floats, y: Floats, *, rng: np.random.Generator, resamples: int = 10_000, level: float = 0.95
) -> Association:
    """Spearman's ρ between two columns, over the units for which both are defined, with a percentile interval.

    Units are resampled in pairs. NaN where a side is all tied, as is every such resample, which then does not count; no
    interval under ten units. Source: spec 07.
    """
    both = ~(np.isnan(x) | np.isnan(y))
    pair = np.stack([x[both], y[both]])
    n = pair.shape[1]
    if n < 2:
        return Association(np.nan, np.nan, np.nan, n)
    rho = float(rank_correlations(pair[None])[0, 0, 1])
    if n < FEWEST_UNITS or np.isnan(rho):
        return Association(rho, np.nan, np.nan, n)
    samples = np.empty((resamples, 1))
    size = max(1, _CHUNK_CELLS // n)
    for start in range(0, resamples, size):
        rows = slice(start, min(start + size, resamples))
        drawn = rng.integers(0, n, size=(rows.stop - start, n))
        samples[rows, 0] = rank_correlations(pair[:, drawn].swapaxes(0, 1))[:, 0, 1]
    low, high = percentile_interval(samples, level)
    return Association(rho, float(low[0]), float(high[0]), n)
