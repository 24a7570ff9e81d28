"""What analyses of turns, questions and groups share: turns gathered into conversations, rates over answers, contrasts.

Turns of a conversation hang together, so whatever is counted over turns gets its doubt from resampling conversations
(or participants). Knows no single analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from attunebench.analyses.base import NOTHING_SCORED, Settings, Subject, defined_metrics, models_of, wanted_metrics
from attunebench.analyses.sampling import Sampling, beyond_reach, cells_of, corrected_p, mark_of, mean_over_models
from attunebench.analyses.table import Cell, Drill, Filled, Missing, Unit, column, known
from attunebench.analyses.verdicts import counted, sample_text
from attunebench.constants import BINARY_CATEGORY, BINARY_QUESTION_TEXT
from attunebench.scores.table import ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Estimates, Floats
from attunebench.statistics.contrasts import GroupContrast, Mask, group_difference
from attunebench.statistics.intervals import with_wilson

NO_LABELS = (
    "These scores keep no labels or answers (they are of an older version); score the results again with "
    "`attune-bench score`."
)
THIRDS = ("early", "middle", "late")
By = Literal["question", "category"]
PLURALS: dict[By, str] = {"question": "questions", "category": "categories"}
MOST_TURNS = 60
"""A drill names no more turns than this: enough to look at, and a report stays small."""


def scored_models(subject: Subject, *, by_participant: bool = False) -> tuple[ScoreTable, Sampling]:
    """The models of the mode and how their conversations are resampled; Missing where there are none."""
    study, settings = models_of(subject), subject.settings
    if not study.groups:
        raise Missing(NOTHING_SCORED)
    return study, Sampling.of(study, replace(settings, by_participant=True) if by_participant else settings)


def asked_values(study: ScoreTable, settings: Settings, otherwise: Sequence[str]) -> dict[str, Floats]:
    """Metric → values of those asked for (else `otherwise`) that have any; Missing where none has."""
    if not (values := defined_metrics(study, wanted_metrics(settings, otherwise))):
        raise Missing("None of these metrics is defined for any conversation.")
    return values


# Turns and questions gathered into conversations


def conversation_sums(study: ScoreTable, table: Floats) -> tuple[Floats, Floats]:
    """Sum and number of the defined values over the turns of each conversation: from (turns, …) two (conversations, …).

    NaN is a gap.
    """
    rows = study.clusters_of_turns()
    sums, counts = (np.zeros((len(study.ids), *table.shape[1:])) for _ in range(2))
    defined = ~np.isnan(table)
    np.add.at(sums, rows, np.where(defined, table, 0.0))
    np.add.at(counts, rows, defined)
    return sums, counts


def third_sums(study: ScoreTable, table: Floats) -> tuple[Floats, Floats]:
    """The same for each third of a conversation: two (conversations, 3, …). Under three turns there are no thirds."""
    parts = []
    for third in range(len(THIRDS)):
        chosen, rows = np.full_like(table, np.nan), rows_of_third(study, third)
        chosen[rows] = table[rows]
        parts.append(conversation_sums(study, chosen))
    sums, counts = (np.stack([part[side] for part in parts], axis=1) for side in (0, 1))
    return sums, counts


def rows_of_third(study: ScoreTable, third: int) -> list[int]:
    """The rows of the study's turns that are early (0), middle (1) or late (2) in their conversation."""
    return [row for row, turn in enumerate(study.turns) if turn.third == third]


def question_parts(study: ScoreTable, by: By) -> tuple[tuple[str, ...], Floats]:
    """The questions or their categories, and which question belongs to which: (questions, names) of 0 and 1."""
    if by == "question":
        return study.questions, np.eye(len(study.questions))
    of = [BINARY_CATEGORY.get(question, "unknown").replace("_", " ") for question in study.questions]
    names = tuple(dict.fromkeys(of))
    return names, np.array([[category == name for name in names] for category in of], dtype=np.float64)


def part_sums(study: ScoreTable, table: Floats, parts: Floats) -> tuple[Floats, Floats]:
    """Sum and number of (turns, questions, columns) by conversation and part: two (conversations, names, columns)."""
    sums, counts = conversation_sums(study, table)
    return np.einsum("cqm,qp->cpm", sums, parts, order="C"), np.einsum("cqm,qp->cpm", counts, parts, order="C")


def ratio(above: Floats, below: Floats) -> Floats:
    """Element by element; NaN where there is nothing below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan))


def column_means(values: Floats) -> Floats:
    """Mean of each column's defined values; NaN without any."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0).astype(np.float64))


def level_over_models(values: Floats) -> Floats:
    """Each row's mean over the models as if each of them had it: (rows,) from (rows, models); NaN without any.

    A row that a good model lacks is not a hard row, so where rows are compared with each other the plain mean would
    take who answered for how well. Least squares of row + model, the models' parts adding up to 0; without gaps it is
    the plain mean. Models that share no row, even through others, cannot be set against each other: their rows keep
    the mean as it is.
    """
    defined = ~np.isnan(values)
    share = defined / np.maximum(defined.sum(axis=1, keepdims=True), 1)
    centred = np.where(defined, values - mean_over_models(values)[:, None], 0.0)
    system = np.diag(defined.sum(axis=0).astype(np.float64)) - defined.T.astype(np.float64) @ share
    parts = np.linalg.lstsq(system, centred.sum(axis=0), rcond=1e-9)[0]
    return mean_over_models(values - parts)


def coverage_text(values: Floats) -> tuple[str, ...]:
    """A note that `level_over_models` adjusted for gaps; nothing where all models have all rows."""
    defined = ~np.isnan(values)
    if defined[defined.any(axis=1)][:, defined.any(axis=0)].all():
        return ()
    return (
        "Not every model was scored on every conversation: values over all models, or over the others, are adjusted "
        "for which were (least squares of conversation and model).",
    )


def pairwise_right(study: ScoreTable) -> tuple[tuple[str, ...], Floats, Floats]:
    """Pairwise question ids, and how many of their comparisons were right and counted: (turns, questions, models).

    Comparisons without a winner do not count; not answered is wrong; a turn that was not measured counts nothing.
    Epochs are averaged.
    """
    truths = [None if truth is None else truth["turns"] for truth in study.truths()]
    asked = {str(c[0]) for turns in truths for turn in turns or () for c in turn["comparisons"] if c[3] is not None}
    names = tuple(sorted(asked, key=lambda name: (len(name), name)))
    right, counted = (np.zeros((len(study.turns), len(names), len(study.groups))) for _ in range(2))
    for row, turn in enumerate(study.turns):
        turns = truths[turn.conversation] or ()
        comparisons = turns[turn.position - 1]["comparisons"] if turns else ()
        wins = [(i, names.index(str(c[0])), c[3]) for i, c in enumerate(comparisons) if c[3]]
        for model, group in enumerate(study.groups):
            letters = _pairwise_letters(study.entries.get((group.key, study.ids[turn.conversation]), ()), turn.number)
            for given in letters:
                for index, question, winner in wins:
                    right[row, question, model] += (given[index : index + 1] == winner) / len(letters)
                    counted[row, question, model] += 1 / len(letters)
    return names, right, counted


def _pairwise_letters(entries: Iterable[Any], number: int) -> list[str]:
    answers = [turn.get("answers", {}) for entry in entries for turn in entry["turns"] if turn["turnNumber"] == number]
    return [one["pairwise"] for one in answers if one.get("pairwise") is not None]


# Cells


def paired_cells(
    sampling: Sampling, name: str, a: Floats, b: Floats, drills: Sequence[Drill | None] | None = None
) -> list[Cell]:
    """A cell for each column of a − b, all tested and corrected together; `name` is the use of the chance."""
    tests = sampling.tests(name, a, b)
    cells = sampling.difference_cells(tests, corrected_p(tests, sampling.settings), a, b)
    return cells if drills is None else [replace(cell, drill=d) for cell, d in zip(cells, drills, strict=True)]


def estimate_rates(sampling: Sampling, above: Floats, below: Floats) -> Estimates:
    """Σ above / Σ below of each column of (conversations, columns) with its interval; n counts conversations."""
    return bootstrap.estimate_ratios(
        above, below, sampling.weights, clusters=sampling.clusters, level=sampling.settings.level
    )


def rate_cells(
    sampling: Sampling,
    above: Floats,
    below: Floats,
    drills: Sequence[Drill | None] | None = None,
    *,
    right: bool = False,
) -> list[Cell]:
    """Σ above / Σ below of each column of (conversations, columns); n counts the conversations behind it.

    `right`: these are right answers, with Wilson's interval where all conversations have the same rate.
    """
    shares = np.full(above.shape[1], right)
    found = estimate_rates(sampling, above, below)
    found, _ = with_wilson(found, below, shares, sampling.clusters, sampling.settings.level)
    small = sampling.small(np.where(below > 0, above, np.nan))
    return cells_of(found.value, found.low, found.high, found.n, small, drills)


def resampled_sums(sampling: Sampling, columns: Floats) -> Floats:
    """Column sums of (conversations, columns) in each resample: (resamples, columns)."""
    if sampling.clusters is not None:
        columns = bootstrap.sum_by_cluster(columns, sampling.clusters)
    return np.asarray(sampling.weights.astype(np.float64) @ columns)


def function_cells(
    sampling: Sampling, value: Floats, samples: Floats, support: Floats, drills: Sequence[Drill | None] | None = None
) -> list[Cell]:
    """Cells of a function of sums: its value (columns,), its resampled values (resamples, columns).

    `support` (conversations, columns) is above 0 where a conversation has a part in the column. Under two
    conversations (participants) there is no interval.
    """
    low, high = bootstrap.percentile_interval(samples, sampling.settings.level)
    units = support if sampling.clusters is None else bootstrap.sum_by_cluster(support, sampling.clusters)
    single = (units > 0).sum(axis=0) < 2
    low[single] = high[single] = np.nan
    small = sampling.small(np.where(support > 0, 1.0, np.nan))
    return cells_of(value, low, high, (support > 0).sum(axis=0), small, drills)


def in_rows(cells: Sequence[Cell], width: int) -> list[list[Cell]]:
    """The cells of a flat list of rows."""
    return [list(cells[start : start + width]) for start in range(0, len(cells), width)]


def model_columns(
    study: ScoreTable,
    rows: Sequence[Sequence[Cell]],
    meaning: str = "",
    unit: Unit = "share",
    *,
    better: bool | None = True,
    digits: int | None = None,
) -> list[Filled]:
    """A column for each model, of rows that have a cell for each."""
    return [
        column(id, [row[i] for row in rows], label, unit, meaning, better=better, digits=digits)
        for i, (id, label) in enumerate(zip(model_ids(study), study.labels, strict=True))
    ]


def model_ids(study: ScoreTable) -> tuple[str, ...]:
    """The ids of the models' columns."""
    return tuple(f"model_{label}" for label in study.labels)


# Groups of conversations against the others


def group_contrast(
    study: ScoreTable,
    values: Floats,
    inside: Mask,
    asked: Mask,
    name: str,
    settings: Settings,
    *,
    family: int | None = None,
) -> GroupContrast:
    """Each column's mean inside the group minus that over the other conversations asked; participants move as a whole.

    `values` is (conversations, columns); `asked` are the conversations that count at all. Where every participant has
    one conversation, conversations are the units. `family`: how many tests are corrected together, where these are not
    the columns. Undefined (NaN) where a side is empty.
    """
    people = np.unique(study.clusters[asked], return_inverse=True)[1].astype(np.intp)
    single = len(people) == (int(people.max()) + 1 if len(people) else 0)
    return group_difference(
        values[asked],
        inside[asked],
        clusters=None if single else people,
        rng=settings.rng(name),
        resamples=settings.resamples,
        tests=family,
        level=settings.level,
        alpha=settings.alpha,
        power=settings.power,
    )


def contrast_cells(
    study: ScoreTable,
    contrast: GroupContrast,
    values: Floats,
    inside: Mask,
    asked: Mask,
    settings: Settings,
    corrected: Floats,
    drills: Sequence[Drill | None] | None = None,
) -> list[Cell]:
    """A cell for each column's difference; small where either side has too few conversations or participants."""
    beyond = beyond_reach(contrast.least, settings, together=False)
    people = np.minimum(contrast.clusters_in, contrast.clusters_out)
    return [
        Cell(
            known(contrast.estimate[i]),
            known(contrast.low[i]),
            known(contrast.high[i]),
            n=int(contrast.n_in[i] + contrast.n_out[i]),
            p=known(contrast.p[i]),
            p_corrected=known(corrected[i]),
            small=bool(contrast.n_in[i] + contrast.n_out[i])
            and (beyond[i] or any(is_small(study, values[:, i], side & asked, settings) for side in (inside, ~inside))),
            mark=mark_of(contrast.estimate[i], contrast.low[i], int(people[i])),
            drill=drills[i] if drills else None,
        )
        for i in range(values.shape[1])
    ]


def is_small(study: ScoreTable, column: Floats, chosen: Mask, settings: Settings) -> bool:
    """Whether the chosen conversations in which a column is defined are too few, or of a single participant."""
    there = chosen & ~np.isnan(column)
    return bool(there.sum() < settings.small or len(np.unique(study.clusters[there])) < 2)


# Words and drills


def turns_of(study: ScoreTable, rows: Iterable[int]) -> tuple[tuple[str, int], ...]:
    """(conversation id, turn number) of rows of the study's turns, for a drill; the first ones where there are many."""
    listed = list(rows)[:MOST_TURNS]
    return tuple((study.ids[study.turns[row].conversation], study.turns[row].number) for row in listed)


def turns_text(study: ScoreTable) -> str:
    """ "60 conversations of 12 participants, 300 turns", for captions."""
    return f"{sample_text(study)}, {counted(len(study.turns), 'turn')}"


def wording(question: str) -> str:
    """What a binary question asks, as an observer reads it, in short; the id alone where the codebook has none."""
    asked = BINARY_QUESTION_TEXT.get(question, question)
    return asked.removeprefix("Did the OM's reply ").removesuffix("?")
