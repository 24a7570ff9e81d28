"""Means over what is defined, and the ends of an overlap: None is left out and never counted as 0. Knows no metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any


def mean_defined(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are not None; None where there are none."""
    if None in values:
        values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None  # type: ignore[arg-type]


def weighted_mean(terms: Sequence[tuple[float, float | None]]) -> float | None:
    """Mean of the defined values of (weight, value) pairs, their weights rescaled to 1; None without a defined one."""
    defined = [(weight, value) for weight, value in terms if value is not None]
    if not defined:
        return None
    return sum(weight * value for weight, value in defined) / sum(weight for weight, _ in defined)


def overlap(function: Callable[..., float]) -> Callable[..., float | None]:
    """Completes a measure of how two collections (truth, predicted, …) overlap, which is only asked where both hold
    something: None without truth (None), 0 where not answered (None), both empty 1, exactly one empty 0."""

    @wraps(function)
    def measure(truth: Any, predicted: Any, *others: Any) -> float | None:
        if truth and predicted:
            return function(truth, predicted, *others)
        return None if truth is None else float(predicted is not None and not truth and not predicted)

    return measure
