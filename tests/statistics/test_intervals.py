"""Wilson and BCa intervals against statsmodels and scipy, and the traps that they are for."""

from __future__ import annotations

import numpy as np
import pytest
from bca import bca_of_means
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from attunebench.statistics import bootstrap
from attunebench.statistics.intervals import bca_ratios, wilson_interval, zero_inflated


@settings(max_examples=30)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_is_that_of_statsmodels_and_scipy(counts, level):
    successes, n = counts
    low, high = map(float, wilson_interval(successes, n, level))
    assert proportion_confint(successes, n, alpha=1 - level, method="wilson") == pytest.approx((low, high), abs=1e-9)
    found = stats.binomtest(successes, n).proportion_ci(level, "wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert 0 <= low <= successes / n <= high <= 1


def test_wilson_of_no_trials_is_undefined_and_at_the_ends_is_no_point():
    low, high = wilson_interval([0, 0, 9], [0, 9, 9])
    assert np.isnan([low[0], high[0]]).all()
    assert (0.0, 1.0) == (low[1], high[2])
    assert high[1] > 0.25
    assert low[2] < 0.75


@pytest.mark.parametrize("n", [12, 60])
def test_bca_is_that_of_scipy(n):
    values = np.random.default_rng(n).gamma(1, size=n)
    found = bca_of_means(values[:, None], rng=np.random.default_rng(0), resamples=100_000)
    options = {"method": "BCa", "n_resamples": 100_000, "random_state": np.random.default_rng(1), "vectorized": True}
    expected = stats.bootstrap((values,), np.mean, **options).confidence_interval
    assert expected.low == pytest.approx(found.low[0], rel=0.02)
    assert expected.high == pytest.approx(found.high[0], rel=0.02)
    assert not found.fell_back[0]


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 1e-9, 7e5])
def test_bca_of_few_distinct_values_does_not_hang_on_last_bits(scale):
    values = (np.arange(50) % 5 == 0).astype(float)[:, None]
    plain = bca_of_means(values, rng=np.random.default_rng(0), resamples=2000)
    scaled = bca_of_means(values * scale, rng=np.random.default_rng(0), resamples=2000)
    assert plain.low[0] * scale == pytest.approx(scaled.low[0], rel=1e-9)
    assert plain.high[0] * scale == pytest.approx(scaled.high[0], rel=1e-9)


def test_bca_of_the_same_resamples_differs_from_scipys_formula_by_nothing():
    """The formula alone, from scipy's own pieces: normal distribution and quantiles, over one weight matrix."""
    values = np.random.default_rng(3).gamma(1, size=(25, 1))
    weights = bootstrap.resample_weights(25, 2000, np.random.default_rng(0))
    means = weights.astype(float) @ values[:, 0] / 25
    without = (values.sum() - values[:, 0]) / 24
    bias = stats.norm.ppf((means < values.mean()).mean())
    deviations = without.mean() - without
    acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    ends = [stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in stats.norm.ppf([0.025, 0.975])]
    found = bca_ratios(values, np.ones_like(values), bootstrap.Resampling(weights))
    assert np.quantile(means, ends) == pytest.approx([found.low[0], found.high[0]])


@pytest.mark.parametrize("values", [[0.1] * 10, [0.0] * 10, [0.1 + 0.2] * 5 + [0.3] * 5], ids=["same", "zero", "bits"])
def test_bca_of_constants_falls_back_and_says_so(values):
    found = bca_of_means(np.array(values)[:, None], rng=np.random.default_rng(0), resamples=500)
    assert found.fell_back[0]
    assert np.isnan([found.low[0], found.high[0]]).all()


def test_bca_falls_back_for_the_column_that_needs_it_alone():
    values = np.column_stack([np.random.default_rng(2).normal(size=30), np.full(30, 0.4)])
    found = bca_of_means(values, rng=np.random.default_rng(0), resamples=500)
    assert [False, True] == found.fell_back.tolist()


def test_one_row_or_one_cluster_has_no_interval_and_fell_back_to_nothing():
    values = np.array([[0.2, np.nan], [0.4, np.nan], [np.nan, np.nan]])
    plain = bca_of_means(values[:1], rng=np.random.default_rng(0), resamples=50)
    clustered = bca_of_means(values, rng=np.random.default_rng(0), resamples=50, clusters=np.array([0, 0, 1]))
    for found in (plain, clustered):
        assert np.isnan([found.low, found.high]).all()
        assert not found.fell_back.any()


def test_gaps_are_left_out():
    rng = np.random.default_rng(6)
    values = rng.gamma(1, size=60)
    with_gaps = np.append(values, [np.nan] * 40)
    one = bca_of_means(values[:, None], rng=np.random.default_rng(0), resamples=20_000)
    other = bca_of_means(with_gaps[:, None], rng=np.random.default_rng(0), resamples=20_000)
    assert one.low[0] == pytest.approx(other.low[0], rel=0.03)
    assert one.high[0] == pytest.approx(other.high[0], rel=0.03)


def test_clustered_bca_is_wider_where_clusters_hang_together():
    rng = np.random.default_rng(9)
    labels = np.repeat(np.arange(40), 5)
    values = (rng.normal(size=40)[labels] + rng.normal(0, 0.3, 200))[:, None]
    plain = bca_of_means(values, rng=rng, resamples=2000)
    clustered = bca_of_means(values, rng=rng, resamples=2000, clusters=labels)
    assert (clustered.high - clustered.low)[0] > 1.7 * (plain.high - plain.low)[0]


def test_piles_are_flagged_whether_at_0_or_at_the_ceiling():
    values = np.zeros((100, 5))
    values[:, 0] = np.arange(100)
    values[:10, 1] = 1
    values[:11, 2] = 1
    values[:95, 3] = 1
    values[:, 4] = np.nan
    assert [False, True, False, True, False] == zero_inflated(values).tolist()
    assert zero_inflated(values, threshold=0.89)[2]


def test_gaps_are_no_part_of_a_pile():
    assert zero_inflated(np.array([[0.0], [0.0], [np.nan], [np.nan]]))[0]
    assert not zero_inflated(np.array([[0.0], [1.0], [np.nan], [np.nan]]))[0]
