"""The best one-to-one matching of two lists by total similarity. Knows nothing of what is matched."""

from __future__ import annotations

from collections.abc import Sequence


def matched_total(similarity: Sequence[Sequence[float]]) -> float:
    """The largest total of a one-to-one matching of rows to columns; 0 where either side is empty.

    `similarity` is a rectangular table of values ≥ 0. With a single row or column the best pair is the matching, which
    spares most calls the solver.
    """
    if not similarity or not similarity[0]:
        return 0.0
    if len(similarity) == 1:
        return max(similarity[0])
    if len(similarity[0]) == 1:
        return max(row[0] for row in similarity)
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    total: float = sum(similarity[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True))
    return total


def best_matching(similarity: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The (row, column) pairs of the matching whose total `matched_total` gives, by row; [] where a side is empty.

    Of several matchings with the same total the one that the solver finds is taken.
    """
    if not similarity or not similarity[0]:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
