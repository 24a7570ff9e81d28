"""Means with their doubt and paired tests, over resampled conversations or participants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings, value_of
from attunebench.analyses.table import NOT_ESTIMABLE, ZERO_INFLATED, Cell, Drill, cell_of, known
from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Counts, Estimates, Floats, Labels, Resampling, skill
from attunebench.statistics.bootstrap import ratio as ratio
from attunebench.statistics.intervals import with_wilson, zero_inflated
from attunebench.statistics.multiple import adjust, max_t
from attunebench.statistics.paired import PairedTests, paired_tests
from attunebench.statistics.permutation import FEWEST, least_corrected, permutations_needed
from attunebench.statistics.ranks import competition_ranks

_MOST_JOINT = 10_000
"""Of these max-T takes about a gigabyte."""
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini–Hochberg", "maxt": "max-T"}


def pair_tests(
    name: str, a: Floats, b: Floats, settings: Settings, clusters: Labels | None, *, family: int | None = None
) -> PairedTests:
    """Paired tests of the columns of a against those of b as the settings say; `name` is the use of the chance.

    `family`: how many tests are corrected together, where these are not all.
    """
    joint = settings.correction == "maxt"
    if joint and a.shape[1] > _MOST_JOINT:
        raise UsageError(
            f"max-T keeps the permutations of all pairs in memory and takes at most {_MOST_JOINT:,} pairs, not "
            f"{a.shape[1]:,}; use --correction holm."
        )
    how = settings.of_tests
    return paired_tests(a, b, rng=settings.rng(name), tests=family, clusters=clusters, joint=joint, **how)


def corrected_p(tests: PairedTests, settings: Settings) -> Floats:
    """p of all columns, corrected for their number; at an α that max-T cannot decide, Holm stands in."""
    if settings.correction == "maxt" and permutations_needed(1, settings.alpha) <= FEWEST:
        return max_t(tests.observed, tests.null)
    return adjust(tests.p, plain_correction(settings))


def plain_correction(settings: Settings) -> Literal["holm", "bh"]:
    """The correction of tests that were not permuted together: for them there is no max-T, and Holm stands in."""
    return "bh" if settings.correction == "bh" else "holm"


def beyond_reach(least: Floats, settings: Settings, *, together: bool = True) -> NDArray[np.bool_]:
    """Tests whose corrected p cannot be at most α, whatever the data, by the `least` p that each can give.

    `together`: they are permuted together.
    """
    correction = settings.correction if together else plain_correction(settings)
    with np.errstate(invalid="ignore"):
        return np.asarray(least_corrected(least, correction) > settings.alpha)


def claimed(cell: Cell, settings: Settings) -> bool:
    """Whether a difference may be claimed: significant after correction, on enough conversations."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    return p is not None and p <= settings.alpha and not cell.small


_MOST_FLOATS = 5_000_000
"""So many weights are kept as what they are multiplied as, four times as large; of more the memory would show."""


@lru_cache(maxsize=4)
def _weights(units: int, resamples: int, seed: int) -> Counts:
    weights = bootstrap.resample_weights(units, resamples, np.random.default_rng(seed))
    return weights.astype(np.float64) if weights.size <= _MOST_FLOATS else weights


@dataclass(frozen=True)
class Sampling:
    """How means over a study's conversations get their intervals, from the same resamples in every table.

    `people` labels the participants of the rows, whether they are the unit of resampling or not.
    """

    weights: Counts
    clusters: Labels | None
    people: Labels
    settings: Settings

    @classmethod
    def of(cls, study: ScoreTable, settings: Settings) -> Sampling:
        """For a study with at least one conversation."""
        people = study.clusters
        clusters = people if settings.by_participant else None
        units = len(people) if clusters is None else int(clusters.max()) + 1
        return cls(_weights(units, settings.resamples, settings.seed), clusters, people, settings)

    @property
    def resampling(self) -> Resampling:
        """The same for `statistics`."""
        return Resampling(self.weights, self.clusters, self.settings.level)

    def estimate(self, values: Floats, *, of: str | Sequence[str] = "") -> Estimates:
        """Mean of each column of (conversations, columns), NaN a gap, with its interval.

        `of`: the metric of all columns, or of each: shares of right answers then have Wilson's interval where all
        conversations have the same value.
        """
        shares = [bool(m) and REGISTRY[m].proportion for m in ([of] if isinstance(of, str) else of)]
        return estimate_rates(self, *bootstrap.mean_as_ratio(values), right=shares)

    def small(self, values: Floats) -> NDArray[np.bool_]:
        """Columns with too few conversations, or a single participant, for a claim."""
        return too_few(values, self.people, self.settings)

    def cells(
        self,
        values: Floats,
        drills: Sequence[Drill | None] | None = None,
        *,
        flag: bool = True,
        of: str | Sequence[str] = "",
    ) -> list[Cell]:
        """A cell for each column's mean; `flag` marks those whose values are mostly the same; `of` as in `estimate`.

        Of (conversations, …) here and below the further axes are taken one after the other.
        """
        values = values.reshape(len(values), -1)
        found, small = self.estimate(values, of=of), self.small(values)
        return cells_of(
            found.value, found.low, found.high, found.n, small, drills, _flags(values, small) if flag else ()
        )

    def rates(
        self, above: Floats, below: Floats, drills: Sequence[Drill | None] | None = None, *, right: bool = False
    ) -> list[Cell]:
        """Σ above / Σ below of each column of (conversations, columns); n counts the conversations behind it.

        `right`: these are right answers, with Wilson's interval where all conversations have the same rate.
        """
        above, below = (part.reshape(len(part), -1) for part in (above, below))
        found = estimate_rates(self, above, below, right=right)
        small = self.small(np.where(below > 0, above, np.nan))
        return cells_of(found.value, found.low, found.high, found.n, small, drills)

    def skill_cells(self, values: Floats, baseline: Floats, ceiling: float) -> list[Cell]:
        """(mean − baseline's)/(ceiling − baseline's) over the conversations of both: 0 is the baseline, 1 the ceiling.

        `baseline` has an entry per conversation. A baseline at the ceiling leaves no skill.
        """
        sign = -1.0 if np.nanmean(np.append(baseline, ceiling)) > ceiling else 1.0
        found = skill(sign * values, sign * baseline, sign * ceiling, self.resampling)
        return cells_of(found.value, found.low, found.high, found.n, self.small(values - baseline[:, None]))

    @property
    def least(self) -> float:
        """The smallest p that a paired test over all conversations (participants) can give."""
        return float(0.5 ** (self.weights.shape[1] - 1))

    def tests(self, name: str, a: Floats, b: Floats, *, family: int | None = None) -> PairedTests:
        """Paired tests of the columns of a against those of b; `name` is the use that the chance is for.

        `family`: how many tests are corrected together, where these are not all.
        """
        return pair_tests(name, a, b, self.settings, self.clusters, family=family)

    def difference_cells(self, tests: PairedTests, corrected: Floats, a: Floats, b: Floats) -> list[Cell]:
        """A cell for each column's mean difference, with p and corrected p."""
        small = self.small(a - b) | beyond_reach(tests.least, self.settings)
        about = (tests.difference, tests.low, tests.high, tests.n, small)
        return cells_of(*about, marks=_flags(a - b, small), p=tests.p, p_corrected=corrected)

    def paired(self, name: str, a: Floats, b: Floats, drills: Sequence[Drill | None] | None = None) -> list[Cell]:
        """A cell for each column of a − b, all tested and corrected together; `name` is the use of the chance."""
        a, b = (side.reshape(len(side), -1) for side in (a, b))
        tests = self.tests(name, a, b)
        cells = self.difference_cells(tests, corrected_p(tests, self.settings), a, b)
        return cells if drills is None else [replace(cell, drill=d) for cell, d in zip(cells, drills, strict=True)]

    def rank_shifts(self, before: Floats, after: Floats) -> tuple[Floats, Floats, Floats]:
        """Ranks that each column gains from before to after, and their interval over resamples; higher is better.

        Both are (conversations, models) without gaps. The interval is NaN under two conversations (participants).
        """
        drawn = self.resampling.ratios(*bootstrap.mean_as_ratio(np.concatenate([before, after], axis=1)))
        one, other = (competition_ranks(part) for part in np.split(drawn, 2, axis=1))
        low, high = bootstrap.percentile_interval(one - other, self.settings.level, keep_constant=True)
        if self.weights.shape[1] < 2:
            low = high = np.full(before.shape[1], np.nan)
        return competition_ranks(before.mean(axis=0)) - competition_ranks(after.mean(axis=0)), low, high


def estimate_rates(
    sampling: Sampling, above: Floats, below: Floats, *, right: bool | Sequence[bool] = False
) -> Estimates:
    """Σ above / Σ below of each column of (conversations, columns) with its interval; n counts conversations."""
    found = bootstrap.estimate_ratios(above, below, sampling.resampling)
    return with_wilson(found, below, np.broadcast_to(right, above.shape[1]), sampling.resampling)[0]


def too_few(values: Floats, people: Labels, settings: Settings) -> NDArray[np.bool_]:
    """Columns with too few conversations, or a single one of the participants, for a claim."""
    defined, none = ~np.isnan(values), len(people)
    first, last = (np.where(defined, people[:, None], otherwise) for otherwise in (none, -1))
    return np.asarray(
        (defined.sum(axis=0) < settings.small) | (last.max(axis=0, initial=-1) <= first.min(axis=0, initial=none))
    )


def _flags(values: Floats, small: NDArray[np.bool_]) -> list[str]:
    """The mark of columns whose values are mostly the same, unless they are too few anyway."""
    return [ZERO_INFLATED if one else "" for one in zero_inflated(values) & ~small]


def cells_of(
    value: Floats,
    low: Floats | None = None,
    high: Floats | None = None,
    n: NDArray[np.int64] | None = None,
    small: NDArray[np.bool_] | bool = False,
    drills: Sequence[Drill | None] | None = None,
    marks: Sequence[str] = (),
    *,
    p: Floats | None = None,
    p_corrected: Floats | None = None,
    units: NDArray[np.int64] | None = None,
) -> list[Cell]:
    """A cell for each entry; one over nothing is undefined and not too small.

    A value over several conversations (or `units`) without an interval is marked: they have all the same.
    """
    gap = np.full(len(value), np.nan)
    low, high, p, p_corrected = (gap if part is None else part for part in (low, high, p, p_corrected))
    over = [None] * len(value) if n is None else [int(count) for count in n]
    units = n if units is None else units
    several = np.full(len(value), False) if units is None else np.asarray(units) > 1
    alike, few = several & np.isnan(low) & ~np.isnan(value), np.broadcast_to(small, len(value))
    return [
        cell_of(
            value[i],
            low[i],
            high[i],
            n=over[i],
            p=known(p[i]),
            p_corrected=known(p_corrected[i]),
            small=bool(few[i]) and over[i] != 0,
            mark=NOT_ESTIMABLE if alike[i] else marks[i] if marks else "",
            drill=drills[i] if drills else None,
        )
        for i in range(len(value))
    ]


def defined_mean(values: Floats, axis: int = -1) -> Floats:
    """Mean of the defined values along an axis; NaN without any."""
    return ratio(np.nansum(values, axis=axis), (~np.isnan(values)).sum(axis=axis).astype(np.float64))


def mean_over_models(values: Floats) -> Floats:
    """Each conversation's mean over the models that have it: (conversations, …) from (conversations, …, models)."""
    return defined_mean(values)


def mean_of(tables: Sequence[Floats]) -> Floats:
    """Element by element the mean of the tables in which it is defined."""
    return defined_mean(np.stack(list(tables)), axis=0)


def with_correction(cells: Sequence[Cell], settings: Settings) -> list[Cell]:
    """These tests with p corrected for their number; they were not permuted together."""
    p = np.array([np.nan if cell.p is None else cell.p for cell in cells])
    corrected = adjust(p, plain_correction(settings))
    return [replace(cell, p_corrected=known(one)) for cell, one in zip(cells, corrected, strict=True)]


def turned(cell: Cell) -> Cell:
    """The same difference, seen from the other side."""
    low, high = (None if end is None else -end for end in (cell.high, cell.low))
    return replace(cell, value=-value_of(cell), low=low, high=high)
