"""All pairs of groups in one metric, over the conversations that both sides of a pair have.

Knows how a pair is tested, not how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings
from attunebench.analyses.sampling import beyond_reach, cells_of, corrected_p, pair_tests
from attunebench.analyses.table import Cell
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
    everything is NaN, 0 or False.
    """

    metric_id: str
    groups: tuple[Group, ...]
    alpha: float
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

    def once(self, name: str) -> NDArray[Any]:
        """The entries of an array, each pair once."""
        entries: NDArray[Any] = getattr(self, name)[np.triu_indices(len(self.groups), 1)]
        return entries

    @property
    def of(self) -> int:
        """The number of pairs."""
        return len(self.once("p"))

    @property
    def tests(self) -> int:
        """How many pairs could be tested."""
        return int((~np.isnan(self.once("p"))).sum())

    @property
    def apart(self) -> int:
        """How many pairs differ significantly."""
        return int(self.once("told_apart").sum())

    @property
    def apart_raw(self) -> int:
        """How many pairs have an uncorrected p of at most α."""
        return int(self.once("told_apart_raw").sum())

    @property
    def undecidable(self) -> bool:
        """Whether every pair is small, so that there can be no claim."""
        return bool(self.once("small").all())

    def median(self, name: str) -> float:
        """Median of an array over the pairs; NaN where it is undefined for all."""
        values = self.once(name)
        return float(np.nanmedian(values)) if not np.isnan(values).all() else np.nan

    def cells(self, pairs: Iterable[tuple[int, int]]) -> list[Cell]:
        """A cell for a − b of each (a, b)."""
        at = tuple(np.array(list(pairs), dtype=np.intp).reshape(-1, 2).T)
        parts: list[Any] = [getattr(self, name)[at] for name in ("difference", "low", "high", "n", "small")]
        return cells_of(*parts, p=self.p[at], p_corrected=self.p_corrected[at])


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
    arrays = _tested(values[met].tobytes(), people.tobytes(), len(study.groups), settings)
    return PairTable(card.id, study.groups, settings.alpha, *arrays)


@lru_cache(maxsize=32)  # several analyses test the same pairs
def _tested(table: bytes, labels: bytes, size: int, settings: Settings) -> tuple[Any, ...]:
    """The arrays of a `PairTable`, of values (conversations, groups) and the participants of the rows."""
    people = np.frombuffer(labels, dtype=np.intp)
    values = np.frombuffer(table).reshape(len(people), size)
    at = first, second = np.triu_indices(size, 1)
    a, b = values[:, first], values[:, second]
    tests = pair_tests("pairs", a, b, settings, people if settings.by_participant else None)
    p = corrected_p(tests, settings)
    participants = np.array([len(np.unique(people[column])) for column in ~np.isnan(a - b).T], dtype=np.int64)
    small = (tests.n < settings.small) | (participants < 2) | beyond_reach(tests.least, settings)
    level = settings.alpha / max(int((~np.isnan(tests.p)).sum()), 1)
    mde = minimum_detectable_effect(tests.se, alpha=level, power=settings.power)

    def square(above: Any, below: Any = None) -> Any:
        matrix = np.full((size, size), np.nan if above.dtype == np.float64 else 0, dtype=above.dtype)
        matrix[at], matrix.T[at] = above, above if below is None else below
        matrix.flags.writeable = False
        return matrix

    apart, apart_raw = ((each <= settings.alpha) & ~small for each in (p, tests.p))
    return (
        *(square(tests.difference, -tests.difference), square(tests.low, -tests.high)),
        square(tests.high, -tests.low),
        *map(square, (tests.p, p, tests.least, tests.n, participants, tests.mde, mde, apart, apart_raw, small)),
    )


def reach_warnings(tables: Iterable[PairTable], settings: Settings) -> tuple[str, ...]:
    """`reach_text` of each table, every sentence once."""
    return tuple(dict.fromkeys(text for table in tables for text in reach_text(table.once("least"), settings)))
