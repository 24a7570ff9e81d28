"""What analyses of turns and questions share: turns gathered into conversations, rates over answers, drills to turns.

Turns of a talk hang together, so that whatever is counted over turns gets its doubt from resampling conversations (or
participants). Knows no single analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import common
from attunebench.analyses.common import Sampling, cells_of
from attunebench.analyses.model import Cell, Column, Drill, Settings, known
from attunebench.constants import BINARY_CATEGORY, BINARY_QUESTION_TEXT
from attunebench.scores.table import ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Estimates, Floats
from attunebench.statistics.contrasts import GroupContrast, Mask, group_difference
from attunebench.statistics.intervals import clustered_wilson, with_wilson

NO_LABELS = (
    "These scores keep no labels or answers (they are of an older version); score the results again with "
    "`attune-bench score`."
)
MOST_TURNS = 60
"""A drill names no more turns than this: enough to look at, and a report stays small."""


def conversation_sums(study: ScoreTable, table: Floats) -> tuple[Floats, Floats]:
    """Sum and number of the defined values over the turns of each conversation: twice (conversations, columns).

    `table` is (turns, columns) with NaN for gaps.
    """
    rows = study.clusters_of_turns()
    sums, counts = (np.zeros((len(study.ids), table.shape[1])) for _ in range(2))
    defined = ~np.isnan(table)
    np.add.at(sums, rows, np.where(defined, table, 0.0))
    np.add.at(counts, rows, defined)
    return sums, counts


def conversation_means(study: ScoreTable, table: Floats) -> Floats:
    """Each conversation's mean over the turns in which a column is defined: (conversations, columns)."""
    return ratio(*conversation_sums(study, table))


def ratio(above: Floats, below: Floats) -> Floats:
    """Element by element; NaN where there is nothing below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan))


def column_means(values: Floats) -> Floats:
    """Mean of each column's defined values; NaN without any."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0).astype(np.float64))


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
    """A cell for each column's rate over all its answers; n counts the conversations behind it.

    `right`: these are right answers, with Wilson's interval where all conversations have the same rate.
    """
    found = estimate_rates(sampling, above, below)
    shares = np.full(above.shape[1], right)
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
    n = (support > 0).sum(axis=0)
    small = sampling.small(np.where(support > 0, 1.0, np.nan))
    return cells_of(value, low, high, n, small, drills)


def wilson_cells(
    sampling: Sampling,
    above: Floats,
    below: Floats,
    drills: Sequence[Drill | None] | None = None,
    *,
    level: float | None = None,
) -> list[Cell]:
    """Shares of rare events: Wilson intervals on as many independent answers as the clustered ones are worth.

    Takes (conversations, columns); see `clustered_wilson`. `level` is that of the settings unless given.
    """
    share = ratio(above.sum(axis=0), below.sum(axis=0))
    conversations = (below > 0).sum(axis=0)
    low, high = clustered_wilson(above, below, _units(sampling), level or sampling.settings.level)
    small = sampling.small(np.where(below > 0, above, np.nan))
    return [
        Cell(
            known(share[i]),
            known(low[i]),
            known(high[i]),
            n=int(conversations[i]),
            small=bool(small[i]) and conversations[i] > 0,
            drill=drills[i] if drills else None,
        )
        for i in range(len(share))
    ]


def _units(sampling: Sampling) -> NDArray[np.intp]:
    rows = np.arange(len(sampling.people), dtype=np.intp)
    return rows if sampling.clusters is None else sampling.clusters


def turns_of(study: ScoreTable, rows: Iterable[int]) -> tuple[tuple[str, int], ...]:
    """(conversation id, turn number) of rows of the study's turns, for a drill; the first ones where there are many."""
    listed = list(rows)[:MOST_TURNS]
    return tuple((study.ids[study.turns[row].conversation], study.turns[row].number) for row in listed)


def mark_text(study: ScoreTable) -> str:
    """ "60 conversations of 12 participants, 300 turns", for captions."""
    return f"{common.sample_text(study)}, {common.counted(len(study.turns), 'turn')}"


def model_columns(
    study: ScoreTable, order: Sequence[int], *, meaning: str = "", better: bool | None = True, digits: int | None = None
) -> tuple[Column, ...]:
    """A column for each model in this order."""
    return tuple(Column(model_id(study, i), study.groups[i].label, "share", meaning, better, digits) for i in order)


def model_id(study: ScoreTable, position: int) -> str:
    """The id of a model's column."""
    return f"model_{study.groups[position].label}"


def wording(question: str) -> str:
    """What a binary question asks, as an observer reads it, in short; the id alone where the codebook has none."""
    asked = BINARY_QUESTION_TEXT.get(question, question)
    return asked.removeprefix("Did the OM's reply ").removesuffix("?")


def category(question: str) -> str:
    """The category of a binary question in words."""
    return BINARY_CATEGORY.get(question, "unknown").replace("_", " ")


def categories(questions: Sequence[str]) -> tuple[str, ...]:
    """The categories of these questions in their order."""
    return tuple(dict.fromkeys(map(category, questions)))


def pairwise_right(study: ScoreTable) -> tuple[tuple[str, ...], Floats, Floats]:
    """Pairwise question ids, and how many of their comparisons were right and counted: (turns, questions, models).

    Comparisons without a winner do not count; not answered is wrong; a turn that was not measured counts nothing.
    Epochs are averaged.
    """
    truths = [None if truth is None else truth["turns"] for truth in study.truths()]
    asked = {str(c[0]) for turns in truths for turn in turns or () for c in turn["comparisons"] if c[3] is not None}
    names = tuple(sorted(asked, key=lambda name: (len(name), name)))
    place = {name: i for i, name in enumerate(names)}
    right, counted = (np.zeros((len(study.turns), len(names), len(study.groups))) for _ in range(2))
    for row, turn in enumerate(study.turns):
        turns = truths[turn.conversation]
        if turns is None:
            continue
        wins = [(i, place[str(c[0])], c[3]) for i, c in enumerate(turns[turn.position - 1]["comparisons"]) if c[3]]
        for column, group in enumerate(study.groups):
            entries = study.entries.get((group.key, study.ids[turn.conversation]), ())
            given = [
                letters
                for entry in entries
                for answered in entry["turns"]
                if answered["turnNumber"] == turn.number
                and (letters := answered.get("answers", {}).get("pairwise")) is not None
            ]
            for letters in given:
                for index, question, winner in wins:
                    right[row, question, column] += (letters[index : index + 1] == winner) / len(given)
                    counted[row, question, column] += 1 / len(given)
    return names, right, counted


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
    beyond = common.beyond_reach(contrast.least, settings, together=False)
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
            mark=common.mark_of(
                contrast.estimate[i], contrast.low[i], int(min(contrast.clusters_in[i], contrast.clusters_out[i]))
            ),
            drill=drills[i] if drills else None,
        )
        for i in range(values.shape[1])
    ]


def is_small(study: ScoreTable, column: Floats, chosen: Mask, settings: Settings) -> bool:
    """Whether the chosen conversations in which a column is defined are too few, or of a single participant."""
    there = chosen & ~np.isnan(column)
    return bool(there.sum() < settings.small or len(np.unique(study.clusters[there])) < 2)
