"""The mood path: the person's affect over the turns, the predicted one, and how models answer after a misread.

Affect of a turn: the summed intensity (1–7) of its positive tags, and of its negative ones: two scales, not one axis. A
neutral turn is 0 on both; a tag without an intensity counts as a moderate one. A turn is misread where no emotion
that was felt is named, or one is named where none was felt (Emotion F1 of 0).

In a short sequence values after a high one are low by mere counting: the high one is missing among the rest. Over all
orders of a conversation's T turns the mean after a misread minus that after a hit is (ȳ_hit − ȳ_misread)/(T − 1), which
is taken off, so that turns in random order show no difference (cf. Miller & Sanjurjo 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import NO_CORRELATION, NO_DIFFERENCE, ROLES, Subject, label_of
from attunebench.analyses.sampling import defined_mean, mean_over_models, ratio
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, numbers_of, table, words
from attunebench.analyses.verdicts import counted, range_text, sentences
from attunebench.analyses.within import View
from attunebench.constants import INTENSITY_WORDS, PANAS_POSITIVE
from attunebench.statistics.bootstrap import Floats

OUTCOMES = ("emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")
_SIDES = ("positive", "negative")
_METRIC = "emotion_va_intensity"


def analyse(subject: Subject) -> Analysis:
    """Felt and predicted affect by third, how changes go together, and accuracy on the turn after a misread."""
    view = View.of_models(subject)
    study = view.study
    felt = np.array([_affect([tags]) for tags in study.truth_tags()]).reshape(-1, 2)
    read = np.stack([np.array(list(map(_affect, study.tags(g)))).reshape(-1, 2) for g in study.groups], axis=2)
    if np.isnan(felt).all() or np.isnan(read).all():
        no_tags = "No turn has both reported and predicted emotion tags."
        raise Missing(no_tags if study.ground_truth else within.NO_LABELS)
    following, shows = _following(view, felt, read)
    after_misreads, sentence = _recovery(view)
    thirds = any(turn.third is not None for turn in study.turns)
    return Analysis(
        tables=(*(_paths(view, felt, read) if thirds else ()), following, *after_misreads),
        shows=sentences(*shows, sentence) or "There are too few conversations for a claim.",
        warnings=view.reach(len(OUTCOMES)) if after_misreads else (),
    )


def _affect(epochs: Sequence[Mapping[str, float | None] | None]) -> Floats:
    """Positive and negative affect of a turn's tags, mean over the epochs that have any."""
    sides = np.full((len(epochs), 2), np.nan)
    for epoch, tags in enumerate(epochs):
        if tags is not None:
            sides[epoch] = 0.0
            for name, intensity in tags.items():
                strength = INTENSITY_WORDS["moderate"] if intensity is None else intensity
                sides[epoch, int(name not in PANAS_POSITIVE)] += strength
    return defined_mean(sides, axis=0)


def _paths(view: View, felt: Floats, read: Floats) -> list[Table]:
    """A table for each side with a row for the person, all models and each."""
    tables = []
    for side, name in enumerate(_SIDES):
        columns = np.column_stack([felt[:, side], mean_over_models(read[:, side]), read[:, side]])
        columns[np.isnan(felt[:, side])] = np.nan
        cells = view.third_rates(*view.thirds(columns), _METRIC)
        tables.append(
            table(
                f"{name}-affect",
                f"{name.capitalize()} affect by third",
                words("who", ["person", "all models", *view.labels]),
                numbers_of(cells["early"]),
                *(
                    column(third, of, meaning=f"Mean over turns, {third} third.", digits=2)
                    for third, of in cells.items()
                ),
                caption=f"{view.turns_sample}; conversations of three or more turns. Summed intensity of {name} tags "
                f"per turn, 0 where there is none.",
                chart=Chart(
                    *("lines", "who", within.THIRDS, f"{name.capitalize()} affect", "summed intensity per turn"),
                    roles=ROLES,
                ),
            )
        )
    return tables


def _following(view: View, felt: Floats, read: Floats) -> tuple[Table, list[str]]:
    """Correlation of changes from turn to turn, and bias of the level, per model and side."""
    first = np.array([turn.position == 1 for turn in view.study.turns], dtype=bool)
    changes_felt, changes_read = (np.diff(path, axis=0, prepend=np.nan) for path in (felt[:, :, None], read))
    changes_felt[first] = np.nan
    correlations = within.in_rows(_correlations(view, changes_felt, changes_read), view.width)
    biases = within.in_rows(view.rates(*view.sums(read - felt[:, :, None])), view.width)
    shows = []
    for side, cells in zip(_SIDES, correlations, strict=True):
        usable = [(name, c) for name, c in zip(view.labels, cells, strict=True) if not c.small and c.low is not None]
        above = sum(cell.low is not None and cell.low > 0 for _, cell in usable)
        span = f"Changes of predicted and felt {side} affect correlate at r {range_text(usable, 2)}"
        shows += (
            [f"{span}. The whole interval is above 0 for {above} of {counted(len(usable), 'model')}."] if usable else []
        )
    steps = (~np.isnan(changes_felt[:, 0] + changes_read[:, 0])).sum(axis=0)
    r, bias = "Pearson correlation of felt and predicted changes.", "Predicted minus felt affect, over turns."
    made = table(
        "following",
        "Changes of affect from turn to turn",
        words("model", view.labels),
        numbers_of(correlations[0]),
        counts("changes", steps, "turn changes", "Number of changes from one turn to the next."),
        *(
            column(f"r_{side}", correlations[i], f"r, {side}", meaning=r, better=True, digits=2)
            for i, side in enumerate(_SIDES)
        ),
        *(column(f"bias_{side}", biases[i], f"bias, {side}", meaning=bias, digits=2) for i, side in enumerate(_SIDES)),
        caption=f"{view.turns_sample}. Undefined where one side never changes.",
        chart=Chart(
            *("intervals", "model", ("r_positive", "r_negative"), "Predicted and felt changes of affect"),
            axis="correlation over turns",
            lines=NO_CORRELATION,
        ),
    )
    return made, shows


def _correlations(view: View, x: Floats, y: Floats) -> list[Cell]:
    """Pearson's r of x (turns, sides, 1) with y (turns, sides, models), conversations being resampled."""
    both = np.where(np.isnan(x + y), np.nan, 1.0)
    sums = [view.sums(both * part)[0] for part in (1.0, x, y, x * x, y * y, x * y)]
    return view.functions(_pearson, sums, sums[0], view.drills(_METRIC) * len(_SIDES))


def _pearson(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (n * xx - x * x) * (n * yy - y * y)
        return np.asarray(np.where(spread > 1e-9, (n * xy - x * y) / np.sqrt(np.maximum(spread, 1e-300)), np.nan))


# Accuracy on the turn after a misread against the turn after a hit, within each conversation


def _recovery(view: View) -> tuple[list[Table], str]:
    """For each outcome over all models and for each of them, with a sentence; no table where nothing is defined."""
    misread = _misread(view)
    outcomes = {m: values for m in OUTCOMES if not np.isnan(values := view.study.turn_values(m)).all()}
    if not outcomes or np.isnan(misread).all():
        return [], ""
    # (conversations, outcomes, models, [after a misread, after a hit]); each model's also less the others' on the turn
    plain = np.stack([after_means(view, misread, values) for values in outcomes.values()], axis=1)
    others = {m: [mean_over_models(np.delete(of, i, axis=1)) for i in range(view.width)] for m, of in outcomes.items()}
    beyond = [after_means(view, misread, of - np.stack(others[m], axis=1)) for m, of in outcomes.items()]
    pooled = mean_over_models(np.moveaxis(plain, 2, -1))
    rows = np.concatenate([pooled[:, :, None], plain], axis=2)
    rows[np.isnan(rows).any(axis=3)] = np.nan
    means = view.cells(rows, flag=False)
    conversation = view.study.clusters_of_turns()
    follows = (misread[:-1] == 1) & (conversation[1:] == conversation[:-1])[:, None]
    turns = [within.turns_of(view.study, 1 + np.flatnonzero(of)) for of in follows.T]
    drills = [replace(one, turns=of) for m in outcomes for one, of in zip(view.drills(m), turns, strict=True)]

    def tested(name: str, sides: Floats, drills: Sequence[Any] | None = None) -> list[Cell]:
        return view.paired(f"mood-path/recovery/{name}", sides[..., 0], sides[..., 1], drills)

    of_all, nothing = tested("pooled", pooled), [Cell(None)] * len(outcomes)
    each = (tested("plain", plain, drills), tested("beyond", np.stack(beyond, axis=1)))
    differences, beyond_others = (
        [cell for one, row in zip(first, within.in_rows(cells, view.width), strict=True) for cell in (one, *row)]
        for first, cells in zip((of_all, nothing), each, strict=True)
    )
    shares = [np.nanmean(misread), *within.column_means(misread)]
    made = table(
        "recovery",
        "The turn after a misread",
        words("outcome", map(label_of, outcomes)).repeated(1 + view.width),
        words("model", ("all models", *view.labels) * len(outcomes)),
        counts(
            "n",
            [c.n for c in differences],
            "conversations",
            "Conversations with a turn after a misread and one after a hit.",
        ),
        column("misread", shares * len(outcomes), "turns misread", "share", "Share of all turns."),
        column("after_hit", means[1::2], "", "share", "Mean of the next turn.", better=True),
        column(
            "after_misread",
            means[::2],
            "",
            "share",
            "Mean of the next turn, corrected for sequence length.",
            better=True,
        ),
        column("difference", differences, "misread − hit", "share", "Within conversations; below 0, errors cluster."),
        column(
            "beyond",
            beyond_others,
            "beyond the other models",
            "share",
            "The same for the value minus the other models' on the turn.",
        ),
        caption="A turn is misread if Emotion F1 is 0, and a hit otherwise. Turns are compared within conversations, "
        "with a correction for the bias of short sequences. “Beyond the other models” controls for turns that are hard "
        f"for all. {view.how('outcome', of_all)} Single models: corrected over all {len(each[0])} cells of a column.",
        chart=Chart(
            *("intervals", "model", ("difference",), "The turn after a misread minus the turn after a hit"),
            axis="difference",
            lines=NO_DIFFERENCE,
            roles=ROLES,
            across="outcome",
        ),
    )
    return [made], view.claims(map(label_of, outcomes), of_all, "between the turn after a misread and after a hit")


def _misread(view: View) -> Floats:
    """1 where a turn was misread, 0 where not: (turns, models). NaN where it was never answered: that is no misread."""
    f1 = view.study.turn_values("emotion_f1")
    for model, group in enumerate(view.study.groups):
        tags = view.study.tags(group)
        f1[[row for row, epochs in enumerate(tags) if epochs and all(t is None for t in epochs)], model] = np.nan
    return np.where(np.isnan(f1), np.nan, f1 == 0)


def after_means(view: View, misread: Floats, values: Floats) -> Floats:
    """Mean after a misread, less what counting alone adds, and after a hit: (conversations, models, 2).

    Takes two of (turns, models). NaN is a gap, and a turn after a gap follows nothing.
    """
    conversation = view.study.clusters_of_turns()
    before = np.full_like(misread, np.nan)
    before[1:] = np.where((conversation[1:] == conversation[:-1])[:, None], misread[:-1], np.nan)
    own, after = (
        [view.sums(np.where(outcome == kind, values, np.nan)) for kind in (1, 0)] for outcome in (misread, before)
    )
    counting = ratio(ratio(*own[1]) - ratio(*own[0]), own[0][1] + own[1][1] - 1)
    means = np.stack([ratio(*after[0]) - np.nan_to_num(counting), ratio(*after[1])], axis=-1)
    means[np.isnan(means).any(axis=-1)] = np.nan
    return means
