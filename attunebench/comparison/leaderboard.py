"""Leaderboards: metrics per model with intervals, tiers and the ranks a model could have had; skill beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, digits_of, label_of, unit_of
from attunebench.analyses.sampling import Sampling, cells_of, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Filled, Table, column, counts, ranks, table, words
from attunebench.comparison.pairing import reach_warnings
from attunebench.comparison.ranking import Ranking, pair_columns
from attunebench.metrics.registry import REGISTRY
from attunebench.scores import BASE_RATE
from attunebench.scores.references import standing
from attunebench.scores.table import ScoreTable

_ALONE = "Tiers, ranks and P(best) require at least two models."
_OF_TAGS = ("emotion_f1", "emotion_va")
"""Shown for the references beside the ranked metrics: empty answers alone already score on them."""


def leaderboard(study: ScoreTable, rankings: Sequence[Ranking], settings: Settings) -> Analysis:
    """A table per metric in ranked order, one of how many pairs differ significantly, and the references."""
    metrics, pairs = tuple(ranking.metric_id for ranking in rankings), [ranking.pairs for ranking in rankings]
    out = len(study.ids) - len(rankings[0].conversations)
    left_out = f"{verdicts.counted(out, 'conversation')} not scored for every model are left out of the ranking."
    alone = any(len(ranking.ranked) == 1 for ranking in rankings)
    return Analysis(
        tables=(
            *(_rank_table(ranking, base.levels(study, ranking.metric_id), settings) for ranking in rankings),
            *([_pair_counts_table(rankings, settings)] if len(study.groups) > 1 else []),
            *([_reference_table(study, metrics, settings)] if study.references else []),
        ),
        shows=" ".join(ranking.sentence() for ranking in rankings),
        cannot="Models in the same tier need not be equal: these conversations are too few to distinguish them. Other "
        "participants or other pillar weights may give a different order.",
        warnings=(*verdicts.comparability(study, metrics), *reach_warnings(pairs, settings)),
        notes=(*([left_out] if out else []), *([_ALONE] if alone else [])),
    )


def _rank_table(ranking: Ranking, lines: Mapping[str, float], settings: Settings) -> Table:
    """A row per model, best first. `lines` are the chart's references, over all conversations."""
    study, metric_id, few, tests = ranking.study, ranking.metric_id, ranking.few, ranking.pairs.tests
    label, unit = label_of(metric_id), unit_of(metric_id)
    best, apart = cells_of(ranking.stability.p_best, small=few), ranking.pairs.told_apart.sum(axis=1)
    apart_cells = [Cell(int(k) if tests else None, small=bool(one)) for k, one in zip(apart, few, strict=True)]
    return table(
        metric_id,
        label,
        words("model", study.labels),
        ranks("tier", ranking.tier_cells(), "", "Models that do not differ significantly from the best of their tier."),
        counts("n", ranking.n, "conversations"),
        base.metric_column(metric_id, ranking.score_cells(), id="score"),
        ranks("rank", ranking.rank_cells(), "", "By the mean; in brackets, the range over resamples."),
        column(
            "p_best",
            best,
            "P(best)",
            "share",
            "Share of resamples in which the model ranks first.",
            better=True,
            digits=2,
        ),
        counts("apart", apart_cells, "differs from", "Number of models that differ significantly."),
        *(_skill_columns(study, metric_id, settings) if study.ids else []),
        order=ranking.order,
        caption=ranking.caption(settings),
        chart=Chart(
            *("intervals", "model", ("score",), label, "points of 100" if unit == "points" else unit),
            lines=lines,
            bands="tier",
        ),
    )


def _pair_counts_table(rankings: Sequence[Ranking], settings: Settings) -> Table:
    """How far the models of each ranking lie apart, how many pairs differ, and what could have been found."""

    def in_unit(ranking: Ranking, value: float) -> str:
        points = " points" if unit_of(ranking.metric_id) == "points" and not np.isnan(value) else ""
        return verdicts.number(value, digits_of(ranking.metric_id)) + points

    spans = [np.ptp(one.mean[one.ranked]) if one.ranked else np.nan for one in rankings]
    mde, corrected = ([in_unit(r, r.pairs.median(name)) for r in rankings] for name in ("mde", "mde_corrected"))
    return table(
        "told_apart",
        "How much of the ranking is real",
        words("metric", [label_of(ranking.metric_id) for ranking in rankings]),
        counts("models", [len(ranking.ranked) for ranking in rankings]),
        words("span", map(in_unit, rankings, spans), "", "Best minus worst."),
        *pair_columns([ranking.pairs for ranking in rankings], settings),
        words("mde", mde, "detectable", "Median over the pairs."),
        words("mde_corrected", corrected, "detectable, corrected"),
        caption=f"Detectable: the smallest true difference found with {100 * settings.power:g} % power at α "
        f"{settings.alpha:g}, or at α over the number of pairs.",
    )


def _skill_columns(shared: ScoreTable, metric_id: str, settings: Settings) -> list[Filled]:
    """Skill over the base rate per model; no column where the scores have none for the metric."""
    baseline, card = base.reference_of(shared, BASE_RATE), REGISTRY[metric_id]
    if baseline is None or metric_id not in baseline.values:
        return []
    ceiling = card.high if base.better(metric_id) else card.low
    cells = Sampling.of(shared, settings).skill_cells(shared.values(metric_id), baseline.values[metric_id], ceiling)
    return [column("skill", cells, "", "share", "0 is the base rate, 1 the ceiling.", better=True)]


def _reference_table(study: ScoreTable, metrics: tuple[str, ...], settings: Settings) -> Table:
    """What the references score on the same conversations, and the models on average; nothing here is ranked."""
    columns = tuple(dict.fromkeys((*metrics, *_OF_TAGS)))
    sampling, gap = Sampling.of(study, settings), np.full(len(study.ids), np.nan)
    references = [standing(reference) for reference in study.references]
    values = {one.label: [one.values.get(m, gap) for m in columns] for one in references}
    values["mean over models"] = [mean_over_models(study.values(m)) for m in columns]
    rows = [sampling.cells(np.stack(means, axis=1), of=columns) for means in values.values()]
    return table(
        "references",
        "Without a model",
        words("reference", values),
        counts("n", [max(cell.n or 0 for cell in row) for row in rows], "conversations"),
        *(
            column(m, [row[i] for row in rows], label_of(m), unit_of(m), REGISTRY[m].meaning)
            for i, m in enumerate(columns)
        ),
        caption="Computed from the labels alone and not ranked.",
        notes=tuple(f"{one.label}: {one.meaning}" for one in references),
    )
