"""Groups in tiers: who is not told apart from whom, and where each could stand had other conversations been drawn.

Ranks over the conversations that were scored for all groups. Knows neither files nor tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.model import Settings
from attunebench.comparison.pairing import PairTable, pairs
from attunebench.metrics.registry import Metric, metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import (
    Estimates,
    estimate_ratios,
    mean_as_ratio,
    resample_weights,
)
from attunebench.statistics.intervals import with_wilson
from attunebench.statistics.ranks import RankStability, rank_stability, tiers

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Groups in tiers by one metric; arrays have an entry for each of `groups`, NaN where one has no value.

    `tiers` holds positions in `groups`, best tier and best group first; `tier` is the number of each group's tier from
    1. They follow from `pairs` (who is told apart) and the order of `mean`. `mean`, its interval and `stability`
    (places over resamples, P(best), P(a above b)) are over the `conversations` that were scored for every group, of
    `participants` people. `small`: these are too few for a claim; then all stand in one tier, which says just that.
    """

    metric_id: str
    groups: tuple[Group, ...]
    pairs: PairTable
    tiers: tuple[tuple[int, ...], ...]
    tier: Floats
    mean: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]
    stability: RankStability
    conversations: tuple[str, ...]
    participants: int
    small: bool

    @property
    def order(self) -> tuple[int, ...]:
        """Positions in `groups`, best mean first; those without a value last."""
        sign = 1.0 if metric(self.metric_id).higher_is_better is False else -1.0
        keys = np.where(np.isnan(self.mean), np.inf, sign * self.mean)
        return tuple(int(i) for i in np.argsort(keys, kind="stable"))


def tiers_of(
    study: ScoreTable, metric_id: str, settings: Settings | None = None, *, table: PairTable | None = None
) -> Ranking:
    """Rank the study's groups, as they are, by a metric, and put those into one tier that are not told apart.

    A tier is its best group and all that the corrected test does not tell apart from it. `table`: the pairs of the same
    study, metric and settings where they are at hand. UsageError for an unknown metric.
    """
    settings = settings or Settings()
    card = metric(metric_id)
    table = table or pairs(study, card.id, settings)
    shared = in_common(study)
    common = study.with_conversations(shared)
    higher = card.higher_is_better is not False
    values, people = common.values(card.id), common.clusters
    estimates, stability = _stability(values, people, settings, card)
    found = tiers(estimates.value, table.told_apart, higher_is_better=higher)
    tier = np.full(len(study.groups), np.nan)
    for number, members in enumerate(found, start=1):
        tier[members] = number
    participants = len(set(people.tolist()))
    few = len(shared) < settings.small or participants < 2
    return Ranking(
        metric_id=card.id,
        groups=study.groups,
        pairs=table,
        tiers=tuple(tuple(members) for members in found),
        tier=tier,
        mean=estimates.value,
        low=estimates.low,
        high=estimates.high,
        n=estimates.n,
        stability=stability,
        conversations=shared,
        participants=participants,
        small=few or (table.tests > 0 and table.undecidable),
    )


def in_common(study: ScoreTable) -> tuple[str, ...]:
    """The conversations that were scored for every group of the study."""
    scored = study.scored()
    return tuple(i for i, row in zip(study.ids, scored, strict=True) if len(row) and row.all())


def _stability(
    values: Floats, people: NDArray[np.intp], settings: Settings, card: Metric
) -> tuple[Estimates, RankStability]:
    size = values.shape[1]
    if not len(values):
        nothing = np.full(size, np.nan)
        unknown = np.full((size, size), np.nan)
        return (
            Estimates(nothing, np.zeros(size, dtype=np.int64), nothing, nothing, nothing),
            RankStability(nothing, nothing, nothing, nothing, unknown, unknown),
        )
    clusters = people if settings.by_participant else None
    units = len(values) if clusters is None else int(clusters.max()) + 1
    # As `score` draws them, so that a mean has the same interval in every table.
    weights = resample_weights(units, settings.resamples, np.random.default_rng(settings.seed))
    above, below = mean_as_ratio(values)
    estimates = estimate_ratios(above, below, weights, clusters=clusters, level=settings.level)
    estimates, _ = with_wilson(estimates, below, np.full(size, card.proportion), clusters, settings.level)
    higher = card.higher_is_better is not False
    stability = rank_stability(values, weights, clusters=clusters, level=settings.level, higher_is_better=higher)
    return estimates, stability
