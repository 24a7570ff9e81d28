"""Scores of samples → a mean with its doubt, by the rules of `attune-bench score`: pure, and without Inspect.

A conversation counts once however often it was run: its epochs are averaged first. A rate is a sum of counts over a
sum of counts. NaN is undefined, in and out; it is never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.statistics.bootstrap import mean_as_ratio, standard_errors

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Observed:
    """One metric of one sample: one epoch of one conversation. `value` is NaN where it is undefined.

    `counts`: the two counts whose ratio the metric is, for a rate. `cluster`: the participant; without one, its own.
    """

    conversation: str
    value: float
    cluster: str | None = None
    counts: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """`n` conversations in which the metric is defined, their mean, and its standard error (NaN under two)."""

    mean: float
    se: float
    n: int


def estimate(observed: Sequence[Observed], *, clustered: bool = False) -> Estimate:
    """The mean over conversations with its standard error: sd/√n, or over participants where `clustered`."""
    epochs: dict[str, list[Observed]] = {}
    for one in observed:
        epochs.setdefault(one.conversation, []).append(one)
    ratios = [_ratio(ones) for ones in epochs.values()]
    numerators, denominators = np.array(ratios, dtype=np.float64).reshape(-1, 2).T[:, :, None]
    n = int((denominators > 0).sum())
    if not n:
        return Estimate(NAN, NAN, 0)
    clusters = None
    if clustered:
        labels: dict[tuple[bool, str], int] = {}
        keys = [_cluster(name, ones[0].cluster) for name, ones in epochs.items()]
        clusters = np.array([labels.setdefault(key, len(labels)) for key in keys], dtype=np.intp)
    se = standard_errors(numerators, denominators, clusters)[0]
    return Estimate(float(numerators.sum() / denominators.sum()), float(se), n)


def _ratio(epochs: Sequence[Observed]) -> tuple[float, float]:
    """What a conversation adds above and below the line of the mean."""
    if any(one.counts is not None for one in epochs):
        counts = np.array([one.counts for one in epochs if one.counts is not None])
        known = counts[~np.isnan(counts).any(axis=1)]
        return float(known[:, 0].sum()), float(known[:, 1].sum())
    above, below = mean_as_ratio(np.array([[one.value] for one in epochs]))
    return (float(above.sum() / below.sum()), 1.0) if below.sum() else (0.0, 0.0)


def _cluster(conversation: str, cluster: str | None) -> tuple[bool, str]:
    return (False, conversation) if cluster is None else (True, cluster)
