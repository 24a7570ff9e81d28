"""All pairs of groups in one metric, over the conversations that both sides of a pair have.

Knows how a pair is tested, not how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings
from attunebench.analyses.sampling import beyond_reach, cells_of, corrected_p, pair_tests
from attunebench.analyses.table import Cell, Filled, column, counts
from attunebench.analyses.verdicts import reach_text
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import minimum_detectable_effect

Counts = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PairTable:
    """Every pair of `groups` in a metric. Arrays are (groups, groups); [a, b] is about a − b; NaN is undefined.

    `n` counts the conversations of both sides, `participants` the people they are of. p is corrected over the `tests`
    pairs that could be tested; `least` is the smallest p that a pair can have. `mde` is the minimum detectable
    difference of this test alone, `mde_corrected` that at α/`tests`, the level that Holm's first claim has to reach.
    `told_apart` and `told_apart_raw`: corrected p and p at most α; False where a pair is `small` (too few
    conversations, a single participant, or too few units for any p to remain after correction). On the diagonal
    everything is NaN, 0 or False. Counts of pairs: `of` all of them, `apart` and `apart_raw` significant ones.
    `undecidable`: every pair is small, so that there can be no claim.
    """

    metric_id: str
    groups: tuple[Group, ...]
    alpha: float
    tests: int
    of: int
    apart: int
    apart_raw: int
    undecidable: bool
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    p_corrected: Floats
    least: Floats
    n: Counts
    participants: Counts
    mde: Floats
    mde_corrected: Floats
    told_apart: Marks
    told_apart_raw: Marks
    small: Marks

    def cells(self, pairs: Iterable[tuple[int, int]]) -> list[Cell]:
        """A cell for a − b of each (a, b)."""
        at = tuple(np.array(list(pairs), dtype=np.intp).reshape(-1, 2).T)
        parts: list[Any] = [getattr(self, name)[at] for name in ("difference", "low", "high", "n", "small")]
        return cells_of(*parts, p=self.p[at], p_corrected=self.p_corrected[at])

    def median(self, name: str) -> float:
        """Median of an array over the pairs; NaN where it is undefined for all."""
        values = getattr(self, name)
        return float(np.nanmedian(values)) if not np.isnan(values).all() else np.nan


def pairs(study: ScoreTable, metric_id: str, settings: Settings | None = None) -> PairTable:
    """Test all pairs of the study's groups, as they are: choose them with `ScoreTable.of_mode` and `ScoreTable.models`.

    Each pair is compared over the conversations in which both have the metric, with the sign-flip test and percentile
    bootstrap of `paired_tests`; p is corrected over all pairs by `settings.correction`. All pairs share their flips and
    resamples. UsageError for an unknown metric.
    """
    settings, card = replace(settings or Settings(), mode=None, metrics=()), metric(metric_id)
    values = study.values(card.id)
    met = ~np.isnan(values).all(axis=1)
    people = np.unique(study.clusters[met], return_inverse=True)[1].reshape(-1).astype(np.intp)
    return PairTable(
        card.id,
        study.groups,
        settings.alpha,
        *_tested(values[met].tobytes(), people.tobytes(), len(study.groups), settings),
    )


@lru_cache(maxsize=32)  # several analyses test the same pairs
def _tested(table: bytes, labels: bytes, size: int, settings: Settings) -> tuple[Any, ...]:
    """What follows `alpha` in a `PairTable`, of values (conversations, groups) and the participants of the rows."""
    people = np.frombuffer(labels, dtype=np.intp)
    values = np.frombuffer(table).reshape(len(people), size)
    first, second = np.triu_indices(size, 1)
    of = len(first)
    if not of:  # nothing to test: a pair of nobody, which no entry of the table shows
        values, first, second = np.full((0, 2), np.nan), np.array([0]), np.array([1])
    a, b = values[:, first], values[:, second]
    tests = pair_tests("pairs", a, b, settings, people if settings.by_participant else None)
    p, count = corrected_p(tests, settings), int((~np.isnan(tests.p)).sum())
    participants = np.array([len(np.unique(people[column])) for column in ~np.isnan(a - b).T], dtype=np.int64)
    small = (tests.n < settings.small) | (participants < 2) | beyond_reach(tests.least, settings)
    mde = minimum_detectable_effect(tests.se, 1, alpha=settings.alpha / max(count, 1), power=settings.power)

    def square(above: Any, below: Any = None) -> Any:
        matrix = np.full((size, size), np.nan if above.dtype == np.float64 else 0, dtype=above.dtype)
        if of:
            matrix[first, second], matrix[second, first] = above, above if below is None else below
        matrix.flags.writeable = False
        return matrix

    with np.errstate(invalid="ignore"):
        apart, apart_raw = ((each <= settings.alpha) & ~small for each in (p, tests.p))
    return (
        *(count, of, int(apart.sum()), int(apart_raw.sum()), bool(small[:of].all())),
        *(square(tests.difference, -tests.difference), square(tests.low, -tests.high)),
        square(tests.high, -tests.low),
        *map(square, (tests.p, p, tests.least, tests.n, participants, tests.mde, mde, apart, apart_raw, small)),
    )


def reach_warnings(tables: Iterable[PairTable], settings: Settings) -> tuple[str, ...]:
    """`reach_text` of each table, every sentence once."""
    above = (table.least[np.triu_indices(len(table.groups), 1)] for table in tables)
    return tuple(dict.fromkeys(one for least in above for one in reach_text(least, settings)))


def pair_columns(tables: Sequence[PairTable], settings: Settings, *, better: bool | None = None) -> list[Filled]:
    """How many pairs there are in each table, and how many of them differ significantly, raw and corrected."""
    raw = [Cell(one.apart_raw, small=one.undecidable) for one in tables]
    corrected = [Cell(one.apart, small=one.undecidable) for one in tables]
    meaning = f"After correction ({settings.correction}) over the pairs."
    return [
        counts("pairs", [one.of for one in tables]),
        column("raw", raw, "differ", "count", f"p at most {settings.alpha:g}.", better=better),
        column("corrected", corrected, "differ, corrected", "count", meaning, better=better),
    ]
