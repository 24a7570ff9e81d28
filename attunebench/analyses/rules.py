"""The same results by our rules and by those of the released scorer: what the rules change in scores and ranks.

`Subject.others` holds the study by the other rules. Everything is over the models and conversations that both have.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from attunebench.analyses import base
from attunebench.analyses.base import Settings, Subject, value_of
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, column, ranks, table, words
from attunebench.analyses.verdicts import counted, number, range_text, sample_text
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics.ranks import competition_ranks

METRICS = (
    "composite",
    *(card.id for card in REGISTRY.values() if card.group == "pillar" and card.unit == "share"),
    *(metric_id for metric_id in base.CANONICAL if metric_id != "composite"),
)
Row = tuple[str, str, Cell, Cell, Cell, float, float]
"""Metric and model, the value by both rules and their difference, the rank by both."""


def analyse(subject: Subject) -> Analysis:
    """Each metric by both rules, per model: the paired difference and the change of rank."""
    by_rules, settings = {study.rules: study for study in (*subject.others, subject.study)}, subject.settings
    if len(by_rules) < 2:
        raise Missing(
            "This analysis requires the same results scored by both rules: score them again with the other --rules "
            "and pass both files to `analyze rules`."
        )
    mode = base.mode_of(subject)
    ours, released = base.in_both(*(base.in_mode(by_rules[r], mode, settings) for r in ("attunebench", "released")))
    found = [_rows(metric_id, ours, released, settings) for metric_id in base.wanted_metrics(settings, METRICS)]
    by_metric = [rows for rows in found if rows]
    if not by_metric:
        raise Missing("None of the metrics is defined by both rules for any conversation.")
    metrics, models, one, other, difference, rank, other_rank = zip(*chain(*by_metric), strict=True)
    shift = np.subtract(rank, other_rank)
    shown = table(
        "rules",
        "Scores by both rules",
        words("metric", metrics),
        words("model", models),
        column("ours", one, "attunebench", "points", "By our rules.", better=True, digits=1),
        column("released", other, "released", "points", "By the rules of the released scorer.", better=True, digits=1),
        column("difference", difference, "released − attunebench", "points", "Paired by conversation.", digits=1),
        ranks("rank", rank, "", "Among these models, by our rules."),
        ranks("rank_released", other_rank, "rank, released", "Among these models, by the released rules."),
        column("rank_change", shift, meaning="Ranks gained by the released rules; negative: lost.", digits=0),
        caption=f"Points out of 100. {sample_text(ours)}, scored by both rules. Differences are paired by "
        "conversation.",
        chart=Chart("dumbbells", "model", ("ours", "released"), metrics[0], "points of 100", first=len(ours.groups)),
    )
    return Analysis(
        tables=(shown,),
        shows=_shows(by_metric, ours),
        cannot="This does not show which rules are better. A difference shows how they treat missing answers and "
        "missing labels, not how well a model understands people. Compare published numbers only with scores by the "
        "released rules.",
    )


def _rows(metric_id: str, ours: ScoreTable, released: ScoreTable, settings: Settings) -> list[Row]:
    """The models by our value, in points of 100; nothing where either side has no value."""
    scale = 1.0 if base.unit_of(metric_id) == "points" else 100.0
    values = [scale * study.values(metric_id) for study in (ours, released)]
    if any(np.isnan(side).all() for side in values):
        return []
    sampling, sign = Sampling.of(ours, settings), 1.0 if base.better(metric_id) else -1.0
    means = [sampling.estimate(side).value for side in values]
    drills = [base.drill_to(group, metric_id) for group in ours.groups]
    cells = [sampling.cells(side, drill, flag=False) for side, drill in zip(values, (drills, None), strict=True)]
    change = sampling.cells(values[1] - values[0], flag=False)
    places = [competition_ranks(sign * mean) for mean in means]
    rows = list(zip([base.label_of(metric_id)] * len(drills), ours.labels, *cells, change, *places, strict=True))
    return [rows[i] for i in base.by_value(means[0])]


def _shows(by_metric: list[list[Row]], study: ScoreTable) -> str:
    scope = f"{counted(len(study.groups), 'model')}, {counted(len(study.ids), 'conversation')}"
    first, label = by_metric[0], by_metric[0][0][0]
    moved = sum(abs(row[5] - row[6]) > 0 for row in first)
    span = range_text([(row[1], row[4]) for row in first], 1)
    sentence = f"The released rules change {label} by {span} points ({scope}); {moved} of {len(first)} change rank."
    means = {rows[0][0]: float(np.nanmean([value_of(row[4]) for row in rows])) for rows in by_metric[1:]}
    if not means:
        return sentence
    largest = max(means, key=lambda name: abs(means[name]))
    return f"{sentence} {largest} has the largest mean change: {number(means[largest], 1, sign=True)} points."
