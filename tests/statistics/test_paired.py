"""Paired tests against scipy and statsmodels, and what must hold for any two sides."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from statsmodels.api import OLS

from attunebench.statistics.paired import paired_tests

QUICK = {"resamples": 200, "permutations": 199}
VALUES = st.one_of(st.just(np.nan), st.integers(-40, 40).map(lambda tenths: tenths / 10))


@st.composite
def two_sides(draw):
    shape = (draw(st.integers(1, 12)), draw(st.integers(1, 3)))
    return tuple(draw(arrays.arrays(np.float64, shape, elements=VALUES)) for _ in range(2))


def compare(a, b, seed=0, **options):
    return paired_tests(np.asarray(a, float), np.asarray(b, float), rng=np.random.default_rng(seed), **QUICK | options)


@settings(max_examples=30)
@given(two_sides())
def test_swapping_the_sides_negates(sides):
    a, b = sides
    one, other = compare(a, b), compare(b, a)
    close = {"abs": 1e-9, "nan_ok": True}
    assert (-one.difference).tolist() == pytest.approx(other.difference.tolist(), **close)
    assert (-one.low).tolist() == pytest.approx(other.high.tolist(), **close)
    for name in ("n", "se", "p", "mde", "observed"):
        assert getattr(one, name).tolist() == pytest.approx(getattr(other, name).tolist(), **close)


@settings(max_examples=30)
@given(two_sides(), st.integers(-9, 9), st.integers(-9, 9))
def test_what_both_sides_gain_is_no_difference_and_what_one_gains_moves_it(sides, both, one):
    a, b = sides
    plain, moved = compare(a, b), compare(a + both + one, b + both)
    close = {"abs": 1e-6, "nan_ok": True}
    assert (plain.difference + one).tolist() == pytest.approx(moved.difference.tolist(), **close)
    assert (plain.low + one).tolist() == pytest.approx(moved.low.tolist(), **close)
    assert plain.se.tolist() == pytest.approx(moved.se.tolist(), **close)
    if one == 0:
        assert plain.p.tolist() == pytest.approx(moved.p.tolist(), nan_ok=True)


@settings(max_examples=30)
@given(two_sides())
def test_only_rows_that_both_sides_have_count(sides):
    a, b = sides
    found = compare(a, b)
    for column in range(a.shape[1]):
        differences = (a - b)[:, column]
        known = differences[~np.isnan(differences)]
        assert len(known) == found.n[column]
        if len(known) < 2:
            undefined = (
                found.difference,
                found.se,
                found.low,
                found.high,
                found.p,
                found.mde,
                found.observed,
            )
            assert all(np.isnan(part[column]) for part in undefined)
            assert np.isnan(found.null[:, column]).all()
            continue
        assert np.mean(known) == pytest.approx(found.difference[column], abs=1e-9)
        assert np.std(known, ddof=1) / np.sqrt(len(known)) == pytest.approx(found.se[column], abs=1e-9)
        if np.ptp(known) > 1e-9:
            assert known.min() - 1e-9 <= found.low[column] <= found.high[column] <= known.max() + 1e-9
        else:
            assert np.isnan([found.low[column], found.high[column]]).all()
        # Of up to fourteen rows every flip is gone through.
        assert 0.999 * min(1 / 200, found.least[column]) <= found.p[column] <= 1


@settings(max_examples=30)
@given(two_sides())
def test_clusters_of_one_row_are_rows(sides):
    a, b = sides
    plain, clustered = compare(a, b), compare(a, b, clusters=np.arange(len(a)))
    for name in ("difference", "n", "low", "high", "p"):
        assert getattr(plain, name).tolist() == pytest.approx(getattr(clustered, name).tolist(), nan_ok=True)
    # The clustered error has no n − 1 in it.
    known = np.where(plain.n > 1, plain.n, np.nan)
    expected = plain.se * np.sqrt((known - 1) / known)
    assert expected.tolist() == pytest.approx(clustered.se.tolist(), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", range(4))
def test_p_is_that_of_the_permutation_test_of_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.4, 1, 11), rng.normal(0, 1, 11)
    options = {"permutation_type": "samples", "n_resamples": np.inf}
    exact = stats.permutation_test((a, b), lambda x, y: np.mean(x - y), **options).pvalue
    assert exact == pytest.approx(compare(a[:, None], b[:, None], permutations=40_000).p[0], abs=0.01)


def test_clustered_p_is_that_of_flipping_the_sums_of_the_clusters():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(10), [1, 2, 3, 1, 2, 3, 1, 2, 3, 4])
    a = rng.normal(0.2, 1, 22) + rng.normal(0, 1, 10)[labels]
    sums = np.bincount(labels, weights=a)
    options = {"permutation_type": "samples", "n_resamples": np.inf}
    exact = stats.permutation_test((sums, 0 * sums), lambda x, y: np.sum(x - y), **options).pvalue
    found = compare(a[:, None], 0 * a[:, None], clusters=labels, permutations=40_000)
    assert exact == pytest.approx(found.p[0], abs=0.01)
    assert 22 == found.n[0]
    assert pytest.approx(0.5**9) == found.least[0]


def test_clustered_errors_are_those_of_statsmodels():
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(30), 3)
    a, b = rng.normal(size=90) + np.repeat(rng.normal(size=30), 3), rng.normal(size=90)
    options = {"groups": labels, "use_correction": False}
    fit = OLS(a - b, np.ones(90)).fit(cov_type="cluster", cov_kwds=options)
    found = compare(a[:, None], b[:, None], clusters=labels)
    assert float(fit.bse[0]) == pytest.approx(found.se[0])
    assert pytest.approx(found.se[0] * 2.8016, rel=1e-4) == found.mde[0]


def test_two_rows_of_one_cluster_say_nothing():
    found = compare([[0.1], [0.9], [np.nan]], [[0.0], [0.0], [0.0]], clusters=np.array([0, 0, 1]))
    assert 2 == found.n[0]
    assert np.isnan([found.difference[0], found.se[0], found.low[0], found.p[0], found.mde[0]]).all()


def test_sides_that_are_equal_but_for_rounding_do_not_differ():
    found = compare(np.full((30, 1), 0.1 + 0.2), np.full((30, 1), 0.3))
    assert (0, 0, 1) == (found.difference[0], found.se[0], found.p[0])
    assert np.isnan([found.low[0], found.high[0], found.mde[0]]).all()


def test_a_difference_that_is_the_same_everywhere_has_no_interval_and_promises_no_power():
    found = compare(np.linspace(0, 1, 30)[:, None] + 0.1, np.linspace(0, 1, 30)[:, None])
    assert 0 == found.se[0]
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert 1 / 200 == found.p[0]
    assert np.isnan(found.mde[0])


def test_flips_that_equal_the_observed_count_although_their_last_bits_differ():
    """Of eight flips of (0.1, 0.2, 0.3) two have |T*| ≥ |T| when a is above b in all rows: p is 1/4, never less."""
    a = np.array([[0.1], [0.2], [0.3]])
    assert pytest.approx(0.25, abs=0.02) == compare(a, 0 * a, permutations=8000).p[0]


def test_all_columns_share_their_flips_so_that_the_same_column_twice_has_the_same_null():
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
    found = compare(np.hstack([a, b, 3 * a]), np.hstack([b, a, 3 * b]))
    assert np.allclose(found.null[:, 0], found.null[:, 1])
    assert np.allclose(found.null[:, 0], found.null[:, 2])
    assert pytest.approx(1, abs=0.2) == float((found.null**2).mean())


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_the_same_seed_gives_the_same_bytes(seed):
    a, b = np.random.default_rng(1).normal(size=(2, 20, 3))
    one, same = compare(a, b, seed), compare(a, b, seed)
    assert one.p.tobytes() == same.p.tobytes()
    assert one.low.tobytes() == same.low.tobytes()


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (5, 0)])
def test_no_rows_or_no_columns_are_no_error(shape):
    found = compare(np.ones(shape), np.zeros(shape))
    assert shape[1] == len(found.p)
    assert np.isnan(found.p).all()


def test_a_column_is_tested_alike_whatever_stands_beside_it():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.2, 1, (30, 2_300)), rng.normal(0, 1, (30, 2_300))
    a[rng.random(a.shape) < 0.05] = np.nan

    def tested(columns, **more):
        chance = np.random.default_rng(1)
        return paired_tests(a[:, :columns], b[:, :columns], rng=chance, resamples=500, permutations=1_500, **more)

    joint, alone, fewer = tested(2_300), tested(2_300, joint=False), tested(1_200)
    assert ((1_500, 2_300), (0, 2_300)) == (joint.null.shape, alone.null.shape)
    for name in ("p", "low", "high", "observed", "n"):
        np.testing.assert_allclose(getattr(alone, name), getattr(joint, name), rtol=1e-9)
        np.testing.assert_allclose(getattr(alone, name)[:1_200], getattr(fewer, name), rtol=1e-9)


def test_the_pairs_of_many_models_take_little_memory():
    rng, columns = np.random.default_rng(5), 4_000
    a, b = rng.normal(size=(20, columns)), rng.normal(size=(20, columns))
    tracemalloc.start()
    paired_tests(a, b, rng=rng, resamples=10_000, permutations=10_000, joint=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * 10_000 * columns * 8
