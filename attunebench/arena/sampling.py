"""How the numbers of an arena are computed, and where intervals come from: resampled conversations, never verdicts.

Fifteen raters of one pair are no fifteen pieces of evidence, and neither are ten turns of one conversation. What is
resampled are units: conversations, or histories that are of none. Where there are few raters they are resampled too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from attunebench.analyses.verdicts import counted
from attunebench.arena.objects import ADVERSARIAL, REGULAR
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import (
    Counts,
    Floats,
    Labels,
    Resampling,
    parts_of,
    resample_weights,
)

Ties = Literal["half", "dropped", "davidson"]
Ensemble = Literal["majority", "mean"]

FEW_RATERS = 20
"""Under this many raters their own chance is told from that of conversations no longer, so both are resampled."""

_CHUNK_CELLS = 4_000_000
"""Resamples times columns that are in memory at once."""


@dataclass(frozen=True, slots=True)
class ArenaSettings:
    """How an arena is scored. `ties` in ratings; `anchor`: the author whose rating is 1000 ("": the mean of all);
    `ensemble`: how several judges become one; `ambiguous`: pairs with a smaller majority of people are so called;
    `small`: under this many units a number carries a warning."""

    ties: Ties = "half"
    anchor: str = ""
    ensemble: Ensemble = "majority"
    ambiguous: float = 2 / 3
    seed: int = 0
    resamples: int = 2000
    level: float = 0.95
    small: int = 20

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for each use, so that no number depends on which others are computed."""
        return np.random.default_rng([self.seed, *name.encode()])

    def resampling(self, table: VerdictTable) -> Resampling:
        """Of rows that are verdicts, over their units. Only for a table with rows."""
        return Resampling(self.unit_weights(table), table.unit, self.level)

    def unit_weights(self, table: VerdictTable) -> Counts:
        """How often each unit of a table is drawn: (resamples, units)."""
        units = int(table.units.max(initial=0)) + 1
        return resample_weights(units, self.resamples, self.rng("histories"))


class Draws:
    """Sums over the verdicts of a table in each resample. `raters`: whether raters are resampled as well."""

    def __init__(self, table: VerdictTable, settings: ArenaSettings) -> None:
        self.table, self.settings = table, settings
        there = np.unique(table.rater)
        self.raters = 1 < len(there) < FEW_RATERS and not table.judges[there].all()
        self._units = settings.unit_weights(table)
        self._place = np.searchsorted(there, table.rater) if self.raters else np.zeros(len(table), dtype=np.intp)
        self._weights: Counts = (
            resample_weights(len(there), settings.resamples, settings.rng("raters"))
            if self.raters
            else np.ones((settings.resamples, 1))
        )

    def tallies(self, columns: Labels, values: Floats, count: int) -> Iterator[Floats]:
        """Σ weight · value in each of `count` columns, in parts of resamples: (resamples, count) altogether.

        `columns` and `values` are (verdicts, k): a verdict adds each of its values to the column beside it.
        """
        from scipy.sparse import coo_matrix

        shape, cells = (count, self._units.shape[1]), []
        for rater in range(self._weights.shape[1]):
            rows = np.flatnonzero(self._place == rater)
            units = np.repeat(self.table.unit[rows], columns.shape[1])
            entries = (values[rows].ravel(), (columns[rows].ravel(), units))
            cells.append(coo_matrix(entries, shape).tocsr())
            cells[-1].eliminate_zeros()
        for part in parts_of(self.settings.resamples, count, _CHUNK_CELLS):
            drawn, weights = np.zeros((part.stop - part.start, count)), self._units[part].T.astype(np.float64)
            for each, own in zip(cells, self._weights[part].T, strict=True):
                drawn += own[:, None] * (each @ weights).T
            yield drawn

    def sums(self, values: Floats) -> Floats:
        """Σ weight · value over the verdicts: (resamples, columns) from (verdicts, columns), without NaN."""
        columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        return np.concatenate(list(self.tallies(columns, values, values.shape[1])))


def size_text(table: VerdictTable) -> str:
    """ "40,500 verdicts of 15 raters on 2,700 pairs in 300 histories of 40 conversations", for captions."""
    parts = zip((table.pair, table.history), ("pair", "history"), ("pairs", "histories"), strict=True)
    pairs, histories = (counted(len(np.unique(rows)), *names) for rows, *names in parts)
    raters = counted(len(np.unique(table.rater)), "rater")
    name = table.unit_names[0]
    units = "" if name == "history" else f" of {counted(len(np.unique(table.unit)), name)}"
    return f"{counted(len(table), 'verdict')} of {raters} on {pairs} in {histories}{units}"


def intervals_text(table: VerdictTable, settings: ArenaSettings) -> str:
    """How intervals over these verdicts were made."""
    also = f"; for verdicts of people also of raters, since there are fewer than {FEW_RATERS}"
    return (
        f"{100 * settings.level:g} % percentile bootstrap intervals, {settings.resamples:,} resamples of "
        f"{table.unit_names[1]}{also if Draws(table.of_people(), settings).raters else ''}."
    )


class RaterGroup(NamedTuple):
    """Whose verdicts numbers are from: `key` as drills have it. `table` has both orders merged, `read` all verdicts."""

    name: str
    key: str
    table: VerdictTable
    read: VerdictTable

    @property
    def pooled(self) -> bool:
        """Whether these are people, or all judges, and not one judge of several."""
        return self.key in (PEOPLE, JUDGES)


def rater_groups(table: VerdictTable, settings: ArenaSettings) -> list[RaterGroup]:
    """People, all judges as one where there are several, and each judge; of those with an answer."""
    people, judges, found = table.of_people(), table.of_judges(), list[RaterGroup]()
    merged = judges.merged()
    if not np.isnan(people.preference).all():
        found.append(RaterGroup(PEOPLE, PEOPLE, people.merged().answered(), people))
    there = [place for place in np.unique(judges.rater) if not np.isnan(judges.preference[judges.rater == place]).all()]
    if len(there) > 1:
        as_one = merged.as_one_rater(mean=settings.ensemble == "mean").answered()
        found.append(RaterGroup(f"all judges ({settings.ensemble})", JUDGES, as_one, judges))
    for place in there:
        name = table.raters[place]
        own = merged.where(merged.rater == place).answered()
        found.append(RaterGroup(name, name, own, judges.where(judges.rater == place)))
    return found


def leading_groups(groups: Sequence[RaterGroup]) -> list[RaterGroup]:
    """People and all judges, or the only judge: those whose numbers are told by slice and by dimension."""
    return [one for one in groups if one.pooled] + [one for one in groups[-1:] if len(groups) < 3 and not one.pooled]


def slices_of(groups: Sequence[RaterGroup]) -> list[str]:
    """The slices in which there are answers: regular and adversarial first."""
    table = groups[0].table
    there = dict.fromkeys(table.slices[place] for group in groups for place in np.unique(group.table.history).tolist())
    return [name for name in dict.fromkeys((REGULAR, ADVERSARIAL, *there)) if name in there]
