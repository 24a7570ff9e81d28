"""The best one-to-one matching of two lists by total similarity. Knows nothing of what is matched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from math import perm

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
        return _solved(similarity)
    if rows > columns:
        similarity = list(zip(*similarity, strict=True))
    return max(
        sum([row[column] for row, column in zip(similarity, matching, strict=True)])
        for matching in _matchings(min(rows, columns), max(rows, columns))
    )


@lru_cache(maxsize=64)
def _matchings(rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """The columns that the rows could have, for all ways of giving each row one of its own."""
    return tuple(permutations(range(columns), rows))


def _solved(similarity: Sequence[Sequence[float]]) -> float:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    total: float = sum(similarity[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True))
    return total


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
        from scipy.optimize import linear_sum_assignment

        found = linear_sum_assignment(similarity, maximize=True)[1].tolist()
    else:
        found = max(
            _matchings(rows, columns),
            key=lambda matching: sum([row[column] for row, column in zip(similarity, matching, strict=True)]),
        )
    return list(enumerate(found))
