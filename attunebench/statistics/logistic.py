"""Logistic regression of comparisons on how their two sides differ, and its resamples without refitting.

Rows are correlated (verdicts about one history), so doubt never comes from the curvature: whole groups are resampled by
whoever knows them, who hands over how to sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attunebench.errors import StatisticsError
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.ratings import RIDGE

_ITERATIONS, _LONGEST_STEP = 100, 2.0
_MOVED = 0.1


class Logistic(NamedTuple):
    """Coefficients, the chance of a win that they give each row, and the inverse of the curvature there."""

    beta: Floats
    chance: Floats
    inverse: Floats


def logistic(design: Floats, outcome: Floats, ridge: float = RIDGE) -> Logistic:
    """P(outcome) = σ(design β), the penalty being ½·ridge·Σβ².

    `design` is (rows, coefficients), without a constant unless it has a column of ones; `outcome` is 1 (won), 0 (lost)
    or ½ (tied). Source: McCullagh & Nelder 1989, ch. 4.
    """
    beta: Floats = np.zeros(design.shape[1])
    for _ in range(_ITERATIONS):
        chance: Floats = 1 / (1 + np.exp(-np.clip(design @ beta, -500, 500)))
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + ridge * np.eye(len(beta))
        try:
            inverse = np.linalg.inv(curvature)
        except np.linalg.LinAlgError:
            break
        step = inverse @ (design.T @ (outcome - chance) - ridge * beta)
        longest = np.abs(step).max(initial=0.0)
        if longest < 1e-9:
            return Logistic(beta, chance, inverse)
        beta = beta + step * min(1.0, _LONGEST_STEP / max(longest, _LONGEST_STEP))
    raise StatisticsError(f"A logistic regression on {len(beta)} columns did not converge with ridge {ridge:g}.")


def bounded_by_ridge(design: Floats, outcome: Floats, beta: Floats, ridge: float = RIDGE) -> Floats:
    """1 for each coefficient that a tenth of the penalty would move by a tenth or more: the data do not bound it."""
    moved = np.abs(logistic(design, outcome, ridge / 10).beta - beta)
    return (moved > _MOVED * np.maximum(1.0, np.abs(beta))).astype(np.float64)


def resampled(design: Floats, outcome: Floats, fit: Logistic, sums: Callable[[Floats], Floats]) -> Floats:
    """`fit` in each resample by one step of Newton's method with the curvature of all rows: (resamples, coefficients).

    `sums` adds up columns of rows in each resample. Source: Kline & Santos 2012 (the score bootstrap).
    """
    score = design * (outcome - fit.chance)[:, None]
    return np.asarray(fit.beta + (sums(score) - score.sum(axis=0)) @ fit.inverse)
