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
from attunebench.statistics.bootstrap import resample_weights

YES_NO = ("yes", "no")
LEVELS = ("nominal", "interval")
SCALE = tuple(range(1, 8))


def answers(table):
    """Two raters' answers from counts: (yes, yes), (yes, no), (no, yes), (no, no)."""
    pairs = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
    both = [pair for pair, count in zip(pairs, table, strict=True) for _ in range(count)]
    return [one for one, _ in both], [other for _, other in both]


def ratings(seed=0, *, units=120, raters=3, gaps=0.2):
    rng = np.random.default_rng(seed)
    table = np.clip(rng.integers(1, 8, (units, 1)) + rng.integers(-1, 2, (units, raters)), 1, 7).astype(float)
    table[rng.random(table.shape) < gaps] = np.nan
    return table


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=30))
def test_kappa_is_that_of_scikit_learn(weights, pairs):
    a, b = zip(*pairs, strict=True)
    found = cohen_kappa(a, b, labels=(1, 2, 3, 4), weights=weights).value
    if len({*a, *b}) == 1:
        assert np.isnan(found)
        return
    assert pytest.approx(cohen_kappa_score(a, b, labels=[1, 2, 3, 4], weights=weights)) == found


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
    assert pytest.approx(-0.0234, abs=5e-5) == cohen_kappa(a, b, labels=YES_NO).value
    assert pytest.approx(0.9408, abs=5e-5) == gwet_ac1(a, b, labels=YES_NO).value


def test_where_nearly_all_say_yes_ac1_stays_and_kappa_collapses():
    balanced, skewed = answers((450, 50, 50, 450)), answers((900, 50, 50, 0))
    assert pytest.approx(0.8) == cohen_kappa(*balanced, labels=YES_NO).value == gwet_ac1(*balanced, labels=YES_NO).value
    assert cohen_kappa(*skewed, labels=YES_NO).value < 0
    assert 0.85 < gwet_ac1(*skewed, labels=YES_NO).value


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=25), st.randoms())
def test_neither_who_is_first_nor_the_order_of_units_and_labels_matters(pairs, random):
    a, b = zip(*pairs, strict=True)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    c, d = zip(*shuffled, strict=True)
    for coefficient in (cohen_kappa, gwet_ac1):
        found = coefficient(a, b, labels="abc").value
        assert pytest.approx(found, nan_ok=True) == coefficient(b, a, labels="abc").value
        assert pytest.approx(found, nan_ok=True) == coefficient(c, d, labels="cab").value


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
    a = ["yes", "no", None, "yes", float("nan")]
    b = ["yes", "no", "no", None, "yes"]
    found = percent_agreement(a, b)
    assert (1, 2) == (found.value, found.n)
    assert 1 == cohen_kappa(a, b, labels=YES_NO).value == gwet_ac1(a, b, labels=YES_NO).value
    table = np.array([[1, 1, np.nan], [2, np.nan, np.nan], [3, 3, 3]])
    assert 2 == krippendorff_alpha(table).n


def test_without_a_unit_in_common_nothing_is_defined():
    found = percent_agreement(["yes", None], [None, "no"])
    assert (True, 0) == (np.isnan(found.value), found.n)
    assert np.isnan(cohen_kappa(["yes", None], [None, "no"], labels=YES_NO).value)
    assert np.isnan(gwet_ac1(["yes", None], [None, "no"], labels=YES_NO).value)


def test_ratings_of_different_length_or_unknown_name_are_refused():
    with pytest.raises(ValueError, match="2 ratings cannot be compared with 1"):
        percent_agreement(["yes", "no"], ["yes"])
    with pytest.raises(ValueError, match="maybe"):
        cohen_kappa(["maybe"], ["yes"], labels=YES_NO)
    with pytest.raises(ValueError, match="two possible labels"):
        gwet_ac1(["yes"], ["yes"], labels=("yes",))


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_resamples_units(level):
    table = ratings(8)
    draws = resample_weights(len(table), 500, np.random.default_rng(0))
    found = krippendorff_alpha(table, level, draws=draws)
    assert found.low < found.value < found.high
    repeated = [krippendorff_alpha(table[np.repeat(np.arange(len(table)), draw)], level).value for draw in draws[:2]]
    two = krippendorff_alpha(table, level, draws=draws[:2])
    assert np.quantile(repeated, [0.025, 0.975]).tolist() == pytest.approx([two.low, two.high])


def test_agreement_that_is_the_same_in_every_resample_has_no_interval():
    draws = resample_weights(6, 200, np.random.default_rng(0))
    found = krippendorff_alpha(np.array([[1.0, 1.0], [2.0, 2.0]] * 3), "interval", draws=draws)
    assert (1.0, True) == (found.value, np.isnan(found.low))


def test_the_interval_resamples_clusters_whole():
    rng = np.random.default_rng(9)
    labels = np.repeat(np.arange(15), 10)
    careful = rng.random(15)[labels]
    a = rng.integers(0, 2, 150)
    b = np.where(rng.random(150) < careful, a, 1 - a)
    plain = percent_agreement(a, b, draws=resample_weights(150, 400, np.random.default_rng(0)))
    clustered = percent_agreement(a, b, draws=resample_weights(15, 400, np.random.default_rng(0)), clusters=labels)
    assert (150, 15) == (clustered.n, clustered.clusters)
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)


def test_one_cluster_has_no_interval():
    draws = resample_weights(1, 50, np.random.default_rng(0))
    found = percent_agreement(["a", "b"], ["a", "a"], draws=draws, clusters=np.array([0, 0]))
    assert (0.5, True, True) == (found.value, np.isnan(found.low), np.isnan(found.high))


def test_no_units_no_agreement_and_no_error():
    nothing = [percent_agreement([], []), cohen_kappa([], [], labels=YES_NO), gwet_ac1([], [], labels=YES_NO)]
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
        draws = resample_weights(200, 300, rng)
        found = [
            cohen_kappa(a, b, labels=(0, 1), draws=draws),
            gwet_ac1(a, b, labels=(0, 1), draws=draws),
            krippendorff_alpha(np.stack([a, b], axis=1).astype(float), draws=draws),
        ]
        covered.append([one.low <= true <= one.high for one, true in zip(found, truth, strict=True)])
    assert ((np.mean(covered, axis=0) >= 0.93) & (np.mean(covered, axis=0) <= 0.97)).all()
