"""How far raters agree beyond chance: two judges, a judge and a person, several annotators.

Works on plain arrays, one row per unit that was rated. Gaps (None or NaN) are ratings that were not given and never
count as disagreement. Every coefficient is a function of sums over units, so that resampling units (or clusters of
them) needs no second pass over the ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

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

Given = Sequence[Hashable] | NDArray[Any]
Scale = Literal["nominal", "ordinal", "interval"]

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


def percent_agreement(
    a: Given, b: Given, *, draws: Counts | None = None, clusters: Labels | None = None, confidence: float = 0.95
) -> Agreement:
    """Share of the units with both ratings on which the two raters say the same, in [0, 1].

    `draws` come from `resample_weights` for the number of units, gaps included, or of clusters (labels 0 … k − 1).
    """
    labels = list(dict.fromkeys(label for side in (a, b) for label in _plain(side) if not _gap(label)))
    return _summarised(_cross_table(a, b, labels), _share_of_same, draws, clusters, confidence)


def cohen_kappa(
    a: Given,
    b: Given,
    *,
    labels: Sequence[Hashable],
    weights: Literal["linear", "quadratic"] | None = None,
    draws: Counts | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Agreement beyond that of two raters with these habits who rate at random, in [−1, 1].

    `labels` are all possible ratings, in order where `weights` count a far miss more than a near one. NaN where both
    raters say one and the same thing throughout. Where one label dominates, κ is low however well the raters agree:
    see `gwet_ac1`. `draws` as in `percent_agreement`. Source: spec 07; Cohen 1960, 1968.
    """
    steps = np.abs(np.subtract.outer(np.arange(len(labels)), np.arange(len(labels)))).astype(np.float64)
    penalty = {None: np.sign(steps), "linear": steps, "quadratic": steps**2}[weights]

    def kappa(tables: Floats) -> Floats:
        expected = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
        return _one_minus(
            (tables * penalty).sum(axis=(1, 2)) * tables.sum(axis=(1, 2)), (expected * penalty).sum(axis=(1, 2))
        )

    return _summarised(_cross_table(a, b, labels), kappa, draws, clusters, confidence)


def gwet_ac1(
    a: Given,
    b: Given,
    *,
    labels: Sequence[Hashable],
    draws: Counts | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Agreement beyond chance that does not collapse where one label dominates (a "yes" to nearly everything).

    Chance is taken as Σ π(1 − π)/(q − 1) over the q ≥ 2 possible `labels` with π the mean share of each, so it is
    small for skewed ratings. Only units with both ratings count. `draws` as in `percent_agreement`.
    Source: spec 07; Gwet 2008.
    """
    if len(labels) < 2:
        raise ValueError("AC1 needs at least two possible labels")

    def ac1(tables: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = tables / tables.sum(axis=(1, 2), keepdims=True)
        habits = (shares.sum(axis=1) + shares.sum(axis=2)) / 2
        chance = (habits * (1 - habits)).sum(axis=1) / (len(labels) - 1)
        return np.asarray((_share_of_same(tables) - chance) / (1 - chance))

    return _summarised(_cross_table(a, b, labels), ac1, draws, clusters, confidence)


def krippendorff_alpha(
    table: Floats,
    level: Scale = "nominal",
    *,
    draws: Counts | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """1 − observed / expected disagreement among any number of raters, at most 1; 0 is chance.

    `table` is (units, raters), NaN a rating that was not given; units with a single rating do not count. `level` is
    the level of measurement: how far apart two ratings are. NaN where all ratings are the same. `draws` as in
    `percent_agreement`. Source: spec 07; Krippendorff, Content Analysis (2018), ch. 12.
    """
    pairable = (~np.isnan(table)).sum(axis=1) > 1
    known = table[pairable]
    parts = _squared_distances(known) if level == "interval" else _coincidences(known)
    coefficient = {"nominal": _nominal_alpha, "ordinal": _ordinal_alpha, "interval": _interval_alpha}[level]
    cells = np.zeros((len(table), *parts.shape[1:]))
    cells[pairable] = parts
    return _summarised(cells, coefficient, draws, clusters, confidence)


def rank_agreement(a: Floats, b: Floats, *, draws: Counts, clusters: Labels, confidence: float = 0.95) -> Agreement:
    """Spearman's ρ over the units that both put on a scale (NaN a gap), ties at their mean rank, in [−1, 1].

    NaN where one of them rates all units alike. `clusters` labels the units 0 … k − 1, and `draws` come from
    `resample_weights` for k; the interval is a percentile one over clusters, NaN under two of them. Source: spec 07.
    """
    both = ~(np.isnan(a) | np.isnan(b))
    values, at = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    one, other = np.split(at.reshape(-1), 2)
    # Ratings may be many and clusters few, so that the tables are those of clusters.
    tables = np.zeros((draws.shape[1], len(values), len(values)))
    np.add.at(tables, (clusters[both], one, other), 1)
    return replace(_summarised(tables, _pearson_of_ranks, draws, None, confidence), n=int(both.sum()))


def mean_difference(a: Floats, b: Floats, *, draws: Counts, clusters: Labels, confidence: float = 0.95) -> Agreement:
    """Mean of a − b over the units that both rated; `draws` and `clusters` as in `rank_agreement`.

    A unit counts once, so that a cluster of many units counts for more than one of few.
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
    draws: Counts | None,
    clusters: Labels | None,
    confidence: float,
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
    return _alpha(coincidences, totals, 1.0 - np.eye(totals.shape[1])[None])


def _ordinal_alpha(coincidences: Floats) -> Floats:
    """Two ratings are as far apart as there are ratings between their middles."""
    totals = coincidences.sum(axis=2)
    middles = totals.cumsum(axis=1) - totals / 2
    return _alpha(coincidences, totals, (middles[:, :, None] - middles[:, None, :]) ** 2)


def _alpha(coincidences: Floats, totals: Floats, distances: Floats) -> Floats:
    expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
    return _one_minus((coincidences * distances).sum(axis=(1, 2)) * (totals.sum(axis=1) - 1), expected)


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


def _pearson_of_ranks(tables: Floats) -> Floats:
    """Per table of how often rating i met rating j: Pearson's r of the mean ranks, NaN where a side is one value."""
    half = tables.sum(axis=(1, 2))[:, None] / 2
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    x, y = (sums.cumsum(axis=1) - sums / 2 - half for sums in (rows, columns))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt((rows * x**2).sum(axis=1) * (columns * y**2).sum(axis=1))
        return np.asarray(np.einsum("tij,ti,tj->t", tables, x, y) / np.where(scale > 0, scale, np.nan))
