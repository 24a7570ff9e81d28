"""The best one-to-one matching of two lists by total similarity. Knows nothing of what is matched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, permutations
from math import perm
from operator import itemgetter

_FEW = 120
"""Up to so many matchings are tried one by one, which for a turn's few emotions is quicker than to call the solver."""


def matched_total(similarity: Sequence[Sequence[float]]) -> float:
    """The largest total of a one-to-one matching of rows to columns; 0 where either side is empty.

    `similarity` is a rectangular table of values ≥ 0.
    """
    if not similarity or not similarity[0]:
        return 0.0
    rows, columns = len(similarity), len(similarity[0])
    if rows == 1:
        return max(similarity[0])
    if columns == 1:
        return max(row[0] for row in similarity)
    if perm(max(rows, columns), min(rows, columns)) > _FEW:
        return sum(similarity[row][column] for row, column in _solved(similarity))
    if rows > columns:
        similarity = list(zip(*similarity, strict=True))
    cells = [*chain.from_iterable(similarity)]
    return max([sum(pick(cells)) for pick in _pickers(min(rows, columns), max(rows, columns))])


@lru_cache(maxsize=64)
def _matchings(rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """The columns that the rows could have, for all ways of giving each row one of its own."""
    return tuple(permutations(range(columns), rows))


@lru_cache(maxsize=64)
def _pickers(rows: int, columns: int) -> tuple[Callable[[Sequence[float]], tuple[float, ...]], ...]:
    """For each of these matchings what takes its cells, row by row, out of all cells of the table."""
    starts = range(0, rows * columns, columns)
    return tuple(
        itemgetter(*(start + column for start, column in zip(starts, matching, strict=True)))
        for matching in _matchings(rows, columns)
    )


def _solved(similarity: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def best_matching(similarity: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The (row, column) pairs of a matching whose total `matched_total` gives, by row; [] where a side is empty.

    Of several matchings with the same total the same one is taken every time.
    """
    if not similarity or not similarity[0]:
        return []
    rows, columns = len(similarity), len(similarity[0])
    if rows > columns:
        turned = list(zip(*similarity, strict=True))
        return sorted((row, column) for column, row in best_matching(turned))
    if perm(columns, rows) > _FEW:
        return _solved(similarity)
    best = max(
        _matchings(rows, columns),
        key=lambda matching: sum([row[column] for row, column in zip(similarity, matching, strict=True)]),
    )
    return list(enumerate(best))
