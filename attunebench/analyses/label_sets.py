"""The same results under other people's labels: does the ranking hold, and do the labels agree with each other?

`Subject.others` are studies of the same results scored on other labels. The first set is that of `Subject.study`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.label_agreement import Agreed, agreement_table, agreements
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.scores.table import ScoreTable
from attunebench.statistics.correlation import FEWEST_MODELS, correlation_matrix
from attunebench.statistics.ranks import competition_ranks

METRICS = ("composite", "pairwise_accuracy")


@dataclass(frozen=True)
class _Set:
    """Another label set: its name, and both studies over the models and conversations that they share."""

    name: str
    first: ScoreTable
    other: ScoreTable


def analyse(subject: Subject) -> Analysis:
    """Rankings under each set, how they correlate, and the agreement of the labels themselves."""
    begun = common.begun("label-sets")
    if not subject.others:
        return replace(
            begun,
            missing="There is one label set: score the same results on another folder of labels and name that file "
            "with --other-labels.",
        )
    names = _names(subject)
    study = common.models_of(subject)
    sets = [
        found
        for name, other in zip(names[1:], subject.others, strict=True)
        if (found := _shared(subject, study, name, other))
    ]
    if not sets:
        return replace(begun, missing="The label sets have no model and conversation in common.")
    settings = subject.settings
    metrics = tuple(common.defined_metrics(study, common.wanted_metrics(settings, METRICS)))
    rankings = [_rankings(one, names[0], metric_id, settings) for one in sets for metric_id in metrics]
    correlations = [_correlated(one, metric_id, settings) for one in sets for metric_id in metrics]
    agreed = [row for one in sets for row in agreements(one.name, one.first, one.other, settings)]
    tables = list(rankings)
    if correlations:
        tables.append(_correlation_table(correlations, settings))
    if agreed:
        tables.append(agreement_table(agreed, settings))
    if not tables:
        return replace(begun, missing="The sets share neither a defined metric nor labels of a conversation.")
    return replace(
        begun,
        tables=tuple(tables),
        shows=_shows(correlations, agreed),
        cannot="The participant's own labels say what they felt; other annotators say what they read. Where the two "
        "differ neither is an error. A ranking that holds over two sets need not hold over a third.",
        warnings=_warnings(subject, names),
        notes=(common.small_text(settings),),
    )


def _names(subject: Subject) -> list[str]:
    """A short name for each set: its folder of labels, else its file, else its number; made unique."""
    found: list[str] = []
    for position, study in enumerate((subject.study, *subject.others), start=1):
        folder = study.metadata[0].get("ground_truth") if study.metadata else None
        source = folder if isinstance(folder, str) and folder else next(iter(study.files), "")
        name = PurePath(source.replace("\\", "/")).name or f"labels {position}"
        found.append(f"{name} ({position})" if name in found else name)
    return found


def _shared(subject: Subject, study: ScoreTable, name: str, other: ScoreTable) -> _Set | None:
    mode = common.mode_of(subject)
    theirs = common.in_mode(other, mode, subject.settings)
    groups = {group.key: group for group in theirs.groups}
    both = [group for group in study.groups if group.key in groups]
    there = frozenset(theirs.ids)
    ids = [i for i in study.ids if i in there]
    if not both or not ids:
        return None
    ours = study.with_groups(both).with_conversations(ids)
    theirs = theirs.with_groups([groups[group.key] for group in both])
    # The order of conversations is that of the first set in both.
    theirs = replace(theirs, ids=tuple(ids), references=())
    return _Set(name, ours, theirs)


def _warnings(subject: Subject, names: Sequence[str]) -> tuple[str, ...]:
    found = []
    first = _hash(subject.study)
    for name, other in zip(names[1:], subject.others, strict=True):
        if first is not None and _hash(other) == first:
            found.append(f"{name} holds the same labels as {names[0]}: this compares a set with itself.")
    return tuple(found)


def _hash(study: ScoreTable) -> str | None:
    found = study.metadata[0].get("ground_truth_sha256") if study.metadata else None
    return found if isinstance(found, str) else None


def _rankings(one: _Set, first_name: str, metric_id: str, settings: Settings) -> Table:
    sampling = Sampling.of(one.first, settings)
    sides = []
    for study in (one.first, one.other):
        values = study.values(metric_id)
        means = sampling.estimate(values).value
        ranks = competition_ranks(means if common.better(metric_id) else -means)
        sides.append(
            (sampling.cells(values, [common.drill_to(g, metric_id) for g in study.groups], of=metric_id), means, ranks)
        )
    unit, digits = common.unit_of(metric_id), common.digits_of(metric_id)
    order = common.by_value(sides[0][1], higher_is_better=common.better(metric_id))
    columns = [Column("model", "model", "text"), Column("n", "conversations", "count")]
    for side, name in (("first", first_name), ("other", one.name)):
        columns += [
            Column(side, name, unit, f"{common.label_of(metric_id)} under these labels.", True, digits),
            Column(f"{side}_rank", f"rank, {name}", "rank", "Place by the mean.", False),
        ]
    rows = tuple(
        (
            text(one.first.labels[i]),
            Cell(sides[0][0][i].n),
            *(cell for cells, _, ranks in sides for cell in (cells[i], Cell(known(ranks[i])))),
        )
        for i in order
    )
    return Table(
        f"{metric_id}_{one.name}",
        f"{common.label_of(metric_id)} under {first_name} and {one.name}",
        tuple(columns),
        rows,
        caption=f"{common.sample_text(one.first)}, in both sets. {common.intervals_text(settings)}.",
        chart=Chart("dumbbells", "model", ("first", "other"), common.label_of(metric_id), "score"),
    )


@dataclass(frozen=True)
class _Correlated:
    """Spearman and Kendall of one metric's ranking under the first set and another one."""

    set_name: str
    metric_id: str
    spearman: Cell
    kendall: Cell
    models: int
    conversations: int
    same_best: bool


def _correlated(one: _Set, metric_id: str, settings: Settings) -> _Correlated:
    sampling = Sampling.of(one.first, settings)
    values = np.stack([one.first.values(metric_id), one.other.values(metric_id)])
    small = len(one.first.ids) < settings.small or len(one.first.groups) < FEWEST_MODELS
    cells = []
    for method in ("spearman", "kendall"):
        found = correlation_matrix(
            values,
            sampling.weights,
            clusters=sampling.clusters,
            method=method,
            rng=settings.rng(f"label-sets {method}"),
            level=settings.level,
        )
        rho = known(found.rho[0, 1])
        cells.append(Cell(rho, known(found.low[0, 1]), known(found.high[0, 1]), small=small))
    best = [common.by_value(sampling.estimate(v).value, higher_is_better=common.better(metric_id))[0] for v in values]
    return _Correlated(
        one.name, metric_id, cells[0], cells[1], len(one.first.groups), len(one.first.ids), best[0] == best[1]
    )


def _correlation_table(correlations: Sequence[_Correlated], settings: Settings) -> Table:
    return Table(
        "rankings",
        "Does the ranking hold?",
        (
            Column("labels", "other labels", "text"),
            Column("metric", "metric", "text"),
            Column("models", "models", "count"),
            Column("n", "conversations", "count"),
            Column("spearman", "Spearman ρ", "number", "Between the models' means under both sets.", True, 2),
            Column(
                "kendall", "Kendall τ", "number", "The same as τ-b: pairs in order minus pairs out of order.", True, 2
            ),
            Column("best", "same best", "text", "Whether the same model has the highest mean."),
        ),
        tuple(
            (
                text(row.set_name),
                text(common.label_of(row.metric_id)),
                Cell(row.models),
                Cell(row.conversations),
                row.spearman,
                row.kendall,
                text("yes" if row.same_best else "no"),
            )
            for row in correlations
        ),
        caption=f"{common.intervals_text(settings)} and of models, as conversations alone give intervals that are too "
        f"narrow where models are close. Under {FEWEST_MODELS} models there is no interval.",
    )


def _shows(correlations: Sequence[_Correlated], agreed: Sequence[Agreed]) -> str:
    said = []
    for row in correlations:
        label = common.label_of(row.metric_id)
        if row.spearman.small or row.spearman.value is None:
            what = f"{common.counted(row.models, 'model')} on {common.counted(row.conversations, 'conversation')}"
            said.append(f"For {label} under {row.set_name}, {what} are too few for a claim.")
        else:
            best = "the same model is first" if row.same_best else "another model is first"
            said.append(
                f"For {label} the ranking under {row.set_name} correlates at ρ "
                f"{common.with_interval(row.spearman, 2)} with the first; {best}."
            )
    lowest = [row for row in agreed if not row.alpha.small and row.alpha.value is not None]
    if lowest:
        least = min(lowest, key=lambda row: common.value_of(row.alpha))
        most = max(lowest, key=lambda row: common.value_of(row.alpha))
        least_text = "" if least is most else f" and least on {least.kind} (α {common.with_interval(least.alpha, 2)})"
        said.append(f"Labels agree most on {most.kind} (α {common.with_interval(most.alpha, 2)}){least_text}.")
    return " ".join(said) or "There are too few conversations for a claim."
