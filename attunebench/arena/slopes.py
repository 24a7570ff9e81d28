"""How much the slot, length, markdown and the judge's own family weigh in a rater's verdicts: logistic regression."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.table import Cell, Drill
from attunebench.arena.acts import warmth_of
from attunebench.arena.cells import sampled_cells
from attunebench.arena.contests import REGULARISED
from attunebench.arena.folder import Arena
from attunebench.arena.objects import Reply
from attunebench.arena.sampling import ArenaSettings, Draws
from attunebench.arena.table import VerdictTable
from attunebench.protocol.arena import normalised
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.logistic import bounded_by_ridge, logistic, resampled

NAMES = ("slot", "length", "markdown")
_ALIKE = 1e-9
_LIST = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)


class Traits(NamedTuple):
    """For each verdict how its two replies differ, left minus right, NaN where one is not in the arena: log2 of their
    lengths without markup, markdown or lists (1 or 0 each), phrases of generic warmth; and the families, "" unknown."""

    length: Floats
    markdown: Floats
    warmth: Floats
    left: NDArray[np.str_]
    right: NDArray[np.str_]

    @classmethod
    def of(cls, arena: Arena, table: VerdictTable) -> Traits:
        """The traits of the pairs of an arena, for each row of a table of its verdicts."""
        replies = {key: (*_traits(one), one.family or "") for key, one in arena.replies.items()}
        gone = (np.nan, np.nan, np.nan, "")
        pairs = [arena.pairs[name] for name in table.pairs]
        left, right = (
            [replies.get((one.history, getattr(one, side)), gone) for one in pairs] for side in ("left", "right")
        )
        values = [np.array([one[:3] for one in side], dtype=np.float64).reshape(-1, 3) for side in (left, right)]
        names = [np.array([one[3] for one in side], dtype=np.str_) for side in (left, right)]
        return cls(*(values[0] - values[1])[table.pair].T, *(one[table.pair] for one in names))

    def where(self, rows: Any) -> Traits:
        """The traits of these rows."""
        return Traits(*(part[rows] for part in self))


def _traits(reply: Reply) -> tuple[float, float, float]:
    plain, changed = normalised(reply.text)
    marked = "markdown" in changed or _LIST.search(reply.text) is not None
    return float(np.log2(max(1, len(plain)))), float(marked), float(warmth_of(reply.text))


class Slopes:
    """A logistic regression of one rater's verdicts on the slot, length, markdown and the two authors.

    `cells`: one for each of `NAMES`. `theta`: how good this rater finds each author, NaN for one without a verdict;
    `drawn` its resamples.
    """

    def __init__(self, table: VerdictTable, traits: Traits, settings: ArenaSettings, drill: Drill) -> None:
        rows = ~np.isnan(traits.length) & ((table.winner != 0) | (settings.ties == "half"))
        self.table, self.traits, self.settings, self.drill = table.where(rows), traits.where(rows), settings, drill
        self.known = np.column_stack([self.table.slot, self.traits.length, self.traits.markdown])
        names = np.arange(len(table.authors))
        left, right = (side[:, None] == names for side in (self.table.left, self.table.right))
        self.authors = left.astype(np.float64) - right
        fit = _Fit(self.table, np.hstack([self.known, self.authors]), settings)
        self.cells = [fit.cell(at, drill) for at in range(len(NAMES))]
        compared = self.authors.any(axis=0)
        self.theta = np.where(compared, fit.whole.beta[len(NAMES) :], np.nan)
        self.drawn = np.where(compared, fit.drawn[:, len(NAMES) :], np.nan)

    def own_family(self, family: str, reference: Slopes) -> Cell:
        """Log-odds of a reply of this family beyond what the reference thinks of its authors, on a scale of the judge's
        own: a judge may be surer than people. Undefined without two other authors to learn that scale from.

        The resamples of the reference enter those of the judge to first order.
        """
        theta, one = np.nan_to_num(reference.theta), self.table
        own = (self.traits.left == family).astype(np.float64) - (self.traits.right == family)
        there = ~np.isnan(reference.theta[one.left] + reference.theta[one.right])
        others = {*one.left[there & (self.traits.left != family)], *one.right[there & (self.traits.right != family)]}
        if not own[there].any() or len(others) < 2:
            return Cell(None, n=int((own[there] != 0).sum()))
        authors = self.authors[there]
        design = np.column_stack([self.known, own, self.authors @ theta])[there]
        fit = _Fit(one.where(there), design, self.settings)
        chance, scale = fit.whole.chance, fit.whole.beta[-1]
        moves = -scale * (design * (chance * (1 - chance))[:, None]).T @ authors
        moves[-1] += (fit.outcome - chance) @ authors
        fit.drawn += (np.nan_to_num(reference.drawn) - theta) @ moves.T @ fit.whole.inverse
        return fit.cell(len(NAMES), self.drill)


class _Fit:
    """A logistic regression of who won, in the data and in resamples."""

    def __init__(self, table: VerdictTable, design: Floats, settings: ArenaSettings) -> None:
        self.table, self.design, self.settings, self.outcome = table, design, settings, (1 + table.winner) / 2
        self.whole = logistic(design, self.outcome)
        self.drawn = resampled(design, self.outcome, self.whole, Draws(table, settings).sums)
        self._bounded = bounded_by_ridge(design, self.outcome, self.whole.beta)
        self._triangle = np.linalg.qr(design)[1]

    def cell(self, at: int, drill: Drill) -> Cell:
        """A slope with its interval; undefined where no verdict is on a pair that differs in the trait, and where the
        trait is a sum of others, as markdown is that one author always has and others never."""
        differ = self.design[:, at] != 0
        if not differ.any() or self._rank(self._triangle) == self._rank(np.delete(self._triangle, at, axis=1)):
            return Cell(None, n=0)
        units, bounded = np.array([len(np.unique(self.table.unit[differ]))]), self._bounded[at]
        drawn = np.full((1, 1), np.nan) if bounded else np.round(self.drawn[:, at, None], 9)
        value, n = self.whole.beta[at, None], np.array([differ.sum()])
        (cell,) = sampled_cells(value, drawn, n, units, self.settings, [drill])
        return replace(cell, mark=REGULARISED) if bounded else cell

    def _rank(self, matrix: Floats) -> int:
        return int(np.linalg.matrix_rank(matrix, _ALIKE * np.linalg.norm(self._triangle)))
