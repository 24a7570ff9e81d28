"""Modes against each other: what a model gains or loses in a mode, and who changes places. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.common import beyond_reach, corrected_p, pair_tests, primary_mode
from attunebench.analyses.model import Settings
from attunebench.comparison.pairing import Counts, Floats, Marks, people_behind
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.power import minimum_detectable_effect
from attunebench.statistics.ranks import competition_ranks


@dataclass(frozen=True, slots=True)
class ModeEffects:
    """`mode` − `base` in a metric, with an entry for each model that has both; NaN is undefined.

    `groups` are the models in `mode`. Each is compared over the conversations that it has in both modes; `n` counts
    them, `participants` the people. p is corrected over the `tests` models of this contrast. `rank_base` and
    `rank_mode` are competition ranks among these models over the `ranked_on` conversations that all of them have in
    both modes. `told_apart` is False where a contrast is `small` (too few conversations or participants).
    """

    metric_id: str
    mode: str
    base: str
    groups: tuple[Group, ...]
    tests: int
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    p_corrected: Floats
    n: Counts
    participants: Counts
    mde: Floats
    mde_corrected: Floats
    told_apart: Marks
    small: Marks
    rank_base: Floats
    rank_mode: Floats
    ranked_on: int

    @property
    def shift(self) -> Floats:
        """Places gained in `mode` (positive is up)."""
        return self.rank_base - self.rank_mode


def mode_effects(study: ScoreTable, metric_id: str, settings: Settings | None = None) -> tuple[ModeEffects, ...]:
    """Every other mode of the study against its primary one, for the models that have both; () without such a mode.

    Same test, interval and correction as for pairs of models, over the models of one contrast.
    """
    settings = settings or Settings()
    card = metric(metric_id)
    base = primary_mode(study)
    by_model = {group.model_key: group for group in study.groups if group.mode == base}
    found = []
    for mode in study.modes:
        groups = tuple(group for group in study.groups if group.mode == mode and group.model_key in by_model)
        if mode != base and groups:
            before = tuple(by_model[group.model_key] for group in groups)
            found.append(_effects(study, card.id, settings, before, groups))
    return tuple(found)


def _effects(
    study: ScoreTable, metric_id: str, settings: Settings, before: tuple[Group, ...], after: tuple[Group, ...]
) -> ModeEffects:
    a, b = study.with_groups(after).values(metric_id), study.with_groups(before).values(metric_id)
    people = study.clusters
    tests = pair_tests("modes", a, b, settings, people if settings.by_participant else None)
    p_corrected = corrected_p(tests, settings)
    m = int((~np.isnan(tests.p)).sum())
    participants = people_behind(~np.isnan(a - b), people)
    small = (tests.n < settings.small) | (participants < 2) | beyond_reach(tests.least, settings)
    with np.errstate(invalid="ignore"):
        told_apart = (p_corrected <= settings.alpha) & ~small
    both = study.with_groups((*before, *after)).scored().all(axis=1)
    return ModeEffects(
        metric_id=metric_id,
        mode=after[0].mode,
        base=before[0].mode,
        groups=after,
        tests=m,
        difference=tests.difference,
        low=tests.low,
        high=tests.high,
        p=tests.p,
        p_corrected=p_corrected,
        n=tests.n,
        participants=participants,
        mde=tests.mde,
        mde_corrected=minimum_detectable_effect(tests.se, 1, alpha=settings.alpha / max(m, 1), power=settings.power),
        told_apart=told_apart,
        small=small,
        rank_base=_ranks(b[both], metric_id),
        rank_mode=_ranks(a[both], metric_id),
        ranked_on=int(both.sum()),
    )


def _ranks(values: Floats, metric_id: str) -> NDArray[np.float64]:
    """Competition ranks of the columns' means; NaN for a column without any value."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.nansum(values, axis=0) / known.sum(axis=0)
    return competition_ranks(-means if metric(metric_id).higher_is_better is False else means)
