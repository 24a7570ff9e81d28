"""How much the slot, length, markdown and the judge's own family weigh in a rater's verdicts: logistic regression."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.sampling import cells_of
from attunebench.analyses.table import Cell, Drill
from attunebench.arena.acts import warmth_of
from attunebench.arena.contests import REGULARISED
from attunebench.arena.folder import Arena
from attunebench.arena.objects import Reply
from attunebench.arena.sampling import ArenaSettings, Draws
from attunebench.arena.table import VerdictTable
from attunebench.protocol.arena import normalised
from attunebench.statistics.bootstrap import Floats, Labels, percentile_interval
from attunebench.statistics.logistic import bounded_by_ridge, logistic, resampled_derivatives, stepped

NAMES = ("slot", "length", "markdown")
_ALIKE = 1e-6
"""Less of a column's variance than this is left by others: it is a sum of them."""
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
    """A logistic regression of one rater's verdicts on the slot, length, markdown and the two authors. `theta`: how
    good this rater finds each author, NaN for one without a verdict; `drawn` its resamples."""

    def __init__(self, table: VerdictTable, traits: Traits, settings: ArenaSettings) -> None:
        rows = ~np.isnan(traits.length) & ((table.winner != 0) | (settings.ties == "half"))
        self.table, self.traits, self.settings = table.where(rows), traits.where(rows), settings
        self.outcome, self._draws = (1 + self.table.winner) / 2, Draws(self.table, settings)
        self.authors = _contrasts(self.table)
        self.known = np.column_stack([self.table.slot, self.traits.length, self.traits.markdown])
        self.separated: tuple[str, ...] = ()
        design = np.hstack([self.known, self.authors])
        beta = logistic(design, self.outcome)
        drawn = stepped(beta, *resampled_derivatives(design, self.outcome, beta, self._tally))
        compared = self.authors.any(axis=0)
        self.theta = np.where(compared, beta[len(NAMES) :], np.nan)
        self.drawn = np.where(compared, drawn[:, len(NAMES) :], np.nan)
        self._estimate = (
            beta,
            drawn,
            bounded_by_ridge(design, self.outcome, beta),
            [_is_told_apart(design, at) for at in range(len(NAMES))],
        )

    def _tally(self, columns: Labels, values: Floats, count: int) -> Floats:
        return np.concatenate(list(self._draws.tallies(columns, values, count)))

    def cells(self, drill: Drill) -> list[Cell]:
        """A cell for each of `NAMES`."""
        beta, drawn, bounded, apart = self._estimate
        traits = [self.known[:, at] * apart[at] for at in range(len(NAMES))]
        found = [self._cell(trait, beta[at], drawn[:, at], bounded[at], drill) for at, trait in enumerate(traits)]
        self.separated = tuple(name for name, cell in zip(NAMES, found, strict=True) if cell.mark == REGULARISED)
        return found

    def own_family(self, family: str, reference: Slopes, drill: Drill) -> Cell:
        """Log-odds of a reply of this family beyond what the reference thinks of its authors, on a scale of the judge's
        own: a judge may be surer than people. Undefined without two other authors to learn that scale from.

        The resamples of the reference enter those of the judge to first order.
        """
        theta, one = np.nan_to_num(reference.theta), self.table
        own = np.where(self.traits.left == family, 1.0, 0.0) - np.where(self.traits.right == family, 1.0, 0.0)
        there = ~np.isnan(reference.theta[one.left] + reference.theta[one.right])
        others = {*one.left[there & (self.traits.left != family)], *one.right[there & (self.traits.right != family)]}
        if not own[there].any() or len(others) < 2:
            return Cell(None, n=int((own[there] != 0).sum()))
        authors = np.where(there[:, None], self.authors, 0.0)
        design = np.column_stack([self.known, own, authors @ theta]) * there[:, None]
        outcome, size = np.where(there, self.outcome, 0.5), design.shape[1]
        beta = logistic(design, outcome)
        whole = np.hstack([design, authors])
        gradient, curvature = resampled_derivatives(whole, outcome, np.append(beta, np.zeros(len(theta))), self._tally)
        shift = np.nan_to_num(reference.drawn) - theta
        moved = gradient[:, :size] - beta[-1] * np.einsum("bij,bj->bi", curvature[:, :size, size:], shift)
        moved[:, -1] += (gradient[:, size:] * shift).sum(axis=1)
        drawn = stepped(beta, moved, curvature[:, :size, :size])
        bounded = bounded_by_ridge(design, outcome, beta)
        return self._cell(own * there * _is_told_apart(design, size - 2), beta[-2], drawn[:, -2], bounded[-2], drill)

    def _cell(self, trait: Floats, value: float, drawn: Floats, bounded: float, drill: Drill) -> Cell:
        """A slope with its interval; undefined where no verdict is on a pair that differs in the trait."""
        differ = trait != 0
        units = len(np.unique(self.table.unit[differ]))
        low, high = percentile_interval(np.round(drawn[:, None], 9), self.settings.level)
        if units < 2 or bounded:
            low = high = np.full(1, np.nan)
        few, found = np.array([units < self.settings.small]), np.array([value if differ.any() else np.nan])
        (cell,) = cells_of(found, low, high, np.array([differ.sum()]), few, [drill])
        return replace(cell, mark=REGULARISED) if bounded and differ.any() else cell


def _contrasts(table: VerdictTable) -> Floats:
    """+1 for the author on the left, −1 for the one on the right: (verdicts, authors)."""
    contrasts = np.zeros((len(table), len(table.authors)))
    rows = np.arange(len(table))
    contrasts[rows, table.left] += 1
    contrasts[rows, table.right] -= 1
    return contrasts


def _is_told_apart(design: Floats, at: int) -> bool:
    """Whether a column is no sum of others, as markdown is that one author always has and others never."""
    gram, rest = design.T @ design, np.delete(np.arange(design.shape[1]), at)
    inverse = np.linalg.pinv(gram[np.ix_(rest, rest)], 1e-10, hermitian=True)
    return bool(gram[at, at] - gram[at, rest] @ inverse @ gram[rest, at] > _ALIKE * gram[at, at])
