"""Is a rank correlation over few points more than the chance of their order? Exact where the orders can be counted.

Works on plain arrays; chance comes in as `rng` and is only used where there are too many orders.
"""

from __future__ import annotations

from itertools import permutations as orders_of
from math import factorial

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import rank_correlations

_EXACT = 7
"""Up to so many points all orders are gone through (5,040)."""
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


def _random_orders(points: int, permutations: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return rng.permuted(np.tile(np.arange(points), (permutations, 1)), axis=1)


def _centred_ranks(values: Floats) -> Floats:
    """Twice the mean ranks of the values, centred; ties as in `rank_correlations`."""
    scale = np.abs(values).max()
    steady = np.round(values / (scale if scale > 0 else 1.0), 10)
    return np.asarray(np.sign(steady[:, None] - steady[None, :]).sum(axis=1))
