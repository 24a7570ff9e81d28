"""The section that tells how far each group has come from a baseline towards the ceiling.

Finds baseline and ceiling in the scores and lays the skills out; `statistics.bootstrap` computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses.sampling import Sampling, cells_of
from attunebench.analyses.table import Cell
from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY, Metric
from attunebench.reports.model import PRIMARY_MODE, Group, Row, Section, settings_of
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats, skill

_BASELINE, _ORACLE = "baseline", "oracle"
_MOST_RESAMPLES = 100_000
_MEANING = "0 is the baseline, 1 the ceiling; negative values are worse than the baseline."


def skill_section(study: ScoreTable, groups: Sequence[Group], against: str, chosen: Sequence[Metric] = ()) -> Section:
    """The skill of each group against a reference or built-in baseline of the scores, in what enters the Composite.

    `chosen` metrics take the place of those. UsageError names the baselines that there are where `against` is none.
    """
    label = _label(study, against)
    settings = settings_of(study.metadata[0])
    sampling = Sampling.of(study, replace(settings, resamples=min(settings.resamples, _MOST_RESAMPLES)))
    rows = []
    for card in chosen or [card for card in REGISTRY.values() if card.status == "canonical"]:
        values, baseline = study.values(card.id), _baseline(study, against, card.id)
        if card.higher_is_better is None or np.isnan(values).all() or np.isnan(baseline).all():
            continue
        sign = 1.0 if card.higher_is_better else -1.0
        values, baseline, ceiling = (sign * side for side in (values, baseline, _ceiling(study, card)))
        made = skill(values, baseline, ceiling, sampling.resampling)
        cells = cells_of(made.value, made.low, made.high, made.n)
        by_key = {group.key: cell for group, cell in zip(study.groups, cells, strict=True)}
        shown = tuple(by_key.get(group.key, Cell(None)) for group in groups)
        skilled = replace(card, id=f"{card.id}_skill", label=f"{card.label}, skill", meaning=_MEANING, chance=None)
        skilled = replace(skilled, low=0.0, high=1.0, higher_is_better=True, rounds_down=False)
        rows.append(Row(skilled, shown, kind=("Skill", "…_skill")))
    best = "the oracle's score" if _of_model(study, _ORACLE) else "the metric's maximum"
    return Section(
        f"Skill against {label}",
        "(score − baseline) / (ceiling − baseline), a ratio of means over the conversations that all three have.",
        tuple(rows),
        (f"The ceiling is {best}; – if the baseline reaches it.",),
    )


def _label(study: ScoreTable, against: str) -> str:
    labels = {reference.id: reference.label.lower() for reference in study.references}
    built_in = [group.model for group in study.groups if group.provider == _BASELINE and group.model != _ORACLE]
    labels |= {name: f"the baseline {name}" for name in built_in if name not in labels}
    if against not in labels:
        there = (
            f"there is {', '.join(labels)}" if labels else "these scores contain none: run `attune-bench score` again"
        )
        raise UsageError(f"There is no baseline {against!r} in the scores; {there}.")
    return labels[against]


def _of_model(study: ScoreTable, model: str) -> dict[str, int]:
    """Mode → column of a built-in baseline."""
    return {
        group.mode: column
        for column, group in enumerate(study.groups)
        if group.provider == _BASELINE and group.model == model
    }


def _baseline(study: ScoreTable, against: str, metric_id: str) -> Floats:
    reference = next((reference for reference in study.references if reference.id == against), None)
    if reference is None:
        return _in_each_mode(study, against, study.values(metric_id))
    values = reference.values.get(metric_id, np.full(len(study.ids), np.nan))
    return np.repeat(values[:, None], len(study.groups), axis=1)


def _ceiling(study: ScoreTable, card: Metric) -> Floats:
    best = np.full((len(study.ids), len(study.groups)), card.high if card.higher_is_better else card.low)
    if not _of_model(study, _ORACLE):
        return best
    oracle = _in_each_mode(study, _ORACLE, study.values(card.id))
    return np.where(np.isnan(oracle).all(axis=0), best, oracle)


def _in_each_mode(study: ScoreTable, model: str, values: Floats) -> Floats:
    """A baseline's values for each group: those of its mode, else of the primary one, else of any."""
    columns = _of_model(study, model)
    instead = columns.get(PRIMARY_MODE, next(iter(columns.values())))
    return values[:, [columns.get(group.mode, instead) for group in study.groups]]
