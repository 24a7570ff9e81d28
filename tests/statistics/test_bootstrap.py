"""The bootstrap: its weights, its standard errors, and what its intervals cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.api import OLS

from attunebench.statistics import bootstrap


def columns(values):
    return bootstrap.mean_as_ratio(np.asarray(values, dtype=float))


def test_each_resample_draws_as_many_units_as_there_are():
    weights = bootstrap.resample_weights(7, 50_000, np.random.default_rng(0))
    assert {7} == set(weights.sum(axis=1).tolist())
    assert pytest.approx(1, abs=0.02) == float(weights.mean(axis=0).max())
    assert pytest.approx(6 / 7, abs=0.02) == float(weights.astype(float).var())


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    one, same, other = (bootstrap.resample_weights(9, 30, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_weights_need_a_unit():
    with pytest.raises(ValueError, match="cannot resample 0 units"):
        bootstrap.resample_weights(0, 10, np.random.default_rng(0))


@settings(max_examples=30)
@given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=2, max_size=20))
def test_means_and_errors_leave_gaps_out(values):
    known = [value for value in values if value is not None]
    weights = bootstrap.resample_weights(len(values), 200, np.random.default_rng(0))
    found = bootstrap.estimate_ratios(*columns([[v] for v in values]), bootstrap.Resampling(weights))
    assert len(known) == found.n[0]
    if not known:
        assert np.isnan([found.value[0], found.se[0], found.low[0], found.high[0]]).all()
        return
    assert np.mean(known) == pytest.approx(found.value[0])
    if len(known) == 1:
        assert np.isnan([found.se[0], found.low[0], found.high[0]]).all()
        return
    assert np.std(known, ddof=1) / np.sqrt(len(known)) == pytest.approx(found.se[0], abs=1e-12)
    if np.ptp(known) <= 1e-9 * np.abs(known).max():
        assert np.isnan([found.low[0], found.high[0]]).all()
        return
    assert min(known) - 1e-9 <= found.low[0] <= found.high[0] <= max(known) + 1e-9


def test_all_columns_share_their_resamples():
    values = np.random.default_rng(3).normal(size=(40, 1))
    weights = bootstrap.resample_weights(40, 500, np.random.default_rng(0))
    samples = bootstrap.resampled_ratios(weights, *columns(np.hstack([values, values + 2])))
    assert np.allclose(samples[:, 0] + 2, samples[:, 1])


def test_a_resampled_mean_is_the_mean_of_the_drawn_rows():
    values = np.array([[0.0, np.nan], [1.0, 4.0], [5.0, 6.0]])
    weights = np.array([[2, 0, 1], [3, 0, 0]], dtype=np.uint16)
    samples = bootstrap.resampled_ratios(weights, *columns(values))
    assert [5 / 3, 0] == pytest.approx(samples[:, 0].tolist())
    assert 6 == samples[0, 1]
    assert np.isnan(samples[1, 1])


def test_a_ratio_of_sums_is_no_mean_of_ratios():
    weights = bootstrap.resample_weights(2, 100, np.random.default_rng(0))
    found = bootstrap.estimate_ratios(
        np.array([[1.0], [90.0]]), np.array([[10.0], [100.0]]), bootstrap.Resampling(weights)
    )
    assert pytest.approx(91 / 110) == found.value[0]
    assert pytest.approx(0.1) == found.low[0]
    assert pytest.approx(0.9) == found.high[0]


def test_one_cluster_says_nothing_about_its_spread():
    weights = bootstrap.resample_weights(1, 100, np.random.default_rng(0))
    found = bootstrap.estimate_ratios(*columns([[0.1], [0.9]]), bootstrap.Resampling(weights, np.array([0, 0])))
    assert pytest.approx(0.5) == found.value[0]
    assert np.isnan([found.se[0], found.low[0]]).all()


def test_clustered_errors_are_those_of_statsmodels():
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(30), 3)
    values = rng.normal(size=90) + np.repeat(rng.normal(size=30), 3)
    options = {"groups": labels, "use_correction": False}
    fit = OLS(values, np.ones(90)).fit(cov_type="cluster", cov_kwds=options)
    assert float(fit.bse[0]) == pytest.approx(bootstrap.standard_errors(*columns(values[:, None]), labels)[0])


def test_intervals_agree_with_the_percentile_bootstrap_of_scipy():
    values = np.random.default_rng(8).gamma(2, size=80)
    weights = bootstrap.resample_weights(80, 20_000, np.random.default_rng(0))
    found = bootstrap.estimate_ratios(*columns(values[:, None]), bootstrap.Resampling(weights))
    options = {"method": "percentile", "n_resamples": 20_000, "random_state": np.random.default_rng(1)}
    expected = stats.bootstrap((values,), np.mean, **options).confidence_interval
    assert expected.low == pytest.approx(found.low[0], abs=0.01)
    assert expected.high == pytest.approx(found.high[0], abs=0.01)


def test_nominal_95_percent_intervals_cover_93_to_97_percent_at_n_200():
    rng = np.random.default_rng(20)
    experiments = rng.normal(0.6, 0.1, size=(200, 1500))
    weights = bootstrap.resample_weights(200, 2000, rng)
    found = bootstrap.estimate_ratios(*columns(experiments), bootstrap.Resampling(weights))
    assert 0.93 <= float(np.mean((found.low <= 0.6) & (found.high >= 0.6))) <= 0.97


def test_clustered_intervals_cover_where_plain_ones_are_too_narrow():
    rng = np.random.default_rng(21)
    shared = np.repeat(rng.normal(0, 0.1, size=(100, 1000)), 4, axis=0)
    experiments = 0.6 + shared + rng.normal(0, 0.05, size=(400, 1000))
    labels = np.repeat(np.arange(100), 4)
    clustered, plain = (
        bootstrap.estimate_ratios(
            *columns(experiments), bootstrap.Resampling(bootstrap.resample_weights(units, 1000, rng), clusters)
        )
        for units, clusters in ((100, labels), (400, None))
    )
    covers = [float(np.mean((found.low <= 0.6) & (found.high >= 0.6))) for found in (clustered, plain)]
    assert 0.92 <= covers[0] <= 0.97
    assert covers[1] < 0.85
