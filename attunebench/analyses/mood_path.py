"""The mood path: the person's affect over the turns, that which models read, and how models answer after a misread.

Affect of a turn: the summed intensity (1–7) of its positive tags, and of its negative ones: two scales, not one axis. A
neutral turn is 0 on both; a tag without an intensity counts as a moderate one. A turn is misread where no emotion
that was felt is named, or one is named where none was felt (Emotion F1 of 0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import common, recovery, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Subject, Table, text
from attunebench.analyses.testing import reach_text
from attunebench.constants import INTENSITY_WORDS, PANAS_POSITIVE
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

_SIDES = ("positive affect", "negative affect")
_THIRDS = ("early", "middle", "late")
_POSITIVE = frozenset(PANAS_POSITIVE)
_UNKNOWN_INTENSITY = float(INTENSITY_WORDS["moderate"])


def analyse(subject: Subject) -> Analysis:
    """Felt and predicted affect by third, how changes go together, and accuracy on the turn after a misread."""
    begun = common.begun("mood-path")
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    felt, read = _felt(study), _read(study)
    if np.isnan(felt).all() or np.isnan(read).all():
        return replace(begun, missing=within.NO_LABELS if not study.ground_truth else _NO_TAGS)
    sampling = Sampling.of(study, settings)
    follows, correlations = _following(study, felt, read, sampling)
    found = recovery.Recovery(study, sampling)
    tables = [*_paths(study, felt, read, sampling), follows]
    if found.rows:
        tables.append(found.table())
    return replace(
        begun,
        tables=tuple(tables),
        shows=" ".join((_followed(study, correlations), found.sentence())),
        cannot="A model is never told that it misread a turn, so nothing here is a repair in answer to that: it shows "
        "whether errors come in runs. Turns after a misread may be harder in themselves. Comparing with the other "
        "models on the same turn takes out what is hard for all of them, not what is hard for one.",
        warnings=reach_text(np.full(len(recovery.OUTCOMES), sampling.least), settings) if found.rows else (),
        notes=(common.small_text(settings),),
    )


_NO_TAGS = "No turn has both tags of the person and tags of a model."


def _affect(tags: Mapping[str, float | None]) -> tuple[float, float]:
    """Positive and negative affect of a turn's tags."""
    sides = [0.0, 0.0]
    for name, intensity in tags.items():
        sides[name not in _POSITIVE] += _UNKNOWN_INTENSITY if intensity is None else intensity
    return sides[0], sides[1]


def _felt(study: ScoreTable) -> Floats:
    """The person's affect: (turns, 2), NaN without labels."""
    return np.array([(np.nan, np.nan) if tags is None else _affect(tags) for tags in study.truth_tags()]).reshape(-1, 2)


def _read(study: ScoreTable) -> Floats:
    """Affect as models read it, mean over epochs that answered: (turns, 2, models)."""
    table = np.full((len(study.turns), 2, len(study.groups)), np.nan)
    for column, group in enumerate(study.groups):
        for row, epochs in enumerate(study.tags(group)):
            answered = [_affect(tags) for tags in epochs if tags is not None]
            if answered:
                table[row, :, column] = np.mean(answered, axis=0)
    return table


def _paths(study: ScoreTable, felt: Floats, read: Floats, sampling: Sampling) -> list[Table]:
    """A table for each side with a row for the person, all models and each; none without a talk of three turns."""
    thirds = np.array([-1 if turn.third is None else turn.third for turn in study.turns])
    if not (thirds >= 0).any():
        return []
    tables = []
    for side, name in enumerate(_SIDES):
        both = np.where(np.isnan(felt[:, side]), np.nan, common.mean_over_models(read[:, side]))
        columns = np.column_stack([felt[:, side], both, read[:, side]])
        columns = np.where(np.isnan(felt[:, [side]]), np.nan, columns)
        cells = [
            within.rate_cells(
                sampling,
                *within.conversation_sums(study, np.where((thirds == third)[:, None], columns, np.nan)),
                _drills(study, np.flatnonzero(thirds == third)),
            )
            for third in range(3)
        ]
        labels = ["person", "all models", *study.labels]
        rows = tuple(
            (text(label), Cell(cells[0][i].n), *(cells[third][i] for third in range(3)))
            for i, label in enumerate(labels)
        )
        tables.append(
            Table(
                name.replace(" ", "-"),
                f"{name.capitalize()} over the talk",
                (
                    Column("who", "who", "text"),
                    Column("n", "conversations", "count"),
                    *(
                        Column(third, third, "number", f"Mean over the turns of the {third} third.", digits=2)
                        for third in _THIRDS
                    ),
                ),
                rows,
                caption=f"{within.mark_text(study)}, those of three turns and more. Summed intensity of "
                f"{name.split()[0]} tags per turn, 0 where there is none. {common.intervals_text(sampling.settings)}.",
                chart=Chart("lines", "who", _THIRDS, f"{name.capitalize()} over the talk", "summed intensity per turn"),
            )
        )
    return tables


def _drills(study: ScoreTable, rows: np.ndarray) -> list[Drill]:
    turns = within.turns_of(study, (int(row) for row in rows))
    keys = [None, None, *(group.key for group in study.groups)]
    return [Drill(group=key, metric="emotion_va_intensity", turns=turns) for key in keys]


def _following(
    study: ScoreTable, felt: Floats, read: Floats, sampling: Sampling
) -> tuple[Table, Sequence[Sequence[Cell]]]:
    """Correlation of changes from turn to turn, and bias of the level, per model and side; and the former's cells."""
    pairs = [
        row for row in range(1, len(study.turns)) if study.turns[row].conversation == study.turns[row - 1].conversation
    ]
    rows = np.array(pairs, dtype=np.intp)
    correlations, biases = [], []
    for side in range(2):
        x = np.full((len(study.turns), 1), np.nan)
        y = np.full((len(study.turns), len(study.groups)), np.nan)
        x[rows, 0] = felt[rows, side] - felt[rows - 1, side]
        y[rows] = read[rows, side] - read[rows - 1, side]
        correlations.append(_correlation_cells(study, np.broadcast_to(x, y.shape), y, sampling))
        difference = read[:, side] - felt[:, [side]]
        biases.append(within.rate_cells(sampling, *within.conversation_sums(study, difference)))
    changes = (~np.isnan(felt[rows, :1] + felt[rows - 1, :1] + read[rows, 0] + read[rows - 1, 0])).sum(axis=0)
    table = Table(
        "following",
        "Following the person from turn to turn",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            Column("changes", "turn changes", "count", "Steps from one turn to the next."),
            Column(
                "r_positive", "r, positive", "number", "Pearson correlation of felt and predicted changes.", True, 2
            ),
            Column(
                "r_negative", "r, negative", "number", "Pearson correlation of felt and predicted changes.", True, 2
            ),
            Column("bias_positive", "bias, positive", "number", "Predicted minus felt, over turns.", digits=2),
            Column("bias_negative", "bias, negative", "number", "Predicted minus felt, over turns.", digits=2),
        ),
        tuple(
            (
                text(group.label),
                Cell(correlations[0][i].n),
                Cell(int(changes[i])),
                *(cells[i] for cells in (*correlations, *biases)),
            )
            for i, group in enumerate(study.groups)
        ),
        caption=f"{within.mark_text(study)}. Undefined where one side never changes. "
        f"{common.intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("r_positive", "r_negative"), "Following changes of mood", "correlation"),
    )
    return table, correlations


def _correlation_cells(study: ScoreTable, x: Floats, y: Floats, sampling: Sampling) -> list[Cell]:
    """Pearson's r of the columns of (turns, models) over all turns, conversations being resampled."""
    both = np.where(np.isnan(x) | np.isnan(y), np.nan, 1.0)
    sums = [within.conversation_sums(study, both * part)[0] for part in (np.ones_like(y), x, y, x * x, y * y, x * y)]
    value = _pearson(*(part.sum(axis=0) for part in sums))
    samples = _pearson(*(within.resampled_sums(sampling, part) for part in sums))
    drills = [Drill(group=group.key, metric="emotion_va_intensity") for group in study.groups]
    return within.function_cells(sampling, value, samples, sums[0], drills)


def _pearson(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (n * xx - x * x) * (n * yy - y * y)
        return np.asarray(np.where(spread > 1e-9, (n * xy - x * y) / np.sqrt(np.maximum(spread, 1e-300)), np.nan))


def _followed(study: ScoreTable, correlations: Sequence[Sequence[Cell]]) -> str:
    """For how many models changes go with the person's, from side to side."""
    said = []
    for name, cells in zip(_SIDES, correlations, strict=True):
        usable = [
            (cell, label)
            for cell, label in zip(cells, study.labels, strict=True)
            if not cell.small and cell.low is not None
        ]
        if not usable:
            continue
        above = sum(cell.low is not None and cell.low > 0 for cell, _ in usable)
        best = max(usable, key=lambda item: common.value_of(item[0]))
        said.append(
            f"{name}: {above} of {common.counted(len(usable), 'model')} (highest r "
            f"{common.with_interval(best[0], 2)}, {best[1]})"
        )
    if not said:
        return "There are too few conversations to say whether models follow the mood."
    return (
        "Models whose changes of mood go with the person's, by the whole interval of each for itself: "
        f"{'; '.join(said)}."
    )
