"""Corrections against statsmodels, scipy and a plain reading of the algorithm, and what holds for any p."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from attunebench.statistics.multiple import adjust, max_t

PS = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.01, 0.05, 1.0])), min_size=1, max_size=40)
NAMES = {"holm": "holm", "bh": "fdr_bh"}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["holm", "bh"])
@pytest.mark.parametrize("ps", [[0.3], [0.01, 0.01, 1.0, 0.0], np.random.default_rng(0).random(40).round(2) ** 3])
def test_corrected_p_are_those_of_statsmodels(method, ps):
    assert multipletests(ps, method=NAMES[method])[1] == pytest.approx(adjust(np.array(ps), method))


@settings(max_examples=30)
@given(PS)
def test_bh_is_that_of_scipy(ps):
    assert stats.false_discovery_control(ps) == pytest.approx(adjust(np.array(ps), "bh"))


@pytest.mark.parametrize("method", ["holm", "bh"])
@settings(max_examples=30)
@given(ps=PS, seed=st.integers(0, 99))
def test_corrections_only_raise_keep_the_order_and_do_not_care_for_it(method, ps, seed):
    p = np.array(ps)
    corrected = adjust(p, method)
    order = np.argsort(p)
    assert (corrected >= p - 1e-15).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[order]) >= 0).all()
    shuffled = np.random.default_rng(seed).permutation(len(p))
    assert corrected[shuffled].tolist() == adjust(p[shuffled], method).tolist()


@pytest.mark.parametrize("method", ["holm", "bh"])
@settings(max_examples=30)
@given(ps=PS)
def test_undefined_p_stay_so_and_are_not_counted(method, ps):
    with_gaps = np.array([*ps, np.nan, np.nan])[None, :]
    corrected = adjust(with_gaps, method)
    assert with_gaps.shape == corrected.shape
    assert np.isnan(corrected[0, -2:]).all()
    assert adjust(np.array(ps), method).tolist() == corrected[0, :-2].tolist()


def test_no_tests_need_no_correction():
    assert 0 == adjust(np.array([]), "holm").size
    assert 0 == max_t(np.array([]), np.empty((10, 0))).size


def plain_max_t(observed, null):
    """Algorithm 4.1 of Westfall and Young, step by step."""
    order = sorted(range(len(observed)), key=lambda test: -observed[test])
    corrected, before = {}, 0.0
    for place, test in enumerate(order):
        still = order[place:]
        extreme = sum(max(row[other] for other in still) >= observed[test] for row in null)
        before = max(before, (1 + extreme) / (len(null) + 1))
        corrected[test] = before
    return [corrected[test] for test in range(len(observed))]


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_max_t_is_the_algorithm_of_westfall_and_young(seed, tests):
    rng = np.random.default_rng(seed)
    observed, null = np.abs(rng.normal(1, 1, tests)), np.abs(rng.normal(size=(99, tests)))
    assert plain_max_t(observed, null) == pytest.approx(max_t(observed, null))


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_max_t_raises_p_keeps_the_order_and_leaves_undefined_tests_out(seed, tests):
    rng = np.random.default_rng(seed)
    observed, null = np.abs(rng.normal(1, 1, tests)), np.abs(rng.normal(size=(99, tests)))
    corrected = max_t(observed, null)
    raw = (1 + (null >= observed).sum(axis=0)) / 100
    assert (corrected >= raw).all()
    assert (np.diff(corrected[np.argsort(-observed)]) >= 0).all()
    gap = np.full((99, 1), np.nan)
    with_gap = max_t(np.append(observed, np.nan), np.hstack([null, gap]))
    assert [*corrected, None] == [*with_gap[:-1], None]
    assert np.isnan(with_gap[-1])


def test_max_t_of_one_test_asked_many_times_costs_nothing():
    null = np.abs(np.random.default_rng(0).normal(size=(999, 1)))
    once = max_t(np.array([2.2]), null)
    assert [once[0]] * 7 == max_t(np.full(7, 2.2), np.tile(null, 7)).tolist()
