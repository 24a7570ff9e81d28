"""Logistic regression against a search by scipy, and its one-step resamples against whole refits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from attunebench.statistics.bootstrap import resample_weights
from attunebench.statistics.logistic import bounded_by_ridge, logistic, resampled


@pytest.fixture
def planted():
    """Rows of 60 groups: design, outcome, group."""
    rng = np.random.default_rng(3)
    design = rng.normal(size=(1200, 3)) * (rng.random((1200, 3)) < 0.7)
    outcome = (rng.random(1200) < 1 / (1 + np.exp(-design @ [0.8, -0.4, 0.0]))).astype(float)
    return design, outcome, np.repeat(np.arange(60), 20)


@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_coefficients_have_the_highest_penalised_likelihood(planted, ridge):
    design, outcome, _ = planted

    def loss(beta):
        odds = design @ beta
        return np.logaddexp(0, odds).sum() - outcome @ odds + ridge / 2 * beta @ beta

    found = minimize(loss, np.ones(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert logistic(design, outcome, ridge).beta == pytest.approx(found.x, abs=1e-5)


def test_swapping_the_two_sides_changes_nothing(planted):
    design, outcome, _ = planted
    assert logistic(-design, 1 - outcome).beta == pytest.approx(logistic(design, outcome).beta, abs=1e-9)


def test_a_tie_is_half_a_win_and_half_a_loss(planted):
    design, outcome, _ = planted
    tied = np.where(np.arange(len(outcome)) % 5 == 0, 0.5, outcome)
    split = logistic(np.tile(design, (2, 1)), np.concatenate([np.ceil(tied), np.floor(tied)]), 0.0)
    assert logistic(design, tied, 0.0).beta == pytest.approx(split.beta, abs=1e-8)


def test_one_step_is_close_to_a_whole_refit_of_a_resample(planted):
    design, outcome, group = planted
    weights = resample_weights(60, 50, np.random.default_rng(1)).astype(int)[:, group]
    drawn = resampled(design, outcome, logistic(design, outcome), lambda values: weights @ values)
    refitted = np.array([logistic(np.repeat(design, w, 0), np.repeat(outcome, w)).beta for w in weights])
    assert np.abs(drawn - refitted).max() < 0.5 * refitted.std(axis=0).min()
    assert np.abs(drawn.std(axis=0) / refitted.std(axis=0) - 1).max() < 0.1


def test_what_separates_wins_from_losses_is_bounded_by_the_penalty_alone(planted):
    design, outcome, _ = planted
    certain = np.column_stack([design, 2 * outcome - 1])
    assert [0, 0, 0] == bounded_by_ridge(design, outcome, logistic(design, outcome).beta).tolist()
    assert bounded_by_ridge(certain, outcome, logistic(certain, outcome).beta)[3] == 1
