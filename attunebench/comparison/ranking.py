"""Groups in tiers: which do not differ significantly, where each could stand had other conversations been drawn, and
how a ranking by the Composite moves with the weights of its pillars.

Ranks over the conversations that were scored for all groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attunebench.analyses.base import Settings, better, by_value, digits_of, drill_to, label_of, unit_of
from attunebench.analyses.sampling import Sampling, cells_of
from attunebench.analyses.table import Cell, Filled, column
from attunebench.analyses.verdicts import correction_text, counted, intervals_text, listed, number, sample_text
from attunebench.comparison.pairing import Counts, Marks, PairTable, pairs
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.ranks import RankStability, WeightSensitivity, rank_stability, tiers, weight_sensitivity


@dataclass(frozen=True, slots=True)
class Ranking:
    """Groups in tiers by one metric; arrays have an entry for each of `groups`, NaN where one has no value.

    `tiers` holds positions in `groups`, best tier and best group first; `tier` is the number of each group's tier from
    1. They follow from `pairs` (which differ significantly) and the order of `mean`. `mean`, its interval and
    `stability` (ranks over resamples, P(best), P(a above b)) are over the `conversations` that were scored for every
    group, of `participants` people; `sample` says so for captions. `small`: these are too few for a claim; then all
    stand in one tier. `order` has all positions, best mean first, those without a value last.
    """

    metric_id: str
    groups: tuple[Group, ...]
    pairs: PairTable
    tiers: tuple[tuple[int, ...], ...]
    tier: Floats
    mean: Floats
    low: Floats
    high: Floats
    n: Counts
    stability: RankStability
    order: tuple[int, ...]
    conversations: tuple[str, ...]
    participants: int
    sample: str
    small: bool

    @property
    def ranked(self) -> list[int]:
        """Positions of the groups with a value, best mean first."""
        return [i for i in self.order if not np.isnan(self.mean[i])]

    @property
    def few(self) -> Marks:
        """Which groups have a value from too little for a claim."""
        return np.asarray(self.small & (self.n > 0))

    def score_cells(self) -> list[Cell]:
        """Each group's mean."""
        drills = [drill_to(group, self.metric_id) for group in self.groups]
        return cells_of(self.mean, self.low, self.high, self.n, self.small, drills)

    def rank_cells(self) -> list[Cell]:
        """Each group's rank, with the ranks it takes over resamples."""
        return cells_of(self.stability.rank, self.stability.low, self.stability.high, small=self.few)

    def tier_cells(self) -> list[Cell]:
        """The number of each group's tier."""
        return cells_of(self.tier, small=self.few)

    def caption(self, settings: Settings) -> str:
        """What is ranked, and how intervals and tests were made."""
        tests = correction_text(settings, f"{self.pairs.tests} pairs")
        return f"{self.sample}, scored for every model. {intervals_text(settings)}; {tests}."


def p_best_column(values: Iterable[Any]) -> Filled:
    """How often each group is first."""
    meaning = "Share of resamples in which it is first."
    return column("p_best", values, "P(best)", "share", meaning, better=True, digits=2)


def tiers_of(study: ScoreTable, metric_id: str, settings: Settings | None = None) -> Ranking:
    """Rank the study's groups, as they are, by a metric, and put those into one tier that do not differ significantly.

    A tier is its best group and all that the corrected test cannot distinguish from it. UsageError for an unknown
    metric.
    """
    settings, metric_id = settings or Settings(), metric(metric_id).id
    table, common, higher = pairs(study, metric_id, settings), scored_for_all(study), better(metric_id)
    if common.ids:
        values, sampling = common.values(metric_id), Sampling.of(common, settings)
    else:
        values = np.full((1, len(study.groups)), np.nan)
        sampling = Sampling(np.ones((1, 1), dtype=np.uint16), None, np.zeros(1, dtype=np.intp), settings)
    found = sampling.estimate(values, of=metric_id)
    stability = rank_stability(
        values, sampling.weights, clusters=sampling.clusters, level=settings.level, higher_is_better=higher
    )
    together = tiers(found.value, table.told_apart, higher_is_better=higher)
    tier = np.full(len(study.groups), np.nan)
    for position, members in enumerate(together, start=1):
        tier[members] = position
    people = len(set(common.clusters.tolist()))
    few = len(common.ids) < settings.small or people < 2
    return Ranking(
        *(metric_id, study.groups, table, tuple(map(tuple, together)), tier),
        *(found.value, found.low, found.high, found.n, stability),
        order=tuple(by_value(found.value, higher_is_better=higher)),
        conversations=common.ids,
        participants=people,
        sample=sample_text(common),
        small=few or (table.tests > 0 and table.undecidable),
    )


def scored_for_all(study: ScoreTable) -> ScoreTable:
    """The study over the conversations that were scored for every group."""
    scored = study.scored()
    return study.with_conversations([i for i, row in zip(study.ids, scored, strict=True) if len(row) and row.all()])


def ranking_sentence(ranking: Ranking) -> str:
    """How many pairs differ significantly, and which models are in the top tier."""
    pairs, ranked = ranking.pairs, ranking.ranked
    head = f"{label_of(ranking.metric_id)} ({ranking.groups[0].mode}):"
    if len(ranked) < 2 or not pairs.tests:
        return f"{head} nothing to rank, {counted(len(ranked), 'model')} with a value in common."
    span = number(abs(ranking.mean[ranked[0]] - ranking.mean[ranked[-1]]), digits_of(ranking.metric_id))
    head += f" {len(ranked)} models span {span}{' points' if unit_of(ranking.metric_id) == 'points' else ''}"
    if ranking.small:
        return f"{head} over {ranking.sample}, too few for a claim."
    differ = f"{counted(pairs.of, 'pair')} {'differs' if pairs.of == 1 else 'differ'} significantly"
    top = [ranking.groups[i].label for i in ranking.tiers[0]]
    tier = "one tier holds all" if len(ranking.tiers) == 1 else f"the top tier is {listed(top)}"
    return f"{head}; {pairs.apart} of {differ} ({pairs.apart_raw} uncorrected); {tier}."


def weight_effects(study: ScoreTable, settings: Settings | None = None) -> WeightSensitivity:
    """Ranks of the study's groups under weights near the published ones, and under any weights at all.

    From the means of the pillars over the conversations that were scored for every group; of these, for each group
    those in which it has all pillars, as the Composite does.
    """
    settings, common = settings or Settings(), scored_for_all(study)
    cube = np.stack([common.values(pillar) for pillar in PILLAR_WEIGHTS], axis=-1)
    complete: Marks = np.asarray(~np.isnan(cube).any(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(complete[..., None], cube, 0.0).sum(axis=0) / complete.sum(axis=0)[:, None]
    return weight_sensitivity(
        means, list(PILLAR_WEIGHTS.values()), rng=settings.rng("weights"), draws=settings.resamples
    )
