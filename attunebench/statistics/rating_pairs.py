"""Two raters who put the same units on a scale: do they order them alike, and does one rate higher?

Works on plain arrays, one entry per unit, NaN a rating that was not given. Units come in clusters (the drafts of a
conversation), which are what is resampled. Agreement on labels is `agreement`'s business.
"""

from __future__ import annotations

import numpy as np

from attunebench.statistics.agreement import Agreement
from attunebench.statistics.bootstrap import Counts, Floats, Labels, estimate_ratios, mean_as_ratio, percentile_interval

_CHUNK_CELLS = 4_000_000


def rank_agreement(a: Floats, b: Floats, *, draws: Counts, clusters: Labels, confidence: float = 0.95) -> Agreement:
    """Spearman's ρ over the units that both rated, ties at their mean rank, in [−1, 1].

    NaN where one of them rates all units alike. `clusters` labels the units 0 … k − 1, and `draws` come from
    `resample_weights` for k; the interval is a percentile one over clusters, NaN under two of them. Source: spec 07.
    """
    both = ~(np.isnan(a) | np.isnan(b))
    values, at = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    one, other = np.split(at.reshape(-1), 2)
    tables = np.zeros((draws.shape[1], len(values), len(values)))
    np.add.at(tables, (clusters[both], one, other), 1)
    value = float(_rho(tables.sum(axis=0, keepdims=True))[0]) if len(values) else np.nan
    n, groups = int(both.sum()), len(np.unique(clusters[both]))
    if groups < 2:
        return Agreement(value, np.nan, np.nan, n, groups)
    size = max(1, _CHUNK_CELLS // len(values) ** 2)
    flat = tables.reshape(len(tables), -1)
    samples = [
        _rho((draws[start : start + size].astype(np.float64) @ flat).reshape(-1, len(values), len(values)))
        for start in range(0, len(draws), size)
    ]
    low, high = percentile_interval(np.concatenate(samples)[:, None], confidence)
    return Agreement(value, float(low[0]), float(high[0]), n, groups)


def mean_difference(a: Floats, b: Floats, *, draws: Counts, clusters: Labels, confidence: float = 0.95) -> Agreement:
    """Mean of a − b over the units that both rated; `draws` and `clusters` as in `rank_agreement`.

    A unit counts once, so that a cluster of many units counts for more than one of few.
    """
    differences = (a - b)[:, None]
    found = estimate_ratios(*mean_as_ratio(differences), draws, clusters=clusters, level=confidence)
    known = ~np.isnan(differences[:, 0])
    groups = len(np.unique(clusters[known]))
    return Agreement(float(found.value[0]), float(found.low[0]), float(found.high[0]), int(found.n[0]), groups)


def _rho(tables: Floats) -> Floats:
    """Per table of how often rating i met rating j: Pearson's r of the mean ranks, NaN where a side is one value."""
    half = tables.sum(axis=(1, 2))[:, None] / 2
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    x, y = (sums.cumsum(axis=1) - sums / 2 - half for sums in (rows, columns))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt((rows * x**2).sum(axis=1) * (columns * y**2).sum(axis=1))
        return np.asarray(np.einsum("tij,ti,tj->t", tables, x, y) / np.where(scale > 0, scale, np.nan))
