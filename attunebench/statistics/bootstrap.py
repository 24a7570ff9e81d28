"""Bootstrap over rows of plain arrays (conversations), or over clusters of them: one weight matrix for all columns.

Every estimate is a ratio of two sums: a mean of values with gaps is the sum of the defined ones over their number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.uint16] | NDArray[np.float64]
Labels = NDArray[np.intp]

_NOTHING = 1e-9
"""An interval narrower than this share of its ends is of one value."""
_CHUNK_CELLS = 1_000_000
"""Cells of the weight matrix that are handled at once: bounds the memory, whatever the number of rows."""
_CACHED_CELLS, _LEAST_ROWS = 128_000, 64
_BLOCK_CELLS = 10_000_000
"""Resamples times columns that are held at once."""
_REMEMBERED_BYTES = 48_000_000
"""Of draws that are kept to be used again."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """One value per column; NaN is undefined. `n` counts the rows in which the column is defined."""

    value: Floats
    n: NDArray[np.int64]
    se: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often each unit, a row or a whole cluster of rows, is drawn in each resample; and the level of intervals.

    `weights` (resamples, units) are those of `resample_weights`; `clusters` labels the rows 0 … units − 1.
    """

    weights: Counts
    clusters: Labels | None = None
    level: float = 0.95

    def sums(self, values: Floats) -> Floats:
        """Sums over the rows of each unit: (units, …) from (rows, …)."""
        return sum_by_cluster(values, self.clusters, self.weights.shape[1])

    def ratios(self, numerators: Floats, denominators: Floats) -> Floats:
        """`resampled_ratios` of columns of rows."""
        return resampled_ratios(self.weights, self.sums(numerators), self.sums(denominators))

    def defined(self, denominators: Floats) -> NDArray[np.int64]:
        """In how many units each column is defined."""
        return _defined(denominators, self.clusters)


Draw = Callable[[int, int, np.random.Generator], NDArray[Any]]
_one_at_a_time = Lock()
_remembered: OrderedDict[tuple[str, int, int, str], tuple[NDArray[Any], Any]] = OrderedDict()


def remembered(draw: Draw) -> Draw:
    """`draw(rows, columns, rng)`, made once for each state of `rng`, which then stands where the draw has left it.

    Many tests start from the same seed so that they share their chance; the latest draws are kept, read-only.
    """

    @wraps(draw)
    def once(rows: int, columns: int, rng: np.random.Generator) -> NDArray[Any]:
        key = (draw.__name__, rows, columns, repr(rng.bit_generator.state))
        with _one_at_a_time:
            if key not in _remembered:
                drawn = draw(rows, columns, rng)
                drawn.flags.writeable = False
                _remembered[key] = drawn, rng.bit_generator.state
                while sum(kept.nbytes for kept, _ in _remembered.values()) > _REMEMBERED_BYTES:
                    _remembered.popitem(last=False)
                return drawn
            _remembered.move_to_end(key)
            drawn, rng.bit_generator.state = _remembered[key]
            return drawn

    return once


@remembered
def resample_weights(units: int, resamples: int, rng: np.random.Generator) -> Counts:
    """How often each of `units` units is drawn in each resample: (resamples, units), rows sum to `units`.

    Multinomial with equal chances, drawn in chunks of rows. `units` must be between 1 and 65,535.
    """
    if not 1 <= units <= np.iinfo(np.uint16).max:
        raise ValueError(f"cannot resample {units} units; 1 to 65,535 are possible")
    weights = np.empty((resamples, units), dtype=np.uint16)
    for rows in parts_of(resamples, units, _CACHED_CELLS):
        size = rows.stop - rows.start
        drawn = rng.integers(0, units, size=(size, units)) + np.arange(size)[:, None] * units
        weights[rows] = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
    return weights


def resampled_ratios(weights: Counts, numerators: Floats, denominators: Floats) -> Floats:
    """Σ w·numerator / Σ w·denominator per resample and column: (resamples, columns); NaN where the latter is 0."""
    ratios = np.empty((weights.shape[0], numerators.shape[1]))
    # Most columns are defined in the same rows, so the distinct denominators are few, and often there is one.
    distinct, which = denominators[:, :1], None
    if (denominators != distinct).any():
        distinct, which = np.unique(denominators, axis=1, return_inverse=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        # What stays in the processor's cache is multiplied in two thirds of the time.
        units = weights.shape[1]
        for rows in parts_of(len(weights), units, max(_CACHED_CELLS, _LEAST_ROWS * units)):
            drawn = weights[rows].astype(np.float64, copy=False)
            below = drawn @ distinct
            below[below <= 0] = np.nan
            np.matmul(drawn, numerators, out=ratios[rows])
            ratios[rows] /= below if which is None else below.take(which.reshape(-1), axis=1)
    return ratios


def percentile_interval(samples: Floats, level: float = 0.95, *, keep_constant: bool = False) -> tuple[Floats, Floats]:
    """The central `level` of each column's samples, NaN among them left out; NaN for a column without any sample.

    An interval of one value is NaN: where nothing varies, resampling says nothing about doubt. `keep_constant` keeps
    it, for ranks and the like, which need not vary.
    """
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    columns = np.array(samples.T, order="C")
    columns.sort(axis=1)  # NaN last; takes a third of the time that looking for the two quantiles does
    bounds = np.full((2, len(columns)), np.nan)
    known = columns.shape[1] - np.isnan(columns).sum(axis=1)
    for count in np.unique(known[known > 0]):
        rows = known == count
        bounds[:, rows] = _quantiles(columns[rows, :count], ends)
    if not keep_constant:
        bounds[:, np.ptp(bounds, axis=0) <= _NOTHING * np.abs(bounds).max(axis=0)] = np.nan
    return bounds[0], bounds[1]


def _quantiles(columns: Floats, shares: Floats) -> Floats:
    """As `np.quantile(columns, shares, axis=1)`, to the last bit, of sorted columns."""
    places = (columns.shape[1] - 1) * shares
    before = places.astype(np.intp)
    low, high = columns[:, before], columns[:, np.minimum(before + 1, columns.shape[1] - 1)]
    part = places - before
    quantiles: Floats = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part)).T
    return quantiles


def ratio_intervals(numerators: Floats, denominators: Floats, resampling: Resampling) -> tuple[Floats, Floats]:
    """`percentile_interval` of resampled ratios; NaN for a column defined in a single unit.

    Some columns at a time: they may be the pairs of hundreds of models.
    """
    above, below = resampling.sums(numerators), resampling.sums(denominators)
    bounds = np.empty((2, numerators.shape[1]))
    size = max(1, _BLOCK_CELLS // len(resampling.weights))
    for start in range(0, bounds.shape[1], size):
        block = slice(start, start + size)
        samples = resampled_ratios(resampling.weights, above[:, block], below[:, block])
        bounds[:, block] = percentile_interval(samples, resampling.level)
    bounds[:, (below > 0).sum(axis=0) < 2] = np.nan
    return bounds[0], bounds[1]


def standard_errors(numerators: Floats, denominators: Floats, clusters: Labels | None = None) -> Floats:
    """Standard error of each column's ratio of sums; NaN under two defined rows or clusters.

    Without clusters √(n/(n − 1)·Σe²)/Σd with e = numerator − ratio·denominator, which for a mean is sd/√n. With
    clusters √(Σ_c (Σ_{i in c} e_i)²)/Σd.
    """
    n = _defined(denominators, clusters)
    residuals = numerators - ratio_of_sums(numerators, denominators) * denominators
    with np.errstate(invalid="ignore", divide="ignore"):
        if clusters is None:
            spread = (residuals**2).sum(axis=0) * n / (n - 1)
        else:
            spread = (sum_by_cluster(residuals, clusters) ** 2).sum(axis=0)
        return np.where(n > 1, np.sqrt(spread) / denominators.sum(axis=0), np.nan)


def estimate_ratios(numerators: Floats, denominators: Floats, resampling: Resampling) -> Estimates:
    """Each column's ratio of sums with its standard error and percentile interval.

    A column that is defined in a single unit, or has one value in all of them, has no interval.
    """
    return Estimates(
        ratio_of_sums(numerators, denominators),
        (denominators > 0).sum(axis=0),
        standard_errors(numerators, denominators, resampling.clusters),
        *ratio_intervals(numerators, denominators, resampling),
    )


def skill(scores: Floats, baseline: Floats, ceiling: Floats | float, resampling: Resampling) -> Estimates:
    """(mean score − mean baseline) / (mean ceiling − mean baseline) over the rows in common: 0 baseline, 1 ceiling.

    `scores`: (rows, columns); `baseline` and `ceiling`: (rows,), (rows, columns) or, for a ceiling, one number. A ratio
    of means, since a mean of ratios is ruled by rows with little room. NaN where the means of ceiling and baseline are
    equal or the wrong way round; resamples in which they are do not count. Source: spec 4 (baselines), our choice.
    """
    below, above = (
        np.broadcast_to(np.reshape(side, (len(scores), -1)) if np.ndim(side) else side, scores.shape)
        for side in (baseline, ceiling)
    )
    defined = ~np.isnan(scores + below + above)
    gained, room = np.where(defined, scores - below, 0.0), np.where(defined, above - below, 0.0)
    found, n = estimate_ratios(gained, room, resampling), defined.sum(axis=0)
    none = room.sum(axis=0) <= 1e-12 * np.maximum(n, 1)
    for part in (found.value, found.se, found.low, found.high):
        part[none] = np.nan
    return replace(found, n=n)


def ratio(above: ArrayLike, below: ArrayLike) -> Floats:
    """Element by element; NaN where there is nothing below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.asarray(below) > 0, np.divide(above, below), np.nan)


def ratio_of_sums(numerators: Floats, denominators: Floats) -> Floats:
    """Σ numerator / Σ denominator per column; NaN where the latter is 0."""
    return ratio(numerators.sum(axis=0), denominators.sum(axis=0))


def steady(values: Floats) -> Floats:
    """Values in units of the largest of the last axis, to 10 digits: equal numbers summed in another order are ties."""
    with np.errstate(invalid="ignore"):
        scale = np.nanmax(np.abs(values), axis=-1, keepdims=True, initial=0.0)
        return np.asarray(np.round(values / np.where(scale > 0, scale, 1.0), 10))


def mean_as_ratio(values: Floats) -> tuple[Floats, Floats]:
    """Numerators and denominators of the means of columns whose gaps are NaN."""
    defined = ~np.isnan(values)
    return np.where(defined, values, 0.0), defined.astype(np.float64)


def sum_by_cluster(values: Floats, clusters: Labels | None, count: int | None = None) -> Floats:
    """Sums over the rows of each cluster: (`count` or as many clusters as there are labels, …); the rows themselves
    without clusters."""
    if clusters is None:
        return values
    shape = (int(clusters.max(initial=-1)) + 1 if count is None else count, *values.shape[1:])
    columns = int(np.prod(shape[1:]))
    places = clusters[:, None] * columns + np.arange(columns)
    sums = np.bincount(places.ravel(), values.ravel(), minlength=shape[0] * columns)
    return np.asarray(sums.reshape(shape), dtype=np.float64)


def parts_of(rows: int, cells_per_row: int, most: int = _CHUNK_CELLS) -> list[slice]:
    """Slices of so many rows of which each has at most so many cells: they bound the memory."""
    size = max(1, most // max(1, cells_per_row))
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def _defined(denominators: Floats, clusters: Labels | None) -> NDArray[np.int64]:
    defined: NDArray[np.int64] = (sum_by_cluster(denominators, clusters) > 0).sum(axis=0)
    return defined
