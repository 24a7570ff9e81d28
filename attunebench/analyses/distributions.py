"""How a model's scores spread over conversations, and whether the model or the conversation decides a score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import base
from attunebench.analyses.base import Settings, Subject, label_of
from attunebench.analyses.sampling import mark_of, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Table, cell_of, column, counts, numbers_of, table, words
from attunebench.analyses.verdicts import judges_text, listed, with_interval
from attunebench.analyses.within import View
from attunebench.metrics.draft import JUDGED
from attunebench.scores.compatibility import judges_differ
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.rank_tests import spearman
from attunebench.statistics.variance import Component, VarianceComponents, variance_components

METRICS = ("composite", "pairwise_accuracy")
SOURCES = ("composite", *base.CANONICAL, "draft_judge")
_AGAINST = ("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")
_QUANTILES = {"lowest": 0, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "highest": 1}


def analyse(subject: Subject) -> Analysis:
    """Quartiles per model, variance components per metric, and which metrics follow a conversation's difficulty."""
    view = View.of_models(subject)
    study, settings = view.study, view.settings
    spread = base.metrics_of(study, settings, METRICS)
    sources = base.defined_metrics(study, base.wanted_metrics(settings, SOURCES))
    apart = [finding.sentence for finding in judges_differ(study, "draft_judge")] if "draft_judge" in sources else []
    if apart:  # its variance would be the judges', not the models'
        del sources["draft_judge"]
    found = {metric_id: variance_components(values, view.resampling) for metric_id, values in sources.items()}
    components = {metric_id: one for metric_id, one in found.items() if not np.isnan(one.model.share)}
    return Analysis(
        tables=(
            *(_spread(view, metric_id, values) for metric_id, values in spread.items()),
            *([_sources(view, components)] if components else []),
            *_difficulty(view),
        ),
        shows=_shows(components, settings),
        warnings=tuple(f"Left out: {sentence}" for sentence in apart),
        notes=(judges_text(study),) if JUDGED & sources.keys() else (),
    )


def _spread(view: View, metric_id: str, values: Floats) -> Table:
    """Mean, standard deviation and quartiles of each model, best mean first."""
    means, better = view.means(metric_id, values), base.better(metric_id)
    label, unit, digits = label_of(metric_id), base.unit_of(metric_id), base.digits_of(metric_id)
    defined = [of[~np.isnan(of)] for of in values.T]
    quantiles = np.array(
        [np.quantile(of, list(_QUANTILES.values())) if of.size else np.full(len(_QUANTILES), np.nan) for of in defined]
    )
    deviations = [of.std(ddof=1) if of.size > 1 else np.nan for of in defined]
    return table(
        f"spread_{metric_id}",
        f"{label} over conversations",
        words("model", view.labels),
        numbers_of(means),
        column("mean", means, "", unit, "Mean over conversations.", better=better, digits=digits),
        column("sd", deviations, "", unit, "Standard deviation over conversations.", digits=digits),
        *(
            column(name, of, "", unit, "Of the conversations' values.", digits=digits)
            for name, of in zip(_QUANTILES, quantiles.T, strict=True)
        ),
        order=base.best_first(means, higher_is_better=better),
        caption=f"{view.sample}. Of the means: {view.how()}",
        chart=Chart("intervals", "model", ("mean",), f"{label} over conversations", unit),
    )


def _sources(view: View, components: Mapping[str, VarianceComponents]) -> Table:
    found = list(components.values())
    conversation, model, rest = (
        [_share(getattr(one, part), one.n_conversations < view.settings.small) for one in found]
        for part in ("conversation", "model", "residual")
    )
    return table(
        "variance",
        "Where the variance comes from",
        words("metric", map(label_of, components)),
        counts("n", [one.n_conversations for one in found], "conversations"),
        counts("models", [one.n_models for one in found]),
        column("conversation", conversation, "", "share", "Share of the variance between conversations."),
        column("model", model, "", "share", "Share of the variance between models."),
        column("rest", rest, "", "share", "Neither: interplay of the two, and chance."),
        caption=f"{view.sample}. Crossed random effects, method of moments; “at 0”: the estimate fell below 0. Of the "
        f"shares, for these models: {view.how()}",
        chart=Chart("bars", "metric", ("conversation", "model", "rest"), "Where the variance comes from", "share"),
    )


def _share(part: Component, small: bool = False) -> Cell:
    low, high = (np.nan, np.nan) if part.low == part.high else (part.low, part.high)
    mark = "at 0" if part.negative else mark_of(part.share, low, 2)
    return cell_of(part.share, low, high, small=small, mark=mark)


def _difficulty(view: View) -> list[Table]:
    """How the models' mean on a turn metric follows a conversation's mean Composite."""
    whole = mean_over_models(view.study.values("composite"))
    turn = {m: mean_over_models(values) for m, values in base.defined_metrics(view.study, _AGAINST).items()}
    if np.isnan(whole).all() or not turn:
        return []
    found = [spearman(whole, of, view.resampling, fewest=3) for of in turn.values()]
    cells = [cell_of(one.value, one.low, one.high, small=one.n < view.settings.small) for one in found]
    return [
        table(
            "difficulty",
            "What makes a conversation easy",
            words("metric", map(label_of, turn)),
            counts("n", [one.n for one in found], "conversations"),
            column("rho", cells, "ρ with Composite", "number", "Spearman, of means over models.", digits=2),
            caption="Spearman's ρ over conversations between the models' mean Composite and their mean on a metric; "
            f"the metrics are parts of the Composite, so that some correlation is built in. {view.how()}",
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
        "conversations": [label_of(m) for m, one in components.items() if one.conversation.low > one.model.high],
        "models": [label_of(m) for m, one in components.items() if one.model.low > one.conversation.high],
    }
    named = [f"larger between {of}: {listed(labels)}" for of, labels in larger.items() if labels]
    return (
        f"Share of the variance of {label_of(metric_id)}: between conversations "
        f"{with_interval(_share(first.conversation))}, between models {with_interval(_share(first.model))}. With "
        f"intervals that do not overlap, {'; '.join(named) or 'neither is larger in any metric'}."
    )
