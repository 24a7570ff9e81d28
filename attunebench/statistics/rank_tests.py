"""Rank correlation of two vectors: its p over few points (models), and its interval over many (conversations); and
whether ranks differ between two settings by more than chance.

Works on plain arrays; chance comes in as `rng` and is only used where there are too many orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations as orders_of
from math import factorial

import numpy as np
from numpy.typing import NDArray

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


def spearman_interval(
    a: Floats, b: Floats, weights: Counts, *, clusters: Labels | None = None, level: float = 0.95
) -> tuple[float, float, float]:
    """Spearman's ρ over rows (conversations, say) and its percentile interval over resampled rows, or clusters.

    `a` and `b` have an entry per row, NaN a gap; `weights` come from `bootstrap.resample_weights` for the number of
    rows, or of clusters (labels 0 … k − 1). In each resample a row counts as often as it was drawn, ties share their
    mean rank. (ρ, low, high); NaN under three rows or where a side is all tied.
    """
    both = ~np.isnan(a) & ~np.isnan(b)
    if both.sum() < 3:
        return np.nan, np.nan, np.nan
    drawn = (weights if clusters is None else weights[:, clusters])[:, both].astype(np.float64)
    rho = _weighted_rho(a[both], b[both], np.ones((1, int(both.sum()))))[0]
    if np.isnan(rho):
        return np.nan, np.nan, np.nan
    low, high = percentile_interval(_weighted_rho(a[both], b[both], drawn)[:, None], level)
    return float(rho), float(low[0]), float(high[0])


def _weighted_rho(a: Floats, b: Floats, weights: Floats) -> Floats:
    """ρ per draw (draws,) with rows weighted (draws, rows)."""
    n = weights.sum(axis=1)
    left, right = (_midranks(side, weights) - (n[:, None] + 1) / 2 for side in (a, b))
    products = (weights * left * right).sum(axis=1)
    squares = (weights * left**2).sum(axis=1) * (weights * right**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(products / np.sqrt(np.where(squares > 0, squares, np.nan)), -1.0, 1.0))


def _midranks(values: Floats, weights: Floats) -> Floats:
    """The mean rank of each row in each draw: (draws, rows)."""
    levels, which = np.unique(steady(values), return_inverse=True)
    of_level = (which.reshape(-1)[:, None] == np.arange(len(levels))).astype(np.float64)
    per_level = weights @ of_level
    middle = np.cumsum(per_level, axis=1) - per_level + (per_level + 1) / 2
    return np.asarray(middle[:, which.reshape(-1)])


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
