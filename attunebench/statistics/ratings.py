"""Ratings of models from head-to-head comparisons (Bradley and Terry), with the effect of standing first if known.

What a win is (a judge's verdict, a higher metric on one conversation) is decided by whoever counts them. Intervals
resample conversations: verdicts about one conversation are no independent evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import ArrayLike

from attunebench.errors import StatisticsError
from attunebench.statistics.bootstrap import Floats, Labels, Resampling, parts_of, percentile_interval

RIDGE = 0.1
"""Default penalty ½·ridge·Σθ²: bounds the rating of a model that wins or loses everything, and is too weak to be seen
once a model has some dozens of comparisons."""

_TIE = 1e-12
_ITERATIONS = 100
_LONGEST_STEP = 2.0
_CHUNK_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Ratings:
    """One entry per model, NaN for a model without comparisons.

    `theta` is on the log-odds scale and sums to 0, `elo` = 1000 + 400/ln 10 · theta, `low` and `high` enclose elo (NaN
    where nothing was resampled). `n` counts comparisons. `group` numbers the sets of models that are linked by
    comparisons: each sums to 0 by itself, and ratings of different groups say nothing about each other.
    `gamma` is the log-odds advantage of standing first, NaN where the slots are unknown.
    """

    theta: Floats
    elo: Floats
    low: Floats
    high: Floats
    n: Floats
    group: Labels
    gamma: float


def win_matrix(values: Floats) -> Floats:
    """Per conversation who beats whom, from metric values (conversations, models): (conversations, models, models).

    Entry i, j is 1 where i is higher than j, ½ for a tie, 0 where it is lower or either is undefined (NaN). With w the
    sum over conversations, w / (w + wᵀ) is the win rate.
    """
    with np.errstate(invalid="ignore"):
        difference = values[:, :, None] - values[:, None, :]
        wins = np.where(np.abs(difference) <= _TIE, 0.5, (difference > 0).astype(np.float64))
    wins[:, np.arange(values.shape[1]), np.arange(values.shape[1])] = 0.0
    return np.asarray(wins)


def bradley_terry(wins: Floats, *, slot: Floats | None = None, ridge: float = RIDGE) -> Ratings:
    """Ratings in which P(i beats j) = σ(θ_i − θ_j + γ·slot), slot +1 where i stands first and −1 where j does.

    `wins` is (models, models): how often i beats j, a tie half to each. `slot`, of the same shape, says how many of
    these wins i had when it stood first; without it there is no γ. Raises StatisticsError where the fit does not
    converge, which with `ridge` above 0 does not happen; without it some model must have beaten and lost to others.
    Source: spec 07; Bradley & Terry 1952, Davidson & Beaver 1977.
    """
    from scipy.sparse.csgraph import connected_components

    (estimates,) = _fit(wins[None], None if slot is None else slot[None], ridge, np.zeros(len(wins) + 1))
    n, nothing = wins.sum(axis=1) + wins.sum(axis=0), np.full(len(wins), np.nan)
    theta, gamma = np.where(n > 0, estimates[:-1], np.nan), np.nan if slot is None else float(estimates[-1])
    groups = np.asarray(connected_components(wins > 0, directed=False)[1], dtype=np.intp)
    return Ratings(theta, elo(theta), nothing, nothing, n, groups, gamma)


def resampled_ratings(
    wins: Floats, resampling: Resampling, *, slot: Floats | None = None, ridge: float = RIDGE
) -> Ratings:
    """`bradley_terry` of all conversations, with percentile intervals from refitting resampled ones.

    `wins` and `slot` are (conversations, models, models). Under two units there is no interval (NaN).
    """
    whole = bradley_terry(wins.sum(axis=0), slot=None if slot is None else slot.sum(axis=0), ridge=ridge)
    weights, count = resampling.weights, len(whole.theta)
    if weights.shape[1] < 2 or not len(wins):
        return whole
    units = [resampling.sums(part.reshape(len(part), count**2)) for part in (wins, slot) if part is not None]
    start, fits = np.nan_to_num(np.append(whole.theta, whole.gamma)), []
    for part in parts_of(len(weights), count**2, _CHUNK_CELLS):
        drawn, *slots = ((weights[part].astype(np.float64) @ unit).reshape(-1, count, count) for unit in units)
        compared = drawn.sum(axis=2) + drawn.sum(axis=1) > 0
        fits.append(np.where(compared, _fit(drawn, slots[0] if slots else None, ridge, start)[:, :-1], np.nan))
    low, high = percentile_interval(elo(np.concatenate(fits)), resampling.level)
    return replace(whole, low=low, high=high)


def elo(theta: ArrayLike) -> Floats:
    """Log-odds on the scale of chess ratings: 1000 + 400/ln 10 · theta, so that 400 points are odds of ten to one."""
    return np.asarray(1000 + 400 / log(10) * np.asarray(theta, dtype=np.float64))


def _fit(wins: Floats, slot: Floats | None, ridge: float, start: Floats) -> Floats:
    """Newton's method on many win tables at once: (tables, models, models) → θ and γ (tables, models + 1).

    Where the slots are unknown each model stood first half of the time, and γ stays 0. Steps are capped, since far
    from the optimum the curvature promises more than it keeps.
    """
    first, second = (wins / 2, wins / 2) if slot is None else (slot, wins - slot)
    estimates = np.tile(start, (len(wins), 1))
    for _ in range(_ITERATIONS):
        gradient, curvature = _derivatives(estimates, first, second, ridge)
        try:
            step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        longest = np.abs(step).max(axis=1, keepdims=True)
        estimates += step * np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))
        if longest.max() < 1e-9:
            return estimates
    raise StatisticsError(
        f"Bradley-Terry ratings of {wins.shape[1]} models did not converge with ridge {ridge:g}: too few of them have "
        "both won and lost. Use a ridge above 0, or leave out models with few comparisons."
    )


def _derivatives(estimates: Floats, first: Floats, second: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Gradient and negative Hessian of the penalised log-likelihood in (θ, γ).

    Entry i, j of every table is about i standing first against j.
    """
    theta, gamma = estimates[:, :-1], estimates[:, -1]
    count = theta.shape[1]
    met = first + second.swapaxes(1, 2)
    chance = 1 / (1 + np.exp(-(theta[:, :, None] - theta[:, None, :] + gamma[:, None, None])))
    surprise, weight = first - met * chance, met * chance * (1 - chance)
    gradient = np.empty_like(estimates)
    gradient[:, :-1] = surprise.sum(axis=2) - surprise.sum(axis=1)
    gradient[:, -1] = surprise.sum(axis=(1, 2))
    gradient -= ridge * estimates
    both = weight + weight.swapaxes(1, 2)
    curvature = np.empty((len(estimates), count + 1, count + 1))
    # A common shift of all θ changes nothing; the constant keeps it at 0 and the system solvable.
    curvature[:, :-1, :-1] = 1 / count - both
    curvature[:, range(count), range(count)] += both.sum(axis=2) + ridge
    curvature[:, :-1, -1] = curvature[:, -1, :-1] = weight.sum(axis=2) - weight.sum(axis=1)
    curvature[:, -1, -1] = weight.sum(axis=(1, 2)) + ridge
    return gradient, curvature
