"""How many permutations are drawn, and p beyond their reach: against exact values, enumeration and simulation."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attunebench.statistics.contrasts import group_difference
from attunebench.statistics.multiple import adjust
from attunebench.statistics.paired import paired_tests
from attunebench.statistics.permutation import least_corrected, permutation_p, permutations_needed, tail_p


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(max_examples=30)
@given(st.integers(0, 5000), st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_a_test_that_only_just_stands_is_decided_by_twenty_permutations(tests, alpha):
    needed = permutations_needed(tests, alpha)
    assert needed >= 20 * tests / alpha
    assert needed >= 10_000
    assert (1 + 0) / (needed + 1) * max(1, tests) <= alpha / 20


@pytest.mark.parametrize("df", [np.inf, 30, 6])
@pytest.mark.parametrize("statistic", [4.0, 5.0])
def test_the_tail_is_that_of_student_where_the_null_is(df, statistic):
    drawn = (
        rng(1).standard_normal((10_000, 8)) if df == np.inf else stats.t.rvs(df, size=(10_000, 8), random_state=rng(1))
    )
    found = tail_p(np.full(8, statistic), np.abs(drawn), df)
    truth = 2 * stats.t.sf(statistic, df)
    assert truth / 2 < np.median(found) < truth * 2
    assert found.max() < truth * 8


def test_a_null_with_a_heavier_tail_than_was_thought_is_followed():
    null = np.abs(stats.t.rvs(5, size=(10_000, 8), random_state=rng(2)))
    truth, normal = 2 * stats.t.sf(8.0, 5), 2 * stats.norm.sf(8.0)
    found = np.median(tail_p(np.full(8, 8.0), null))
    assert normal * 1000 < found
    assert truth / 4 < found < truth * 4


def test_p_that_permutations_resolve_is_counted_and_p_beyond_them_is_never_below_what_the_units_allow():
    null = np.abs(rng(3).standard_normal((2000, 3)))
    observed, reached = np.array([1.0, 9.0, np.nan]), np.array([640, 0, 0])
    p = permutation_p(observed, reached, 2000, null, np.array([0.0, 1e-6, np.nan]))
    assert [641 / 2001, 1e-6] == pytest.approx(p[:2].tolist())
    assert permutation_p(observed, reached, 2000, None, np.zeros(3))[1] == pytest.approx(1 / 2001)


def test_few_units_are_flipped_in_all_ways():
    differences = rng(4).normal(0.4, 1, (11, 3))
    options = {"permutation_type": "samples", "n_resamples": np.inf}
    exact = [stats.permutation_test((d, 0 * d), lambda x, y: np.mean(x - y), **options).pvalue for d in differences.T]
    found = paired_tests(differences, 0 * differences, rng=rng(), resamples=100)
    assert exact == pytest.approx(found.p.tolist(), abs=1e-12)


@settings(max_examples=30)
@given(st.integers(2, 16), st.integers(0, 100))
def test_no_p_is_below_the_smallest_of_its_units_and_one_sign_reaches_it(units, seed):
    values = np.abs(rng(seed).normal(1, 0.1, (units, 2)))
    values[::2, 1] *= -1
    found = paired_tests(values, 0 * values, rng=rng(seed), resamples=100)
    assert [2.0 ** (1 - units)] * 2 == pytest.approx(found.least.tolist())
    assert (found.p >= found.least * 0.999).all()
    if units <= 14:
        assert found.p[0] == pytest.approx(found.least[0])


@pytest.mark.parametrize("resamples", [100, 1000, 4000])
def test_the_resamples_have_no_part_in_p(resamples):
    a, b = rng(5).normal(0.1, 1, (60, 4)), rng(6).normal(size=(60, 4))
    few = paired_tests(a, b, rng=rng(7), resamples=200)
    assert few.p.tolist() == paired_tests(a, b, rng=rng(7), resamples=resamples).p.tolist()
    inside = np.arange(60) < 25
    few = group_difference(a, inside, rng=rng(7), resamples=200)
    assert few.p.tolist() == group_difference(a, inside, rng=rng(7), resamples=resamples).p.tolist()


def test_a_family_that_is_too_large_for_its_permutations_still_finds_what_is_far_from_chance():
    """4,000 tests: 10,000 permutations alone leave every corrected p at 0.4."""
    values = rng(8).normal(0, 1, (120, 4000))
    values[:, :40] += 0.8
    found = paired_tests(values, 0 * values, rng=rng(), resamples=100)
    corrected = adjust(found.p, "holm")
    assert (corrected[:40] <= 0.05).all()
    assert np.count_nonzero(corrected[40:] <= 0.05) == 0


def test_the_tail_of_flips_claims_no_more_than_it_may():
    values = rng(9).standard_normal((150, 4000)) ** 3
    found = paired_tests(values, 0 * values, rng=rng(), resamples=2, tests=10**6)
    for level in (0.002, 0.0005):
        assert np.mean(found.p <= level) <= 1.6 * level


@pytest.mark.slow
def test_the_tail_of_groups_claims_no_more_than_it_may():
    inside = np.arange(80) < 24
    rejected = [
        group_difference(rng(seed).exponential(size=(80, 400)), inside, rng=rng(seed), resamples=2, tests=10**6).p
        for seed in range(5)
    ]
    for level in (0.005, 0.001):
        assert np.mean(np.concatenate(rejected) <= level) <= 2 * level


@pytest.mark.parametrize(("inside", "outside"), [(3, 9), (4, 4), (2, 12)])
def test_the_smallest_p_of_groups_is_one_arrangement_of_all(inside, outside):
    values = np.arange(inside + outside)[:, None] ** 2.0
    found = group_difference(values, np.arange(inside + outside) < inside, rng=rng(), resamples=100)
    ways = (2 if inside == outside else 1) / comb(inside + outside, inside)
    assert ways == pytest.approx(found.least[0])
    assert found.p[0] >= ways * 0.8


@pytest.mark.parametrize(("correction", "factor"), [("holm", 6), ("bh", 1), ("maxt", 1)])
def test_the_smallest_corrected_p(correction, factor):
    least = np.array([0.01] * 6 + [np.nan])
    assert [0.01 * factor] * 6 == pytest.approx(least_corrected(least, correction)[:6].tolist())
