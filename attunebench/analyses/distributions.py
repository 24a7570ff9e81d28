"""How a model's scores spread over conversations, and whether the model or the conversation decides a score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import base
from attunebench.analyses.base import Subject, label_of
from attunebench.analyses.sampling import mean_over_models
from attunebench.analyses.table import (
    NOT_ESTIMABLE,
    Analysis,
    Cell,
    Chart,
    Table,
    cell_of,
    column,
    counts,
    table,
    words,
)
from attunebench.analyses.verdicts import judges_note, listed, with_interval
from attunebench.analyses.within import View
from attunebench.scores.compatibility import judges_differ
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.rank_tests import spearman
from attunebench.statistics.variance import Component, VarianceComponents, variance_components

METRICS = ("composite", "pairwise_accuracy")
SOURCES = ("composite", *base.CANONICAL, "draft_judge")
_AGAINST = ("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")


def analyse(subject: Subject) -> Analysis:
    """Quartiles per model, variance components per metric, and which metrics follow a conversation's difficulty."""
    view = View.of_models(subject)
    study = view.study
    spread = base.metrics_of(study, view.settings, METRICS)
    sources = base.defined_metrics(study, base.wanted_metrics(view.settings, SOURCES))
    apart = [finding.sentence for finding in judges_differ(study, "draft_judge")] if "draft_judge" in sources else []
    if apart:  # its variance would be the judges', not the models'
        del sources["draft_judge"]
    found = {m: variance_components(of, view.resampling) for m, of in sources.items()}
    components = {m: one for m, one in found.items() if not np.isnan(one.model.share)}
    return Analysis(
        tables=(
            *(_spread(view, metric_id, values) for metric_id, values in spread.items()),
            _sources(view, components),
            _difficulty(view),
        ),
        shows=_shows(components, view.settings.small),
        warnings=tuple(f"Not included: {sentence}" for sentence in apart),
        notes=judges_note(study, sources),
    )


def _spread(view: View, metric_id: str, values: Floats) -> Table:
    """Mean, standard deviation and quartiles of each model, best mean first."""
    means, better = view.means(metric_id, values), base.better(metric_id)
    label, unit, digits = label_of(metric_id), base.unit_of(metric_id), base.digits_of(metric_id)
    return table(
        f"spread_{metric_id}",
        f"{label} over conversations",
        words("model", view.labels),
        counts("n", [cell.n for cell in means], "conversations"),
        column("mean", means, "", unit, "Mean over conversations.", better=better, digits=digits),
        *base.spread_columns(values.T, unit, digits),
        order=base.best_first(means, higher_is_better=better),
        caption=f"{view.sample}.",
        chart=Chart(
            *("boxes", "model", (*base.QUANTILES, "mean"), f"{label} over conversations", unit),
            lines=base.levels(view.study, metric_id),
        ),
    )


def _sources(view: View, components: Mapping[str, VarianceComponents]) -> Table:
    found, small = list(components.values()), view.settings.small
    conversation, model, rest = (
        [_share(getattr(one, part), one.n_conversations < small) for one in found]
        for part in ("conversation", "model", "residual")
    )
    return table(
        "variance",
        "Sources of variance",
        words("metric", map(label_of, components)),
        counts("n", [one.n_conversations for one in found], "conversations"),
        counts("models", [one.n_models for one in found]),
        column("conversation", conversation, "", "share", "Share of the variance between conversations."),
        column("model", model, "", "share", "Share of the variance between models."),
        column("rest", rest, "", "share", "Residual: interaction of the two, and chance."),
        caption=f"{view.sample}. Crossed random effects, method of moments; “at 0”: the estimate was below 0. Shares "
        "hold for these models.",
        chart=Chart("bars", "metric", ("conversation", "model", "rest"), "Sources of variance", "share", lead=True),
    )


def _share(part: Component, small: bool = False) -> Cell:
    low, high = (part.low, part.high) if part.low < part.high else (np.nan, np.nan)
    mark = "at 0" if part.negative else NOT_ESTIMABLE if np.isnan(low) else ""
    return cell_of(part.share, low, high, small=small, mark=mark)


def _difficulty(view: View) -> Table:
    """How the models' mean on a turn metric follows a conversation's mean Composite; no row where it has none."""
    whole = mean_over_models(view.study.values("composite"))
    turn = {} if np.isnan(whole).all() else base.defined_metrics(view.study, _AGAINST)
    found = [spearman(whole, mean_over_models(of), view.resampling, fewest=3) for of in turn.values()]
    cells = [cell_of(one.value, one.low, one.high, small=one.n < view.settings.small) for one in found]
    return table(
        "difficulty",
        "Correlates of conversation difficulty",
        words("metric", map(label_of, turn)),
        counts("n", [one.n for one in found], "conversations"),
        column("rho", cells, "ρ with Composite", "number", "Spearman's ρ of means over models.", digits=2),
        caption="Spearman's ρ over conversations between the models' mean Composite and their mean on a metric; the "
        f"metrics are parts of the Composite, so some correlation is built in. {view.sample}.",
        chart=Chart(
            *("intervals", "metric", ("rho",), "Correlation with the Composite over conversations", "Spearman's ρ"),
            lines=base.NO_CORRELATION,
        ),
    )


def _shows(components: Mapping[str, VarianceComponents], small: int) -> str:
    """Of the first metric the shares, and in which metrics one is larger with intervals that do not overlap."""
    if not components:
        return "Variance components require two models with two conversations in common."
    metric_id, first = next(iter(components.items()))
    if first.n_conversations < small:
        return f"Too few conversations ({first.n_conversations}) to compare sources of variance."
    larger = {
        "conversations": [label_of(m) for m, one in components.items() if one.conversation.low > one.model.high],
        "models": [label_of(m) for m, one in components.items() if one.model.low > one.conversation.high],
    }
    named = [f"{of} account for more on {listed(labels)}" for of, labels in larger.items() if labels]
    return (
        f"Conversations account for {with_interval(_share(first.conversation))} and models for "
        f"{with_interval(_share(first.model))} of the variance of {label_of(metric_id)}. Judged by intervals that do "
        f"not overlap, {'; '.join(named) or 'neither share is larger on any metric'}."
    )
