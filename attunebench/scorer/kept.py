"""What scoring keeps of a result until all are scored: its entry for the file, and its numbers as one row.

A row is all that aggregates are made of, so that thousands of results are a matrix, and a process can hand them to
another at little cost. Computes no metric.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.constants import BINARY_CATEGORY
from attunebench.judging import JudgeScale
from attunebench.metrics.binary import UNCATEGORISED, Confusion
from attunebench.results.schema import BINARY_BLOCKS, Observed, Result, RunOrder
from attunebench.scorer.conversation import ConversationScore, Pooled
from attunebench.scorer.tallies import Tallies
from attunebench.scores import ConversationEntry

Floats = NDArray[np.float64]
Group = tuple[str, str, str]

TALLIES = tuple(field.name for field in fields(Tallies))
CATEGORIES = tuple(sorted({*BINARY_CATEGORY.values(), UNCATEGORISED}))
_POOLED_SHAPE = (len(BINARY_BLOCKS), len(CATEGORIES), 4)
_NOT_MEASURED = np.full(_POOLED_SHAPE[1:], np.nan)
_PLACE = {category: place for place, category in enumerate(CATEGORIES)}
_COUNTS = len(BINARY_BLOCKS) * len(CATEGORIES) * 4
_AFTER_METRICS = len(TALLIES) + _COUNTS


@dataclass(slots=True)
class Kept:
    """A scored result. `numbers`: the metrics of its rules in registry order, tallies, pooled counts; NaN is undefined
    or not measured.

    `entry` is what the file holds of it, or the finished text of that.
    """

    key: tuple[str, str, str, str, int | None]
    source_file: str
    participant_id: str | None
    complete: bool
    numbers: Floats
    entry: ConversationEntry | str
    settings: dict[str, Any]
    observed: Observed
    run_order: RunOrder | None
    judges: tuple[str, ...]
    outdated: bool
    """Whether the conversation may have had other texts when it was run."""
    votes_left_out: tuple[JudgeScale, ...] = ()

    @property
    def conversation_id(self) -> str:
        return self.key[0]

    @property
    def group(self) -> Group:
        return self.key[1:4]


def keep(found: ConversationScore, result: Result, entry: ConversationEntry | str, *, outdated: bool = False) -> Kept:
    """What is kept of a result and its scores."""
    return Kept(
        key=found.key,
        source_file=found.source_file,
        participant_id=found.participant_id,
        complete=found.composite_complete,
        numbers=numbers_of(found),
        entry=entry,
        settings=dict(result.settings),
        observed=result.observed,
        run_order=result.run_order,
        judges=result.judges,
        outdated=outdated,
        votes_left_out=result.votes_left_out,
    )


def numbers_of(found: ConversationScore) -> Floats:
    """The row of a result's scores."""
    counts = np.zeros(_POOLED_SHAPE)
    for row, tallies in zip(counts, found.pooled.values(), strict=True):
        if tallies is None:
            row[:] = _NOT_MEASURED
        else:
            for category, confusion in tallies.items():
                row[_PLACE[category]] = (confusion.tp, confusion.tn, confusion.fp, confusion.fn)
    values = np.array([*found.metrics.values(), *found.tallies.as_json().values()], dtype=np.float64)
    return np.concatenate([values, counts.ravel()])


def metrics_of(rows: Floats) -> Floats:
    """(results, metrics) out of (results, numbers)."""
    return rows[:, :-_AFTER_METRICS]


def tally_of(rows: Floats, name: str) -> Floats:
    """One of the tallies of each row."""
    column: Floats = rows[:, TALLIES.index(name) - _AFTER_METRICS]
    return column


def pooled_of(rows: Floats) -> Pooled:
    """The counts of all rows together; a block that none of them has measured is None."""
    table = rows[:, -_COUNTS:].reshape(len(rows), *_POOLED_SHAPE)
    measured: Any = (~np.isnan(table[:, :, 0, 0])).any(axis=0).tolist()
    summed: Any = np.nansum(table, axis=0).astype(np.int64).tolist()
    return {
        block: {name: Confusion(*counts) for name, counts in zip(CATEGORIES, cells, strict=True) if any(counts)}
        if known
        else None
        for block, known, cells in zip(BINARY_BLOCKS, measured, summed, strict=True)
    }
