"""What intervals, tests and corrections of comparisons promise, held against data whose truth is known.

Every column is an experiment of its own; many experiments share the resamples and flips of one call, which changes no
expectation. Seeds are fixed, so these are examples and not chance.
"""

from __future__ import annotations

import numpy as np
import pytest
from bca import bca_of_means

from attunebench.statistics import intervals
from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.multiple import adjust, max_t, minimum_detectable_effect
from attunebench.statistics.paired import paired_tests
from attunebench.statistics.ranks import rank_stability, tiers

CONVERSATIONS = 200
MODELS = 5
PAIRS = np.triu_indices(MODELS, 1)
B = 399


def coverage(truth, low, high):
    return float(np.mean((low <= truth) & (truth <= high)))


def experiments(rng, count, effect=0.0, rows=CONVERSATIONS):
    """Two models' scores (rows, count each): both find the same conversations hard, and differ by `effect`."""
    difficulty = rng.normal(0.6, 0.15, (rows, count))
    return difficulty + effect + rng.normal(0, 0.1, (rows, count)), difficulty + rng.normal(0, 0.1, (rows, count))


def clustered(rng, count, effect=0.0, people=80):
    """As `experiments`, with 1 to 4 conversations of each person, on whom the difference depends (ICC 1/2)."""
    labels = np.repeat(np.arange(people), np.arange(people) % 4 + 1)
    a, b = experiments(rng, count, effect, rows=len(labels))
    return a + rng.normal(0, np.sqrt(0.02), (people, count))[labels], b, labels


def families(rng, count, means):
    """Scores (rows, count, models) of models that share half of their variance and have these true means."""
    shared = rng.normal(0, 0.1, (CONVERSATIONS, count, 1))
    return np.asarray(means) + shared + rng.normal(0, 0.1, (CONVERSATIONS, count, len(means)))


def families_tested(seed, count, means):
    """Paired tests of all pairs: raw p (count, pairs), and Holm's, BH's and max-T's."""
    rng = np.random.default_rng(seed)
    scores = families(rng, count, means)
    sides = (scores[:, :, side].reshape(CONVERSATIONS, -1) for side in PAIRS)
    found = paired_tests(*sides, rng=rng, resamples=2, permutations=B)
    p, observed, null = (part.reshape(*part.shape[:-1], count, -1) for part in (found.p, found.observed, found.null))
    corrected = {method: np.array([adjust(row, method) for row in p]) for method in ("holm", "bh")}
    corrected["maxt"] = np.array([max_t(observed[i], null[:, i]) for i in range(count)])
    return scores, p, corrected


@pytest.fixture(scope="module")
def all_equal():
    return families_tested(1, 800, np.full(MODELS, 0.6))


@pytest.fixture(scope="module")
def one_better():
    """The last model is ahead of four equal ones by about what four in five tests find."""
    return families_tested(2, 800, [0.6, 0.6, 0.6, 0.6, 0.629])


def test_paired_intervals_cover_93_to_97_percent_at_n_200():
    rng = np.random.default_rng(10)
    found = paired_tests(*experiments(rng, 1500, 0.03), rng=rng, resamples=B, permutations=1)
    assert 0.93 <= coverage(0.03, found.low, found.high) <= 0.97


def test_clustered_paired_intervals_cover_where_plain_ones_are_too_narrow():
    rng = np.random.default_rng(11)
    a, b, labels = clustered(rng, 1500, 0.03)
    assert 200 == len(labels)
    kept = paired_tests(a, b, rng=rng, resamples=B, permutations=1, clusters=labels)
    plain = paired_tests(a, b, rng=rng, resamples=B, permutations=1)
    assert 0.93 <= coverage(0.03, kept.low, kept.high) <= 0.97
    assert coverage(0.03, plain.low, plain.high) < 0.9


def test_bca_intervals_cover_93_to_97_percent_at_n_200_and_where_values_are_skewed():
    rng = np.random.default_rng(12)
    near_normal = bca_of_means(rng.normal(0.6, 0.1, (CONVERSATIONS, 1000)), rng=rng, resamples=B)
    skewed = bca_of_means(rng.gamma(1, 1, (CONVERSATIONS, 1000)), rng=rng, resamples=B)
    assert not near_normal.fell_back.any()
    assert 0.93 <= coverage(0.6, near_normal.low, near_normal.high) <= 0.97
    assert 0.93 <= coverage(1.0, skewed.low, skewed.high) <= 0.97


def test_clustered_bca_intervals_cover():
    rng = np.random.default_rng(13)
    a, b, labels = clustered(rng, 1000, 0.03)
    found = bca_of_means(a - b, rng=rng, resamples=B, clusters=labels)
    assert 0.93 <= coverage(0.03, found.low, found.high) <= 0.97


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_wilson_intervals_cover_93_to_97_percent_at_n_200(share):
    low, high = intervals.wilson_interval(np.random.default_rng(14).binomial(200, share, 20_000), 200)
    assert 0.93 <= coverage(share, low, high) <= 0.97


def test_wilson_intervals_of_20_cover_93_to_97_percent_over_all_shares():
    rng = np.random.default_rng(14)
    share = rng.random(20_000)
    assert 0.93 <= coverage(share, *intervals.wilson_interval(rng.binomial(20, share), 20)) <= 0.97


def test_percentile_intervals_of_the_flagged_columns_cover_too_little():
    rng = np.random.default_rng(15)
    values = np.where(rng.random((CONVERSATIONS, 1500)) < 0.03, rng.uniform(0.2, 1, (CONVERSATIONS, 1500)), 0.0)
    found = paired_tests(values, np.zeros_like(values), rng=rng, resamples=B, permutations=1)
    assert intervals.zero_inflated(values).all()
    assert coverage(0.03 * 0.6, found.low, found.high) < 0.935


def test_sign_flips_reject_a_true_null_in_4_to_6_percent():
    rng = np.random.default_rng(16)
    found = paired_tests(*experiments(rng, 3000), rng=rng, resamples=2, permutations=B)
    assert 0.04 <= float(np.mean(found.p <= 0.05)) <= 0.06


def test_sign_flips_reject_a_true_null_in_4_to_6_percent_of_small_samples_too():
    rng = np.random.default_rng(17)
    found = paired_tests(*experiments(rng, 3000, rows=12), rng=rng, resamples=2, permutations=B)
    assert 0.04 <= float(np.mean(found.p <= 0.05)) <= 0.06


def test_clustered_sign_flips_reject_a_true_null_in_4_to_6_percent_where_plain_ones_reject_too_often():
    rng = np.random.default_rng(18)
    a, b, labels = clustered(rng, 3000)
    kept = paired_tests(a, b, rng=rng, resamples=2, permutations=B, clusters=labels)
    plain = paired_tests(a, b, rng=rng, resamples=2, permutations=B)
    assert 0.04 <= float(np.mean(kept.p <= 0.05)) <= 0.06
    assert float(np.mean(plain.p <= 0.05)) > 0.1


def test_an_effect_of_the_minimum_detectable_size_is_found_four_times_in_five():
    rng = np.random.default_rng(19)
    effect = float(minimum_detectable_effect(np.sqrt(0.02 / CONVERSATIONS)))
    found = paired_tests(*experiments(rng, 1500, effect), rng=rng, resamples=2, permutations=B)
    assert effect == pytest.approx(float(found.mde.mean()), rel=0.01)
    assert 0.77 <= float(np.mean(found.p <= 0.05)) <= 0.83


def test_the_clustered_minimum_detectable_effect_is_found_four_times_in_five():
    rng = np.random.default_rng(20)
    a, b, labels = clustered(rng, 1500)
    effect = float(paired_tests(a, b, rng=rng, resamples=2, permutations=2, clusters=labels).mde.mean())
    found = paired_tests(a + effect, b, rng=rng, resamples=2, permutations=B, clusters=labels)
    assert 0.76 <= float(np.mean(found.p <= 0.05)) <= 0.84


@pytest.mark.parametrize("method", ["holm", "maxt"])
def test_a_false_claim_among_equal_models_is_made_in_at_most_6_percent_of_families(all_equal, method):
    _, raw, corrected = all_equal
    assert float((raw <= 0.05).any(axis=1).mean()) > 0.2
    assert float((corrected[method] <= 0.05).any(axis=1).mean()) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("method", ["holm", "maxt"])
def test_a_false_claim_beside_true_ones_is_made_in_at_most_6_percent_of_families(one_better, method):
    true_null = PAIRS[1] < MODELS - 1
    claims = one_better[2][method] <= 0.05
    assert float(claims[:, true_null].any(axis=1).mean()) <= 0.06
    assert float(claims[:, ~true_null].mean()) > 0.4


def test_max_t_is_not_blunter_than_holm(all_equal, one_better):
    for _, _, corrected in (all_equal, one_better):
        assert (corrected["maxt"] <= 0.05).sum() >= (corrected["holm"] <= 0.05).sum()


def test_of_the_claims_that_bh_makes_at_most_one_in_twenty_is_false(one_better):
    claims = one_better[2]["bh"] <= 0.05
    false = claims[:, PAIRS[1] < MODELS - 1].sum(axis=1)
    assert float((false / np.maximum(claims.sum(axis=1), 1)).mean()) <= 0.05


def made_tiers(scores, p):
    found = []
    for means, row in zip(scores.mean(axis=0), p, strict=True):
        told_apart = np.zeros((MODELS, MODELS), dtype=bool)
        told_apart[PAIRS] = row <= 0.05
        found.append(tiers(means, told_apart | told_apart.T))
    return found


def test_equal_models_stay_in_one_tier_in_94_percent(all_equal):
    scores, _, corrected = all_equal
    for method in ("holm", "maxt"):
        assert np.mean([len(found) > 1 for found in made_tiers(scores, corrected[method])]) <= 0.06


def test_a_model_far_ahead_stands_in_a_tier_of_its_own():
    scores, _, corrected = families_tested(3, 200, [0.6, 0.6, 0.6, 0.6, 0.7])
    found = made_tiers(scores, corrected["holm"])
    assert np.mean([alone[0] == [MODELS - 1] for alone in found]) > 0.99


def test_rank_intervals_hold_the_true_rank():
    """Of six models a standard error apart from each other; intervals of ranks are wide rather than narrow."""
    rng = np.random.default_rng(21)
    gap = np.sqrt(0.02 / CONVERSATIONS)
    scores = families(rng, 200, 0.6 - gap * np.arange(6))
    weights = resample_weights(CONVERSATIONS, 200, rng)
    found = [rank_stability(scores[:, i], Resampling(weights)) for i in range(200)]
    held = np.mean([(f.low <= np.arange(1, 7)) & (f.high >= np.arange(1, 7)) for f in found], axis=0)
    assert held.min() >= 0.93


def test_the_chance_to_be_above_is_no_certainty_where_models_are_equal():
    """Between two equal models P(A above B) is spread evenly over 0 to 1, as a p is."""
    rng = np.random.default_rng(22)
    scores = families(rng, 400, [0.6, 0.6])
    weights = resample_weights(CONVERSATIONS, 300, rng)
    above = np.array([rank_stability(scores[:, i], Resampling(weights)).p_above[0, 1] for i in range(400)])
    assert 0.5 == pytest.approx(above.mean(), abs=0.05)
    assert 0.05 == pytest.approx(np.mean((above < 0.025) | (above > 0.975)), abs=0.025)
