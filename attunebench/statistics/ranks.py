"""How much of a ranking is real: ranks over resamples, tiers of models without significant differences, other weights.

A column per model. Knows no metric and makes no test: which pairs differ significantly comes in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attunebench.statistics.bootstrap import Floats, Resampling, mean_as_ratio, parts_of, ratio, ratio_of_sums, steady

_CHUNK_CELLS = 2_000_000
_SLACK = 1e-9
"""Sums of shares that should reach an end exactly may fall short of it by so much."""


@dataclass(frozen=True, slots=True)
class RankStability:
    """Whole numbers as floats, an entry per model; NaN for a model without any value. Rank 1 is the best.

    `rank` is the competition rank of the means (1, 1, 3: the number of better models plus 1). `places[m, j]` is the
    share of resamples in which model m has rank j + 1; models that tie there share their ranks evenly. `low` and
    `high` bound the central `level` of these ranks. `p_best` is the first column of `places` and sums to 1 over
    models; `p_above[a, b]` is the share in which a stands above b, a tie counting half (NaN on the diagonal).
    """

    rank: Floats
    low: Floats
    high: Floats
    p_best: Floats
    p_above: Floats
    places: Floats


def rank_stability(values: Floats, resampling: Resampling, *, higher_is_better: bool = True) -> RankStability:
    """Ranks of the models' means and how they move when other conversations are drawn.

    `values` is (rows, models), NaN a gap. A model's mean is over its own rows: give rows that all models have, else
    those who skipped the hard ones rank too high. All models share a resample, as they share conversations.
    Source: spec 07.
    """
    above, below = mean_as_ratio(values if higher_is_better else -values)
    places, p_above = _compare(resampling.ratios(above, below))
    reached = np.cumsum(places, axis=1)
    undefined = np.isnan(reached).any(axis=1)
    low, high = (
        np.where(undefined, np.nan, (reached < (1 + side * resampling.level) / 2 - _SLACK).sum(axis=1) + 1.0)
        for side in (-1, 1)
    )
    return RankStability(competition_ranks(ratio_of_sums(above, below)), low, high, places[:, 0], p_above, places)


def competition_ranks(values: Floats) -> Floats:
    """The number of higher values plus 1, over the last axis: (…, models). NaN has no rank and is above nobody."""
    rounded = steady(values)
    higher = (rounded[..., None, :] > rounded[..., :, None]).sum(axis=-1)
    return np.where(np.isnan(values), np.nan, higher + 1.0)


def tiers(means: Floats, differ: NDArray[np.bool_], *, higher_is_better: bool = True) -> list[list[int]]:
    """Columns in tiers, best first: the best one and all that do not differ from it; then so among the rest.

    `differ` is (models, models) and symmetric. Models are ordered by mean, equal ones by their position; a NaN mean
    is in no tier. Members of a tier do not differ from its best, which does not say that they do not differ from each
    other: significance is not transitive, which is why a tier names its leader first.
    """
    ordered = np.where(np.isnan(means), -np.inf, means if higher_is_better else -means)
    rest = [int(model) for model in np.argsort(-ordered, kind="stable") if not np.isnan(means[model])]
    found = []
    while rest:
        leader = rest[0]
        found.append([model for model in rest if model == leader or not differ[leader, model]])
        rest = [model for model in rest if model not in found[-1]]
    return found


@dataclass(frozen=True, slots=True)
class WeightDraws:
    """What a ranking becomes under weights drawn at random; one entry per model, NaN for one that lacks a pillar.

    `keeps`: share of draws in which the model has the rank of the published weights; `best` and `worst`: its highest
    and lowest rank in any draw; `p_best`: share in which it is first, ties shared. `holds[a, b]`: share in which the
    order of the two under the published weights holds (NaN on the diagonal and where they tie there).
    """

    keeps: Floats
    best: Floats
    worst: Floats
    p_best: Floats
    holds: Floats


@dataclass(frozen=True, slots=True)
class WeightSensitivity:
    """`rank` under the published weights, under any weights at all (`uniform`), and under weights near them (`near`).

    `spread` is the standard deviation of each weight among the near draws.
    """

    rank: Floats
    uniform: WeightDraws
    near: WeightDraws
    spread: Floats


def weight_sensitivity(
    pillars: Floats,
    weights: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 10_000,
    concentration: float = 50.0,
) -> WeightSensitivity:
    """In what share of other weightings does the ranking of the weighted mean hold?

    `pillars` is (models, pillars) with means on one scale, `weights` the published weight of each pillar, above 0.
    Draws are from Dirichlet(1, 1, …), which is uniform over all weightings, and from Dirichlet(concentration ·
    weights), whose mean is the published weights: with 50 a weight of 0.5 becomes 0.5 ± 0.07. Higher is better.
    """
    published = np.asarray(weights, dtype=np.float64)
    if published.shape != pillars.shape[1:] or not (published > 0).all() or not concentration > 0:
        raise ValueError("there must be a weight above 0 for each pillar, and a concentration above 0")
    published = published / published.sum()
    composite = pillars @ published
    uniform = rng.dirichlet(np.ones(len(published)), size=draws)
    near = rng.dirichlet(concentration * published, size=draws)
    return WeightSensitivity(
        competition_ranks(composite),
        _under(composite, uniform @ pillars.T),
        _under(composite, near @ pillars.T),
        np.sqrt(published * (1 - published) / (concentration + 1)),
    )


def _under(composite: Floats, drawn: Floats) -> WeightDraws:
    published = competition_ranks(composite)
    ranks = np.concatenate([competition_ranks(drawn[part]) for part in _parts(drawn)])
    places, p_above = _compare(drawn)
    ahead = np.sign(published[None] - published[:, None])
    holds = np.where(ahead > 0, p_above, np.where(ahead < 0, p_above.T, np.nan))
    keeps = np.where(np.isnan(published), np.nan, (ranks == published).mean(axis=0))
    return WeightDraws(keeps, ranks.min(axis=0), ranks.max(axis=0), places[:, 0], holds)


def _parts(samples: Floats) -> list[slice]:
    return parts_of(len(samples), samples.shape[1] ** 2, _CHUNK_CELLS)


def _compare(samples: Floats) -> tuple[Floats, Floats]:
    """Shares of ranks (models, ranks) and of standing above each other (models, models) over the samples' rows."""
    models = samples.shape[1]
    places, above, both = (np.zeros((models, models)) for _ in range(3))
    for part in _parts(samples):
        rows = steady(samples[part])
        known = (~np.isnan(rows)).astype(np.float64)
        tied, higher = rows[:, :, None] == rows[:, None, :], rows[:, :, None] > rows[:, None, :]
        above += higher.sum(axis=0) + tied.sum(axis=0) / 2
        both += known.T @ known
        first, sharing = higher.sum(axis=1), np.maximum(tied.sum(axis=1), 1)
        last = first + sharing
        for place in range(models):
            places[:, place] += (((first <= place) & (place < last)) * known / sharing).sum(axis=0)
    p_above, shares = ratio(above, both), ratio(places, np.diag(both)[:, None])
    np.fill_diagonal(p_above, np.nan)
    return shares, p_above
