"""Rank correlation of two vectors: its p over few points (models), and its interval over many (conversations); and
whether ranks differ between two settings by more than chance.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations as orders_of
from math import factorial

import numpy as np

from attunebench.statistics.agreement import Agreement
from attunebench.statistics.bootstrap import (
    Floats,
    Labels,
    Resampling,
    parts_of,
    percentile_interval,
    ratio,
    steady,
    sum_by_cluster,
)
from attunebench.statistics.ranks import competition_ranks

_EXACT = 7
"""Up to so many points all orders are gone through (5,040)."""
FEWEST_UNITS = 10
"""Under so many units `spearman` has no interval: resamples of them hold hardly any distinct values."""
_CHUNK_CELLS = 2_000_000
_ROUNDING = 1e-9
"""Coefficients closer than this are equal: the same sum taken in another order differs in its last bits."""


def spearman_p(a: Floats, b: Floats, *, rng: np.random.Generator, permutations: int = 10_000) -> float:
    """Two-sided p of Spearman's ρ between two vectors, NaN a gap, by permuting the points of one of them.

    Exact for up to seven points: the share of all orders whose |ρ| is as large. Beyond that
    (1 + #{|ρ*| ≥ |ρ|})/(permutations + 1). NaN under three points or where a side is all tied. The least p that k
    points can give is 2/k!, 0.083 for four: so few models cannot show a correlation.
    """
    from scipy.stats import rankdata

    both = ~np.isnan(a + b)
    points = int(both.sum())
    left, right = (rankdata(steady(side[both])) - (points + 1) / 2 for side in (a, b))
    scale = np.sqrt((left**2).sum() * (right**2).sum())
    if points < 3 or not scale:
        return np.nan
    exact = points <= _EXACT
    if exact:
        orders = np.array(list(orders_of(range(points))))
    else:
        orders = rng.permuted(np.tile(np.arange(points), (permutations, 1)), axis=1)
    extreme = int((np.abs(right[orders] @ left) / scale >= abs(right @ left) / scale - _ROUNDING).sum())
    return extreme / factorial(points) if exact else (1 + extreme) / (permutations + 1)


def least_spearman_p(points: int) -> float:
    """The smallest p that so many points can give: two of all their orders; 1 under three points."""
    return 2 / factorial(points) if points > 2 else 1.0


def rank_shift_p(
    before: Floats,
    after: Floats,
    *,
    rng: np.random.Generator,
    permutations: int = 10_000,
    clusters: Labels | None = None,
) -> Floats:
    """p of each model's change of rank between two settings, for all models at once: (models,).

    `before` and `after` are (rows, models) without gaps, higher is better. Were the settings one and the same, a row
    (or a whole cluster) could be exchanged between them; p = (1 + #{largest |shift*| ≥ |shift|})/(permutations + 1)
    bounds the chance of any false claim. Resampled rows cannot serve here: of close models they show shifts that look
    sure where there is none. NaN under two rows (clusters). Source: our choice.
    """
    middle, half = (before + after).mean(axis=0) / 2, (after - before) / (2 * len(before))
    half = sum_by_cluster(half, clusters)
    if len(half) < 2:
        return np.full(before.shape[1], np.nan)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(permutations + 1, len(half)))
    signs[0] = 1.0
    moved = signs @ half
    shifts = np.abs(competition_ranks(middle - moved) - competition_ranks(middle + moved))
    largest = shifts[1:].max(axis=1)
    return np.asarray((1 + (largest[:, None] >= shifts[0]).sum(axis=0)) / (permutations + 1))


def spearman(a: Floats, b: Floats, resampling: Resampling, *, fewest: int = FEWEST_UNITS) -> Agreement:
    """Spearman's ρ over rows (conversations, say), NaN a gap, and its percentile interval over resampled units.

    In each resample a row counts as often as its unit was drawn, ties share their mean rank. NaN under three rows with
    both or where a side is all tied, as is every such resample, which then does not count; no interval under `fewest`
    units. Source: spec 07.
    """
    from scipy.sparse import csr_array

    both = np.flatnonzero(~np.isnan(a + b))
    drawn, units = np.unique(both if resampling.clusters is None else resampling.clusters[both], return_inverse=True)
    found = Agreement(np.nan, np.nan, np.nan, len(both), len(drawn))
    if len(both) < 3:
        return found
    # Equal pairs count together: ratings may be many and of few values.
    pairs, which = np.unique(np.stack([steady(a[both]), steady(b[both])]), axis=1, return_inverse=True)
    counts = csr_array((np.ones(len(both)), (units.reshape(-1), which.reshape(-1))))
    rho = float(_weighted_rho(pairs, counts.sum(axis=0)[None])[0])
    if len(drawn) < fewest or np.isnan(rho):
        return replace(found, value=rho)
    samples = [
        _weighted_rho(pairs, resampling.weights[part][:, drawn].astype(np.float64) @ counts)
        for part in parts_of(len(resampling.weights), pairs.shape[1], _CHUNK_CELLS)
    ]
    low, high = percentile_interval(np.concatenate(samples)[:, None], resampling.level)
    return replace(found, value=rho, low=float(low[0]), high=float(high[0]))


def _weighted_rho(pairs: Floats, weights: Floats) -> Floats:
    """ρ per draw (draws,) of pairs (2, pairs) that count as often as (draws, pairs) says."""
    n = weights.sum(axis=1)
    left, right = (_midranks(side, weights) - (n[:, None] + 1) / 2 for side in pairs)
    products = (weights * left * right).sum(axis=1)
    squares = (weights * left**2).sum(axis=1) * (weights * right**2).sum(axis=1)
    return np.clip(ratio(products, np.sqrt(squares)), -1.0, 1.0)


def _midranks(values: Floats, weights: Floats) -> Floats:
    """The mean rank of each value in each draw: (draws, values)."""
    _, which, sizes = np.unique(values, return_inverse=True, return_counts=True)
    by_level = np.argsort(which, kind="stable")
    per_level = np.add.reduceat(weights[:, by_level], np.cumsum(sizes) - sizes, axis=1)
    middle = np.cumsum(per_level, axis=1) - per_level + (per_level + 1) / 2
    return np.asarray(middle[:, which])
