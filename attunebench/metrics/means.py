"""Means over what is defined, and an overlap with nothing: None is left out and never counted as 0. Knows no metric."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any


def mean_defined(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are not None; None where there are none."""
    if (missing := values.count(None)) == len(values):
        return None
    known = [value for value in values if value is not None] if missing else values
    return sum(known) / len(known)  # type: ignore[arg-type]


def weighted_mean(terms: Sequence[tuple[float, float | None]]) -> float | None:
    """Mean of the defined values of (weight, value) pairs, their weights rescaled to 1; None without a defined one."""
    defined = [(weight, value) for weight, value in terms if value is not None]
    if not defined:
        return None
    return sum(weight * value for weight, value in defined) / sum(weight for weight, _ in defined)


def overlap_end(truth: Collection[Any] | None, predicted: Collection[Any] | None) -> float | None:
    """How two collections overlap of which one is empty or None: None without truth, 0 where not answered (None), both
    empty 1, exactly one empty 0."""
    return None if truth is None else float(predicted is not None and not truth and not predicted)
