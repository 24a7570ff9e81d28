"""Rank correlation of two vectors: its p over few points (models), and its interval over many (conversations); and
whether ranks differ between two settings by more than chance.

Works on plain arrays; chance comes in as `rng` and is only used where there are too many orders.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations as orders_of
from math import factorial

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.agreement import Agreement
from attunebench.statistics.bootstrap import Counts, Floats, Labels, percentile_interval, steady, sum_by_cluster
from attunebench.statistics.correlation import rank_correlations
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
    both = ~np.isnan(a) & ~np.isnan(b)
    x, y = a[both], b[both]
    observed = float(rank_correlations(np.stack([x, y])[None])[0, 0, 1]) if len(x) > 2 else np.nan
    if np.isnan(observed):
        return np.nan
    exact = len(x) <= _EXACT
    orders = np.array(list(orders_of(range(len(x))))) if exact else _random_orders(len(x), permutations, rng)
    left, right = _centred_ranks(x), _centred_ranks(y)
    drawn = right[orders] @ left / np.sqrt((left**2).sum() * (right**2).sum())
    extreme = int((np.abs(drawn) >= abs(observed) - _ROUNDING).sum())
    return extreme / factorial(len(x)) if exact else (1 + extreme) / (permutations + 1)


def least_spearman_p(points: int) -> float:
    """The smallest p that so many points can give: two of all their orders; 1 under three points."""
    return 2 / factorial(points) if points > 2 else 1.0


def _random_orders(points: int, permutations: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return rng.permuted(np.tile(np.arange(points), (permutations, 1)), axis=1)


def _centred_ranks(values: Floats) -> Floats:
    """Twice the mean ranks of the values, centred; ties as in `rank_correlations`."""
    rounded = steady(values)
    return np.asarray(np.sign(rounded[:, None] - rounded[None, :]).sum(axis=1))


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


def spearman(
    a: Floats,
    b: Floats,
    *,
    draws: Counts,
    clusters: Labels | None = None,
    confidence: float = 0.95,
    fewest: int = FEWEST_UNITS,
) -> Agreement:
    """Spearman's ρ over units (conversations, say) and its percentile interval over resampled units, or clusters.

    `a` and `b` have an entry per unit, NaN a gap; `draws` come from `resample_weights` for the number of units, or of
    clusters (labels 0 … k − 1). In each resample a unit counts as often as it was drawn, ties share their mean rank.
    NaN under three units with both or where a side is all tied, as is every such resample, which then does not count;
    no interval under `fewest` units (clusters). Source: spec 07.
    """
    from scipy.sparse import csr_array

    both = np.flatnonzero(~(np.isnan(a) | np.isnan(b)))
    drawn_units, units = np.unique(both if clusters is None else clusters[both], return_inverse=True)
    undefined = Agreement(np.nan, np.nan, np.nan, len(both), len(drawn_units))
    if len(both) < 3:
        return undefined
    # Equal pairs count together: ratings may be many and of few values.
    pairs, which = np.unique(np.stack([steady(a[both]), steady(b[both])]), axis=1, return_inverse=True)
    counts = csr_array((np.ones(len(both)), (units.reshape(-1), which.reshape(-1))))
    rho = float(_weighted_rho(pairs, counts.sum(axis=0)[None])[0])
    if len(drawn_units) < fewest or np.isnan(rho):
        return replace(undefined, value=rho)
    size = max(1, _CHUNK_CELLS // pairs.shape[1])
    parts = (draws[start : start + size, drawn_units].astype(np.float64) for start in range(0, len(draws), size))
    samples = np.concatenate([_weighted_rho(pairs, part @ counts) for part in parts])
    low, high = percentile_interval(samples[:, None], confidence)
    return replace(undefined, value=rho, low=float(low[0]), high=float(high[0]))


def _weighted_rho(pairs: Floats, weights: Floats) -> Floats:
    """ρ per draw (draws,) of pairs (2, pairs) that count as often as (draws, pairs) says."""
    n = weights.sum(axis=1)
    left, right = (_midranks(side, weights) - (n[:, None] + 1) / 2 for side in pairs)
    products = (weights * left * right).sum(axis=1)
    squares = (weights * left**2).sum(axis=1) * (weights * right**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(products / np.sqrt(np.where(squares > 0, squares, np.nan)), -1.0, 1.0))


def _midranks(values: Floats, weights: Floats) -> Floats:
    """The mean rank of each value in each draw: (draws, values)."""
    _, which, sizes = np.unique(values, return_inverse=True, return_counts=True)
    by_level = np.argsort(which, kind="stable")
    per_level = np.add.reduceat(weights[:, by_level], np.cumsum(sizes) - sizes, axis=1)
    middle = np.cumsum(per_level, axis=1) - per_level + (per_level + 1) / 2
    return np.asarray(middle[:, which])
