"""The same results under other people's labels: does the ranking hold, and do the labels agree with each other?

`Subject.others` are studies of the same results scored on other labels. The first set is that of `Subject.study`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import base
from attunebench.analyses.base import Settings, Subject, better, label_of, value_of
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, cell_of, column, counts, table, words
from attunebench.analyses.verdicts import correlation_sentence, counted, sample_text, with_interval
from attunebench.analyses.within import column_means
from attunebench.constants import PANAS_ITEMS, Q2_OPTIONS, Q3_OPTIONS
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.agreement import cohen_kappa, gwet_ac1, krippendorff_alpha, percent_agreement
from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.correlation import FEWEST_MODELS, correlation_matrix
from attunebench.statistics.ranks import competition_ranks

METRICS = ("composite", "pairwise_accuracy")
_DRAWS = 2000
"""Agreement sums tables of all labels in each resample; so many settle two digits."""
_POINTS = "four branches (1–7)"


class _Set(NamedTuple):
    """Another label set by name, over the models and conversations that the first has too."""

    name: str
    first: ScoreTable
    other: ScoreTable


def analyse(subject: Subject) -> Analysis:
    """Rankings under each set, how they correlate, and the agreement of the labels themselves."""
    if not subject.others:
        raise Missing(
            "There is one label set: score the same results on another folder of labels and name that file with "
            "--other-labels."
        )
    study, settings, mode = base.models_of(subject), subject.settings, base.mode_of(subject)
    own, *names = _names(subject)
    sets = list[_Set]()
    for name, other in zip(names, subject.others, strict=True):
        with suppress(Missing):
            sets.append(_Set(name, *base.in_both(study, base.in_mode(other, mode, settings))))
    if not sets:
        raise Missing("The label sets share no conversation that all models have.")
    metrics = tuple(base.defined_metrics(study, base.wanted_metrics(settings, METRICS)))
    tables = [_rankings(own, one, metric_id, settings) for one in sets for metric_id in metrics]
    correlations, shows = _correlations(sets, metrics, settings)
    agreement, agreed = _agreement(sets, settings)
    tables += [*correlations, *agreement]
    if not tables:
        raise Missing("The label sets share no defined metric and no labels.")
    first, *digests = (one.metadata[0].get("ground_truth_sha256") for one in (subject.study, *subject.others))
    same = [name for name, digest in zip(names, digests, strict=True) if digest is not None and digest == first]
    return Analysis(
        tables=tuple(tables),
        shows=" ".join((*shows, *agreed)) or f"There are too few {settings.units} for a claim.",
        warnings=tuple(f"{name} has the same labels as {own}, so this compares a set with itself." for name in same),
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


def _rankings(own: str, of: _Set, metric_id: str, settings: Settings) -> Table:
    sampling, sign = Sampling.of(of.first, settings), 1.0 if better(metric_id) else -1.0
    drills = [base.drill_to(group, metric_id) for group in of.first.groups]
    values = [study.values(metric_id) for study in (of.first, of.other)]
    means = [sign * column_means(side) for side in values]
    cells = [sampling.cells(side, drills, of=metric_id) for side in values]
    return table(
        f"{metric_id}_{of.name}",
        f"{label_of(metric_id)} under {own} and {of.name}",
        words("model", of.first.labels),
        counts("n", [cell.n for cell in cells[0]], "conversations"),
        base.metric_column(metric_id, cells[0], id="first", label=own),
        column("first_rank", competition_ranks(means[0]), f"rank, {own}", "rank", "By the mean.", better=False),
        base.metric_column(metric_id, cells[1], id="other", label=of.name),
        column("other_rank", competition_ranks(means[1]), f"rank, {of.name}", "rank", "By the mean.", better=False),
        order=base.by_value(means[0]),
        caption=f"{sample_text(of.first)}, in both sets.",
        chart=Chart("dumbbells", "model", ("first", "other"), label_of(metric_id), "score"),
    )


def _correlations(sets: Sequence[_Set], metrics: Sequence[str], settings: Settings) -> tuple[list[Table], list[str]]:
    """How each metric's rankings under the first set and another one correlate, as a table and in sentences."""
    rows, shows = [], []
    for name, first, other in sets:
        sampling, models, n = Sampling.of(first, settings), len(first.groups), len(first.ids)
        for metric_id in metrics:
            values = np.stack([first.values(metric_id), other.values(metric_id)])
            small, cells = n < settings.small or models < FEWEST_MODELS, []
            for method in ("spearman", "kendall"):
                rng = settings.rng(f"label-sets {method}")
                found = correlation_matrix(values, sampling.resampling, method=method, rng=rng)
                cells.append(cell_of(found.rho[0, 1], found.low[0, 1], found.high[0, 1], small=small))
            best = {base.by_value(column_means(v), higher_is_better=better(metric_id))[0] for v in values}
            rows.append((name, label_of(metric_id), models, n, *cells, "yes" if len(best) == 1 else "no"))
            what, over = f"{label_of(metric_id)} under these labels", counted(models, "model")
            shows.append(correlation_sentence(what, f"that under {name}", cells[0], settings, over=over))
    made = table(
        "rankings",
        "Does the ranking hold?",
        words("labels", label="other labels"),
        words("metric"),
        counts("models"),
        counts("n", label="conversations"),
        column(
            "spearman", label="Spearman ρ", meaning="Spearman's ρ between the models' means.", better=True, digits=2
        ),
        column("kendall", label="Kendall τ", meaning="Kendall's τ-b between the models' means.", better=True, digits=2),
        words("best", label="same best", meaning="Whether the same model has the highest mean."),
        rows=rows,
        caption="Intervals resample models too, because resampling conversations alone gives intervals "
        f"that are too narrow where models are close. Fewer than {FEWEST_MODELS} models have no interval.",
        chart=Chart(
            *("intervals", "metric", ("spearman", "kendall"), "Rankings under both sets of labels", "correlation"),
            lines=base.NO_CORRELATION,
        ),
    )
    return [made] if rows else [], shows


# How far the labels agree, kind by kind

_VALUES: Mapping[str, Sequence[Any]] = {
    "observed behaviour": ("y", "n"),
    "preferred behaviour": ("y", "n"),
    "emotion tags": (True, False),
    "preferred reply": ("A", "B"),
    "Q2 clarity": Q2_OPTIONS,
    "Q3 fit": Q3_OPTIONS,
    _POINTS: tuple(range(1, 8)),
}
"""Kind of label → its values."""


def _labels(fact: GroundTruthEntry) -> Iterator[tuple[str, Hashable, Any]]:
    """Kind, what is labelled, and the label; of tags each of the twenty items in each tagged or neutral turn."""
    for turn in fact["turns"]:
        number = turn["turnNumber"]
        yield from (("observed behaviour", (number, place), letter) for place, letter in enumerate(turn["observed"]))
        yield from (("preferred behaviour", (number, place), letter) for place, letter in enumerate(turn["preferred"]))
        yield from (("preferred reply", (number, place), one[3]) for place, one in enumerate(turn["comparisons"]))
        if turn["tags"] is not None:
            felt = {name.casefold() for name in turn["tags"]}
            yield from (("emotion tags", (number, item), item.casefold() in felt) for item in PANAS_ITEMS)
    yield "Q2 clarity", "q2", fact["wide"]["q2"]
    yield "Q3 fit", "q3", fact["wide"]["q3"]
    yield from ((_POINTS, name, round(points)) for name, points in fact["wide"]["four_branch"].items())


def _agreement(sets: Sequence[_Set], settings: Settings) -> tuple[list[Table], list[str]]:
    """A row for each set and kind of label that both hold; and on what they agree most and least."""
    rows = []
    for name, first, other in sets:
        units: dict[str, list[tuple[int, int, int]]] = {kind: [] for kind in _VALUES}
        for row, (mine, theirs) in enumerate(zip(first.truths(), other.truths(), strict=True)):
            there = {(kind, unit): label for kind, unit, label in (_labels(theirs) if theirs else ())}
            for kind, unit, label in _labels(mine) if mine else ():
                values, opposite = _VALUES[kind], there.get((kind, unit))
                if label in values and opposite in values:
                    units[kind].append((row, values.index(label), values.index(opposite)))
        rows += [(name, kind, *_agreed(first, kind, np.array(of), settings)) for kind, of in units.items() if of]
    made = table(
        "agreement",
        "Do the labels agree?",
        words("labels", label="other labels"),
        words("kind", label="kind of label"),
        counts("units", label="labels", meaning="Number of labels that both sets have."),
        counts("n", label="conversations"),
        column("percent", (), "agree", "share", "Share of labels that are equal.", better=True),
        column("kappa", (), "Cohen κ", "number", "Low where one answer dominates.", better=True, digits=2),
        column("ac1", (), "Gwet AC1", "number", "Stable where one answer dominates.", better=True, digits=2),
        column("alpha", (), "Krippendorff α", "number", "For any number of raters.", better=True, digits=2),
        rows=rows,
        caption="Labels of the conversations in both sets; κ, AC1 and α are corrected for chance. Emotion tags count "
        "as twenty yes/no labels per turn, most of them no. For points, κ has quadratic weights and α is the interval "
        f"version. At most {_DRAWS:,} resamples.",
        chart=Chart(
            "intervals", "kind", ("percent", "alpha"), "Agreement of the labels", lines={"chance": {"alpha": 0.0}}
        ),
    )
    usable = [(kind, alpha) for _, kind, *_, alpha in rows if not alpha.small and alpha.value is not None]
    usable.sort(key=lambda one: -value_of(one[1]))
    ends = dict.fromkeys(f"{kind} (α {with_interval(alpha, 2)})" for kind, alpha in (*usable[:1], *usable[-1:]))
    return [made] if rows else [], [f"Labels agree most on {', least on '.join(ends)}."] if ends else []


def _agreed(
    study: ScoreTable, kind: str, units: NDArray[np.intp], settings: Settings
) -> tuple[int, int, Cell, Cell, Cell, Cell]:
    """Of labels given twice (conversation, label, label): number, conversations, percent, κ, AC1 and α."""
    rows, ratings, size, ordered = units[:, 0], units[:, 1:].astype(np.float64), len(_VALUES[kind]), kind == _POINTS
    people, n = study.clusters[rows], len(np.unique(rows))
    clusters = np.unique(people if settings.by_participant else rows, return_inverse=True)[1].reshape(-1)
    rng, resamples = settings.rng(f"label-sets {kind}"), min(settings.resamples, _DRAWS)
    draws = resample_weights(int(clusters.max()) + 1, resamples, rng)
    resampling, (one, other) = Resampling(draws, clusters.astype(np.intp), settings.level), ratings.T
    coefficients = (
        percent_agreement(one, other, resampling),
        cohen_kappa(one, other, size, quadratic=ordered, resampling=resampling),
        None if ordered else gwet_ac1(one, other, size, resampling=resampling),
        krippendorff_alpha(ratings, "interval" if ordered else "nominal", resampling),
    )
    small = n < settings.small or len(np.unique(people)) < 2
    percent, kappa, ac1, alpha = (
        Cell(None) if found is None else cell_of(found.value, found.low, found.high, small=small)
        for found in coefficients
    )
    return len(units), n, percent, kappa, ac1, alpha
