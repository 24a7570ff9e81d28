"""Groups in tiers: which do not differ significantly, which rank each could have had with other conversations, and how
a ranking by the Composite changes with the weights of its pillars.

Ranks are over the conversations that were scored for all groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.analyses.base import Settings, better, by_value, digits_of, drill_to, label_of, unit_of
from attunebench.analyses.sampling import CORRECTIONS, Sampling, cells_of
from attunebench.analyses.table import Cell, Filled, column, counts
from attunebench.analyses.verdicts import correction_text, counted, listed, number, sample_text
from attunebench.comparison.pairing import Counts, Marks, PairTable, pairs
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats, ratio
from attunebench.statistics.ranks import RankStability, WeightSensitivity, rank_stability, tiers, weight_sensitivity


@dataclass(frozen=True, slots=True)
class Ranking:
    """Groups in tiers by one metric; arrays have an entry for each of `groups`, NaN where one has no value.

    `tiers` holds positions in `groups`, best tier and best group first. They follow from `pairs` (which differ
    significantly) and the order of `mean`. `mean`, its interval and `stability` (ranks over resamples, P(best), P(a
    above b)) are over `study`: the conversations that were scored for every group. `small`: these are too few for a
    claim; then all stand in one tier. `order` has all positions, best mean first, those without a value last. A single
    group with a value has neither tier nor rank.
    """

    metric_id: str
    study: ScoreTable
    pairs: PairTable
    tiers: tuple[tuple[int, ...], ...]
    mean: Floats
    low: Floats
    high: Floats
    n: Counts
    stability: RankStability
    order: tuple[int, ...]
    small: bool

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.study.groups

    @property
    def conversations(self) -> tuple[str, ...]:
        return self.study.ids

    @property
    def participants(self) -> int:
        """How many people the conversations are of."""
        return len(set(self.study.clusters.tolist()))

    @property
    def sample(self) -> str:
        """The conversations and their participants, for captions."""
        return sample_text(self.study)

    @property
    def tier(self) -> Floats:
        """The number of each group's tier, from 1."""
        numbers = {i: float(place) for place, members in enumerate(self.tiers, start=1) for i in members}
        return np.array([numbers.get(i, np.nan) for i in range(len(self.groups))])

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
        """The number of each group's tier; undefined where there is too little for a claim."""
        return cells_of(np.where(self.small, np.nan, self.tier))

    def caption(self, settings: Settings) -> str:
        """What is ranked, and how intervals and tests were made."""
        tests = correction_text(settings, f"{self.pairs.tests} pairs")
        return f"{self.sample}, scored for every model; {tests}."

    def sentence(self) -> str:
        """How many pairs differ significantly, and which models are in the top tier."""
        pairs, ranked = self.pairs, self.ranked
        head = f"{label_of(self.metric_id)} ({self.groups[0].mode}):"
        if len(ranked) < 2 or not (pairs.n > 1).any():
            return f"{head} nothing to rank, {counted(len(ranked), 'model')} with a value in common."
        models = [i for i in ranked if self.groups[i].kind != "oracle"]  # which answers from the labels
        apart = 1 < len(models) < len(ranked)
        first, *_, last = models if apart else ranked
        span = number(abs(self.mean[first] - self.mean[last]), digits_of(self.metric_id))
        who = f"{len(models)} models besides the oracle" if apart else f"{len(ranked)} models"
        head += f" {who} span {span}{' points' if unit_of(self.metric_id) == 'points' else ''}"
        if self.small:
            return f"{head} over {self.sample}, too few for a claim."
        differ = f"{counted(pairs.of, 'pair')} {'differs' if pairs.of == 1 else 'differ'} significantly"
        top = [self.groups[i].label for i in self.tiers[0]]
        tier = "all share one tier" if len(self.tiers) == 1 else f"the top tier is {listed(top)}"
        return f"{head}; {pairs.apart} of {differ} ({pairs.apart_raw} uncorrected); {tier}."


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
    alone = (~np.isnan(found.value)).sum() < 2
    ranked, means = (np.full_like(part, np.nan) if alone else part for part in (values, found.value))
    few = len(common.ids) < settings.small or len(set(common.clusters.tolist())) < 2
    return Ranking(
        metric_id,
        common,
        table,
        tuple(map(tuple, tiers(means, table.told_apart, higher_is_better=higher))),
        mean=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        stability=rank_stability(ranked, sampling.resampling, higher_is_better=higher),
        order=tuple(by_value(found.value, higher_is_better=higher)),
        small=few or (table.tests > 0 and table.undecidable),
    )


def scored_for_all(study: ScoreTable) -> ScoreTable:
    """The study over the conversations that were scored for every group."""
    scored = study.scored()
    return study.with_conversations([i for i, row in zip(study.ids, scored, strict=True) if len(row) and row.all()])


def pair_columns(tables: Sequence[PairTable], settings: Settings, *, better: bool | None = None) -> list[Filled]:
    """How many pairs there are in each table, and how many of them differ significantly, raw and corrected."""
    raw, corrected = (
        [Cell(getattr(one, name), small=one.undecidable) for one in tables] for name in ("apart_raw", "apart")
    )
    meaning = f"After correction ({CORRECTIONS[settings.correction]}) over the pairs."
    return [
        counts("pairs", [one.of for one in tables]),
        column("raw", raw, "differ", "count", f"p at most {settings.alpha:g}.", better=better),
        column("corrected", corrected, "differ, corrected", "count", meaning, better=better),
    ]


def weight_effects(study: ScoreTable, settings: Settings | None = None) -> WeightSensitivity:
    """Ranks of the study's groups under weights near the published ones, and under any weights at all.

    From the means of the pillars over the conversations that were scored for every group; of these, for each group
    those in which it has all pillars, as the Composite does.
    """
    settings, common = settings or Settings(), scored_for_all(study)
    cube = np.stack([common.values(pillar) for pillar in PILLAR_WEIGHTS], axis=-1)
    complete = ~np.isnan(cube).any(axis=-1, keepdims=True)
    means = ratio(np.where(complete, cube, 0.0).sum(axis=0), complete.sum(axis=0))
    return weight_sensitivity(
        means, list(PILLAR_WEIGHTS.values()), rng=settings.rng("weights"), draws=settings.resamples
    )
