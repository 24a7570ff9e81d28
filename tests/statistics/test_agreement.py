"""Agreement beyond chance: the values of scikit-learn, evalica and Gwet's papers, and what skew does to them."""

from __future__ import annotations

import evalica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas import DataFrame
from sklearn.metrics import cohen_kappa_score

from attunebench.statistics.agreement import cohen_kappa, gwet_ac1, krippendorff_alpha, percent_agreement
from attunebench.statistics.bootstrap import Resampling, resample_weights

LEVELS = ("nominal", "interval")
SCALE = tuple(range(1, 8))


def answers(table):
    """Two raters' answers from counts: (yes, yes), (yes, no), (no, yes), (no, no)."""
    return coded(np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], table, axis=0))


def coded(pairs):
    """Two sides of pairs of numbers."""
    return np.array(pairs, dtype=float).reshape(-1, 2).T


def ratings(seed=0, *, units=120, raters=3, gaps=0.2):
    rng = np.random.default_rng(seed)
    table = np.clip(rng.integers(1, 8, (units, 1)) + rng.integers(-1, 2, (units, raters)), 1, 7).astype(float)
    table[rng.random(table.shape) < gaps] = np.nan
    return table


@pytest.mark.parametrize("weights", [None, "quadratic"])
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=30))
def test_kappa_is_that_of_scikit_learn(weights, pairs):
    a, b = coded(pairs) - 1
    found = cohen_kappa(a, b, 4, quadratic=bool(weights)).value
    if len({*a, *b}) == 1:
        assert np.isnan(found)
        return
    assert pytest.approx(cohen_kappa_score(a, b, labels=range(4), weights=weights)) == found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_that_of_evalica(level, seed):
    table = ratings(seed, units=40, gaps=0.3)
    expected = evalica.alpha(DataFrame(table.T), distance=level).alpha
    assert pytest.approx(expected) == krippendorff_alpha(table, level).value


def test_ac1_and_kappa_have_the_published_values_of_a_skewed_table():
    """Feinstein and Cicchetti's paradox as Gwet (2008) computes it: 118 of 125 times both say yes, never both no."""
    a, b = answers((118, 5, 2, 0))
    assert pytest.approx(0.944) == percent_agreement(a, b).value
    assert pytest.approx(-0.0234, abs=5e-5) == cohen_kappa(a, b, 2).value
    assert pytest.approx(0.9408, abs=5e-5) == gwet_ac1(a, b, 2).value


def test_where_nearly_all_say_yes_ac1_stays_and_kappa_collapses():
    balanced, skewed = answers((450, 50, 50, 450)), answers((900, 50, 50, 0))
    assert pytest.approx(0.8) == cohen_kappa(*balanced, 2).value == gwet_ac1(*balanced, 2).value
    assert cohen_kappa(*skewed, 2).value < 0
    assert 0.85 < gwet_ac1(*skewed, 2).value


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=25), st.randoms())
def test_neither_who_is_first_nor_the_order_of_units_and_labels_matters(pairs, random):
    a, b = coded(pairs)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    c, d = 2 - coded(shuffled)
    for coefficient in (cohen_kappa, gwet_ac1):
        found = coefficient(a, b, 3).value
        assert pytest.approx(found, nan_ok=True) == coefficient(b, a, 3).value
        assert pytest.approx(found, nan_ok=True) == coefficient(c, d, 3).value


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_knows_no_order_of_units_and_raters(level):
    table = ratings(5)
    found = krippendorff_alpha(table, level).value
    assert pytest.approx(found) == krippendorff_alpha(table[::-1, ::-1], level).value


def test_interval_alpha_knows_neither_unit_nor_origin():
    table = ratings(6)
    expected = krippendorff_alpha(table, "interval").value
    assert pytest.approx(expected) == krippendorff_alpha(9 - 2 * table, "interval").value


@pytest.mark.parametrize("level", LEVELS)
def test_full_agreement_is_1_and_one_value_throughout_is_undefined(level):
    same = np.repeat(np.arange(1.0, 6)[:, None], 3, axis=1)
    assert 1 == krippendorff_alpha(same, level).value
    assert np.isnan(krippendorff_alpha(np.full((5, 3), 2.5), level).value)
    assert np.isnan(krippendorff_alpha(np.full((5, 3), np.nan), level).value)


def test_ratings_that_were_not_given_are_no_disagreement():
    a, b = np.array([1, 0, np.nan, 1, np.nan]), np.array([1, 0, 0, np.nan, 1])
    found = percent_agreement(a, b)
    assert (1, 2) == (found.value, found.n)
    assert 1 == cohen_kappa(a, b, 2).value == gwet_ac1(a, b, 2).value
    table = np.array([[1, 1, np.nan], [2, np.nan, np.nan], [3, 3, 3]])
    assert 2 == krippendorff_alpha(table).n


def test_without_a_unit_in_common_nothing_is_defined():
    a, b = np.array([1, np.nan]), np.array([np.nan, 0])
    found = percent_agreement(a, b)
    assert (True, 0) == (np.isnan(found.value), found.n)
    assert np.isnan([cohen_kappa(a, b, 2).value, gwet_ac1(a, b, 2).value]).all()


def test_ratings_that_are_no_possible_labels_are_refused():
    with pytest.raises(IndexError):
        cohen_kappa(np.array([2.0]), np.array([1.0]), 2)
    with pytest.raises(ValueError, match="two possible labels"):
        gwet_ac1(np.zeros(1), np.zeros(1), 1)


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_resamples_units(level):
    table = ratings(8)
    draws = resample_weights(len(table), 500, np.random.default_rng(0))
    found = krippendorff_alpha(table, level, Resampling(draws))
    assert found.low < found.value < found.high
    repeated = [krippendorff_alpha(table[np.repeat(np.arange(len(table)), draw)], level).value for draw in draws[:2]]
    two = krippendorff_alpha(table, level, Resampling(draws[:2]))
    assert np.quantile(repeated, [0.025, 0.975]).tolist() == pytest.approx([two.low, two.high])


def test_agreement_that_is_the_same_in_every_resample_has_no_interval():
    draws = resample_weights(6, 200, np.random.default_rng(0))
    found = krippendorff_alpha(np.array([[1.0, 1.0], [2.0, 2.0]] * 3), "interval", Resampling(draws))
    assert (1.0, True) == (found.value, np.isnan(found.low))


def test_the_interval_resamples_clusters_whole():
    rng = np.random.default_rng(9)
    labels = np.repeat(np.arange(15), 10)
    careful = rng.random(15)[labels]
    a = rng.integers(0, 2, 150)
    b = np.where(rng.random(150) < careful, a, 1 - a)
    plain = percent_agreement(a, b, Resampling(resample_weights(150, 400, np.random.default_rng(0))))
    clustered = percent_agreement(a, b, Resampling(resample_weights(15, 400, np.random.default_rng(0)), labels))
    assert (150, 15) == (clustered.n, clustered.clusters)
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)


def test_one_cluster_has_no_interval():
    draws = resample_weights(1, 50, np.random.default_rng(0))
    found = percent_agreement(np.array([0.0, 1]), np.zeros(2), Resampling(draws, np.array([0, 0])))
    assert (0.5, True, True) == (found.value, np.isnan(found.low), np.isnan(found.high))


def test_no_units_no_agreement_and_no_error():
    a = b = np.empty(0)
    nothing = [percent_agreement(a, b), cohen_kappa(a, b, 2), gwet_ac1(a, b, 2)]
    nothing += [krippendorff_alpha(np.empty((0, 3)), level) for level in LEVELS]
    assert all(np.isnan(found.value) and found.n == 0 for found in nothing)


def test_nominal_intervals_of_95_percent_cover_93_to_97():
    rng = np.random.default_rng(36)
    table = np.array([[0.5, 0.1], [0.15, 0.25]])
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    means = (rows + columns) / 2
    same = np.trace(table)
    truth = [
        1 - (1 - same) / (1 - rows @ columns),
        (same - 2 * means[0] * means[1]) / (1 - 2 * means[0] * means[1]),
        1 - (1 - same) / (2 * means[0] * means[1]),
    ]
    covered = []
    for _ in range(250):
        a, b = np.divmod(rng.choice(4, size=200, p=table.ravel()), 2)
        draws = Resampling(resample_weights(200, 300, rng))
        found = [
            cohen_kappa(a, b, 2, resampling=draws),
            gwet_ac1(a, b, 2, resampling=draws),
            krippendorff_alpha(np.stack([a, b], axis=1).astype(float), resampling=draws),
        ]
        covered.append([one.low <= true <= one.high for one, true in zip(found, truth, strict=True)])
    assert ((np.mean(covered, axis=0) >= 0.93) & (np.mean(covered, axis=0) <= 0.97)).all()
