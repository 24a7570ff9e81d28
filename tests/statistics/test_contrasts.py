"""A group against the rest: what is compared, what is resampled, and when there is no answer."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as statsmodels
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attunebench.statistics.contrasts import group_difference
from attunebench.statistics.multiple import minimum_detectable_effect

FEW = {"resamples": 300, "permutations": 300}
NUMBERS = ("estimate", "inside", "outside", "se", "low", "high", "p", "mde")


def contrast(values, inside, *, seed=0, **options):
    options = FEW | options
    return group_difference(np.asarray(values, float), np.asarray(inside), rng=np.random.default_rng(seed), **options)


def sample(seed=0, *, rows=60, columns=3, inside=20, gaps=0.1):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, columns))
    values[rng.random(values.shape) < gaps] = np.nan
    return values, np.arange(rows) < inside


def test_means_counts_and_errors_are_those_of_welch():
    values, inside = sample()
    found = contrast(values, inside)
    for column in range(3):
        one, other = (values[part, column][~np.isnan(values[part, column])] for part in (inside, ~inside))
        assert (len(one), len(other)) == (found.n_in[column], found.n_out[column])
        assert pytest.approx([one.mean(), other.mean()]) == [found.inside[column], found.outside[column]]
        assert pytest.approx(one.mean() - other.mean()) == found.estimate[column]
        expected = np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))
        assert pytest.approx(expected) == found.se[column]
    assert pytest.approx(minimum_detectable_effect(found.se)) == found.mde


def test_p_is_that_of_a_permutation_test_of_welchs_statistic():
    values, inside = sample(3, columns=4, gaps=0)
    values[inside] *= 2
    found = contrast(values, inside, permutations=10_000)
    for column in range(4):
        expected = stats.permutation_test(
            (values[inside, column], values[~inside, column]),
            lambda one, other, axis: np.abs(stats.ttest_ind(one, other, axis=axis, equal_var=False).statistic),
            vectorized=True,
            n_resamples=10_000,
            alternative="greater",
            random_state=np.random.default_rng(1),
        ).pvalue
        assert pytest.approx(expected, abs=0.02) == found.p[column]


def test_the_interval_is_that_of_the_percentile_bootstrap_of_two_samples():
    values, inside = sample(4, columns=1, gaps=0)
    found = contrast(values, inside, resamples=20_000)
    expected = stats.bootstrap(
        (values[inside, 0], values[~inside, 0]),
        lambda one, other, axis: one.mean(axis=axis) - other.mean(axis=axis),
        method="percentile",
        n_resamples=20_000,
        random_state=np.random.default_rng(1),
    ).confidence_interval
    assert pytest.approx([expected.low, expected.high], abs=0.02) == [found.low[0], found.high[0]]


def test_a_planted_gap_is_found_and_where_there_is_none_none():
    values, inside = sample(5, rows=200, inside=60, columns=2)
    values[inside, 0] -= 1
    found = contrast(values, inside)
    assert (True, True) == (found.p[0] < 0.01, found.p[1] > 0.05)
    assert found.low[0] < -1 + 0.3 < -0.5
    assert found.high[0] < 0 < found.high[1]


@settings(max_examples=20)
@given(st.integers(0, 99), st.floats(-100, 100))
def test_a_shift_of_all_values_moves_the_means_alone(seed, shift):
    values, inside = sample(seed)
    one, other = contrast(values, inside), contrast(values + shift, inside)
    for name in ("estimate", "se", "low", "high", "p"):
        assert np.allclose(getattr(one, name), getattr(other, name), atol=1e-9)
    assert np.allclose(one.inside + shift, other.inside)


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_the_rest_against_the_group_is_the_negative(seed):
    values, inside = sample(seed)
    one, other = contrast(values, inside, permutations=2000), contrast(values, ~inside, permutations=2000)
    assert np.allclose(-one.estimate, other.estimate)
    assert np.allclose(one.se, other.se)
    assert np.allclose(one.p, other.p, atol=0.08)


def test_a_column_alone_has_the_numbers_that_it_has_among_others():
    values, inside = sample(6)
    together, alone = contrast(values, inside), contrast(values[:, [1]], inside)
    for name in NUMBERS:
        assert np.allclose(getattr(together, name)[1], getattr(alone, name)[0])


@pytest.mark.parametrize("inside", [[True, False, False, False], [False] * 4, [True] * 4, [True, True, True, False]])
def test_one_conversation_on_a_side_has_no_interval_and_no_p(inside):
    found = contrast([[0.1], [0.2], [0.4], [0.9]], inside)
    assert np.isnan([found.se, found.low, found.high, found.p, found.mde]).all()
    assert [sum(inside), 4 - sum(inside)] == [found.n_in[0], found.n_out[0]]
    assert (0 < sum(inside) < 4) != bool(np.isnan(found.estimate[0]))


def test_a_column_without_values_on_a_side_leaves_the_others_alone():
    values, inside = sample(9, gaps=0)
    values[inside, 1] = np.nan
    found = contrast(values, inside)
    assert [False, True, False] == np.isnan(found.p).tolist() == np.isnan(found.estimate).tolist()


def test_constant_values_differ_by_nothing_with_p_1():
    found = contrast(np.full((10, 1), 0.1), np.arange(10) < 4)
    assert (0, 1) == (found.estimate[0], found.p[0])
    assert np.isnan([found.low[0], found.high[0], found.mde[0]]).all()


def test_groups_that_are_constant_but_differ_get_the_smallest_p_there_is():
    inside = np.arange(30) < 12
    found = contrast(np.where(inside, 0.8, 0.3)[:, None], inside)
    assert pytest.approx([0.5, 1 / 301]) == [found.estimate[0], found.p[0]]


def test_of_six_ways_to_choose_two_of_four_the_most_extreme_has_two():
    found = contrast([[5.0], [6.0], [1.0], [2.1]], [True, True, False, False], permutations=3000)
    assert pytest.approx(2 / 6, abs=0.03) == found.p[0]


@pytest.mark.parametrize("straddling", [False, True])
def test_clusters_count_as_what_they_are(straddling):
    rng = np.random.default_rng(10)
    labels = np.repeat(np.arange(20), 10)
    values = rng.normal(size=(20, 1))[labels] + rng.normal(0, 0.1, size=(200, 1))
    inside = labels < 8
    if straddling:
        inside = inside ^ (np.arange(200) % 10 == 0)
    found, plain = contrast(values, inside, clusters=labels), contrast(values, inside)
    expected = (20, 20) if straddling else (8, 12)
    assert expected == (found.clusters_in[0], found.clusters_out[0])
    assert (inside.sum(), 200) == (found.n_in[0], found.n_in[0] + found.n_out[0])
    assert found.estimate[0] == plain.estimate[0]
    assert found.high[0] - found.low[0] > 1.5 * (plain.high[0] - plain.low[0])
    assert found.p[0] > plain.p[0]


def test_clusters_of_one_are_no_clusters_but_for_the_small_sample_correction():
    values, inside = sample(11, gaps=0)
    plain, clustered = contrast(values, inside), contrast(values, inside, clusters=np.arange(60))
    assert (plain.low == clustered.low).all()
    assert (plain.clusters_in == clustered.clusters_in).all()
    assert np.allclose(plain.p, clustered.p, atol=0.02)
    assert np.allclose(plain.se, clustered.se, rtol=0.03)


def test_the_clustered_error_is_that_of_a_regression_on_the_group():
    rng = np.random.default_rng(12)
    labels = np.unique(rng.integers(0, 25, 120), return_inverse=True)[1]
    for inside in (labels < 10, rng.random(120) < 0.3):
        values = rng.normal(size=120) + rng.normal(size=25)[labels]
        options = {"groups": labels, "use_correction": False}
        fit = statsmodels.OLS(values, np.stack([np.ones(120), inside], axis=1)).fit(
            cov_type="cluster", cov_kwds=options
        )
        assert pytest.approx(float(fit.bse[1])) == contrast(values[:, None], inside, clusters=labels).se[0]


def test_a_group_of_one_person_has_no_interval():
    values, inside = sample(13, gaps=0)
    labels = np.where(inside, 0, np.arange(60) - 19)
    found = contrast(values, inside, clusters=labels)
    assert (1, 40) == (found.clusters_in[0], found.clusters_out[0])
    assert np.isnan([found.low, found.p, found.mde]).all()
    assert not np.isnan(found.estimate).any()


def test_the_same_seed_gives_the_same_numbers():
    values, inside = sample(14)
    one, same = contrast(values, inside, seed=3), contrast(values, inside, seed=3)
    assert all(np.array_equal(getattr(one, name), getattr(same, name), equal_nan=True) for name in NUMBERS)


@pytest.mark.parametrize("shape", [(0, 2), (6, 0), (6, 2)])
@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 1, 1, 2, 2])])
def test_without_values_there_is_no_answer_and_no_error(shape, clusters):
    labels = None if clusters is None else clusters[: shape[0]]
    found = contrast(np.full(shape, np.nan), np.arange(shape[0]) % 2 == 0, clusters=labels)
    for name in NUMBERS:
        assert shape[1:] == getattr(found, name).shape
        assert np.isnan(getattr(found, name)).all()


def test_cluster_labels_need_not_be_in_use():
    values, inside = sample(15)
    labels = np.arange(60) // 2
    one, sparse = contrast(values, inside, clusters=labels), contrast(values, inside, clusters=labels * 3 + 7)
    for name in NUMBERS:
        assert np.array_equal(getattr(one, name), getattr(sparse, name))
