"""Paired differences with their tests: of all pairs of groups in a metric, and of each model between modes.

Knows how a difference is tested, not how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings, primary_mode
from attunebench.analyses.sampling import beyond_reach, cells_of, corrected_p, mean_over_models, pair_tests
from attunebench.analyses.table import Cell, Filled, column, counts
from attunebench.analyses.verdicts import reach_text
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats, Labels
from attunebench.statistics.power import minimum_detectable_effect
from attunebench.statistics.ranks import competition_ranks

Counts = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Paired differences of a metric as arrays with one entry each; NaN is undefined.

    `n` counts the conversations of both sides, `participants` the people they are of. p is corrected over the `tests`
    differences that could be tested; `least` is the smallest p that one can have. `mde` is the minimum detectable
    difference of this test alone, `mde_corrected` that at α/`tests`, the level that Holm's first claim has to reach.
    `told_apart` and `told_apart_raw`: corrected p and p at most α; False where a difference is `small` (too few
    conversations, a single participant, or too few units for any p to remain after correction).
    """

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


def _differences(name: str, a: Floats, b: Floats, people: Labels, settings: Settings) -> dict[str, Any]:
    """The fields of `Differences` for the columns of a − b, (conversations, columns); `name` is the use of chance."""
    tests = pair_tests(name, a, b, settings, people if settings.by_participant else None)
    p_corrected, count = corrected_p(tests, settings), int((~np.isnan(tests.p)).sum())
    participants = np.array([len(np.unique(people[column])) for column in ~np.isnan(a - b).T], dtype=np.int64)
    small = (tests.n < settings.small) | (participants < 2) | beyond_reach(tests.least, settings)
    mde = minimum_detectable_effect(tests.se, 1, alpha=settings.alpha / max(count, 1), power=settings.power)
    with np.errstate(invalid="ignore"):
        apart, apart_raw = ((p <= settings.alpha) & ~small for p in (p_corrected, tests.p))
    found = {name: getattr(tests, name) for name in ("difference", "low", "high", "p", "least", "n", "mde")}
    own = {"p_corrected": p_corrected, "participants": participants, "mde_corrected": mde, "small": small}
    return {**found, **own, "tests": count, "told_apart": apart, "told_apart_raw": apart_raw}


@dataclass(frozen=True, kw_only=True)
class PairTable(Differences):
    """Every pair of `groups`: arrays are (groups, groups), [a, b] is about a − b, NaN, 0 or False on the diagonal."""

    metric_id: str
    groups: tuple[Group, ...]
    alpha: float

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
    settings, card = settings or Settings(), metric(metric_id)
    values = study.values(card.id)
    met = ~np.isnan(values).all(axis=1)
    values, people = values[met], np.unique(study.clusters[met], return_inverse=True)[1].reshape(-1)
    size = len(study.groups)
    first, second = np.triu_indices(size, 1)
    if not len(first):
        values, first, second = np.full((1, 2), np.nan), np.array([0]), np.array([1])
        people = np.zeros(1, dtype=np.intp)
    found = _differences("pairs", values[:, first], values[:, second], people, settings)
    opposite = {"difference": -found["difference"], "low": -found["high"], "high": -found["low"]}

    def square(name: str) -> Any:
        matrix = np.full((size, size), np.nan if found[name].dtype == np.float64 else 0, dtype=found[name].dtype)
        if size > 1:
            matrix[first, second], matrix[second, first] = found[name], opposite.get(name, found[name])
        return matrix

    squares = {field.name: square(field.name) for field in fields(Differences) if field.name != "tests"}
    return PairTable(**squares, tests=found["tests"], metric_id=card.id, groups=study.groups, alpha=settings.alpha)


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


@dataclass(frozen=True, kw_only=True)
class ModeEffects(Differences):
    """`mode` − `base` in a metric, with an entry for each model (`groups`, those in `mode`) that has both.

    `rank_base` and `rank_mode` are competition ranks among these models over the `ranked_on` conversations that all of
    them have in both modes.
    """

    metric_id: str
    mode: str
    base: str
    groups: tuple[Group, ...]
    rank_base: Floats
    rank_mode: Floats
    ranked_on: int

    @property
    def shift(self) -> Floats:
        """Ranks gained in `mode` (positive is up)."""
        return self.rank_base - self.rank_mode


def mode_effects(study: ScoreTable, metric_id: str, settings: Settings | None = None) -> tuple[ModeEffects, ...]:
    """Every other mode of the study against its primary one, for the models that have both; () without such a mode.

    Same test, interval and correction as for pairs of models, over the models of one contrast.
    """
    settings, card, base = settings or Settings(), metric(metric_id), primary_mode(study)
    by_model = {group.model_key: group for group in study.groups if group.mode == base}
    found = []
    for mode in study.modes:
        groups = [group for group in study.groups if group.mode == mode and group.model_key in by_model]
        if mode == base or not groups:
            continue
        after, before = study.with_groups(groups), study.with_groups([by_model[group.model_key] for group in groups])
        a, b = after.values(card.id), before.values(card.id)
        both = (after.scored() & before.scored()).all(axis=1)
        sign = -1.0 if card.higher_is_better is False else 1.0
        ranks = [competition_ranks(sign * mean_over_models(values[both].T)) for values in (b, a)]
        effects = _differences("modes", a, b, study.clusters, settings)
        found.append(
            ModeEffects(
                **effects,
                metric_id=card.id,
                mode=mode,
                base=base,
                groups=after.groups,
                rank_base=ranks[0],
                rank_mode=ranks[1],
                ranked_on=int(both.sum()),
            )
        )
    return tuple(found)
