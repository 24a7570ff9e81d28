"""Spearman's ρ between two columns: as scipy has it, with an interval that covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from attunebench.statistics.rank_tests import FEWEST_UNITS, spearman

RNG = np.random.default_rng


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
@settings(deadline=None, max_examples=60)
def test_rho_is_scipys_with_ties_too(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    found = spearman(x, y, rng=RNG(0), resamples=20)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(found.rho)
    else:
        assert spearmanr(x, y).statistic == pytest.approx(found.rho, abs=1e-12)


def test_units_that_lack_a_side_do_not_count() -> None:
    x, y = np.array([1.0, 2, 3, 4, np.nan]), np.array([1.0, 3, 2, np.nan, 9])
    found = spearman(x, y, rng=RNG(0))
    assert (0.5, 3) == (pytest.approx(found.rho), found.n)


def test_a_few_units_have_no_interval() -> None:
    x = np.arange(FEWEST_UNITS, dtype=float)
    assert np.isnan(spearman(x[1:], x[1:], rng=RNG(0)).low)
    assert not np.isnan(spearman(x, np.roll(x, 1), rng=RNG(0)).low)


def test_no_units_have_nothing() -> None:
    found = spearman(np.array([]), np.array([]), rng=RNG(0))
    assert 0 == found.n
    assert np.isnan([found.rho, found.low, found.high]).all()


def test_the_same_seed_gives_the_same_interval() -> None:
    x, y = RNG(3).normal(size=(2, 40))
    assert spearman(x, y, rng=RNG(1)) == spearman(x, y, rng=RNG(1))


def test_the_interval_covers_the_true_rho_of_normal_data() -> None:
    rng, n, rho = RNG(20), 60, 0.5
    true = 6 / np.pi * np.arcsin(rho / 2)
    hits = 0
    for _ in range(150):
        x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n).T
        found = spearman(x, y, rng=rng, resamples=200)
        hits += found.low <= true <= found.high
    assert 0.92 <= hits / 150 <= 0.98
