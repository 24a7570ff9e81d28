"""Split halves and what they correct: planted reliabilities are found, and nothing is made of rankings without any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.statistics.correlation import disattenuated, split_half, stepped_up


def rankings(spread, *, conversations=200, models=120, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.3, size=(conversations, 1))
    return shared + rng.normal(0, spread, models) + rng.normal(0, noise, size=(conversations, models))


@pytest.mark.parametrize("spread", [0.05, 0.1])
def test_a_planted_reliability_is_found(spread):
    true = spread**2 / (spread**2 + 0.5**2 / 200)
    found = [
        split_half(rankings(spread, seed=seed), rng=np.random.default_rng(seed), splits=20).reliability
        for seed in range(20)
    ]
    assert pytest.approx(true, abs=0.06) == float(np.mean(found))


def test_models_that_differ_in_everything_are_ranked_the_same_by_any_half():
    values = np.tile(np.arange(8.0), (20, 1))
    found = split_half(values, rng=np.random.default_rng(0), splits=50)
    assert (1, 1, 1, 1) == (found.reliability, found.low, found.high, found.half)
    assert (20, 8) == (found.n, found.models)


def test_a_ranking_of_tied_models_has_no_reliability():
    found = split_half(np.full((20, 8), 0.5), rng=np.random.default_rng(0), splits=50)
    assert np.isnan([found.reliability, found.low, found.high, found.half]).all()


@pytest.mark.parametrize("shape", [(1, 5), (9, 1)])
def test_one_conversation_or_one_model_has_no_halves(shape):
    found = split_half(np.ones(shape), rng=np.random.default_rng(0))
    assert np.isnan(found.reliability)
    assert shape == (found.n, found.models)


def test_conversations_and_models_without_values_do_not_count():
    values = rankings(0.1, conversations=30, models=6)
    wide = np.full((40, 7), np.nan)
    wide[:30, :6] = values
    found = split_half(wide, rng=np.random.default_rng(0), splits=50)
    assert (30, 6) == (found.n, found.models)
    assert split_half(values, rng=np.random.default_rng(0), splits=50).reliability == found.reliability


def test_persons_in_both_halves_would_make_them_agree():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 10)
    values = rng.normal(size=(20, 60))[labels] + rng.normal(0, 0.3, size=(200, 60))
    plain = split_half(values, rng=np.random.default_rng(1), splits=100)
    whole = split_half(values, rng=np.random.default_rng(1), splits=100, clusters=labels)
    assert plain.reliability > 0.8
    assert abs(whole.reliability) < 0.4


@settings(max_examples=30)
@given(st.floats(-1, 1))
def test_stepping_up_keeps_sign_and_bounds(half):
    found = float(stepped_up(half))
    assert abs(half) - 1e-12 <= abs(found) <= 1
    assert half * found >= 0


def test_stepping_up_is_the_formula_of_spearman_and_brown():
    assert pytest.approx(2 / 3) == float(stepped_up(0.5))


def test_disattenuation_divides_by_the_reliabilities_and_stays_a_correlation():
    found = disattenuated([0.4, 0.9, -0.9], [0.8, 0.7, 0.5], [0.5, 0.7, 0.5])
    assert pytest.approx([0.4 / np.sqrt(0.4), 1, -1]) == found.tolist()


@pytest.mark.parametrize("reliability", [0.0, -0.3, float("nan")])
def test_a_ranking_without_reliability_has_nothing_to_correct(reliability):
    assert np.isnan(disattenuated(0.4, reliability, 0.9))
    assert np.isnan(disattenuated(0.4, 0.9, reliability))
