"""Composite and Pairwise per model with intervals, tiers and the places a model could have had: how real is a ranking?

Tests and tiers are those of `compare`; this lays them out model by model, with skill over the base rate beside them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.comparison import Ranking, tiers_of
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores.references import standing
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

METRICS = ("composite", "pairwise_accuracy")
_OF_TAGS = ("emotion_f1", "emotion_va")
"""Shown for the references beside the ranked metrics: much of them can be had by saying nothing."""


def analyse(subject: Subject) -> Analysis:
    """A table per metric in ranked order, one of how many pairs are told apart, and the references beside them."""
    begun = common.begun("leaderboard")
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    metrics = tuple(common.defined_metrics(study, common.wanted_metrics(settings, METRICS)))
    if not metrics:
        return replace(begun, missing="None of the metrics is defined for any conversation here.")
    rankings = [tiers_of(study, metric_id, settings) for metric_id in metrics]
    tables = [_ranked(study, ranking, settings) for ranking in rankings]
    if len(study.groups) > 1:
        tables.append(_told_apart(rankings, settings))
    tables += _references(study, metrics, settings)
    return replace(
        begun,
        tables=tuple(tables),
        shows=" ".join(sentence_of(ranking) for ranking in rankings),
        cannot="Models in one tier are not shown to be equal: these conversations are too few to tell them apart. "
        "Another set of people, or other weights of the pillars, can give another order.",
        warnings=(
            *common.comparability(study, metrics),
            *dict.fromkeys(s for ranking in rankings for s in reach_text(ranking.pairs.least_of_pairs, settings)),
        ),
        notes=(common.small_text(settings), *_coverage(study, rankings[0])),
    )


def sentence_of(ranking: Ranking) -> str:
    """What a ranking shows: how many pairs are told apart, and who is in the top tier."""
    label, digits = common.label_of(ranking.metric_id), common.digits_of(ranking.metric_id)
    names = [group.label for group in ranking.groups]
    ranked = [i for i in ranking.order if not np.isnan(ranking.mean[i])]
    if len(ranked) < 2:
        return f"On {label} there is nothing to rank: {common.counted(len(ranked), 'model')} with a value in common."
    first, last = ranking.mean[ranked[0]], ranking.mean[ranked[-1]]
    span = f"On {label} {len(ranked)} models span {common.number(abs(first - last), digits)}"
    pairs = ranking.pairs
    if ranking.small:
        return (
            f"{span}, over {common.counted(len(ranking.conversations), 'conversation')} of "
            f"{common.counted(ranking.participants, 'participant')}: too few for a claim."
        )
    apart = (
        f"{span}; {pairs.apart} of {common.counted(pairs.of, 'pair')} are told apart ({pairs.apart_raw} uncorrected)"
    )
    if not pairs.apart:
        return f"{apart}, so the order may be chance."
    top = ranking.tiers[0]
    if len(top) == 1:
        return f"{apart}, and {names[top[0]]} stands alone at the top."
    return f"{apart}; the top tier is {common.listed([names[i] for i in top])}."


def _ranked(study: ScoreTable, ranking: Ranking, settings: Settings) -> Table:
    metric_id = ranking.metric_id
    unit, digits = common.unit_of(metric_id), common.digits_of(metric_id)
    skills = _skills(study, ranking, settings)
    stability = ranking.stability
    rows = []
    for i in ranking.order:
        group = ranking.groups[i]
        score = Cell(
            known(ranking.mean[i]),
            known(ranking.low[i]),
            known(ranking.high[i]),
            n=int(ranking.n[i]),
            small=ranking.small and ranking.n[i] > 0,
            mark=common.mark_of(ranking.mean[i], ranking.low[i], int(ranking.n[i])),
            drill=common.drill_to(group, metric_id),
        )
        rank = Cell(known(stability.rank[i]), known(stability.low[i]), known(stability.high[i]), small=score.small)
        row = (
            text(group.label),
            Cell(known(ranking.tier[i]), small=score.small),
            Cell(int(ranking.n[i])),
            score,
            rank,
            Cell(known(stability.p_best[i]), small=score.small),
            Cell(int(ranking.pairs.told_apart[i].sum()), small=score.small),
        )
        rows.append(row + ((skills[i],) if skills else ()))
    columns = (
        Column("model", "model", "text"),
        Column("tier", "tier", "rank", "Models of a tier are not told apart from its best.", False),
        Column("n", "conversations", "count"),
        Column(
            "score", common.label_of(metric_id), unit, REGISTRY[metric_id].meaning, common.better(metric_id), digits
        ),
        Column("rank", "rank", "rank", "Place by the mean, and the places it takes over resamples.", False),
        Column("p_best", "P(best)", "share", "Share of resamples in which it is first; a tie is shared.", True, 2),
        Column("apart", "told apart from", "count", "How many other models it is told apart from."),
        Column("skill", "skill", "share", "0 is the base rate, 1 the ceiling.", True),
    )
    return Table(
        metric_id,
        common.label_of(metric_id),
        columns if skills else columns[:-1],
        tuple(rows),
        caption=f"{common.counted(len(ranking.conversations), 'conversation')} of "
        f"{common.counted(ranking.participants, 'participant')}, scored for every model. "
        f"{common.intervals_text(settings)}; {common.correction_text(settings, f'{ranking.pairs.tests} pairs')}.",
        chart=Chart(
            "intervals",
            "model",
            ("score",),
            common.label_of(metric_id),
            "points of 100" if unit == "points" else unit,
            _lines(study, metric_id),
        ),
    )


def _lines(study: ScoreTable, metric_id: str) -> dict[str, float]:
    """Chance where the metric has one, and the base rate where the scores hold it."""
    chance = cards_of(study.rules)[metric_id].chance
    lines = {} if chance is None else {"chance": chance}
    reference = common.reference_of(study, common.BASE_RATE)
    if reference is not None and metric_id in reference.values:
        mean = known(common.mean_of(list(reference.values[metric_id][:, None])).item())
        if mean is not None:
            lines["base rate"] = mean
    return lines


def _skills(study: ScoreTable, ranking: Ranking, settings: Settings) -> list[Cell]:
    """Skill over the base rate per model; empty where the ranked conversations have none for the metric."""
    if not ranking.conversations:
        return []
    shared = study.with_conversations(ranking.conversations)
    baseline = common.reference_of(shared, common.BASE_RATE)
    if baseline is None or ranking.metric_id not in baseline.values:
        return []
    card = REGISTRY[ranking.metric_id]
    ceiling = card.high if common.better(card.id) else card.low
    sampling = Sampling.of(shared, settings)
    return sampling.skill_cells(shared.values(card.id), baseline.values[card.id], ceiling)


def _told_apart(rankings: list[Ranking], settings: Settings) -> Table:
    rows = []
    for ranking in rankings:
        pairs, unit = ranking.pairs, common.unit_of(ranking.metric_id)
        means = ranking.mean[~np.isnan(ranking.mean)]
        rows.append(
            (
                text(common.label_of(ranking.metric_id)),
                Cell(len(means)),
                text(_spelled(float(np.ptp(means)) if len(means) else None, ranking.metric_id, unit)),
                Cell(pairs.of),
                Cell(pairs.apart_raw),
                Cell(pairs.apart),
                text(_spelled(_median(pairs.mde), ranking.metric_id, unit)),
                text(_spelled(_median(pairs.mde_corrected), ranking.metric_id, unit)),
            )
        )
    return Table(
        "told_apart",
        "How much of the ranking is real",
        (
            Column("metric", "metric", "text"),
            Column("models", "models", "count"),
            Column("span", "span", "text", "Best mean minus worst."),
            Column("pairs", "pairs", "count"),
            Column("raw", "told apart", "count", f"p at most {settings.alpha:g}, uncorrected."),
            Column("corrected", "corrected", "count", f"The same after correction ({settings.correction})."),
            Column("mde", "detectable", "text", "Median difference that a pair's test would find."),
            Column("mde_corrected", "detectable, corrected", "text", "The same at α over the number of pairs."),
        ),
        tuple(rows),
        caption=f"Detectable: the smallest true difference found with {100 * settings.power:g} % power at α "
        f"{settings.alpha:g}, the median over pairs.",
    )


def _spelled(value: float | None, metric_id: str, unit: str) -> str:
    number = common.number(value, common.digits_of(metric_id))
    return f"{number} points" if unit == "points" and value is not None else number


def _median(values: Floats) -> float | None:
    defined = values[~np.isnan(values)]
    return float(np.median(defined)) if defined.size else None


def _references(study: ScoreTable, metrics: tuple[str, ...], settings: Settings) -> list[Table]:
    """What the references score on the same conversations, and the models on average; nobody is ranked here."""
    columns = tuple(dict.fromkeys((*metrics, *_OF_TAGS)))
    if not study.references:
        return []
    sampling = Sampling.of(study, settings)
    gap = np.full(len(study.ids), np.nan)
    references = [standing(reference) for reference in study.references]
    values = {reference.label: [reference.values.get(m, gap) for m in columns] for reference in references}
    values["mean over models"] = [common.mean_over_models(study.values(m)) for m in columns]
    rows = []
    for label, means in values.items():
        cells = sampling.cells(np.stack(means, axis=1), of=columns)
        rows.append((text(label), Cell(max(cell.n or 0 for cell in cells)), *cells))
    return [
        Table(
            "references",
            "Without a model",
            (
                Column("reference", "reference", "text"),
                Column("n", "conversations", "count"),
                *(Column(m, common.label_of(m), common.unit_of(m), REGISTRY[m].meaning) for m in columns),
            ),
            tuple(rows),
            caption=f"Made from the labels alone and in no ranking. {common.intervals_text(settings)}.",
            notes=tuple(f"{reference.label}: {reference.meaning}" for reference in references),
        )
    ]


def _coverage(study: ScoreTable, ranking: Ranking) -> tuple[str, ...]:
    left_out = len(study.ids) - len(ranking.conversations)
    if not left_out:
        return ()
    return (f"{common.counted(left_out, 'conversation')} not scored for every model stay out of the ranking.",)
