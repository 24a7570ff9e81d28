"""How well a judge without noise would agree with people, who do not agree with each other.

A pair has log-odds drawn from N(0, spread²); each person chooses by these odds, independently of other people. The
spread follows from how often two people agree. A judge that agrees with people as often as they do with each other has
not reached the most that is possible: without noise it would agree more often. Source: spec 10.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from attunebench.statistics.bootstrap import Floats

_WIDEST = 1e4
"""Of people who agree more often than this spread says (.9999), a judge without noise is always right."""


@cache
def _normal() -> tuple[Floats, Floats]:
    """Absolute values of a standard normal variable and their weights, close together near 0, where odds change."""
    values = np.exp(np.linspace(np.log(1e-7), np.log(9.0), 501))
    weights = np.exp(-(values**2) / 2) * values
    return values, weights / weights.sum()


def agreement_of_two(spread: float) -> float:
    """How often two people choose the same reply of a pair."""
    return agreement_with_majority(spread, {1: 1}, person=True)


def agreement_with_majority(
    spread: float, votes: Mapping[int, float], *, noise: float = 0.0, person: bool = False
) -> float:
    """How often a judge agrees with a majority of people, ties of the majority left out; NaN where all are ties.

    `votes`: how many of the compared pairs have a majority of so many people; one is a single person. `noise`: the
    standard deviation of what the judge adds to the log-odds that it sees. `person`: one more person in its place.
    """
    from scipy.special import bdtrc, expit, ndtr

    values, weights = _normal()
    odds = spread * values
    chosen, agree, decided = expit(odds), 0.0, 0.0
    right = chosen if person else ndtr(odds / noise) if noise else np.ones_like(odds)
    for people, pairs in votes.items():
        better, worse = (bdtrc(people // 2, people, chance) for chance in (chosen, 1 - chosen))
        agree += pairs * float(weights @ (right * better + (1 - right) * worse))
        decided += pairs * float(weights @ (better + worse))
    return agree / decided if decided else float("nan")


def spread_of(agreement: float) -> float:
    """The spread of log-odds at which two people agree so often; 0 for half or less, infinite for always."""
    from scipy.optimize import brentq

    if np.isnan(agreement):
        return float("nan")
    if agreement <= agreement_of_two(0.0):
        return 0.0
    if agreement >= agreement_of_two(_WIDEST):
        return float("inf")
    return float(brentq(lambda spread: agreement_of_two(spread) - agreement, 0.0, _WIDEST, xtol=1e-9))


def ceiling(agreement: float, votes: Mapping[int, float], *, person: bool = False) -> float:
    """What a judge without noise (or one more `person`) reaches against majorities of so many people, of whom any two
    agree so often."""
    return agreement_with_majority(spread_of(agreement), votes, person=person)
