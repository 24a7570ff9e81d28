"""Where the variance of a metric comes from: the conversation, the model, or the meeting of the two.

Crossed random effects without replication, y = μ + conversation + model + residual, on plain arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import Counts, Floats, Resampling, percentile_interval, ratio

_ROUNDING = 1e-10
"""A component below this share of the three is what sums of floating point numbers leave of 0."""


class Component(NamedTuple):
    """One source: its variance (≥ 0) and its share of the three together, with an interval where resampling was given.

    `negative`: the estimate came out below 0 and is shown as 0, as the source is too weak to be seen. NaN is undefined.
    """

    variance: float
    share: float
    low: float
    high: float
    negative: bool


class VarianceComponents(NamedTuple):
    """The three sources, and how many conversations and models they were estimated from.

    `residual`: models being good at different conversations, and chance; without repeated runs the two cannot be
    separated.
    """

    conversation: Component
    model: Component
    residual: Component
    n_conversations: int
    n_models: int


def variance_components(values: Floats, resampling: Resampling | None = None) -> VarianceComponents:
    """Variance components of `values` (conversations, models), NaN a gap, by the method of moments.

    Without gaps these are the estimates of the analysis of variance, which REML agrees with where none is negative;
    with gaps Henderson's first method, unbiased as well and using every value. Intervals of the shares are over
    conversations for these models; that of the model errs to the wide side where models hardly differ. Under two
    conversations or models, or where gaps leave the sources mixed (each conversation by one model), everything is NaN.
    Source: spec 07; Searle, Casella & McCulloch, Variance Components (1992), ch. 5.
    """
    known = ~np.isnan(values)
    rows, columns = known.any(axis=1), known.any(axis=0)
    # Any value will do as the origin; one of the values themselves leaves constant data exactly 0.
    centred = np.where(known, values - (values[known][0] if known.any() else 0.0), 0.0)
    centred, known = centred[:, columns], known[:, columns]
    estimates = _henderson(np.ones((1, len(values))), centred, known)
    estimates[np.abs(estimates) <= _ROUNDING * np.abs(estimates).sum()] = 0.0
    low = high = np.full(3, np.nan)
    if resampling is not None and resampling.weights.shape[1] > 1 and not np.isnan(estimates).any():
        clusters, weights = resampling.clusters, resampling.weights
        samples = _henderson(weights if clusters is None else weights[:, clusters], centred, known)
        # Resampling adds its own noise to the models' means, which would pass for differences between models.
        samples += estimates - np.nanmean(samples, axis=0)
        low, high = percentile_interval(_shares(np.maximum(samples, 0)), resampling.level, keep_constant=True)
    kept = np.maximum(estimates, 0)
    figures = (part.tolist() for part in (kept[0], _shares(kept)[0], low, high, estimates[0] < 0))
    conversation, model, residual = (Component(*one) for one in zip(*figures, strict=True))
    return VarianceComponents(conversation, model, residual, int(rows.sum()), int(columns.sum()))


def _shares(variances: Floats) -> Floats:
    return ratio(variances, variances.sum(axis=1, keepdims=True))


def _henderson(weights: Counts | Floats, values: Floats, known: NDArray[np.bool_]) -> Floats:
    """Estimates (draws, 3), unclamped, of conversation, model and residual, each row counted as often as it weighs.

    Four sums of squares (of values, of conversations' totals, of models' totals, of the grand total) have expectations
    that are linear in the three variances; solving for these gives the estimates.
    """
    w = weights.astype(np.float64)
    per_row, totals = known.sum(axis=1).astype(np.float64), values.sum(axis=1)
    n, rows = w @ per_row, w @ (per_row > 0)
    column_n, column_totals = w @ known, w @ values
    columns = (column_n > 0).sum(axis=1)
    grand = ratio((w @ totals) ** 2, n)
    by_row = w @ np.nan_to_num(ratio(totals**2, per_row))
    by_column = np.nan_to_num(ratio(column_totals**2, column_n)).sum(axis=1)
    row_load, column_load = ratio(w @ per_row**2, n), ratio((column_n**2).sum(axis=1), n)
    sums = np.stack([by_row - grand, by_column - grand, w @ (values**2).sum(axis=1) - grand], axis=1)
    system = np.stack(
        [
            np.stack([n - row_load, rows - column_load, rows - 1], axis=1),
            np.stack([columns - row_load, n - column_load, columns - 1], axis=1),
            np.stack([n - row_load, n - column_load, n - 1], axis=1),
        ],
        axis=1,
    )
    solvable = (rows > 1) & (columns > 1) & (np.linalg.matrix_rank(np.nan_to_num(system)) == 3)
    estimates = np.full((len(w), 3), np.nan)
    estimates[solvable] = np.linalg.solve(system[solvable], sums[solvable][..., None])[..., 0]
    return estimates
