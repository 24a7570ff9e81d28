"""Who beats whom among verdicts, and the ratings that follow (Bradley and Terry), in the data and in resamples.

Knows no table of a report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from attunebench.analyses.table import Cell, Drill
from attunebench.analyses.verdicts import listed
from attunebench.arena.cells import sampled_cells
from attunebench.arena.sampling import ArenaSettings, Draws
from attunebench.arena.table import VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels, mean_as_ratio, ratio_of_sums
from attunebench.statistics.ratings import RIDGE, bradley_terry, elo, refit

REGULARISED = "regularised"
"""Mark of a rating that has no value without the ridge: its author won, or lost, all comparisons with the others."""
ANCHOR = "anchor"


class Contests:
    """Who beats whom among the verdicts of a table: sums in columns, and the same in resamples."""

    def __init__(self, verdicts: VerdictTable, settings: ArenaSettings) -> None:
        rows = verdicts.where(verdicts.winner != 0) if settings.ties == "dropped" else verdicts
        self.table, self.settings, self.size = rows, settings, len(rows.authors)
        self.slots, self.davidson = _is_separate(rows), settings.ties == "davidson"
        won, first = (rows.winner + 1) / 2, (rows.slot + 1) / 2
        there, back = rows.left * self.size + rows.right, rows.right * self.size + rows.left
        columns, values = [there, back], [won, 1 - won]
        if self.slots:
            columns += [there + self.size**2, back + self.size**2]
            values += [won * first, (1 - won) * (1 - first)]
        self.count = (1 + self.slots) * self.size**2 + self.davidson
        if self.davidson:
            columns.append(np.full(len(rows), self.count - 1))
            values.append((rows.winner == 0).astype(np.float64))
        self.columns, self.values = np.stack(columns, axis=1), np.stack(values, axis=1)

    def whole(self) -> tuple[Floats, Floats | None, Floats | None]:
        """Wins (1, authors, authors), those from the first slot if known, and ties if these are modelled."""
        sums = np.bincount(self.columns.ravel(), self.values.ravel(), minlength=self.count)
        return self._split(sums[None].astype(np.float64))

    def drawn(self) -> Iterator[tuple[Floats, Floats | None, Floats | None]]:
        """The same of resamples, some at a time."""
        for sums in Draws(self.table, self.settings).tallies(self.columns, self.values, self.count):
            yield self._split(sums)

    def _split(self, sums: Floats) -> tuple[Floats, Floats | None, Floats | None]:
        square = (len(sums), self.size, self.size)
        cut = self.size**2
        slot = sums[:, cut : 2 * cut].reshape(square) if self.slots else None
        return sums[:, :cut].reshape(square), slot, sums[:, -1] if self.davidson else None

    def units(self) -> Labels:
        """In how many units each two authors were compared, and on the diagonal each author with any other."""
        left, right, units = self.table.left, self.table.right, max(1, len(self.table.histories))
        one, other = (np.concatenate(sides) for sides in ((left, right, left, right), (right, left, left, right)))
        places = np.unique((one * self.size + other) * units + np.tile(self.table.unit, 4)) // units
        return np.bincount(places, minlength=self.size**2).reshape(self.size, self.size)


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings of the authors of a table by one group of raters: on the Elo scale, and in resamples.

    `slot`: the Elo points that standing first is worth, and its resamples; NaN where both orders are merged. `groups`
    are authors linked by comparisons, the largest first; `regularised`: without the ridge there is no value.
    """

    authors: tuple[str, ...]
    value: Floats
    samples: Floats
    n: Labels
    units: Labels
    slot: tuple[float, Floats]
    groups: tuple[tuple[str, ...], ...]
    regularised: frozenset[str]
    anchor: str
    settings: ArenaSettings

    def cells(self, drills: Sequence[Drill | None] | None = None) -> list[Cell]:
        """A cell for each author's rating."""
        cells = sampled_cells(
            self.value, self.samples, self.n, self.units, self.settings, drills, marks=[*map(self._mark, self.authors)]
        )
        # The anchor has no doubt, and not because all units agree.
        both = zip(cells, self.authors, strict=True)
        return [replace(cell, mark=ANCHOR) if name == self.anchor else cell for cell, name in both]

    def slot_cell(self, *where: tuple[str, str]) -> Cell:
        """The Elo points that standing first is worth."""
        value, samples = self.slot
        n, units = self.n.sum(keepdims=True) // 2, self.units.max(keepdims=True, initial=0)
        drills = [Drill(where=where)]
        (cell,) = sampled_cells(np.array([value]), samples[:, None], n, units, self.settings, drills)
        return Cell(None) if cell.value is None else cell

    def _mark(self, name: str) -> str:
        group = next((at for at, names in enumerate(self.groups) if name in names), 0)
        return " ".join(filter(None, (f"group {group + 1}" if group else "", REGULARISED * (name in self.regularised))))

    def warnings(self, by: str) -> Iterator[str]:
        """What makes these ratings less than they seem."""
        if len(self.groups) > 1:
            apart = "; ".join(listed(names, most=6) for names in self.groups)
            yield (
                f"{by}: the authors form {len(self.groups)} groups that were never compared with each other ({apart}). "
                "Ratings of different groups cannot be compared."
            )
        if self.regularised:
            yield (
                f"{by}: {listed(sorted(self.regularised), most=6)} always won or always lost against every other "
                f"author, so no rating is finite. A ridge of {RIDGE:g} bounds these ratings (marked “{REGULARISED}”): "
                "the order is known, the distances are not."
            )


def best_first(values: Floats) -> list[int]:
    """Places in descending order, what is undefined last."""
    return [int(at) for at in np.argsort(-values, kind="stable")]


def rate(verdicts: VerdictTable, settings: ArenaSettings, *, level_with: Rated | None = None) -> Rated:
    """Ratings from the verdicts of one group of raters, on which none is unanswered.

    The mean of all is 1000, or the anchor has it; or with `level_with` the authors that both have stand level.
    """
    contests = Contests(verdicts, settings)
    wins, slot, ties = contests.whole()
    whole = bradley_terry(
        wins[0], slot=None if slot is None else slot[0], ties=None if ties is None else float(ties[0])
    )
    fits = np.concatenate([refit(whole, part, slot=places, ties=tied) for part, places, tied in contests.drawn()])
    values, samples = elo(whole.theta), elo(fits[:, :-1])
    anchor = _anchor(verdicts, settings)
    if level_with is not None:
        both = [name for name in verdicts.authors if name in level_with.authors]
        here, there = ([names.index(name) for name in both] for names in (verdicts.authors, level_with.authors))
        values = values + ratio_of_sums(*mean_as_ratio(level_with.value[there, None] - values[here, None]))
        ahead = (level_with.samples[:, there] - samples[:, here]).T
        samples = samples + ratio_of_sums(*mean_as_ratio(ahead))[:, None]
    elif anchor is not None and not np.isnan(values[anchor]):
        linked = whole.group == whole.group[anchor]
        values[linked] += 1000 - values[anchor]
        samples[:, linked] += 1000 - samples[:, [anchor]]
    groups = _groups(verdicts.authors, whole.group, whole.n)
    return Rated(
        verdicts.authors,
        values,
        samples,
        whole.n.astype(np.intp),
        contests.units().diagonal(),
        (float(_points(whole.gamma)), _points(fits[:, -1])),
        groups,
        frozenset(_separated(verdicts.authors, wins[0], groups)),
        "" if anchor is None else verdicts.authors[anchor],
        settings,
    )


def _points(log_odds: ArrayLike) -> Floats:
    """Log-odds in Elo points, without the last digits, so that nothing is 0."""
    return np.round(elo(log_odds) - 1000, 6)


def _is_separate(verdicts: VerdictTable) -> bool:
    """Whether the effect of standing first can be told from the authors': not where one of them always stood first."""
    rows = np.unique(np.stack([verdicts.left, verdicts.right, verdicts.slot], axis=1), axis=0)
    left, right, slot = rows.T
    design = np.zeros((len(rows), len(verdicts.authors)))
    design[range(len(rows)), left.astype(np.intp)] += 1
    design[range(len(rows)), right.astype(np.intp)] -= 1
    rest = slot - design @ np.linalg.lstsq(design, slot, rcond=None)[0] if len(rows) else slot
    return bool((rest**2).sum() > 1e-9 * len(rows))


def _anchor(verdicts: VerdictTable, settings: ArenaSettings) -> int | None:
    """The place of the author whose rating is 1000: that of the settings or, where nobody is human, the original."""
    if settings.anchor in verdicts.authors:
        return verdicts.authors.index(settings.anchor)
    originals = [place for place, kind in enumerate(verdicts.kinds) if kind == "original"]
    return originals[0] if originals and not settings.anchor and "human" not in verdicts.kinds else None


def _groups(authors: Sequence[str], labels: Labels, n: Floats) -> tuple[tuple[str, ...], ...]:
    """The authors that are linked by comparisons, the largest group first; those without any are in none."""
    there = [label for label in dict.fromkeys(labels.tolist()) if n[labels == label].any()]
    groups = [tuple(authors[place] for place in np.flatnonzero(labels == label).tolist()) for label in there]
    return tuple(sorted(groups, key=len, reverse=True))


def _separated(authors: Sequence[str], wins: Floats, groups: Sequence[Sequence[str]]) -> Iterator[str]:
    """The authors of each group that no chain of wins and of losses links to most of it, so that no finite rating is
    likelier than all others (Ford 1957)."""
    from scipy.sparse.csgraph import connected_components

    labels = connected_components(wins > 0, directed=True, connection="strong")[1]
    for group in groups:
        mine = np.array([labels[authors.index(name)] for name in group])
        sizes = np.bincount(mine)
        most = sizes.argmax() if sizes.max() > 1 else -1
        yield from (name for name, label in zip(group, mine, strict=True) if label != most)
