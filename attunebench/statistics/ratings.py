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
    `gamma` is the log-odds advantage of standing first, NaN where the slots are unknown. `nu` is Davidson's inclination
    to ties, NaN where these count as half wins: two equal models tie in ν/(2 + ν) of their comparisons.
    """

    theta: Floats
    elo: Floats
    low: Floats
    high: Floats
    n: Floats
    group: Labels
    gamma: float
    nu: float = np.nan


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


def bradley_terry(
    wins: Floats, *, slot: Floats | None = None, ties: float | None = None, ridge: float = RIDGE
) -> Ratings:
    """Ratings in which P(i beats j) = σ(θ_i − θ_j + γ·slot), slot +1 where i stands first and −1 where j does.

    `wins` is (models, models): how often i beats j, a tie half to each. `slot`, of the same shape, says how many of
    these wins i had when it stood first; without it there is no γ. With `ties`, how many of the comparisons are ties,
    Davidson's model is fitted: win, loss and tie are as e^(u/2), e^(−u/2) and ν, u being the log-odds above. Raises
    StatisticsError where the fit does not converge, which with `ridge` above 0 does not happen; without it some model
    must have beaten and lost to others. Source: spec 07; Bradley & Terry 1952, Davidson 1970, Davidson & Beaver 1977.
    """
    from scipy.sparse.csgraph import connected_components

    start = np.zeros(len(wins) + 1 + (ties is not None))
    places, tied = None if slot is None else slot[None], None if ties is None else np.array([ties])
    (estimates,) = _fit(wins[None], places, tied, ridge, start)
    n, nothing, size = wins.sum(axis=1) + wins.sum(axis=0), np.full(len(wins), np.nan), len(wins)
    theta, gamma = np.where(n > 0, estimates[:size], np.nan), np.nan if slot is None else float(estimates[size])
    groups = np.asarray(connected_components(wins > 0, directed=False)[1], dtype=np.intp)
    nu = np.nan if ties is None else float(np.exp(estimates[-1]))
    return Ratings(theta, elo(theta), nothing, nothing, n, groups, gamma, nu)


def refit(
    whole: Ratings, wins: Floats, *, slot: Floats | None = None, ties: Floats | None = None, ridge: float = RIDGE
) -> Floats:
    """θ of each model, and γ, in each of many tables like the one that `whole` was fitted to: (tables, models + 1).

    `wins` and `slot` are (tables, models, models), `ties` (tables,). NaN for a model without comparisons.
    """
    size = len(whole.theta)
    start = np.nan_to_num(np.concatenate([whole.theta, [whole.gamma], [] if ties is None else [np.log(whole.nu)]]))
    fits = np.empty((len(wins), size + 1))
    for part in parts_of(len(wins), size**2, _CHUNK_CELLS):
        places, tied = None if slot is None else slot[part], None if ties is None else ties[part]
        fits[part] = _fit(wins[part], places, tied, ridge, start)[:, : size + 1]
    fits[:, :size][wins.sum(axis=2) + wins.sum(axis=1) <= 0] = np.nan
    return fits


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
    units, fits = [resampling.sums(part.reshape(len(part), count**2)) for part in (wins, slot) if part is not None], []
    for part in parts_of(len(weights), count**2, _CHUNK_CELLS):
        drawn, *slots = ((weights[part].astype(np.float64) @ unit).reshape(-1, count, count) for unit in units)
        fits.append(refit(whole, drawn, slot=slots[0] if slots else None, ridge=ridge)[:, :count])
    low, high = percentile_interval(elo(np.concatenate(fits)), resampling.level)
    return replace(whole, low=low, high=high)


def elo(theta: ArrayLike) -> Floats:
    """Log-odds on the scale of chess ratings: 1000 + 400/ln 10 · theta, so that 400 points are odds of ten to one."""
    return np.asarray(1000 + 400 / log(10) * np.asarray(theta, dtype=np.float64))


def _fit(wins: Floats, slot: Floats | None, ties: Floats | None, ridge: float, start: Floats) -> Floats:
    """Newton's method on many win tables at once: (tables, models, models) → θ, γ and, with ties, log ν of each table.

    Where the slots are unknown each model stood first half of the time, and γ stays 0. Steps are capped, since far
    from the optimum the curvature promises more than it keeps.
    """
    first, second = (wins / 2, wins / 2) if slot is None else (slot, wins - slot)
    estimates = np.tile(start, (len(wins), 1))
    for _ in range(_ITERATIONS):
        gradient, curvature = _derivatives(estimates, first, second, ties, ridge)
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


def _derivatives(
    estimates: Floats, first: Floats, second: Floats, ties: Floats | None, ridge: float
) -> tuple[Floats, Floats]:
    """Gradient and negative Hessian of the penalised log-likelihood in (θ, γ, log ν).

    Entry i, j of every table is about i standing first against j. What is expected of i is its wins and half its ties,
    whose variance is the weight.
    """
    count = first.shape[1]
    theta, gamma = estimates[:, :count], estimates[:, count]
    met = first + second.swapaxes(1, 2)
    odds = theta[:, :, None] - theta[:, None, :] + gamma[:, None, None]
    gradient = np.empty_like(estimates)
    curvature = np.zeros((len(estimates), estimates.shape[1], estimates.shape[1]))
    if ties is None:
        chance = 1 / (1 + np.exp(-odds))
        weight = met * chance * (1 - chance)
    else:
        win, loss, tie = _outcomes(odds, estimates[:, -1])
        chance, weight = win + tie / 2, met * ((win + loss) - (win - loss) ** 2) / 4
        tilt = met * tie * (loss - win) / 2
        gradient[:, -1] = ties - (met * tie).sum(axis=(1, 2))
        curvature[:, :count, -1] = curvature[:, -1, :count] = tilt.sum(axis=2) - tilt.sum(axis=1)
        curvature[:, count, -1] = curvature[:, -1, count] = tilt.sum(axis=(1, 2))
        curvature[:, -1, -1] = (met * tie * (1 - tie)).sum(axis=(1, 2)) + ridge
    surprise = first - met * chance
    gradient[:, :count] = surprise.sum(axis=2) - surprise.sum(axis=1)
    gradient[:, count] = surprise.sum(axis=(1, 2))
    gradient -= ridge * estimates
    both = weight + weight.swapaxes(1, 2)
    # A common shift of all θ changes nothing; the constant keeps it at 0 and the system solvable.
    curvature[:, :count, :count] = 1 / count - both
    curvature[:, range(count), range(count)] += both.sum(axis=2) + ridge
    curvature[:, :count, count] = curvature[:, count, :count] = weight.sum(axis=2) - weight.sum(axis=1)
    curvature[:, count, count] = weight.sum(axis=(1, 2)) + ridge
    return gradient, curvature


def _outcomes(odds: Floats, log_nu: Floats) -> tuple[Floats, Floats, Floats]:
    """Davidson's chances of win, loss and tie."""
    parts = (np.exp(odds / 2), np.exp(-odds / 2), np.exp(log_nu)[:, None, None])
    whole = parts[0] + parts[1] + parts[2]
    return parts[0] / whole, parts[1] / whole, parts[2] / whole
