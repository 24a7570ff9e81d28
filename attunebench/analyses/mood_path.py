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
from attunebench.analyses.sampling import Sampling, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import intervals_text, range_text, reach_text
from attunebench.constants import INTENSITY_WORDS, PANAS_POSITIVE
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

_SIDES = ("positive", "negative")
_METRIC = "emotion_va_intensity"


def analyse(subject: Subject) -> Analysis:
    """Felt and predicted affect by third, how changes go together, and accuracy on the turn after a misread."""
    study, sampling = within.scored_models(subject)
    felt, read = _felt(study), _read(study)
    if np.isnan(felt).all() or np.isnan(read).all():
        no_tags = "No turn has both tags of the person and tags of a model."
        raise Missing(no_tags if study.ground_truth else within.NO_LABELS)
    following, shows = _following(study, felt, read, sampling)
    after_misreads, sentence = recovery(study, sampling)
    return Analysis(
        tables=(*_paths(study, felt, read, sampling), following, *after_misreads),
        shows=f"{shows} {sentence}".rstrip(),
        cannot="A model is not told that it misread a turn, so nothing here is a repair in answer to that: it shows "
        "whether errors come in runs. Turns after a misread may be harder in themselves. Comparing with the other "
        "models on the same turn removes what is hard for all of them, not what is hard for one.",
        warnings=reach_text(np.full(len(OUTCOMES), sampling.least), sampling.settings) if after_misreads else (),
    )


def _affect(tags: Mapping[str, float | None] | None) -> tuple[float, float]:
    """Positive and negative affect of a turn's tags."""
    if tags is None:
        return np.nan, np.nan
    sides = [0.0, 0.0]
    for name, intensity in tags.items():
        sides[name not in PANAS_POSITIVE] += INTENSITY_WORDS["moderate"] if intensity is None else intensity
    return sides[0], sides[1]


def _felt(study: ScoreTable) -> Floats:
    """The person's affect: (turns, 2), NaN without labels."""
    return np.array([_affect(tags) for tags in study.truth_tags()]).reshape(-1, 2)


def _read(study: ScoreTable) -> Floats:
    """Predicted affect, mean over epochs that answered: (turns, 2, models)."""
    table = np.full((len(study.turns), 2, len(study.groups)), np.nan)
    for model, group in enumerate(study.groups):
        for row, epochs in enumerate(study.tags(group)):
            if answered := [_affect(tags) for tags in epochs if tags is not None]:
                table[row, :, model] = np.mean(answered, axis=0)
    return table


def _paths(study: ScoreTable, felt: Floats, read: Floats, sampling: Sampling) -> list[Table]:
    """A table for each side with a row for the person, all models and each; none without a conversation of thirds."""
    keys = (None, None, *(group.key for group in study.groups))
    turns = [
        within.turns_of(study, (row for row, turn in enumerate(study.turns) if turn.third == third))
        for third in range(3)
    ]
    tables = []
    for side, name in enumerate(_SIDES):
        columns = np.column_stack([felt[:, side], mean_over_models(read[:, side]), read[:, side]])
        columns[np.isnan(felt[:, side])] = np.nan
        sums, number = within.third_sums(study, columns)
        cells = {
            label: within.rate_cells(
                sampling, sums[:, third], number[:, third], [Drill(key, _METRIC, turns=turns[third]) for key in keys]
            )
            for third, label in enumerate(within.THIRDS)
        }
        made = table(
            f"{name}-affect",
            f"{name.capitalize()} affect by third",
            words("who", ["person", "all models", *study.labels]),
            counts("n", [cell.n for cell in cells["early"]], "conversations"),
            *(
                column(third, of, meaning=f"Mean over the turns of the {third} third.", digits=2)
                for third, of in cells.items()
            ),
            caption=f"{within.turns_text(study)}, those of three turns and more. Summed intensity of {name} tags per "
            f"turn, 0 where there is none. {intervals_text(sampling.settings)}.",
            chart=Chart("lines", "who", within.THIRDS, f"{name.capitalize()} affect", "summed intensity per turn"),
        )
        tables += [made] if any(turns) else []
    return tables


def _following(study: ScoreTable, felt: Floats, read: Floats, sampling: Sampling) -> tuple[Table, str]:
    """Correlation of changes from turn to turn, and bias of the level, per model and side."""
    first = np.array([turn.position == 1 for turn in study.turns], dtype=bool)
    changes_felt, changes_read = (np.diff(path, axis=0, prepend=np.nan) for path in (felt, read))
    changes_felt[first] = changes_read[first] = np.nan
    correlations, biases = [], []
    for i in range(len(_SIDES)):
        correlations.append(_correlations(study, changes_felt[:, [i]], changes_read[:, i], sampling))
        difference = read[:, i] - felt[:, [i]]
        biases.append(within.rate_cells(sampling, *within.conversation_sums(study, difference)))
    changes = (~np.isnan(changes_felt[:, :1] + changes_read[:, 0])).sum(axis=0)
    r, bias = "Pearson correlation of felt and predicted changes.", "Predicted minus felt, over turns."
    made = table(
        "following",
        "Following the person from turn to turn",
        words("model", study.labels),
        counts("n", [cell.n for cell in correlations[0]], "conversations"),
        counts("changes", changes, "turn changes", "Steps from one turn to the next."),
        *(
            column(f"r_{side}", cells, f"r, {side}", meaning=r, better=True, digits=2)
            for side, cells in zip(_SIDES, correlations, strict=True)
        ),
        *(
            column(f"bias_{side}", cells, f"bias, {side}", meaning=bias, digits=2)
            for side, cells in zip(_SIDES, biases, strict=True)
        ),
        caption=f"{within.turns_text(study)}. Undefined where one side never changes. "
        f"{intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("r_positive", "r_negative"), "Following changes of mood", "correlation"),
    )
    shows = []
    for side, cells in zip(_SIDES, correlations, strict=True):
        usable = [(name, c) for name, c in zip(study.labels, cells, strict=True) if not c.small and c.low is not None]
        if usable:
            above = sum(cell.low is not None and cell.low > 0 for _, cell in usable)
            shows.append(
                f"Changes of predicted and felt {side} affect correlate at r from {range_text(usable, 2)}; "
                f"the whole interval is above 0 for {above} of {len(usable)}."
            )
    return made, " ".join(shows) or "There are too few conversations to say whether models follow the mood."


def _correlations(study: ScoreTable, x: Floats, y: Floats, sampling: Sampling) -> list[Cell]:
    """Pearson's r of x (turns, 1) with each column of y (turns, models), conversations being resampled."""
    both = np.where(np.isnan(x + y), np.nan, 1.0)
    sums = [within.conversation_sums(study, both * part)[0] for part in (1.0, x, y, x * x, y * y, x * y)]
    value = _pearson(*(part.sum(axis=0) for part in sums))
    samples = _pearson(*(within.resampled_sums(sampling, part) for part in sums))
    return within.function_cells(sampling, value, samples, sums[0], [Drill(g.key, _METRIC) for g in study.groups])


def _pearson(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (n * xx - x * x) * (n * yy - y * y)
        return np.asarray(np.where(spread > 1e-9, (n * xy - x * y) / np.sqrt(np.maximum(spread, 1e-300)), np.nan))
