"""Which model is best and which is last on each metric, and whether that is certain; all means beside it.

"best" and "lowest" are only said of a model that differs significantly from every other one. Tests are those of
`compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import base
from attunebench.analyses.base import Subject, better, drill_to, label_of, value_of
from attunebench.analyses.sampling import Sampling, turned
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import (
    comparability,
    correction_text,
    counted,
    intervals_text,
    judges_note,
    listed,
    sample_text,
)
from attunebench.comparison.ranking import Ranking, tiers_of
from attunebench.scores.table import ScoreTable

METRICS = ("composite", *base.CANONICAL, "kendall_tau", "draft_judge", "draft_binary_alignment")
BEST, LOWEST = "best", "lowest"
Marks = Mapping[str, Mapping[int, str]]
"""Metric → position of a model → "best" or "lowest"."""


def analyse(subject: Subject) -> Analysis:
    """A row per metric with its first, second and last model, and a table of all means."""
    study, settings = base.models_of(subject, least=2), subject.settings
    defined = base.metrics_of(study, settings, METRICS)
    metrics = base.comparable_metrics(study, defined)
    if not metrics:
        raise Missing("None of the metrics can be compared between the models here.")
    rankings = {metric_id: tiers_of(study, metric_id, settings) for metric_id in metrics}
    rankings = {metric_id: ranking for metric_id, ranking in rankings.items() if len(ranking.ranked) > 1}
    marks = {metric_id: _marks(ranking) for metric_id, ranking in rankings.items()}
    sampling = Sampling.of(study, settings)
    means = {m: sampling.cells(study.values(m), [drill_to(g, m) for g in study.groups], of=m) for m in metrics}
    for metric_id, i, mark in ((m, *item) for m, found in marks.items() for item in found.items()):
        means[metric_id][i] = replace(means[metric_id][i], mark=mark)
    return Analysis(
        tables=(_leaders(study, rankings, marks, sampling), _grid(study, means, sampling)),
        shows=_shows(study, rankings, marks, means),
        cannot="A model that is first without a significant lead may be first by chance. Metrics are tested one by "
        f"one: over {counted(len(metrics), 'metric')} some lead can still be chance, and metrics that share answers "
        "repeat each other.",
        warnings=comparability(study, defined),
        notes=judges_note(study, metrics),
    )


def _marks(ranking: Ranking) -> dict[int, str]:
    ranked = ranking.ranked
    apart = ranking.pairs.told_apart[:, ranked].sum(axis=1)
    return {i: mark for i, mark in ((ranked[0], BEST), (ranked[-1], LOWEST)) if apart[i] == len(ranked) - 1}


def _leaders(study: ScoreTable, rankings: Mapping[str, Ranking], marks: Marks, sampling: Sampling) -> Table:
    def names(place: int) -> list[Cell]:
        found = {metric_id: ranking.ranked[place] for metric_id, ranking in rankings.items()}
        return [
            Cell(study.labels[i], mark=marks[m].get(i, ""), drill=drill_to(study.groups[i], m))
            for m, i in found.items()
        ]

    def means(place: int) -> list[Cell]:
        return [replace(one.score_cells()[one.ranked[place]], n=None, drill=None) for one in tests]

    tests, settings = list(rankings.values()), sampling.settings
    leads = [one.pairs.cells()[one.ranked[0]][one.ranked[1]] for one in tests]
    leads = [cell if better(m) else turned(cell) for m, cell in zip(rankings, leads, strict=True)]
    apart = [one.pairs.told_apart[one.ranked[0]].sum() for one in tests]
    sure = "where it differs significantly from all others."
    return table(
        "leaders",
        "First and last by metric",
        words("metric", map(label_of, rankings)),
        words("first", names(0), "", f"The highest mean; “{BEST}” {sure}"),
        counts("n", [one.n[one.ranked[0]] for one in tests], "conversations"),
        column("mean", means(0), "its mean", meaning="Mean of the first.", better=True),
        column("lead", leads, meaning="First minus second, paired, with p corrected over the pairs.", better=True),
        counts("apart", apart, "differs from", "From how many other models the first differs significantly."),
        words("last", names(-1), "", f"The lowest mean; “{LOWEST}” {sure}"),
        column("last_mean", means(-1), "its mean", meaning="Mean of the last."),
        caption=f"{sample_text(study)}; each pair over the conversations of both. "
        f"{intervals_text(settings)}; {correction_text(settings, 'all pairs of a metric')}.",
    )


def _grid(study: ScoreTable, means: Mapping[str, Sequence[Cell]], sampling: Sampling) -> Table:
    first = next(iter(means))
    return table(
        "means",
        "All means",
        words("model", study.labels),
        *(base.metric_column(metric_id, cells) for metric_id, cells in means.items()),
        order=base.by_value(np.array(list(map(value_of, means[first]))), higher_is_better=better(first)),
        caption=f"{sample_text(study)}; each mean over the model's own conversations. “{BEST}” and “{LOWEST}” mark a "
        f"model that differs significantly from all others. {intervals_text(sampling.settings)}.",
        chart=Chart("heatmap", "model", tuple(means), "Means by model and metric", "mean"),
    )


def _shows(
    study: ScoreTable, rankings: Mapping[str, Ranking], marks: Marks, means: Mapping[str, Sequence[Cell]]
) -> str:
    if not rankings:
        return "No metric has two models with a value in common."
    if all(ranking.small for ranking in rankings.values()):
        return "The models have too few conversations in common to name a leader."
    ends: dict[str, dict[str, list[str]]] = {BEST: {}, LOWEST: {}}
    for metric_id, found in marks.items():
        for i, mark in found.items():
            ends[mark].setdefault(study.labels[i], []).append(label_of(metric_id))
    best, lowest = ("; ".join(f"{name} on {listed(won)}" for name, won in by_name.items()) for by_name in ends.values())
    won, whole = sum(map(len, ends[BEST].values())), counted(len(rankings), "metric")
    sentence = f"Best on {won} of {whole}: {best}." if won else f"On none of {whole} does a model lead significantly."
    sentence += " No model leads everywhere." if won < len(rankings) or len(ends[BEST]) > 1 else ""
    sentence += f" Lowest: {lowest}." if lowest else ""
    if "kendall_tau" not in means:
        return sentence
    taus = [cell for cell in means["kendall_tau"] if not cell.small]
    below, certain = sum(value_of(c) < 0 for c in taus), sum(c.high is not None and c.high < 0 for c in taus)
    models = f"{below} of {counted(len(study.groups), 'model')} {'has' if below == 1 else 'have'}"
    return f"{sentence} {models} a negative mean τ, {certain} with the whole interval."
