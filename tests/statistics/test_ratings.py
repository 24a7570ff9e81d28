"""Bradley-Terry ratings: those of choix and of logistic regression, and never a number where there is none."""

from __future__ import annotations

from itertools import combinations

import choix
import numpy as np
import pytest
import statsmodels.api as statsmodels
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attunebench.errors import StatisticsError
from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.ratings import bradley_terry, elo, refit, resampled_ratings, win_matrix

WINS = arrays.arrays(np.float64, (5, 5), elements=st.integers(0, 20).map(float)).map(
    lambda wins: wins * (1 - np.eye(5))
)


def contests(rng, theta, gamma, *, conversations=300):
    """Per conversation every pair once, in a random order: wins, and the wins from the first slot."""
    models = len(theta)
    wins, slot = np.zeros((2, conversations, models, models))
    for i in range(models):
        for j in range(i):
            first = rng.random(conversations) < 0.5
            chance = 1 / (1 + np.exp(-(theta[i] - theta[j] + np.where(first, gamma, -gamma))))
            won = rng.random(conversations) < chance
            wins[:, i, j], wins[:, j, i] = won, ~won
            slot[:, i, j], slot[:, j, i] = won & first, ~won & ~first
    return wins, slot


def test_higher_wins_and_ties_are_shared():
    values = np.array([[0.5, 0.2, 0.1 + 0.2, np.nan], [0.3, 0.3, 0.3, 0.3]])
    found = win_matrix(values)
    assert [[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]] == found[0].tolist()
    assert (0.5 * (1 - np.eye(4)) == found[1]).all()
    assert 0.5 == win_matrix(np.array([[0.3, 0.1 + 0.2]]))[0, 0, 1]


@settings(max_examples=30)
@given(arrays.arrays(np.float64, (6, 4), elements=st.integers(0, 5).map(float)))
def test_each_comparison_is_shared_out_whole(values):
    found = win_matrix(values)
    assert (found + found.swapaxes(1, 2) == 1 - np.eye(4)).all()


@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_ratings_are_those_of_choix(ridge):
    wins = np.random.default_rng(0).integers(0, 9, size=(6, 6)) * (1.0 - np.eye(6))
    games = [(i, j) for i in range(6) for j in range(6) for _ in range(int(wins[i, j]))]
    # choix leaves the ½ of the penalty out.
    expected = choix.opt_pairwise(6, games, alpha=ridge / 2, tol=1e-12)
    assert pytest.approx(expected, abs=1e-7) == bradley_terry(wins, ridge=ridge).theta.tolist()


def test_without_penalty_they_are_a_logistic_regression_with_the_slot_in_it():
    wins, slot = (part.sum(axis=0) for part in contests(np.random.default_rng(1), np.linspace(-1, 1, 4), 0.5))
    rows, outcomes = [], []
    for i in range(4):
        for j in range(4):
            for count, sign in ((slot[i, j], 1), (wins[i, j] - slot[i, j], -1)):
                row = np.zeros(5)
                row[i], row[j], row[4] = 1, -1, sign
                # Seen from whoever stood first, since a regression of sure wins has no solution.
                rows += [sign * row] * int(count)
                outcomes += [(1 + sign) / 2] * int(count)
    table = np.array(rows)
    fit = statsmodels.Logit(outcomes, table[:, 1:]).fit(disp=False)
    found = bradley_terry(wins, slot=slot, ridge=0.0)
    expected = np.append(0, fit.params[:3])
    assert pytest.approx(expected - expected.mean(), abs=1e-6) == found.theta
    assert pytest.approx(fit.params[3], abs=1e-6) == found.gamma


@settings(max_examples=40)
@given(WINS, st.permutations(range(5)))
def test_turned_results_turn_ratings_and_names_do_not_matter(wins, order):
    found, turned = bradley_terry(wins), bradley_terry(wins.T)
    renamed = bradley_terry(wins[np.ix_(order, order)])
    assert np.allclose(found.theta, -turned.theta, atol=1e-7, equal_nan=True)
    assert np.allclose(found.theta[order], renamed.theta, atol=1e-7, equal_nan=True)
    assert pytest.approx(0, abs=1e-7) == np.nansum(found.theta)


@settings(max_examples=30)
@given(WINS, st.integers(0, 4), st.integers(0, 4))
def test_another_win_never_lowers_a_rating(wins, winner, loser):
    if winner == loser or not (wins.sum(axis=0) + wins.sum(axis=1)).all():
        return
    more = wins.copy()
    more[winner, loser] += 1
    assert bradley_terry(more).theta[winner] >= bradley_terry(wins).theta[winner] - 1e-9


def test_400_points_are_odds_of_ten_to_one():
    assert [1000, 1400] == pytest.approx(elo([0, np.log(10)]).tolist())
    found = bradley_terry(np.array([[0, 1000.0], [100, 0]]), ridge=0.0)
    assert pytest.approx(400) == found.elo[0] - found.elo[1]
    assert [1100, 1100] == found.n.tolist()
    assert np.isnan([found.gamma, found.low[0], found.high[0]]).all()


def test_a_model_that_wins_everything_has_a_rating_with_the_penalty_and_an_error_without():
    wins = np.array([[0, 9.0, 9], [0, 0, 5], [0, 4, 0]])
    assert 1000 < bradley_terry(wins).elo[0] < 3000
    with pytest.raises(StatisticsError, match=r"3 models did not converge with ridge 0.*ridge above 0"):
        bradley_terry(wins, ridge=0.0)


def test_groups_that_never_met_are_told_apart_and_a_model_that_never_played_has_no_rating():
    wins = np.zeros((5, 5))
    wins[0, 1], wins[1, 0], wins[2, 3] = 3, 1, 2
    found = bradley_terry(wins)
    assert [0, 0, 1, 1, 2] == found.group.tolist()
    assert [True] == np.isnan(found.theta[4:]).tolist()
    assert [4, 4, 2, 2, 0] == found.n.tolist()
    assert pytest.approx([0, 0]) == [found.theta[:2].sum(), found.theta[2:4].sum()]


def test_a_resample_is_the_fit_of_the_conversations_drawn():
    wins = win_matrix(np.random.default_rng(2).normal(size=(12, 4)))
    weights = resample_weights(12, 2, np.random.default_rng(0))
    found = resampled_ratings(wins, Resampling(weights))
    fits = [bradley_terry((drawn[:, None, None] * wins).sum(axis=0)).elo for drawn in weights]
    low, high = np.quantile(fits, [0.025, 0.975], axis=0)
    assert pytest.approx(low) == found.low
    assert pytest.approx(high) == found.high
    assert pytest.approx(bradley_terry(wins.sum(axis=0)).elo) == found.elo


def test_clusters_are_resampled_whole_and_one_alone_has_no_interval():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(20), 10)
    values = rng.normal(size=(20, 4))[labels] + rng.normal(0, 0.3, size=(200, 4))
    wins = win_matrix(values)
    plain = resampled_ratings(wins, Resampling(resample_weights(200, 200, np.random.default_rng(0))))
    clustered = resampled_ratings(wins, Resampling(resample_weights(20, 200, np.random.default_rng(0)), labels))
    assert (clustered.high - clustered.low > 1.5 * (plain.high - plain.low)).all()
    weights = resample_weights(1, 50, np.random.default_rng(0))
    assert np.isnan(resampled_ratings(wins, Resampling(weights, np.zeros(200, dtype=np.intp))).low).all()


def test_planted_ratings_and_the_slot_are_recovered():
    rng = np.random.default_rng(4)
    theta = np.linspace(-1, 1, 4)
    found, covered = [], []
    for _ in range(100):
        wins, slot = contests(rng, theta, 0.6, conversations=200)
        rated = resampled_ratings(wins, Resampling(resample_weights(200, 250, rng)), slot=slot)
        found.append([*rated.theta, rated.gamma])
        inside = (rated.low <= elo(theta)) & (elo(theta) <= rated.high)
        covered.append(inside)
    assert pytest.approx([*theta, 0.6], abs=0.04) == np.mean(found, axis=0).tolist()
    assert 0.92 <= np.mean(covered) <= 0.975


@pytest.mark.parametrize("conversations", [0, 3])
def test_without_comparisons_there_are_no_ratings_and_no_error(conversations):
    weights = resample_weights(3, 10, np.random.default_rng(0))
    found = resampled_ratings(win_matrix(np.full((conversations, 3), np.nan)), Resampling(weights))
    assert np.isnan([found.theta, found.elo, found.low, found.high]).all()
    assert [0, 0, 0] == found.n.tolist()


def test_ties_by_davidson_are_those_of_a_log_linear_model():
    # Fienberg and Larntz 1976: it is a Poisson regression of the counts of win, tie and loss of each pair.
    rng = np.random.default_rng(5)
    rows, counts, wins, ties = [], [], np.zeros((4, 4)), 0
    for pair, (i, j) in enumerate(combinations(range(4), 2)):
        won, lost, tied = rng.integers(5, 40, size=3)
        wins[i, j], wins[j, i], ties = won + tied / 2, lost + tied / 2, ties + tied
        for side, count in ((0.5, won), (-0.5, lost), (0.0, tied)):
            row = np.zeros(4 + 1 + 6)
            row[i], row[j], row[4], row[5 + pair] = side, -side, side == 0, 1
            rows.append(row[1:])
            counts.append(count)
    family = statsmodels.families.Poisson()
    expected = statsmodels.GLM(counts, np.array(rows), family=family).fit(tol=1e-12).params
    found = bradley_terry(wins, ties=float(ties), ridge=0.0)
    theta = np.append(0, expected[:3])
    assert pytest.approx(theta - theta.mean(), abs=1e-6) == found.theta
    assert pytest.approx(np.exp(expected[3]), abs=1e-6) == found.nu


def test_without_ties_davidson_is_bradley_and_terry():
    wins, slot = (part.sum(axis=0) for part in contests(np.random.default_rng(1), np.linspace(-1, 1, 4), 0.5))
    plain, tied = bradley_terry(wins, slot=slot), bradley_terry(wins, slot=slot, ties=0.0)
    assert pytest.approx(plain.theta, abs=0.01) == tied.theta
    assert pytest.approx(plain.gamma, abs=0.01) == tied.gamma
    assert tied.nu < 0.01


def test_refitting_many_tables_is_fitting_each():
    rng = np.random.default_rng(6)
    wins = rng.integers(1, 9, size=(3, 4, 4)) * (1.0 - np.eye(4))
    wins[2, 3] = wins[2, :, 3] = 0
    ties, slot = wins.sum(axis=(1, 2)) / 5, wins * 0.3
    fits = refit(bradley_terry(wins[0], slot=slot[0], ties=ties[0]), wins, slot=slot, ties=ties)
    for fit, *one in zip(fits, wins, slot, ties, strict=True):
        alone = bradley_terry(one[0], slot=one[1], ties=one[2])
        assert pytest.approx([*alone.theta, alone.gamma], nan_ok=True, abs=1e-7) == fit
