"""How far raters agree beyond chance: two judges, a judge and a person, several annotators.

Works on plain arrays, one row per unit that was rated. Gaps (None or NaN) are ratings that were not given and never
count as disagreement. Every coefficient is a function of sums over units, so that resampling units (or clusters of
them) needs no second pass over the ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from attunebench.statistics.bootstrap import (
    Counts,
    Floats,
    Labels,
    estimate_ratios,
    mean_as_ratio,
    percentile_interval,
    sum_by_cluster,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Given = Sequence[Hashable] | NDArray[Any]
Scale = Literal["nominal", "interval"]

_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, at most 1 (or a mean difference); NaN is undefined. `n` counts the units with two ratings or more,
    `clusters` theirs.

    `low` and `high` are a percentile interval over units or clusters, NaN where no draws were given or `clusters` < 2.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int


class Doubt(TypedDict, total=False):
    """What a coefficient takes for its interval; without `draws` it has none.

    `draws` come from `resample_weights` for the number of units, gaps included, or of clusters (labels 0 … k − 1).
    """

    draws: Counts
    clusters: Labels
    confidence: float


def percent_agreement(a: Given, b: Given, **doubt: Unpack[Doubt]) -> Agreement:
    """Share of the units with both ratings on which the two raters say the same, in [0, 1]."""
    labels = list(dict.fromkeys(label for side in (a, b) for label in _plain(side) if not _gap(label)))
    return _summarised(_cross_table(a, b, labels), _share_of_same, **doubt)


def cohen_kappa(
    a: Given,
    b: Given,
    *,
    labels: Sequence[Hashable],
    weights: Literal["linear", "quadratic"] | None = None,
    **doubt: Unpack[Doubt],
) -> Agreement:
    """Agreement beyond that of two raters with these habits who rate at random, in [−1, 1].

    `labels` are all possible ratings, in order where `weights` count a far miss more than a near one. NaN where both
    raters say one and the same thing throughout. Where one label dominates, κ is low however well the raters agree:
    see `gwet_ac1`. Source: spec 07; Cohen 1960, 1968.
    """
    steps = np.abs(np.subtract.outer(np.arange(len(labels)), np.arange(len(labels)))).astype(np.float64)
    penalty = {None: np.sign(steps), "linear": steps, "quadratic": steps**2}[weights]

    def kappa(tables: Floats) -> Floats:
        expected = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
        return _one_minus(
            (tables * penalty).sum(axis=(1, 2)) * tables.sum(axis=(1, 2)), (expected * penalty).sum(axis=(1, 2))
        )

    return _summarised(_cross_table(a, b, labels), kappa, **doubt)


def gwet_ac1(a: Given, b: Given, *, labels: Sequence[Hashable], **doubt: Unpack[Doubt]) -> Agreement:
    """Agreement beyond chance that does not collapse where one label dominates (a "yes" to nearly everything).

    Chance is taken as Σ π(1 − π)/(q − 1) over the q ≥ 2 possible `labels` with π the mean share of each, so it is
    small for skewed ratings. Only units with both ratings count. Source: spec 07; Gwet 2008.
    """
    if len(labels) < 2:
        raise ValueError("AC1 needs at least two possible labels")

    def ac1(tables: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = tables / tables.sum(axis=(1, 2), keepdims=True)
        habits = (shares.sum(axis=1) + shares.sum(axis=2)) / 2
        chance = (habits * (1 - habits)).sum(axis=1) / (len(labels) - 1)
        return np.asarray((_share_of_same(tables) - chance) / (1 - chance))

    return _summarised(_cross_table(a, b, labels), ac1, **doubt)


def krippendorff_alpha(table: Floats, level: Scale = "nominal", **doubt: Unpack[Doubt]) -> Agreement:
    """1 − observed / expected disagreement among any number of raters, at most 1; 0 is chance.

    `table` is (units, raters), NaN a rating that was not given; units with a single rating do not count. `level` is the
    level of measurement: how far apart two ratings are. NaN where all ratings are the same. Source: spec 07;
    Krippendorff, Content Analysis (2018), ch. 12.
    """
    pairable = (~np.isnan(table)).sum(axis=1) > 1
    known = table[pairable]
    parts = _squared_distances(known) if level == "interval" else _coincidences(known)
    cells = np.zeros((len(table), *parts.shape[1:]))
    cells[pairable] = parts
    return _summarised(cells, _interval_alpha if level == "interval" else _nominal_alpha, **doubt)


def mean_difference(a: Floats, b: Floats, *, draws: Counts, clusters: Labels, confidence: float = 0.95) -> Agreement:
    """Mean of a − b over the units that both rated (NaN a gap); `draws` come from `resample_weights` for the clusters.

    `clusters` labels the units 0 … k − 1. A unit counts once, so that a cluster of many units counts for more than one
    of few.
    """
    differences = (a - b)[:, None]
    found = estimate_ratios(*mean_as_ratio(differences), draws, clusters=clusters, level=confidence)
    known = ~np.isnan(differences[:, 0])
    groups = len(np.unique(clusters[known]))
    return Agreement(float(found.value[0]), float(found.low[0]), float(found.high[0]), int(found.n[0]), groups)


def _plain(side: Given) -> list[Hashable]:
    return list(side.tolist() if isinstance(side, np.ndarray) else side)


def _gap(label: Hashable) -> bool:
    return label is None or label != label


def _cross_table(a: Given, b: Given, labels: Sequence[Hashable]) -> Floats:
    """Per unit a table with a 1 where the two ratings meet, all 0 where one is missing: (units, labels, labels)."""
    index = {label: number for number, label in enumerate(labels)}
    left, right = _plain(a), _plain(b)
    if len(left) != len(right):
        raise ValueError(f"{len(left)} ratings cannot be compared with {len(right)}")
    unknown = sorted({repr(label) for label in (*left, *right) if not _gap(label) and label not in index})
    if unknown:
        raise ValueError(f"ratings that are no possible labels: {', '.join(unknown)}")
    cells = np.zeros((len(left), len(labels), len(labels)))
    for unit, (one, other) in enumerate(zip(left, right, strict=True)):
        if not _gap(one) and not _gap(other):
            cells[unit, index[one], index[other]] = 1
    return cells


def _summarised(
    cells: Floats,
    coefficient: Callable[[Floats], Floats],
    draws: Counts | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """The coefficient of the summed cells (units, …), and its interval from resampled sums."""
    counted = np.asarray(cells.any(axis=tuple(range(1, cells.ndim))))
    n = int(counted.sum())
    groups = n if clusters is None else len(np.unique(clusters[counted]))
    value = float(coefficient(cells.sum(axis=0, keepdims=True))[0])
    if draws is None or groups < 2:
        return Agreement(value, np.nan, np.nan, n, groups)
    flat = sum_by_cluster(cells.reshape(len(cells), -1), clusters)
    size = max(1, _CHUNK_CELLS // max(1, flat.shape[1]))
    samples = np.concatenate(
        [
            coefficient((draws[start : start + size].astype(np.float64) @ flat).reshape(-1, *cells.shape[1:]))
            for start in range(0, len(draws), size)
        ]
    )
    low, high = percentile_interval(samples[:, None], confidence)
    return Agreement(value, float(low[0]), float(high[0]), n, groups)


def _share_of_same(tables: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2)))


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - observed / np.where(expected > 0, expected, np.nan))


def _coincidences(table: Floats) -> Floats:
    """Per unit how often each value meets each other one among its raters, over raters − 1: (units, values, values)."""
    values = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == values).sum(axis=1).astype(np.float64)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(values))
    return np.asarray(pairs / (counts.sum(axis=1) - 1)[:, None, None])


def _nominal_alpha(coincidences: Floats) -> Floats:
    totals = coincidences.sum(axis=2)
    n, agreed = totals.sum(axis=1), np.trace(coincidences, axis1=1, axis2=2)
    return _one_minus((n - agreed) * (n - 1), n**2 - (totals**2).sum(axis=1))


def _squared_distances(table: Floats) -> Floats:
    """Per unit ratings, their sum, their squares' sum, and squared distances between them over raters − 1: (units, 4).

    Values may be many, so no table of values is made.
    """
    known = ~np.isnan(table)
    shifted = np.where(known, table - (table[known].min() if known.any() else 0.0), 0.0)
    n, sums, squares = known.sum(axis=1).astype(np.float64), shifted.sum(axis=1), (shifted**2).sum(axis=1)
    return np.stack([n, sums, squares, 2 * (n * squares - sums**2) / (n - 1)], axis=1)


def _interval_alpha(parts: Floats) -> Floats:
    n, sums, squares, observed = parts.T
    return _one_minus(observed * (n - 1), 2 * (n * squares - sums**2))
