"""The section that tells how far each group has come from a baseline towards the ceiling.

Finds baseline and ceiling in the scores and lays the skills out; `statistics.skill` computes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY, Metric
from attunebench.reports.model import PRIMARY_MODE, Estimate, Group, Row, Section
from attunebench.reports.source import finite, mapping

if TYPE_CHECKING:
    from attunebench.scores.table import ScoreTable
    from attunebench.statistics.bootstrap import Counts, Floats

_BASELINE, _ORACLE = "baseline", "oracle"
_RESAMPLES, _MOST_RESAMPLES = 10_000, 100_000
_MEANING = "0 is no better than the baseline, 1 the ceiling, below 0 worse than the baseline."


def skill_section(
    scores: Mapping[str, Any], groups: Sequence[Group], against: str, chosen: Sequence[Metric] = ()
) -> Section:
    """The skill of each group against a reference or built-in baseline of the scores, in what enters the Composite.

    `chosen` metrics take the place of those. UsageError names the baselines that there are where `against` is none.
    """
    import numpy as np

    from attunebench.scores.loading import score_table

    study = score_table({"metadata": {}, **scores})
    label = _label(study, against)
    weights, clusters = _resampling(study, mapping(mapping(scores.get("metadata")).get("intervals")))
    cards = [card for card in chosen or REGISTRY.values() if chosen or card.status == "canonical"]
    rows = []
    for card in (card for card in cards if card.higher_is_better is not None):
        values, baseline = study.values(card.id), _baseline(study, against, card.id)
        if not np.isnan(values).all() and not np.isnan(baseline).all():
            cells = _cells(study, card, (values, baseline, _ceiling(study, card)), weights, clusters)
            shown = tuple(cells.get((group.provider, group.model, group.mode), Estimate()) for group in groups)
            rows.append(_row(card, shown))
    ceiling = "the oracle of the scores" if _of_model(study, _ORACLE) else "the best value that the metric can have"
    return Section(
        f"Skill against {label}",
        "(score − baseline) / (ceiling − baseline), a ratio of means over the conversations that all three have.",
        tuple(rows),
        (f"The ceiling is {ceiling}; – where the baseline reaches it.",),
    )


def _row(card: Metric, cells: tuple[Estimate, ...]) -> Row:
    kind = ("Skill", "…_skill")
    return Row(f"{card.id}_skill", f"{card.label}, skill", _MEANING, card.status, cells, kind=kind)


def _label(study: ScoreTable, against: str) -> str:
    labels = {reference.id: reference.label.lower() for reference in study.references}
    built_in = [group.model for group in study.groups if group.provider == _BASELINE and group.model != _ORACLE]
    labels |= {name: f"the baseline {name}" for name in built_in if name not in labels}
    if against not in labels:
        there = f"there is {', '.join(labels)}" if labels else "these scores hold none: score the results again"
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
    import numpy as np

    reference = next((reference for reference in study.references if reference.id == against), None)
    if reference is None:
        return _in_each_mode(study, against, study.values(metric_id))
    values = reference.values.get(metric_id, np.full(len(study.ids), np.nan))
    return np.repeat(values[:, None], len(study.groups), axis=1)


def _ceiling(study: ScoreTable, card: Metric) -> Floats:
    import numpy as np

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


def _resampling(study: ScoreTable, made: Mapping[str, Any]) -> tuple[Counts, Any]:
    """The resamples by which the intervals of the scores were made, as far as the scores say."""
    import numpy as np

    from attunebench.statistics.bootstrap import resample_weights

    clusters = study.clusters if made.get("unit") == "participant" else None
    units = len(study.ids) if clusters is None else int(clusters.max()) + 1
    seed, resamples = (finite(made.get(name)) for name in ("seed", "resamples"))
    count = int(min(max(resamples or _RESAMPLES, 1), _MOST_RESAMPLES))
    return resample_weights(units, count, np.random.default_rng(int(max(seed or 0, 0)))), clusters


def _cells(
    study: ScoreTable, card: Metric, arrays: tuple[Floats, Floats, Floats], weights: Counts, clusters: Any
) -> dict[tuple[str, str, str], Estimate]:
    from attunebench.statistics.skill import skill

    sign = 1.0 if card.higher_is_better else -1.0
    values, baseline, ceiling = (sign * array for array in arrays)
    found = skill(values, baseline, ceiling, weights, clusters=clusters)
    columns = zip(study.groups, *(part.tolist() for part in (found.value, found.n, found.low, found.high)), strict=True)
    return {
        group.key: Estimate(mean=finite(value), n=n, ci_low=finite(low), ci_high=finite(high))
        for group, value, n, low, high in columns
    }
