"""Rank correlations over few points and over weighted rows, against scipy and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.rank_tests import FEWEST_UNITS, rank_shift_p, spearman, spearman_p


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_perfect_order_of_five_is_two_of_all_120_orders() -> None:
    points = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert pytest.approx(2 / 120) == spearman_p(points, points**3, rng=rng())


def test_four_points_cannot_be_significant() -> None:
    points = np.array([1.0, 2.0, 3.0, 4.0])
    assert pytest.approx(2 / 24) == spearman_p(points, points, rng=rng())


def test_p_agrees_with_scipy_over_all_orders() -> None:
    a, b = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.0, 8.0])
    exact = stats.permutation_test(
        (a,),
        lambda x: abs(stats.spearmanr(x, b).statistic),
        permutation_type="pairings",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert pytest.approx(exact.pvalue) == spearman_p(a, b, rng=rng())


def test_random_orders_come_close_to_the_t_approximation() -> None:
    a = rng(1).normal(size=30)
    b = a + rng(2).normal(size=30, scale=2.5)
    assert pytest.approx(stats.spearmanr(a, b).pvalue, abs=0.01) == spearman_p(a, b, rng=rng(3))


def test_it_rejects_a_true_null_in_about_one_of_twenty() -> None:
    draws = rng(4).normal(size=(400, 2, 9))
    rejected = np.mean([spearman_p(a, b, rng=rng(i), permutations=400) <= 0.05 for i, (a, b) in enumerate(draws)])
    assert 0.03 <= rejected <= 0.07


@pytest.mark.parametrize("b", [[1.0, 1.0, 1.0, 1.0], [np.nan, np.nan, 1.0, 2.0]])
def test_p_is_undefined_where_a_side_is_tied_or_too_short(b: list[float]) -> None:
    assert np.isnan(spearman_p(np.arange(4.0), np.array(b), rng=rng()))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=12))
def test_the_estimate_is_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=float).T
    found = spearman(a, b, Resampling(resample_weights(len(a), 20, rng())))
    if len(set(a)) < 2 or len(set(b)) < 2:
        assert np.isnan([found.value, found.low, found.high]).all()
    else:
        assert pytest.approx(stats.spearmanr(a, b).statistic) == found.value


def test_weighted_resamples_are_those_of_repeated_rows() -> None:
    a, b = rng(5).integers(0, 6, size=25).astype(float), rng(6).integers(0, 6, size=25).astype(float)
    clusters = np.arange(25, dtype=np.intp) // 2
    weights = resample_weights(13, 50, rng(7))
    drawn = []
    for draw in weights:
        rows = [row for row in range(25) for _ in range(draw[clusters[row]])]
        drawn.append(stats.spearmanr(a[rows], b[rows]).statistic)
    found = spearman(a, b, Resampling(weights, clusters))
    assert pytest.approx(np.quantile(drawn, [0.025, 0.975])) == [found.low, found.high]
    assert (25, 13) == (found.n, found.clusters)


def test_the_interval_covers_at_its_level() -> None:
    covered = 0
    truth = 6 / np.pi * np.arcsin(0.25)
    for seed in range(200):
        a = rng(1000 + seed).normal(size=80)
        b = a + rng(2000 + seed).normal(size=80, scale=np.sqrt(3))
        found = spearman(a, b, Resampling(resample_weights(80, 200, rng(seed))))
        covered += found.low <= truth <= found.high
    assert 0.91 <= covered / 200 <= 0.98


def test_a_gap_leaves_its_row_out() -> None:
    a, b = np.array([1.0, 2.0, np.nan, 4.0, 3.0]), np.array([2.0, 1.0, 9.0, 5.0, np.nan])
    found = spearman(a, b, Resampling(resample_weights(5, 20, rng())))
    assert (pytest.approx(0.5), 3) == (found.value, found.n)


def test_a_few_units_have_no_interval() -> None:
    for units in (FEWEST_UNITS - 1, FEWEST_UNITS):
        x = np.arange(units, dtype=float)
        found = spearman(x, np.roll(x, 1), Resampling(resample_weights(units, 50, rng())))
        assert (units < FEWEST_UNITS) == np.isnan(found.low)
    nothing = spearman(np.array([]), np.array([]), Resampling(resample_weights(1, 5, rng())))
    assert (0, True) == (nothing.n, np.isnan(nothing.value))


def _two_settings(models: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Equal models on 40 rows that are hard or easy for all, twice."""
    chance = rng(seed)
    rows = chance.normal(size=(40, 1))
    return rows + chance.normal(size=(40, models)), rows + chance.normal(size=(40, models))


def test_of_equal_models_some_shift_of_rank_is_claimed_in_at_most_six_percent() -> None:
    """Intervals over resampled rows claimed one in half of such studies of eleven models."""
    claims = [
        bool((rank_shift_p(*_two_settings(11, seed), rng=rng(seed), permutations=199) <= 0.05).any())
        for seed in range(400)
    ]
    assert 0.06 >= np.mean(claims)


def test_a_model_that_falls_from_first_to_last_is_found_and_the_others_are_not() -> None:
    before, after = _two_settings(5, 1)
    steps = np.array([6.0, 3.0, 0.0, -3.0, -6.0])
    fallen = steps - 20 * (np.arange(5) == 0)
    p = rank_shift_p(before + steps, after + fallen, rng=rng(), permutations=999)
    assert 0.05 > p[0]
    assert (p[1:] > 0.05).all()


def test_shifts_over_people_move_each_person_as_a_whole_and_need_two() -> None:
    before, after = _two_settings(3, 2)
    people = np.repeat(np.arange(20), 2)
    halves = rank_shift_p(before[:20] * 2, after[:20] * 2, rng=rng(5), permutations=99)
    doubled = rank_shift_p(
        np.repeat(before[:20] * 2, 2, axis=0),
        np.repeat(after[:20] * 2, 2, axis=0),
        rng=rng(5),
        permutations=99,
        clusters=people,
    )
    assert list(halves) == list(doubled)
    assert np.isnan(rank_shift_p(before, after, rng=rng(), clusters=np.zeros(40, dtype=np.intp))).all()
