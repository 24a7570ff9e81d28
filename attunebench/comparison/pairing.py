"""All pairs of groups in one metric, over the conversations that both sides of a pair have.

Turns the values of a study into paired tests and their correction. Knows how a pair is tested, not how it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.common import beyond_reach, corrected_p, pair_tests
from attunebench.analyses.model import Settings
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.multiple import Correction
from attunebench.statistics.paired import PairedTests
from attunebench.statistics.power import minimum_detectable_effect

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PairTable:
    """Every pair of `groups` in a metric. Arrays are (groups, groups); [a, b] is about a − b; NaN is undefined.

    `n` counts the conversations that a pair has in common and `participants` the people they are of. `p_corrected` is
    corrected over `tests` pairs, those that could be tested; `least` is the smallest p that a pair can have. `mde` is
    the difference that would have been found with the asked power by this one test, `mde_corrected` at α/`tests`, the
    level that a first claim of Holm's has to reach. `told_apart_raw` and `told_apart` are p and corrected p at most α.
    Both are False where a pair is `small`: too few conversations in common, a single participant, or too few units for
    any p to stand after correction. On the diagonal everything is NaN, 0 or False.
    """

    metric_id: str
    groups: tuple[Group, ...]
    correction: Correction
    alpha: float
    tests: int
    difference: Floats
    low: Floats
    high: Floats
    se: Floats
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
        """In how many pairs the corrected test tells the two apart."""
        return int(self.told_apart.sum()) // 2

    @property
    def apart_raw(self) -> int:
        """The same without correction."""
        return int(self.told_apart_raw.sum()) // 2

    @property
    def least_of_pairs(self) -> Floats:
        """The smallest p that each pair can have, a row of pairs."""
        return self.least[np.triu_indices(len(self.groups), 1)]

    @property
    def undecidable(self) -> bool:
        """Whether every pair is small, so that there can be no claim."""
        return bool((self.small | np.eye(len(self.groups), dtype=bool)).all())

    def ahead(self, a: int, b: int) -> bool:
        """Whether a has the better value over the conversations of the pair."""
        difference = float(self.difference[a, b])
        return difference < 0 if metric(self.metric_id).higher_is_better is False else difference > 0


def pairs(study: ScoreTable, metric_id: str, settings: Settings | None = None) -> PairTable:
    """Test all pairs of the study's groups, as they are: choose them with `ScoreTable.of_mode` and `ScoreTable.models`.

    Each pair is compared over the conversations in which both have the metric, with the sign-flip test and percentile
    bootstrap of `paired_tests`; p is corrected over all pairs of the table by `settings.correction`. All pairs share
    their flips and resamples. UsageError for an unknown metric.
    """
    settings = settings or Settings()
    card = metric(metric_id)
    values = study.values(card.id)
    people = study.clusters
    met = ~np.isnan(values).all(axis=1)
    values, people = values[met], np.unique(people[met], return_inverse=True)[1].reshape(-1)
    index = np.array(list(combinations(range(len(study.groups)), 2)), dtype=np.intp).reshape(-1, 2)
    if not len(values) or not len(index):
        return _untested(study, card.id, settings)
    a, b = values[:, index[:, 0]], values[:, index[:, 1]]
    tests = pair_tests("pairs", a, b, settings, people if settings.by_participant else None)
    return _table(study, card.id, settings, index, tests, people_behind(~np.isnan(a - b), people))


def people_behind(defined: Marks, people: NDArray[np.intp]) -> Counts:
    """How many different people (labels per row) stand behind the marked rows of each column."""
    counts = np.zeros((int(people.max()) + 1, defined.shape[1]), dtype=np.int64)
    np.add.at(counts, people, defined.astype(np.int64))
    found: Counts = (counts > 0).sum(axis=0)
    return found


def _table(
    study: ScoreTable,
    metric_id: str,
    settings: Settings,
    index: NDArray[np.intp],
    tests: PairedTests,
    participants: Counts,
) -> PairTable:
    p_corrected = corrected_p(tests, settings)
    m = int((~np.isnan(tests.p)).sum())
    mde_corrected = np.full(len(index), np.nan)
    if m:
        mde_corrected = minimum_detectable_effect(tests.se, 1, alpha=settings.alpha / m, power=settings.power)
    small = (tests.n < settings.small) | (participants < 2) | beyond_reach(tests.least, settings)
    with np.errstate(invalid="ignore"):
        apart = (p_corrected <= settings.alpha) & ~small
        apart_raw = (tests.p <= settings.alpha) & ~small
    size = len(study.groups)

    def square(column: Floats, *, negated: Floats | None = None) -> Floats:
        return _square(column, column if negated is None else negated, index, size, np.nan)

    return PairTable(
        metric_id=metric_id,
        groups=study.groups,
        correction=settings.correction,
        alpha=settings.alpha,
        tests=m,
        difference=square(tests.difference, negated=-tests.difference),
        low=square(tests.low, negated=-tests.high),
        high=square(tests.high, negated=-tests.low),
        se=square(tests.se),
        p=square(tests.p),
        p_corrected=square(p_corrected),
        least=square(tests.least),
        n=_square(tests.n, tests.n, index, size, 0),
        participants=_square(participants, participants, index, size, 0),
        mde=square(tests.mde),
        mde_corrected=square(mde_corrected),
        told_apart=_square(apart, apart, index, size, False),
        told_apart_raw=_square(apart_raw, apart_raw, index, size, False),
        small=_square(small, small, index, size, False),
    )


def _untested(study: ScoreTable, metric_id: str, settings: Settings) -> PairTable:
    """The table where there is no pair, or no value of the metric at all."""
    size = len(study.groups)
    empty = np.full((size, size), np.nan)
    none = np.zeros((size, size), dtype=np.int64)
    never = np.zeros((size, size), dtype=bool)
    names = ("difference", "low", "high", "se", "p", "p_corrected", "least", "mde", "mde_corrected")
    numbers = {name: empty.copy() for name in names}
    return PairTable(
        metric_id=metric_id,
        groups=study.groups,
        correction=settings.correction,
        alpha=settings.alpha,
        tests=0,
        n=none,
        participants=none.copy(),
        told_apart=never,
        told_apart_raw=never.copy(),
        small=~np.eye(size, dtype=bool),
        **numbers,
    )


def _square(above: NDArray, below: NDArray, index: NDArray[np.intp], size: int, diagonal: float) -> NDArray:  # type: ignore[type-arg]
    """Columns of pairs as a matrix: `above` at [a, b], `below` at [b, a]."""
    matrix = np.full((size, size), diagonal, dtype=above.dtype)
    matrix[index[:, 0], index[:, 1]] = above
    matrix[index[:, 1], index[:, 0]] = below
    return matrix
