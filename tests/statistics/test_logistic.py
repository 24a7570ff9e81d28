"""Logistic regression against statsmodels, and its one-step resamples against whole refits."""

import numpy as np
import pytest

from attunebench.statistics.bootstrap import resample_weights
from attunebench.statistics.logistic import bounded_by_ridge, logistic, resampled_derivatives, stepped


@pytest.fixture
def planted():
    """Rows of 60 groups: design, outcome, group."""
    rng = np.random.default_rng(3)
    design = rng.normal(size=(1200, 3)) * (rng.random((1200, 3)) < 0.7)
    outcome = (rng.random(1200) < 1 / (1 + np.exp(-design @ [0.8, -0.4, 0.0]))).astype(float)
    return design, outcome, np.repeat(np.arange(60), 20)


def test_coefficients_are_those_of_statsmodels(planted):
    design, outcome, _ = planted
    glm = pytest.importorskip("statsmodels.api").GLM
    family = pytest.importorskip("statsmodels.api").families.Binomial()
    assert logistic(design, outcome, 0.0) == pytest.approx(glm(outcome, design, family=family).fit().params, abs=1e-8)


def test_swapping_the_two_sides_changes_nothing(planted):
    design, outcome, _ = planted
    assert logistic(-design, 1 - outcome) == pytest.approx(logistic(design, outcome), abs=1e-9)


def test_a_tie_is_half_a_win_and_half_a_loss(planted):
    design, outcome, _ = planted
    tied = np.where(np.arange(len(outcome)) % 5 == 0, 0.5, outcome)
    split = np.concatenate([np.ceil(tied), np.floor(tied)])
    assert logistic(design, tied, 0.0) == pytest.approx(logistic(np.tile(design, (2, 1)), split, 0.0), abs=1e-8)


def test_one_step_is_close_to_a_whole_refit_of_a_resample(planted):
    design, outcome, group = planted
    weights = resample_weights(60, 50, np.random.default_rng(1)).astype(float)[:, group]
    beta = logistic(design, outcome)

    def tally(columns, values, count):
        cells = np.zeros((len(values), count))
        np.add.at(cells, (np.arange(len(values))[:, None], columns), values)
        return weights @ cells

    drawn = stepped(beta, *resampled_derivatives(design, outcome, beta, tally))
    refitted = np.array([logistic(np.repeat(design, w, 0), np.repeat(outcome, w)) for w in weights.astype(int)])
    assert np.abs(drawn - refitted).max() < 0.2 * refitted.std(axis=0).max()


def test_what_separates_wins_from_losses_is_bounded_by_the_penalty_alone(planted):
    design, outcome, _ = planted
    certain = np.column_stack([design, 2 * outcome - 1])
    assert [0, 0, 0] == bounded_by_ridge(design, outcome, logistic(design, outcome)).tolist()
    assert bounded_by_ridge(certain, outcome, logistic(certain, outcome))[3] == 1
