"""All pairs of groups in one metric, over the conversations that both sides of a pair have.

Knows how a pair is tested, not how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
from attunebench.statistics.power import minimum_detectable_effect

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
    everything is NaN, 0 or False.
    """

    metric_id: str
    groups: tuple[Group, ...]
    alpha: float
    tests: int
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

    @property
    def of(self) -> int:
        """The number of pairs, tested or not."""
        return len(self.groups) * (len(self.groups) - 1) // 2

    @property
    def apart(self) -> int:
        """The number of pairs that differ significantly after correction."""
        return int(self.told_apart.sum()) // 2

    @property
    def apart_raw(self) -> int:
        """The same without correction."""
        return int(self.told_apart_raw.sum()) // 2

    @property
    def undecidable(self) -> bool:
        """Whether every pair is small, so that there can be no claim."""
        return bool((self.small | np.eye(len(self.groups), dtype=bool)).all())

    def cells(self) -> list[Cell]:
        """A cell for each difference, row by row."""
        return cells_of(
            self.difference.ravel(),
            self.low.ravel(),
            self.high.ravel(),
            self.n.ravel(),
            self.small.ravel(),
            p=self.p.ravel(),
            p_corrected=self.p_corrected.ravel(),
        )

    def cell(self, a: int, b: int) -> Cell:
        """a − b."""
        return self.cells()[a * len(self.groups) + b]

    def above(self, name: str) -> Any:
        """An array's entries above the diagonal: one for each pair."""
        return getattr(self, name)[np.triu_indices(len(self.groups), 1)]

    def median(self, name: str) -> float:
        """Median of an array over the pairs; NaN where it is undefined for all."""
        values = self.above(name)
        return float(np.nanmedian(values)) if not np.isnan(values).all() else np.nan


def pairs(study: ScoreTable, metric_id: str, settings: Settings | None = None) -> PairTable:
    """Test all pairs of the study's groups, as they are: choose them with `ScoreTable.of_mode` and `ScoreTable.models`.

    Each pair is compared over the conversations in which both have the metric, with the sign-flip test and percentile
    bootstrap of `paired_tests`; p is corrected over all pairs by `settings.correction`. All pairs share their flips and
    resamples. UsageError for an unknown metric.
    """
    settings, card, size = settings or Settings(), metric(metric_id), len(study.groups)
    values = study.values(card.id)
    met = ~np.isnan(values).all(axis=1)
    values, people = values[met], np.unique(study.clusters[met], return_inverse=True)[1].reshape(-1)
    first, second = np.triu_indices(size, 1)
    if not len(first):  # nothing to test: a pair of nobody, which no entry of the table shows
        values, first, second = np.full((0, 2), np.nan), np.array([0]), np.array([1])
    a, b = values[:, first], values[:, second]
    tests = pair_tests("pairs", a, b, settings, people if settings.by_participant else None)
    p_corrected, count = corrected_p(tests, settings), int((~np.isnan(tests.p)).sum())
    participants = np.array([len(np.unique(people[column])) for column in ~np.isnan(a - b).T], dtype=np.int64)
    small = (tests.n < settings.small) | (participants < 2) | beyond_reach(tests.least, settings)
    mde = minimum_detectable_effect(tests.se, 1, alpha=settings.alpha / max(count, 1), power=settings.power)

    def square(above: Any, below: Any = None) -> Any:
        matrix = np.full((size, size), np.nan if above.dtype == np.float64 else 0, dtype=above.dtype)
        if size > 1:
            matrix[first, second], matrix[second, first] = above, above if below is None else below
        return matrix

    with np.errstate(invalid="ignore"):
        apart, apart_raw = ((p <= settings.alpha) & ~small for p in (p_corrected, tests.p))
    return PairTable(
        card.id,
        study.groups,
        settings.alpha,
        count,
        square(tests.difference, -tests.difference),
        square(tests.low, -tests.high),
        square(tests.high, -tests.low),
        *map(square, (tests.p, p_corrected, tests.least, tests.n, participants, tests.mde, mde)),
        *map(square, (apart, apart_raw, small)),
    )


def reach_warnings(tables: Iterable[PairTable], settings: Settings) -> tuple[str, ...]:
    """`reach_text` of each table, every sentence once."""
    return tuple(dict.fromkeys(one for table in tables for one in reach_text(table.above("least"), settings)))


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
