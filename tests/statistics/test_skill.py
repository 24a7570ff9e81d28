"""Skill: what stands at 0 and 1, what is undefined, and that its interval covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.statistics.bootstrap import Resampling, estimate_ratios, mean_as_ratio, resample_weights, skill

N = 40
WEIGHTS = Resampling(resample_weights(N, 400, np.random.default_rng(0)))


def sample(seed=0, columns=3):
    rng = np.random.default_rng(seed)
    return rng.random((N, columns)), rng.random(N) * 0.5


def test_the_baseline_has_no_skill_and_the_ceiling_all_of_it():
    _, baseline = sample()
    found = skill(np.stack([baseline, np.ones(N)], axis=1), baseline, 1.0, WEIGHTS)
    assert [0, 1] == pytest.approx(found.value.tolist())
    assert np.isnan([found.low, found.high]).all()


def test_it_is_a_ratio_of_means():
    scores, baseline = sample()
    ceiling = np.full(N, 0.9)
    expected = (scores.mean(axis=0) - baseline.mean()) / (0.9 - baseline.mean())
    assert expected == pytest.approx(skill(scores, baseline, ceiling, WEIGHTS).value)


@settings(max_examples=30)
@given(st.floats(0.1, 50), st.floats(-10, 10), st.integers(0, 20))
def test_the_scale_of_the_metric_does_not_matter(factor, shift, seed):
    scores, baseline = sample(seed)
    one = skill(scores, baseline, 1.0, WEIGHTS)
    other = skill(scores * factor + shift, baseline * factor + shift, factor + shift, WEIGHTS)
    for field in ("value", "low", "high"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-6, atol=1e-9)


def test_only_rows_in_common_count():
    scores, baseline = sample()
    scores[:5, 0], baseline[30:] = np.nan, np.nan
    found = skill(scores, baseline, 1.0, WEIGHTS)
    assert [25, 30, 30] == found.n.tolist()
    expected = (scores[5:30, 0] - baseline[5:30]).sum() / (1 - baseline[5:30]).sum()
    assert expected == pytest.approx(found.value[0])


def test_a_baseline_at_the_ceiling_leaves_nothing_to_gain():
    scores, _ = sample()
    found = skill(scores, np.ones(N), 1.0, WEIGHTS)
    assert np.isnan([found.value, found.low, found.high]).all()


def test_a_row_at_the_ceiling_for_both_still_counts():
    scores, baseline = sample()
    baseline[:10] = 1.0
    assert N == skill(scores, baseline, 1.0, WEIGHTS).n[0]


def test_one_row_or_one_person_has_no_interval():
    scores, baseline = sample()
    one = np.where(np.arange(N)[:, None] == 3, scores, np.nan)
    found = skill(one, baseline, 1.0, WEIGHTS)
    assert np.isfinite(found.value).all()
    assert np.isnan(found.low).all()
    alone = Resampling(resample_weights(1, 50, np.random.default_rng(0)), np.zeros(N, int))
    person = skill(scores, baseline, 1.0, alone)
    assert np.isnan(person.low).all()


def test_over_a_constant_way_it_is_the_interval_of_the_mean():
    scores, _ = sample()
    mean = estimate_ratios(*mean_as_ratio(scores), WEIGHTS)
    found = skill(scores, np.full(N, 0.2), 1.0, WEIGHTS)
    np.testing.assert_allclose((mean.low - 0.2) / 0.8, found.low)


def test_people_with_one_conversation_each_are_as_conversations():
    scores, baseline = sample()
    plain = skill(scores, baseline, 1.0, WEIGHTS)
    clustered = skill(scores, baseline, 1.0, Resampling(WEIGHTS.weights, np.arange(N)))
    np.testing.assert_allclose(plain.low, clustered.low)


@pytest.mark.slow
@pytest.mark.parametrize("people", [None, 100])
def test_the_interval_covers_the_true_skill(people):
    """Nominal 95 %, 200 conversations, score and baseline correlated, of one person each or of 100 people's pairs."""
    rng = np.random.default_rng(5)
    hits, trials = 0, 150
    for _ in range(trials):
        shared = rng.normal(0, 0.1, 200) if people is None else np.repeat(rng.normal(0, 0.1, people), 2)
        baseline = 0.4 + shared + rng.normal(0, 0.05, 200)
        scores = 0.55 + 0.5 * shared + rng.normal(0, 0.08, 200)
        clusters = None if people is None else np.repeat(np.arange(people), 2)
        weights = resample_weights(people or 200, 200, rng)
        found = skill(scores[:, None], baseline, 1.0, Resampling(weights, clusters))
        hits += found.low[0] <= 0.15 / 0.6 <= found.high[0]
    assert 0.92 <= hits / trials <= 0.98
