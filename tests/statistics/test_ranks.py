"""Ranks, places over resamples, tiers, and the ranking under other weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.ranks import competition_ranks, rank_stability, tiers, weight_sensitivity

MEANS = arrays.arrays(np.float64, st.integers(1, 8), elements=st.integers(0, 5).map(lambda tenths: tenths / 10))
PUBLISHED = (0.24, 0.49, 0.27)


def stability(values, seed=0, resamples=400, clusters=None, **options):
    units = len(values) if clusters is None else int(clusters.max()) + 1
    resampling = Resampling(resample_weights(units, resamples, np.random.default_rng(seed)), clusters)
    return rank_stability(np.asarray(values, float), resampling, **options)


def sensitivity(pillars, weights=PUBLISHED, **options):
    return weight_sensitivity(np.asarray(pillars, float), weights, rng=np.random.default_rng(0), **options)


@settings(max_examples=30)
@given(MEANS)
def test_ranks_are_the_competition_ranks_of_scipy(means):
    assert stats.rankdata(-means, method="min").tolist() == competition_ranks(means).tolist()


def test_undefined_means_have_no_rank_and_push_nobody_down():
    assert [2.0, 1.0] == competition_ranks(np.array([0.1, np.nan, 0.4]))[[0, 2]].tolist()
    assert np.isnan(competition_ranks(np.array([0.1, np.nan, 0.4]))[1])


def test_models_far_apart_keep_their_places_in_every_resample():
    values = np.random.default_rng(0).normal(0, 0.01, size=(50, 3)) + np.array([0.2, 0.9, 0.5])
    found = stability(values)
    assert [3, 1, 2] == found.rank.tolist() == found.low.tolist() == found.high.tolist()
    assert [0, 1, 0] == found.p_best.tolist()
    assert 1 == found.p_above[1, 0]
    assert 0 == found.p_above[0, 1]


def test_where_lower_is_better_the_order_turns():
    values = np.random.default_rng(0).normal(size=(40, 4))
    higher, lower = stability(values), stability(-values, higher_is_better=False)
    assert higher.places.tolist() == lower.places.tolist()
    assert higher.rank.tolist() == lower.rank.tolist()


@settings(max_examples=30)
@given(arrays.arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(1, 5)), elements=st.integers(0, 3)))
def test_places_and_chances_add_up(values):
    found = stability(values, resamples=50)
    models = values.shape[1]
    assert np.ones(models) == pytest.approx(found.places.sum(axis=0))
    assert np.ones(models) == pytest.approx(found.places.sum(axis=1))
    assert 1 == pytest.approx(found.p_best.sum())
    for k in range(models + 1):
        assert k == pytest.approx(found.places[:, :k].sum())
    apart = ~np.eye(models, dtype=bool)
    assert np.isnan(np.diag(found.p_above)).all()
    assert np.ones(apart.sum()) == pytest.approx((found.p_above + found.p_above.T)[apart])
    assert (found.low <= found.high).all()
    assert ((found.low >= 1) & (found.high <= models)).all()


def test_the_same_answers_twice_share_their_places():
    column = np.random.default_rng(1).normal(size=(30, 1))
    found = stability(np.hstack([column, column, column - 9]))
    assert [1, 1, 3] == found.rank.tolist()
    assert [0.5, 0.5, 0] == pytest.approx(found.p_best.tolist())
    assert 0.5 == found.p_above[0, 1]
    assert [(1, 2), (1, 2), (3, 3)] == list(zip(found.low, found.high, strict=True))


def test_a_model_without_values_is_not_ranked():
    values = np.random.default_rng(1).normal(size=(30, 3))
    values[:, 1] = np.nan
    found = stability(values)
    for part in (found.rank, found.low, found.high, found.p_best):
        assert [False, True, False] == np.isnan(part).tolist()
    assert np.isnan(found.p_above[1]).all()
    assert 1 == pytest.approx(found.p_best[0] + found.p_best[2])


def test_ranks_move_more_where_people_and_not_talks_are_drawn():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(10), 20)
    values = rng.normal(size=(10, 5))[labels] + rng.normal(0, 0.1, size=(200, 5)) + np.linspace(0, 1, 5)
    plain, clustered = stability(values), stability(values, clusters=labels)
    assert plain.rank.tolist() == clustered.rank.tolist()
    assert (clustered.high - clustered.low).sum() > 2 * (plain.high - plain.low).sum()


def apart(models, *pairs):
    told = np.zeros((models, models), dtype=bool)
    for a, b in pairs:
        told[a, b] = told[b, a] = True
    return told


def test_a_tier_is_its_best_and_all_that_are_not_told_apart_from_it():
    means = np.array([0.5, 0.9, 0.8, 0.6])
    assert [[1, 2], [3, 0]] == tiers(means, apart(4, (1, 3), (1, 0), (2, 0)))
    assert [[1, 2, 3, 0]] == tiers(means, apart(4))
    assert [[1], [2], [3], [0]] == tiers(means, ~np.eye(4, dtype=bool))


def test_where_lower_is_better_the_lowest_leads():
    assert [[0], [1, 2]] == tiers(np.array([0.1, 0.5, 0.9]), apart(3, (0, 1), (0, 2)), higher_is_better=False)


def test_an_undefined_mean_is_in_no_tier():
    assert [[2, 0]] == tiers(np.array([0.1, np.nan, 0.2]), apart(3))
    assert [] == tiers(np.array([np.nan]), apart(1))


@settings(max_examples=30)
@given(MEANS, st.integers(0, 10_000))
def test_tiers_hold_every_model_once_and_leaders_descend(means, seed):
    told = np.triu(np.random.default_rng(seed).random((len(means), len(means))) < 0.5, 1)
    told = told | told.T
    found = tiers(means, told)
    assert list(range(len(means))) == sorted(model for tier in found for model in tier)
    leaders = [means[tier[0]] for tier in found]
    assert sorted(leaders, reverse=True) == leaders
    assert means.max() == leaders[0]
    assert not any(told[tier[0], model] for tier in found for model in tier)


def test_a_model_that_leads_in_every_pillar_leads_under_every_weight():
    found = sensitivity([[0.9, 0.9, 0.9], [0.5, 0.7, 0.1], [0.1, 0.2, 0.3]])
    for draws in (found.uniform, found.near):
        assert (1, 1, 1, 1) == (draws.keeps[0], draws.best[0], draws.worst[0], draws.p_best[0])
        assert 1 == draws.holds[0, 1] == draws.holds[1, 0]


def test_two_models_that_lead_in_one_pillar_each_share_the_draws():
    found = sensitivity([[1, 0], [0, 1]], (0.5, 0.5), draws=40_000)
    for draws in (found.uniform, found.near):
        assert [0.5, 0.5] == pytest.approx(draws.p_best.tolist(), abs=0.01)
        assert [1, 1] == draws.best.tolist()
        assert [2, 2] == draws.worst.tolist()
        assert np.isnan(draws.holds).all()
    assert [1, 1] == found.rank.tolist()


def test_uniform_weights_are_uniform():
    """With pillars (1, 0, 0) and all 0.25, the first leads where its weight is over a quarter: (3/4)² of the draws."""
    found = sensitivity([[1, 0, 0], [0.25, 0.25, 0.25]], draws=40_000)
    assert (3 / 4) ** 2 == pytest.approx(found.uniform.p_best[0], abs=0.01)


def test_near_weights_move_rankings_less_than_any_weights_do():
    pillars = np.random.default_rng(2).random((8, 3))
    found = sensitivity(pillars, concentration=200)
    assert (found.near.keeps >= found.uniform.keeps).mean() > 0.8
    assert competition_ranks(pillars @ np.array(PUBLISHED)).tolist() == found.rank.tolist()
    assert np.sqrt(0.49 * 0.51 / 201) == pytest.approx(found.spread[1])


def test_a_model_that_lacks_a_pillar_is_not_ranked():
    found = sensitivity([[0.5, np.nan, 0.5], [0.1, 0.1, 0.1], [0.2, 0.2, 0.2]])
    assert np.isnan([found.rank[0], found.uniform.keeps[0], found.near.best[0], found.near.p_best[0]]).all()
    assert np.isnan(found.uniform.holds[0]).all()
    assert [2, 1] == found.rank[1:].tolist()


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.5, 0.5, 0), (1, 1, -1)])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="a weight above 0 for each pillar"):
        sensitivity(np.ones((2, 3)), weights)
