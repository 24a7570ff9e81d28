"""The same results under other people's labels: does the ranking hold, and do the labels agree with each other?

`Subject.others` are studies of the same results scored on other labels. The first set is that of `Subject.study`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from attunebench.analyses import base
from attunebench.analyses.base import Settings, Subject, better, label_of, value_of
from attunebench.analyses.label_agreement import Agreed, agreement_table, agreements
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, known, ranks, table, words
from attunebench.analyses.verdicts import correlation_sentence, counted, intervals_text, sample_text, with_interval
from attunebench.scores.table import ScoreTable
from attunebench.statistics.correlation import FEWEST_MODELS, correlation_matrix
from attunebench.statistics.ranks import competition_ranks

METRICS = ("composite", "pairwise_accuracy")


class _Correlated(NamedTuple):
    """How one metric's rankings under the first set and another one correlate."""

    name: str
    metric: str
    models: int
    n: int
    spearman: Cell
    kendall: Cell
    same_best: str


def analyse(subject: Subject) -> Analysis:
    """Rankings under each set, how they correlate, and the agreement of the labels themselves."""
    if not subject.others:
        raise Missing(
            "There is one label set: score the same results on another folder of labels and name that file with "
            "--other-labels."
        )
    study, settings, mode = base.models_of(subject), subject.settings, base.mode_of(subject)
    own, *names = _names(subject)
    sets: list[tuple[str, ScoreTable, ScoreTable]] = []
    for name, other in zip(names, subject.others, strict=True):
        with suppress(Missing):
            sets.append((name, *base.in_both(study, base.in_mode(other, mode, settings))))
    if not sets:
        raise Missing("The label sets have no model and conversation in common.")
    metrics = tuple(base.defined_metrics(study, base.wanted_metrics(settings, METRICS)))
    correlations = [_correlated(*one, metric_id, settings) for one in sets for metric_id in metrics]
    agreed = [row for one in sets for row in agreements(*one, settings)]
    tables = [_rankings(own, *one, metric_id, settings) for one in sets for metric_id in metrics]
    tables += [_correlation_table(correlations, settings)] if correlations else []
    tables += [agreement_table(agreed, settings)] if agreed else []
    if not tables:
        raise Missing("The sets share neither a defined metric nor labels of a conversation.")
    first, *digests = (one.metadata[0].get("ground_truth_sha256") for one in (subject.study, *subject.others))
    same = [name for name, digest in zip(names, digests, strict=True) if digest is not None and digest == first]
    return Analysis(
        tables=tuple(tables),
        shows=_shows(correlations, agreed, settings),
        cannot="The participant's own labels say what they felt; other annotators say what they read. Where the two "
        "differ neither is an error. A ranking that holds over two sets need not hold over a third.",
        warnings=tuple(f"{name} holds the same labels as {own}: this compares a set with itself." for name in same),
    )


def _names(subject: Subject) -> list[str]:
    """A short name for each set: its folder of labels, else its file, else its number; made unique."""
    names: list[str] = []
    for position, study in enumerate((subject.study, *subject.others), start=1):
        folder = study.metadata[0].get("ground_truth")
        source = folder if isinstance(folder, str) and folder else next(iter(study.files), "")
        name = PurePath(source.replace("\\", "/")).name or f"labels {position}"
        names.append(f"{name} ({position})" if name in names else name)
    return names


def _rankings(own: str, name: str, first: ScoreTable, other: ScoreTable, metric_id: str, settings: Settings) -> Table:
    sampling, sign = Sampling.of(first, settings), 1.0 if better(metric_id) else -1.0
    drills = [base.drill_to(group, metric_id) for group in first.groups]
    values = [study.values(metric_id) for study in (first, other)]
    means = [sign * sampling.estimate(side).value for side in values]
    cells = [sampling.cells(side, drills, of=metric_id) for side in values]
    return table(
        f"{metric_id}_{name}",
        f"{label_of(metric_id)} under {own} and {name}",
        words("model", first.labels),
        counts("n", [cell.n for cell in cells[0]], "conversations"),
        base.metric_column(metric_id, cells[0], id="first", label=own),
        ranks("first_rank", competition_ranks(means[0]), f"rank, {own}", "By the mean."),
        base.metric_column(metric_id, cells[1], id="other", label=name),
        ranks("other_rank", competition_ranks(means[1]), f"rank, {name}", "By the mean."),
        order=base.by_value(means[0]),
        caption=f"{sample_text(first)}, in both sets. {intervals_text(settings)}.",
        chart=Chart("dumbbells", "model", ("first", "other"), label_of(metric_id), "score"),
    )


def _correlated(name: str, first: ScoreTable, other: ScoreTable, metric_id: str, settings: Settings) -> _Correlated:
    sampling, models, n = Sampling.of(first, settings), len(first.groups), len(first.ids)
    values = np.stack([first.values(metric_id), other.values(metric_id)])
    small, cells = n < settings.small or models < FEWEST_MODELS, []
    for method in ("spearman", "kendall"):
        rng = settings.rng(f"label-sets {method}")
        found = correlation_matrix(
            values, sampling.weights, clusters=sampling.clusters, method=method, rng=rng, level=settings.level
        )
        rho, low, high = (known(part[0, 1]) for part in (found.rho, found.low, found.high))
        cells.append(Cell(rho, low, high, small=small))
    best = {base.by_value(sampling.estimate(v).value, higher_is_better=better(metric_id))[0] for v in values}
    return _Correlated(name, label_of(metric_id), models, n, cells[0], cells[1], "yes" if len(best) == 1 else "no")


def _correlation_table(correlations: Sequence[_Correlated], settings: Settings) -> Table:
    names, metrics, models, n, spearman, kendall, best = zip(*correlations, strict=True)
    return table(
        "rankings",
        "Does the ranking hold?",
        words("labels", names, "other labels"),
        words("metric", metrics),
        counts("models", models),
        counts("n", n, "conversations"),
        column("spearman", spearman, "Spearman ρ", meaning="Between the models' means.", better=True, digits=2),
        column("kendall", kendall, "Kendall τ", meaning="The same as τ-b.", better=True, digits=2),
        words("best", best, "same best", "Whether the same model has the highest mean."),
        caption=f"{intervals_text(settings)} and of models, as conversations alone give intervals that are too "
        f"narrow where models are close. Under {FEWEST_MODELS} models there is no interval.",
    )


def _shows(correlations: Sequence[_Correlated], agreed: Sequence[Agreed], settings: Settings) -> str:
    sentences = []
    for row in correlations:
        what, other, over = f"{row.metric} under these labels", f"that under {row.name}", counted(row.models, "model")
        sentences.append(correlation_sentence(what, other, row.spearman, settings, over=over))
    usable = [one for one in agreed if not one.alpha.small and one.alpha.value is not None]
    if usable:
        usable.sort(key=lambda one: -value_of(one.alpha))
        ends = dict.fromkeys(f"{one.kind} (α {with_interval(one.alpha, 2)})" for one in (usable[0], usable[-1]))
        sentences.append(f"Labels agree most on {', least on '.join(ends)}.")
    return " ".join(sentences) or f"There are too few {settings.units} for a claim."
