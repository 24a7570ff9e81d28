"""The mood path: the person's affect over the turns, the predicted one, and how models answer after a misread.

Affect of a turn: the summed intensity (1–7) of its positive tags, and of its negative ones: two scales, not one axis. A
neutral turn is 0 on both; a tag without an intensity counts as a moderate one. A turn is misread where no emotion
that was felt is named, or one is named where none was felt (Emotion F1 of 0).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject
from attunebench.analyses.recovery import OUTCOMES, recovery
from attunebench.analyses.sampling import defined_mean, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, numbers_of, table
from attunebench.analyses.verdicts import range_text
from attunebench.analyses.within import View
from attunebench.constants import INTENSITY_WORDS, PANAS_POSITIVE
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats

_SIDES = ("positive", "negative")
_METRIC = "emotion_va_intensity"


def analyse(subject: Subject) -> Analysis:
    """Felt and predicted affect by third, how changes go together, and accuracy on the turn after a misread."""
    view = View.of_models(subject)
    study = view.study
    felt = np.array([_affect(tags) for tags in study.truth_tags()]).reshape(-1, 2)
    read = np.stack([_read(study, group) for group in study.groups], axis=2)
    if np.isnan(felt).all() or np.isnan(read).all():
        no_tags = "No turn has both tags of the person and tags of a model."
        raise Missing(no_tags if study.ground_truth else within.NO_LABELS)
    following, shows = _following(view, felt, read)
    after_misreads, sentence = recovery(view)
    return Analysis(
        tables=(*_paths(view, felt, read), following, *after_misreads),
        shows=f"{shows} {sentence}".rstrip(),
        warnings=view.reach(len(OUTCOMES)) if after_misreads else (),
    )


def _affect(tags: Mapping[str, float | None] | None) -> tuple[float, float]:
    """Positive and negative affect of a turn's tags."""
    if tags is None:
        return np.nan, np.nan
    sides = [0.0, 0.0]
    for name, intensity in tags.items():
        sides[name not in PANAS_POSITIVE] += INTENSITY_WORDS["moderate"] if intensity is None else intensity
    return sides[0], sides[1]


def _read(study: ScoreTable, group: Group) -> Floats:
    """Predicted affect, mean over epochs that answered: (turns, 2)."""
    epochs = [np.array([_affect(tags) for tags in of]).reshape(-1, 2) for of in study.tags(group)]
    return np.array([defined_mean(of, axis=0) for of in epochs]).reshape(-1, 2)


def _paths(view: View, felt: Floats, read: Floats) -> list[Table]:
    """A table for each side with a row for the person, all models and each; none without a conversation of thirds."""
    tables = []
    for side, name in enumerate(_SIDES):
        columns = np.column_stack([felt[:, side], mean_over_models(read[:, side]), read[:, side]])
        columns[np.isnan(felt[:, side])] = np.nan
        cells = view.third_rates(*view.thirds(columns), _METRIC)
        made = table(
            f"{name}-affect",
            f"{name.capitalize()} affect by third",
            column("who", ["person", "all models", *view.labels], unit="text"),
            numbers_of(cells["early"]),
            *(column(third, of, meaning=f"Mean over turns, {third} third.", digits=2) for third, of in cells.items()),
            caption=f"{view.turns_sample}; conversations of three turns and more. Summed intensity of {name} tags per "
            f"turn, 0 where there is none. {view.how()}",
            chart=Chart("lines", "who", within.THIRDS, f"{name.capitalize()} affect", "summed intensity per turn"),
        )
        tables += [made] if any(turn.third is not None for turn in view.study.turns) else []
    return tables


def _following(view: View, felt: Floats, read: Floats) -> tuple[Table, str]:
    """Correlation of changes from turn to turn, and bias of the level, per model and side."""
    first = np.array([turn.position == 1 for turn in view.study.turns], dtype=bool)
    changes_felt, changes_read = (np.diff(path, axis=0, prepend=np.nan) for path in (felt, read))
    changes_felt[first] = changes_read[first] = np.nan
    correlations, biases, shows = [], [], []
    for i, side in enumerate(_SIDES):
        cells = _correlations(view, changes_felt[:, [i]], changes_read[:, i])
        correlations.append(cells)
        biases.append(view.rates(*view.sums(read[:, i] - felt[:, [i]])))
        usable = [(name, c) for name, c in zip(view.labels, cells, strict=True) if not c.small and c.low is not None]
        if usable:
            above = sum(cell.low is not None and cell.low > 0 for _, cell in usable)
            shows.append(
                f"Changes of predicted and felt {side} affect correlate at r from {range_text(usable, 2)}; "
                f"the whole interval is above 0 for {above} of {len(usable)}."
            )
    changes = (~np.isnan(changes_felt[:, :1] + changes_read[:, 0])).sum(axis=0)
    r, bias = "Pearson correlation of felt and predicted changes.", "Predicted minus felt, over turns."
    made = table(
        "following",
        "Following the person from turn to turn",
        column("model", view.labels, unit="text"),
        numbers_of(correlations[0]),
        counts("changes", changes, "turn changes", "Steps from one turn to the next."),
        column("r_positive", correlations[0], "r, positive", meaning=r, better=True, digits=2),
        column("r_negative", correlations[1], "r, negative", meaning=r, better=True, digits=2),
        column("bias_positive", biases[0], "bias, positive", meaning=bias, digits=2),
        column("bias_negative", biases[1], "bias, negative", meaning=bias, digits=2),
        caption=f"{view.turns_sample}. Undefined where one side never changes. {view.how()}",
        chart=Chart("intervals", "model", ("r_positive", "r_negative"), "Following changes of mood", "correlation"),
    )
    return made, " ".join(shows) or "There are too few conversations to say whether models follow the mood."


def _correlations(view: View, x: Floats, y: Floats) -> list[Cell]:
    """Pearson's r of x (turns, 1) with each column of y (turns, models), conversations being resampled."""
    both = np.where(np.isnan(x + y), np.nan, 1.0)
    sums = [view.sums(both * part)[0] for part in (1.0, x, y, x * x, y * y, x * y)]
    return view.functions(_pearson, sums, sums[0], view.drills(_METRIC))


def _pearson(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (n * xx - x * x) * (n * yy - y * y)
        return np.asarray(np.where(spread > 1e-9, (n * xy - x * y) / np.sqrt(np.maximum(spread, 1e-300)), np.nan))
