"""Rank correlations over models: scipy's values, what gaps and ties do, and when there is no interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.correlation import correlation_matrix, rank_correlations

ORACLES = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}
FEW_LEVELS = arrays.arrays(np.float64, (2, 7), elements=st.integers(0, 4).map(float))


def matrix(values, *, seed=0, resamples=200, **options):
    """The correlation matrix with as many weights as there are conversations."""
    weights = resample_weights(values.shape[1], resamples, np.random.default_rng(seed))
    return correlation_matrix(values, Resampling(weights), rng=np.random.default_rng(seed), **options)


@pytest.mark.parametrize("method", list(ORACLES))
@settings(max_examples=60)
@given(FEW_LEVELS)
def test_both_coefficients_are_those_of_scipy_ties_included(method, rows):
    found = rank_correlations(rows[None], method)[0, 0, 1]
    if np.ptp(rows, axis=1).min() == 0:
        assert np.isnan(found)
        return
    assert pytest.approx(ORACLES[method](*rows).statistic) == found


@pytest.mark.parametrize("method", list(ORACLES))
def test_gaps_are_left_out_pair_by_pair(method):
    rows = np.random.default_rng(3).integers(0, 5, size=(4, 12)).astype(float)
    rows[1, 2] = rows[1, 7] = rows[2, 7] = rows[3, 0] = np.nan
    found = rank_correlations(rows[None], method)[0]
    for one in range(4):
        for other in range(4):
            both = ~np.isnan(rows[one]) & ~np.isnan(rows[other])
            expected = ORACLES[method](rows[one][both], rows[other][both]).statistic
            assert pytest.approx(expected) == found[one, other]


@pytest.mark.parametrize("method", list(ORACLES))
@settings(max_examples=30)
@given(arrays.arrays(np.float64, (2, 6), elements=st.integers(-9, 9).map(float)))
def test_a_monotone_transform_and_another_order_of_the_models_change_nothing(method, rows):
    found = rank_correlations(rows[None], method)
    warped = np.stack([np.exp(rows[0] / 3), rows[1] ** 3])
    assert np.allclose(found, rank_correlations(warped[None], method), equal_nan=True)
    assert np.allclose(found, rank_correlations(rows[None, :, ::-1], method), equal_nan=True)


@settings(max_examples=30)
@given(arrays.arrays(np.float64, (2, 6), elements=st.integers(-9, 9).map(float)))
def test_turning_one_side_round_turns_the_sign(rows):
    found = rank_correlations(rows[None])[0, 0, 1]
    turned = rank_correlations((rows * [[1], [-1]])[None])[0, 0, 1]
    assert np.isnan(found) == np.isnan(turned)
    assert np.isnan(found) or pytest.approx(-found) == turned


def test_differences_in_the_last_bits_are_ties():
    rows = np.array([[0.1 + 0.2, 0.3, 0.5, 0.1], [1.0, 2.0, 3.0, 0.0]])
    assert (
        pytest.approx(stats.kendalltau([2, 2, 3, 1], rows[1]).statistic)
        == rank_correlations(rows[None], "kendall")[0, 0, 1]
    )


def test_the_matrix_correlates_the_means_of_the_models():
    values = np.random.default_rng(1).normal(size=(3, 40, 8)) + np.arange(8) / 8
    values[0, :10, 3] = np.nan
    found = matrix(values)
    expected = stats.spearmanr(np.nanmean(values, axis=1).T).statistic
    assert np.allclose(expected, found.rho)
    assert (found.low <= found.rho + 1e-12).all()
    assert (found.rho <= found.high + 1e-12).all()
    assert np.allclose(1, np.diag(found.low))


def test_a_metric_that_ties_all_models_has_no_correlation():
    values = np.random.default_rng(1).normal(size=(2, 30, 6))
    values[1] = 0.25
    found = matrix(values)
    assert np.isnan([found.rho[0, 1], found.rho[1, 1], found.low[0, 1], found.high[0, 1]]).all()
    assert 1 == found.rho[0, 0]


def test_each_correlation_says_over_how_many_models_it_is():
    values = np.random.default_rng(1).normal(size=(3, 30, 6))
    values[1, :, :2] = np.nan
    values[2, :, 4:] = np.nan
    assert [[6, 4, 4], [4, 4, 2], [4, 2, 4]] == matrix(values).n.tolist()


def test_under_four_models_there_is_no_interval():
    values = np.random.default_rng(1).normal(size=(2, 30, 4))
    assert not np.isnan(matrix(values).low).any()
    values[1, :, 0] = np.nan
    found = matrix(values)
    assert not np.isnan(found.rho[0, 1])
    assert np.isnan([found.low[0, 1], found.high[0, 1]]).all()


def test_clusters_are_resampled_whole():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(20), 10)
    values = rng.normal(size=(2, 20, 6))[:, labels] + np.arange(6) / 3
    weights = resample_weights(20, 400, np.random.default_rng(0))
    clustered = correlation_matrix(values, Resampling(weights, labels), rng=np.random.default_rng(0))
    plain = matrix(values, resamples=400)
    assert clustered.rho[0, 1] == plain.rho[0, 1]
    assert clustered.high[0, 1] - clustered.low[0, 1] > plain.high[0, 1] - plain.low[0, 1]


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(2).normal(size=(2, 50, 6))
    one, same = matrix(values, seed=5), matrix(values, seed=5)
    assert (one.low == same.low).all()
    assert (one.high == same.high).all()


@pytest.mark.parametrize("shape", [(0, 5, 4), (2, 5, 1), (2, 5, 4)])
def test_without_values_there_is_no_correlation_and_no_error(shape):
    found = matrix(np.full(shape, np.nan))
    assert shape[:1] * 2 == found.rho.shape
    assert np.isnan(found.rho).all()
    assert not found.n.any()
