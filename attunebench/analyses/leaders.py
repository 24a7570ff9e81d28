"""Which model is best and which is last on each metric, and whether that is certain; all means beside it.

"best" and "lowest" are only said of a model that differs significantly from every other one. Tests are those of
`compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, Subject, better, drill_to, label_of, value_of
from attunebench.analyses.sampling import Sampling, turned
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, listed
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
        raise Missing("None of the metrics can be compared between these models.")
    rankings = {m: found for m in metrics if len((found := tiers_of(study, m, settings)).ranked) > 1}
    marks = {metric_id: _marks(ranking) for metric_id, ranking in rankings.items()}
    means = _means(study, metrics, marks, settings)
    return Analysis(
        tables=(_leaders(study, rankings, marks, settings), means),
        shows=_shows(study, rankings, marks, means),
        cannot="A model that is first without a significant lead may be first by chance. Metrics are tested "
        f"separately: with {counted(len(metrics), 'metric')}, some leads can still be due to chance, and metrics that "
        "share answers are not independent.",
        warnings=verdicts.comparability(study, defined),
        notes=verdicts.judges_note(study, metrics),
    )


def _marks(ranking: Ranking) -> dict[int, str]:
    ranked = ranking.ranked
    apart = ranking.pairs.told_apart[:, ranked].sum(axis=1)
    return {i: mark for i, mark in ((ranked[0], BEST), (ranked[-1], LOWEST)) if apart[i] == len(ranked) - 1}


def _leaders(study: ScoreTable, rankings: Mapping[str, Ranking], marks: Marks, settings: Settings) -> Table:
    rows: list[tuple[Any, ...]] = []
    for metric_id, ranking in rankings.items():
        (first, second, *_), last, scores = ranking.ranked, ranking.ranked[-1], ranking.score_cells()
        (lead,), apart = ranking.pairs.cells([(first, second)]), ranking.pairs.told_apart[first].sum()
        marked = marks[metric_id]
        names = [Cell(study.labels[i], mark=marked.get(i, ""), drill=scores[i].drill) for i in (first, last)]
        means = [replace(scores[i], n=None, drill=None) for i in (first, last)]
        lead = lead if better(metric_id) else turned(lead)
        rows.append((label_of(metric_id), names[0], ranking.n[first], means[0], lead, apart, names[1], means[1]))
    sure = "if it differs significantly from all others."
    return table(
        "leaders",
        "First and last by metric",
        words("metric"),
        words("first", (), "", f"The highest mean; “{BEST}” {sure}"),
        counts("n", (), "conversations"),
        column("mean", (), "its mean", meaning="Mean of the first model.", better=True),
        column("lead", meaning="First minus second, paired; p corrected over the pairs.", better=True),
        counts("apart", (), "differs from", "Number of other models from which the first differs significantly."),
        words("last", (), "", f"The lowest mean; “{LOWEST}” {sure}"),
        column("last_mean", (), "its mean", meaning="Mean of the last model."),
        rows=rows,
        caption=f"{verdicts.sample_text(study)}; each pair over its shared conversations. "
        f"{verdicts.correction_text(settings, 'all pairs of a metric')}.",
    )


def _means(study: ScoreTable, metrics: Sequence[str], marks: Marks, settings: Settings) -> Table:
    sampling, first = Sampling.of(study, settings), metrics[0]
    means = {m: sampling.cells(study.values(m), [drill_to(g, m) for g in study.groups], of=m) for m in metrics}
    for metric_id, i, mark in ((m, *item) for m, found in marks.items() for item in found.items()):
        means[metric_id][i] = replace(means[metric_id][i], mark=mark)
    order = base.best_first(means[first] if better(first) else map(turned, means[first]))
    return table(
        "means",
        "All means",
        words("model", study.labels),
        *(base.metric_column(metric_id, cells) for metric_id, cells in means.items()),
        order=order,
        caption=f"{verdicts.sample_text(study)}; each mean over the model's own conversations. “{BEST}” and “{LOWEST}” "
        f"mark a model that differs significantly from all others.",
        chart=Chart("heatmap", "model", tuple(means), "Means by model and metric", "mean"),
    )


def _shows(study: ScoreTable, rankings: Mapping[str, Ranking], marks: Marks, means: Table) -> str:
    if not rankings:
        return "No metric has values for two models on the same conversation."
    if all(ranking.small for ranking in rankings.values()):
        return "The models have too few conversations in common to name a leader."

    def named(mark: str) -> str:
        on = {i: [label_of(m) for m, found in marks.items() if found.get(i) == mark] for i in range(len(study.groups))}
        return "; ".join(f"{study.labels[i]} on {listed(metrics)}" for i, metrics in on.items() if metrics)

    won, whole = sum(BEST in found.values() for found in marks.values()), counted(len(rankings), "metric")
    sentence = f"No model leads significantly on any of {whole}."
    if won:
        sentence = f"Significantly best on {won} of {whole}: {named(BEST)}."
    sentence += f" Significantly lowest: {lowest}." if (lowest := named(LOWEST)) else ""
    places = [i for i, one in enumerate(means.columns) if one.id == "kendall_tau"]
    if not places:
        return sentence
    taus = [row[places[0]] for row in means.rows if not row[places[0]].small]
    below, certain = sum(value_of(c) < 0 for c in taus), sum(c.high is not None and c.high < 0 for c in taus)
    models = f"{below} of {counted(len(study.groups), 'model')} {'has' if below == 1 else 'have'}"
    return f"{sentence} {models} a negative mean τ, with the whole interval below 0 for {certain}."
