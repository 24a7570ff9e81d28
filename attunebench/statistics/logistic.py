"""Logistic regression of comparisons on how their two sides differ, and its resamples without refitting.

Rows are correlated (verdicts about one history), so doubt never comes from the curvature: whole groups are resampled by
whoever knows them, who hands over the sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attunebench.errors import StatisticsError
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.ratings import RIDGE

_ITERATIONS, _LONGEST_STEP = 100, 2.0
_BLOCK_CELLS = 4_000_000
_MOVED = 0.1


def logistic(design: Floats, outcome: Floats, ridge: float = RIDGE) -> Floats:
    """Coefficients β of P(outcome) = σ(design β), the penalty being ½·ridge·Σβ².

    `design` is (rows, coefficients), without a constant unless it has a column of ones; `outcome` is 1 (won), 0 (lost)
    or ½ (tied). Source: McCullagh & Nelder 1989, ch. 4.
    """
    beta = np.zeros(design.shape[1])
    for _ in range(_ITERATIONS):
        chance = _chance(design, beta)
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + ridge * np.eye(len(beta))
        try:
            step = np.linalg.solve(curvature, design.T @ (outcome - chance) - ridge * beta)
        except np.linalg.LinAlgError:
            break
        longest = np.abs(step).max(initial=0.0)
        beta += step * min(1.0, _LONGEST_STEP / max(longest, _LONGEST_STEP))
        if longest < 1e-9:
            return beta
    raise StatisticsError(f"A logistic regression on {len(beta)} columns did not converge with ridge {ridge:g}.")


def bounded_by_ridge(design: Floats, outcome: Floats, beta: Floats, ridge: float = RIDGE) -> Floats:
    """1 for each coefficient that a tenth of the penalty would move by a tenth or more: the data do not bound it."""
    try:
        moved = np.abs(logistic(design, outcome, ridge / 10) - beta)
    except StatisticsError:
        return np.ones(len(beta))
    return (moved > _MOVED * np.maximum(1.0, np.abs(beta))).astype(np.float64)


def resampled_derivatives(
    design: Floats, outcome: Floats, beta: Floats, sums: Callable[[Floats], Floats], ridge: float = RIDGE
) -> tuple[Floats, Floats]:
    """Gradient and curvature of the penalised log-likelihood at `beta` in each resample: (resamples, coefficients) and
    (resamples, coefficients, coefficients).

    `sums` gives the weighted sums of columns of rows in each resample.
    """
    size = len(beta)
    chance = _chance(design, beta)
    weight = chance * (1 - chance)
    one, other = np.triu_indices(size)
    block = max(1, _BLOCK_CELLS // max(1, len(design)))
    parts = [slice(start, start + block) for start in range(0, len(one), block)]
    halves = np.concatenate([sums(design[:, one[at]] * design[:, other[at]] * weight[:, None]) for at in parts], axis=1)
    curvature = np.empty((len(halves), size, size))
    curvature[:, one, other] = curvature[:, other, one] = halves
    curvature += ridge * np.eye(size)
    return sums(design * (outcome - chance)[:, None]) - ridge * beta, curvature


def stepped(beta: Floats, gradient: Floats, curvature: Floats) -> Floats:
    """`logistic` of each resample by one step of Newton's method from the estimate of all rows, which differs from a
    whole refit by less than resampling does (Davidson & MacKinnon 1999)."""
    return np.asarray(beta + np.linalg.solve(curvature, gradient[..., None])[..., 0])


def _chance(design: Floats, beta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(design @ beta, -500, 500))))
