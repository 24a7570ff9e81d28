"""Two raters on one scale: what swapping and repeating do, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.statistics.agreement import mean_difference
from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.rank_tests import spearman

PAIRS = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=3, max_size=40)


def doubt(units, clusters=None, *, resamples=200, seed=0):
    labels = np.arange(units) if clusters is None else clusters
    draws = resample_weights(int(labels.max()) + 1, resamples, np.random.default_rng(seed))
    return Resampling(draws, labels.astype(np.intp))


def sides(pairs):
    a, b = np.array(pairs, dtype=float).T
    return a, b


@settings(max_examples=40)
@given(PAIRS)
def test_the_judges_may_be_swapped(pairs):
    a, b = sides(pairs)
    one, other = (spearman(*each, doubt(len(a))) for each in ((a, b), (b, a)))
    assert pytest.approx([one.value, one.low, one.high], nan_ok=True) == [other.value, other.low, other.high]
    one, other = (mean_difference(*each, doubt(len(a))) for each in ((a, b), (b, a)))
    mirrored = [-other.value, -other.high, -other.low]
    assert pytest.approx([one.value, one.low, one.high], nan_ok=True) == mirrored


def test_units_of_one_rater_do_not_count():
    a, b = np.array([1.0, 2, np.nan, 4, 7]), np.array([2.0, 3, 5, np.nan, 6])
    found, moved = spearman(a, b, doubt(5)), mean_difference(a, b, doubt(5))
    assert (1.0, 3) == (found.value, found.n)
    assert (pytest.approx(-1 / 3), 3) == (moved.value, moved.n)


def test_a_single_conversation_has_no_interval():
    a, b = np.array([1.0, 2, 3]), np.array([2.0, 1, 3])
    for found in (spearman(a, b, doubt(3, np.zeros(3))), mean_difference(a, b, doubt(3, np.zeros(3)))):
        assert (1, True, True) == (found.clusters, np.isnan(found.low), np.isnan(found.high))


def test_nothing_rated_by_both_is_undefined():
    a, b = np.array([np.nan, 2.0]), np.array([1.0, np.nan])
    for found in (spearman(a, b, doubt(2)), mean_difference(a, b, doubt(2))):
        assert (True, 0) == (np.isnan(found.value), found.n)


def drawn(rng, conversations, turns=4):
    """Two judges on drafts that hang together in their conversation."""
    labels = np.repeat(np.arange(conversations), turns)
    quality = rng.normal(size=conversations)[labels] + rng.normal(size=len(labels))
    a, b = (np.clip(np.round(4 + quality + rng.normal(0, 0.8, len(labels))), 1, 7) for _ in range(2))
    return a, b, labels


@pytest.mark.slow
def test_intervals_over_conversations_cover_95_percent():
    rng = np.random.default_rng(17)
    a, b, labels = drawn(rng, 40_000)
    rho, experiments = spearman(a, b, doubt(len(a), labels, resamples=1)).value, 150
    covered = {"rho": 0, "difference": 0}
    for seed in range(experiments):
        a, b, labels = drawn(rng, 200)
        shared = doubt(len(a), labels, resamples=200, seed=seed)
        order, moved = spearman(a, b, shared), mean_difference(a, b, shared)
        covered["rho"] += order.low <= rho <= order.high
        covered["difference"] += moved.low <= 0 <= moved.high
    assert 0.93 <= covered["rho"] / experiments <= 0.97
    assert 0.93 <= covered["difference"] / experiments <= 0.97
