"""How a model's scores spread over conversations, and whether the model or the conversation decides a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.metrics.draft import JUDGED
from attunebench.scores.compatibility import judges_differ
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.rank_tests import spearman_interval
from attunebench.statistics.variance import Component, VarianceComponents, variance_components

METRICS = ("composite", "pairwise_accuracy")
SOURCES = ("composite", *common.CANONICAL, "draft_judge")
_AGAINST = ("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")


def analyse(subject: Subject) -> Analysis:
    """Quartiles per model, variance components per metric, and which metrics follow a conversation's difficulty."""
    begun = common.begun("distributions")
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    spread = common.defined_metrics(study, common.wanted_metrics(settings, METRICS))
    sources = common.defined_metrics(study, common.wanted_metrics(settings, SOURCES))
    apart = [finding.sentence for finding in judges_differ(study, "draft_judge")] if "draft_judge" in sources else []
    if apart:  # its variance would be the judges', not the models'
        del sources["draft_judge"]
    if not spread:
        return replace(begun, missing="None of the metrics is defined for any conversation here.")
    sampling = Sampling.of(study, settings)
    tables = [_spread(study, metric_id, table, sampling) for metric_id, table in spread.items()]
    components = {metric_id: _components(table, sampling) for metric_id, table in sources.items()}
    components = {metric_id: found for metric_id, found in components.items() if not np.isnan(found.model.share)}
    if components:
        tables.append(_sources(components, settings, common.sample_text(study)))
    tables += _difficulty(study, sampling)
    return replace(
        begun,
        tables=tuple(tables),
        shows=_shows(components, settings),
        cannot="What is neither the conversation's nor the model's is called rest: models being good at different "
        "conversations, and chance; without repeated runs of a conversation the two cannot be separated. Few models "
        "make the model's share itself uncertain, and its interval is over conversations alone.",
        warnings=tuple(f"Left out: {sentence}" for sentence in apart),
        notes=(common.small_text(settings), *((common.judges_text(study),) if JUDGED & sources.keys() else ())),
    )


def _spread(study: ScoreTable, metric_id: str, values: Floats, sampling: Sampling) -> Table:
    means = sampling.cells(values, [common.drill_to(group, metric_id) for group in study.groups], of=metric_id)
    unit, digits = common.unit_of(metric_id), common.digits_of(metric_id)
    order = common.by_value(sampling.estimate(values).value, higher_is_better=common.better(metric_id))
    rows = tuple((text(study.labels[i]), Cell(means[i].n), means[i], *_quantiles(values[:, i])) for i in order)
    names = ("lowest", "quarter", "median", "three quarters", "highest")
    return Table(
        f"spread_{metric_id}",
        f"{common.label_of(metric_id)} over conversations",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            Column("mean", "mean", unit, "Mean over conversations.", common.better(metric_id), digits),
            Column("sd", "sd", unit, "Standard deviation over conversations.", None, digits),
            *(
                Column(name.replace(" ", "_"), name, unit, "Of the conversations' values.", None, digits)
                for name in names
            ),
        ),
        rows,
        caption=f"{common.sample_text(study)}. Of the means: {common.intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("mean",), f"{common.label_of(metric_id)} over conversations", unit),
    )


def _quantiles(values: Floats) -> list[Cell]:
    defined = values[~np.isnan(values)]
    if not defined.size:
        return [Cell(None)] * 6
    sd = float(defined.std(ddof=1)) if defined.size > 1 else np.nan
    return [Cell(known(sd)), *(Cell(float(value)) for value in np.quantile(defined, [0, 0.25, 0.5, 0.75, 1]))]


def _components(values: Floats, sampling: Sampling) -> VarianceComponents:
    return variance_components(
        values, weights=sampling.weights, clusters=sampling.clusters, level=sampling.settings.level
    )


def _sources(components: Mapping[str, VarianceComponents], settings: Settings, sample: str) -> Table:
    rows = []
    for metric_id, found in components.items():
        small = found.n_conversations < settings.small
        shares = [_share(part, small) for part in (found.conversation, found.model, found.residual)]
        rows.append((text(common.label_of(metric_id)), Cell(found.n_conversations), Cell(found.n_models), *shares))
    return Table(
        "variance",
        "Where the variance comes from",
        (
            Column("metric", "metric", "text"),
            Column("n", "conversations", "count"),
            Column("models", "models", "count"),
            Column("conversation", "conversation", "share", "Share of the variance between conversations.", None),
            Column("model", "model", "share", "Share of the variance between models.", None),
            Column("rest", "rest", "share", "Neither: interplay of the two, and chance.", None),
        ),
        tuple(rows),
        caption=f"{sample}. Crossed random effects, method of moments; “at 0”: the estimate fell below 0. "
        f"Of the shares, for these models: {common.intervals_text(settings)}.",
        chart=Chart("bars", "metric", ("conversation", "model", "rest"), "Where the variance comes from", "share"),
    )


def _share(part: Component, small: bool) -> Cell:
    low, high = (None, None) if part.low == part.high else (known(part.low), known(part.high))
    mark = "at 0" if part.negative else common.mark_of(part.share, np.nan if low is None else low, 2)
    return Cell(known(part.share), low, high, small=small, mark=mark)


def _difficulty(study: ScoreTable, sampling: Sampling) -> list[Table]:
    """How the models' mean on a turn metric follows a conversation's mean Composite."""
    whole = common.mean_over_models(study.values("composite"))
    turn = {m: common.mean_over_models(table) for m, table in common.defined_metrics(study, _AGAINST).items()}
    if np.isnan(whole).all() or not turn:
        return []
    rows = []
    for metric_id, values in turn.items():
        n = int((~np.isnan(whole + values)).sum())
        rho, low, high = spearman_interval(
            whole, values, sampling.weights, clusters=sampling.clusters, level=sampling.settings.level
        )
        cell = Cell(known(rho), known(low), known(high), small=n < sampling.settings.small)
        rows.append((text(common.label_of(metric_id)), Cell(n), cell))
    return [
        Table(
            "difficulty",
            "What makes a conversation easy",
            (
                Column("metric", "metric", "text"),
                Column("n", "conversations", "count"),
                Column(
                    "rho", "ρ with Composite", "number", "Spearman over conversations, of means over models.", None, 2
                ),
            ),
            tuple(rows),
            caption="Spearman's ρ over conversations between the models' mean Composite and their mean on a metric; "
            "the metrics are parts of the Composite, so that some correlation is built in. "
            f"{common.intervals_text(sampling.settings)}.",
        )
    ]


def _shows(components: Mapping[str, VarianceComponents], settings: Settings) -> str:
    if not components:
        return "Sources of variance need two models and two conversations in common."
    metric_id, found = next(iter(components.items()))
    label = common.label_of(metric_id)
    if found.n_conversations < settings.small:
        return f"{common.counted(found.n_conversations, 'conversation')} are too few to say what {label} varies with."
    talk, model = found.conversation, found.model
    shares = f"{_percent(talk)} of the variance between conversations, {_percent(model)} between models"
    if talk.low > model.high:
        said = f"{label} varies more between conversations than between models: {shares}."
    elif model.low > talk.high:
        said = f"{label} varies more between models than between conversations: {shares}."
    else:
        said = f"Whether {label} varies more between conversations or between models is open: {shares}."
    more = sum(other.conversation.low > other.model.high for other in components.values())
    vary = "varies" if more == 1 else "vary"
    return (
        f"{said} {more} of {common.counted(len(components), 'metric')} {vary} more between conversations, by intervals "
        "that do not overlap."
    )


def _percent(part: Component) -> str:
    interval = "" if part.low == part.high else f" [{100 * part.low:.0f}, {100 * part.high:.0f}]"
    return f"{100 * part.share:.0f} %{interval}"
