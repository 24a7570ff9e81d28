"""How a model's scores spread over conversations, and whether the model or the conversation decides a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attunebench.analyses import base, within
from attunebench.analyses.base import Settings, Subject
from attunebench.analyses.sampling import Sampling, mark_of, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import intervals_text, judges_text, listed, sample_text, with_interval
from attunebench.metrics.draft import JUDGED
from attunebench.scores.compatibility import judges_differ
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.rank_tests import spearman
from attunebench.statistics.variance import Component, VarianceComponents, variance_components

METRICS = ("composite", "pairwise_accuracy")
SOURCES = ("composite", *base.CANONICAL, "draft_judge")
_AGAINST = ("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")


def analyse(subject: Subject) -> Analysis:
    """Quartiles per model, variance components per metric, and which metrics follow a conversation's difficulty."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    spread = within.asked_values(study, settings, METRICS)
    sources = base.defined_metrics(study, base.wanted_metrics(settings, SOURCES))
    apart = [finding.sentence for finding in judges_differ(study, "draft_judge")] if "draft_judge" in sources else []
    if apart:  # its variance would be the judges', not the models'
        del sources["draft_judge"]
    how: dict[str, Any] = {"weights": sampling.weights, "clusters": sampling.clusters, "level": settings.level}
    found = {metric_id: variance_components(values, **how) for metric_id, values in sources.items()}
    components = {metric_id: one for metric_id, one in found.items() if not np.isnan(one.model.share)}
    return Analysis(
        tables=(
            *(_spread(study, metric_id, values, sampling) for metric_id, values in spread.items()),
            *([_sources(study, components, settings)] if components else []),
            *_difficulty(study, sampling),
        ),
        shows=_shows(components, settings),
        cannot="What is neither the conversation's nor the model's is called rest: models being good at different "
        "conversations, and chance; without repeated runs of a conversation the two cannot be separated. Few models "
        "make the model's share itself uncertain, and its interval is over conversations alone.",
        warnings=tuple(f"Left out: {sentence}" for sentence in apart),
        notes=(judges_text(study),) if JUDGED & sources.keys() else (),
    )


def _spread(study: ScoreTable, metric_id: str, values: Floats, sampling: Sampling) -> Table:
    """Mean, standard deviation and quartiles of each model, best mean first."""
    means = sampling.cells(values, [base.drill_to(group, metric_id) for group in study.groups], of=metric_id)
    label, unit, digits = base.label_of(metric_id), base.unit_of(metric_id), base.digits_of(metric_id)
    defined = [of[~np.isnan(of)] for of in values.T]
    quantiles = np.array(
        [np.quantile(of, [0, 0.25, 0.5, 0.75, 1]) if of.size else np.full(5, np.nan) for of in defined]
    )
    deviations = [of.std(ddof=1) if of.size > 1 else np.nan for of in defined]
    names = ("lowest", "quarter", "median", "three_quarters", "highest")
    return table(
        f"spread_{metric_id}",
        f"{label} over conversations",
        words("model", study.labels),
        counts("n", [cell.n for cell in means], "conversations"),
        column("mean", means, "", unit, "Mean over conversations.", better=base.better(metric_id), digits=digits),
        column("sd", deviations, "", unit, "Standard deviation over conversations.", digits=digits),
        *(
            column(name, of, "", unit, "Of the conversations' values.", digits=digits)
            for name, of in zip(names, quantiles.T, strict=True)
        ),
        order=base.by_value(sampling.estimate(values).value, higher_is_better=base.better(metric_id)),
        caption=f"{sample_text(study)}. Of the means: {intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("mean",), f"{label} over conversations", unit),
    )


def _sources(study: ScoreTable, components: Mapping[str, VarianceComponents], settings: Settings) -> Table:
    found = list(components.values())
    small = [one.n_conversations < settings.small for one in found]
    conversation, model, rest = (
        [_share(part, few) for part, few in zip(parts, small, strict=True)]
        for parts in zip(*((one.conversation, one.model, one.residual) for one in found), strict=True)
    )
    return table(
        "variance",
        "Where the variance comes from",
        words("metric", map(base.label_of, components)),
        counts("n", [one.n_conversations for one in found], "conversations"),
        counts("models", [one.n_models for one in found]),
        column("conversation", conversation, "", "share", "Share of the variance between conversations."),
        column("model", model, "", "share", "Share of the variance between models."),
        column("rest", rest, "", "share", "Neither: interplay of the two, and chance."),
        caption=f"{sample_text(study)}. Crossed random effects, method of moments; “at 0”: the estimate fell below 0. "
        f"Of the shares, for these models: {intervals_text(settings)}.",
        chart=Chart("bars", "metric", ("conversation", "model", "rest"), "Where the variance comes from", "share"),
    )


def _share(part: Component, small: bool = False) -> Cell:
    low, high = (None, None) if part.low == part.high else (known(part.low), known(part.high))
    mark = "at 0" if part.negative else mark_of(part.share, np.nan if low is None else low, 2)
    return Cell(known(part.share), low, high, small=small, mark=mark)


def _difficulty(study: ScoreTable, sampling: Sampling) -> list[Table]:
    """How the models' mean on a turn metric follows a conversation's mean Composite."""
    whole = mean_over_models(study.values("composite"))
    turn = {m: mean_over_models(values) for m, values in base.defined_metrics(study, _AGAINST).items()}
    if np.isnan(whole).all() or not turn:
        return []
    small, level, clusters = sampling.settings.small, sampling.settings.level, sampling.clusters
    found = [spearman(whole, of, draws=sampling.weights, clusters=clusters, confidence=level) for of in turn.values()]
    cells = [Cell(known(one.value), known(one.low), known(one.high), small=one.n < small) for one in found]
    return [
        table(
            "difficulty",
            "What makes a conversation easy",
            words("metric", map(base.label_of, turn)),
            counts("n", [one.n for one in found], "conversations"),
            column("rho", cells, "ρ with Composite", "number", "Spearman, of means over models.", digits=2),
            caption="Spearman's ρ over conversations between the models' mean Composite and their mean on a metric; "
            "the metrics are parts of the Composite, so that some correlation is built in. "
            f"{intervals_text(sampling.settings)}.",
        )
    ]


def _shows(components: Mapping[str, VarianceComponents], settings: Settings) -> str:
    """Of the first metric the shares, and in which metrics one is larger with intervals that do not overlap."""
    if not components:
        return "Sources of variance need two models and two conversations in common."
    metric_id, first = next(iter(components.items()))
    if first.n_conversations < settings.small:
        return f"Too few conversations ({first.n_conversations}) to compare sources of the variance."
    larger = {
        "conversations": [base.label_of(m) for m, one in components.items() if one.conversation.low > one.model.high],
        "models": [base.label_of(m) for m, one in components.items() if one.model.low > one.conversation.high],
    }
    named = [f"larger between {of}: {listed(labels)}" for of, labels in larger.items() if labels]
    return (
        f"Share of the variance of {base.label_of(metric_id)}: between conversations "
        f"{with_interval(_share(first.conversation))}, between models {with_interval(_share(first.model))}. With "
        f"intervals that do not overlap, {'; '.join(named) or 'neither is larger in any metric'}."
    )
