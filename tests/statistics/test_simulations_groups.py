"""Nominal is what is delivered: coverage and false alarms of contrasts, correlations and variance shares."""

from __future__ import annotations

import numpy as np
import pytest

from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.contrasts import group_difference
from attunebench.statistics.correlation import correlation_matrix
from attunebench.statistics.variance import variance_components

EXPERIMENTS = 1500
BOUNDED = {"resamples": 600, "permutations": 399}


def covers(found, truth):
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


def alarms(found):
    return float(np.mean(found.p <= 0.05))


def clustered(rng, labels):
    return rng.normal(size=(labels.max() + 1, EXPERIMENTS))[labels] + rng.normal(size=(len(labels), EXPERIMENTS))


@pytest.mark.slow
@pytest.mark.parametrize("spread_inside", [1.0, 3.0])
def test_a_group_difference_covers_95_percent_and_alarms_in_5(spread_inside):
    rng = np.random.default_rng(30)
    inside = np.arange(200) < 60
    values = rng.normal(size=(200, EXPERIMENTS)) * np.where(inside, spread_inside, 1)[:, None]
    found = group_difference(values, inside, rng=rng, **BOUNDED)
    assert 0.93 <= covers(found, 0) <= 0.97
    assert 0.04 <= alarms(found) <= 0.06


@pytest.mark.slow
def test_a_difference_as_large_as_the_detectable_one_is_found_in_80_percent():
    rng = np.random.default_rng(32)
    inside = np.arange(200) < 70
    planted = 2.8016 * np.sqrt(1 / 70 + 1 / 130)
    values = rng.normal(size=(200, EXPERIMENTS)) + planted * inside[:, None]
    found = group_difference(values, inside, rng=rng, **BOUNDED)
    assert pytest.approx(planted, rel=0.02) == float(found.mde.mean())
    assert pytest.approx(0.8, abs=0.03) == float(np.mean(found.p <= 0.05))


@pytest.mark.slow
@pytest.mark.parametrize("straddling", [False, True])
def test_clustered_contrasts_cover_and_alarm_as_they_say_where_plain_ones_do_not(straddling):
    rng = np.random.default_rng(33)
    labels = np.repeat(np.arange(100), 2)
    inside = rng.random(200) < 0.3 if straddling else labels < 40
    values = clustered(rng, labels)
    if straddling:
        values *= np.where(inside, 2, 1)[:, None]
    found = group_difference(values, inside, clusters=labels, rng=rng, **BOUNDED)
    assert 0.93 <= covers(found, 0) <= 0.97
    assert 0.04 <= alarms(found) <= 0.06
    if not straddling:
        assert alarms(group_difference(values, inside, rng=rng, **BOUNDED)) > 0.08


@pytest.mark.slow
def test_correlations_over_many_models_are_covered():
    rng = np.random.default_rng(34)
    planted = np.array([[1, 0.6, 0], [0.6, 1, 0], [0, 0, 1]])
    truth = 6 / np.pi * np.arcsin(planted / 2)
    covered = []
    for _ in range(100):
        skills = rng.multivariate_normal(np.zeros(3), planted, size=40).T
        noise = rng.normal(0, 0.5, size=(3, 200, 40)) + rng.normal(size=(3, 200, 1))
        found = correlation_matrix(skills[:, None, :] + noise, Resampling(resample_weights(200, 200, rng)), rng=rng)
        covered.append(((found.low <= truth) & (truth <= found.high))[np.triu_indices(3, 1)])
    assert 0.93 <= float(np.mean(covered)) <= 0.97


@pytest.mark.slow
def test_shares_of_variance_are_covered():
    rng = np.random.default_rng(36)
    models = rng.normal(0, 0.1, 11)
    truth = np.array([0.09, models.var(ddof=1), 0.04])
    truth = truth / truth.sum()
    covered = []
    for _ in range(200):
        values = rng.normal(0, 0.3, (200, 1)) + models + rng.normal(0, 0.2, (200, 11))
        found = variance_components(values, Resampling(resample_weights(200, 200, rng)))
        parts = (found.conversation, found.model, found.residual)
        covered.append([part.low <= share <= part.high for part, share in zip(parts, truth, strict=True)])
    assert (np.mean(covered, axis=0) >= 0.92).all()
    assert 0.93 <= float(np.mean(covered)) <= 0.97
