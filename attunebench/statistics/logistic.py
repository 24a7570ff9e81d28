"""Logistic regression of comparisons on how their two sides differ, and its resamples without refitting.

Rows are correlated (verdicts about one history), so doubt never comes from the curvature: whole groups are resampled by
whoever knows them, who hands over how to sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attunebench.errors import StatisticsError
from attunebench.statistics.bootstrap import Floats, Labels
from attunebench.statistics.ratings import RIDGE

Tally = Callable[[Labels, Floats, int], Floats]
"""Sums in each resample, (resamples, count): each row adds its values (rows, k) to the columns beside them."""
_ITERATIONS, _LONGEST_STEP = 100, 2.0
_MOVED = 0.1


def logistic(design: Floats, outcome: Floats, ridge: float = RIDGE, *, start: Floats | None = None) -> Floats:
    """Coefficients β of P(outcome) = σ(design β), the penalty being ½·ridge·Σβ².

    `design` is (rows, coefficients), without a constant unless it has a column of ones; `outcome` is 1 (won), 0 (lost)
    or ½ (tied). `start`: where to start looking. Source: McCullagh & Nelder 1989, ch. 4.
    """
    beta: Floats = np.zeros(design.shape[1]) if start is None else start.copy()
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
        moved = np.abs(logistic(design, outcome, ridge / 10, start=beta) - beta)
    except StatisticsError:
        return np.ones(len(beta))
    return (moved > _MOVED * np.maximum(1.0, np.abs(beta))).astype(np.float64)


def resampled_derivatives(
    design: Floats, outcome: Floats, beta: Floats, tally: Tally, ridge: float = RIDGE
) -> tuple[Floats, Floats]:
    """Gradient and curvature of the penalised log-likelihood at `beta` in each resample: (resamples, coefficients) and
    (resamples, coefficients, coefficients). Of a row only what is not 0 is looked at."""
    size, chance = len(beta), _chance(design, beta)
    most = int((design != 0).sum(axis=1).max(initial=0))
    columns = np.argsort(design == 0, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(design, columns, axis=1)
    one, other = np.triu_indices(most)
    low, high = (pick(columns[:, one], columns[:, other]) for pick in (np.minimum, np.maximum))
    products = values[:, one] * values[:, other] * (chance * (1 - chance))[:, None]
    upper = tally(low * size + high, products, size**2).reshape(-1, size, size)
    diagonal = np.eye(size)
    curvature = upper + upper.swapaxes(1, 2) + (ridge - upper) * diagonal
    return tally(columns, values * (outcome - chance)[:, None], size) - ridge * beta, curvature


def stepped(beta: Floats, gradient: Floats, curvature: Floats) -> Floats:
    """`logistic` of each resample by one step of Newton's method from the estimate of all rows, which differs from a
    whole refit by less than resampling does (Davidson & MacKinnon 1999)."""
    return np.asarray(beta + np.linalg.solve(curvature, gradient[..., None])[..., 0])


def _chance(design: Floats, beta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(design @ beta, -500, 500))))
