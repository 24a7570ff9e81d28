"""Tiers and places: a planted order is found, equals share a tier, references and gaps do no harm."""

from __future__ import annotations

import numpy as np
import pytest
from plain_scores import plain_scores
from planted import Plan, Skill, planted_scores

from attunebench.analyses.base import Settings
from attunebench.comparison import Ranking, tiers_of, weight_effects
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

QUICK = Settings(resamples=1_000)
METRIC = "pairwise_accuracy"


def graded(
    means: dict[str, float], *, count: int = 60, seed: int = 0, metric: str = METRIC, sd: float = 0.1
) -> ScoreTable:
    rng = np.random.default_rng(seed)
    hard = 0.2 * rng.standard_normal(count)
    return score_table(
        plain_scores({name: {metric: mean + hard + sd * rng.standard_normal(count)} for name, mean in means.items()})
    )


def labels(ranking: Ranking) -> list[list[str]]:
    return [sorted(ranking.groups[i].label for i in tier) for tier in ranking.tiers]


def test_a_planted_order_is_found_and_equals_share_a_tier() -> None:
    study = graded({"a": 0.5, "b": 0.8, "c": 0.5, "d": 0.8, "e": 0.2})
    ranking = tiers_of(study, METRIC, QUICK)
    assert [["b", "d"], ["a", "c"], ["e"]] == labels(ranking)
    assert [2, 1, 2, 1, 3] == ranking.tier.tolist()


def test_models_without_a_difference_are_one_tier() -> None:
    study = graded(dict.fromkeys("abcdef", 0.5))
    assert [list("abcdef")] == labels(tiers_of(study, METRIC, QUICK))


def test_a_real_pipeline_finds_the_order_in_which_skills_were_planted() -> None:
    skills = {name: Skill(om=x, hp=x, pairwise=x) for name, x in (("good", 0.95), ("fair", 0.8), ("poor", 0.6))}
    study = score_table(planted_scores(skills, Plan(conversations=25, turns=2), resamples=10))
    assert [["good"], ["fair"], ["poor"]] == labels(tiers_of(study, "evaluation_quality", QUICK))


def test_lower_is_better_where_the_metric_says_so() -> None:
    study = graded({"alarmed": 0.8, "calm": 0.1}, metric="neutral_false_alarm")
    ranking = tiers_of(study, "neutral_false_alarm", QUICK)
    assert [["calm"], ["alarmed"]] == labels(ranking)
    assert [2.0, 1.0] == ranking.stability.rank.tolist()
    assert "calm" == ranking.groups[ranking.order[0]].label


def test_places_are_over_the_conversations_that_all_have() -> None:
    hard = np.repeat([0.0, 0.5], 30)
    jitter = np.random.default_rng(5).normal(0, 0.05, (60, 2))
    whole, picky = hard + 0.05 + jitter[:, 0], np.where(hard > 0, hard + jitter[:, 1], np.nan)
    ranking = tiers_of(score_table(plain_scores({"whole": {METRIC: whole}, "picky": {METRIC: picky}})), METRIC, QUICK)
    first = ranking.groups[ranking.order[0]].label
    assert ("whole", 30) == (first, len(ranking.conversations))
    assert [30, 30] == ranking.n.tolist()


def test_without_a_shared_conversation_nobody_has_a_place() -> None:
    half = np.arange(60) < 30
    one, other = np.where(half, 0.5, np.nan), np.where(half, np.nan, 0.5)
    ranking = tiers_of(score_table(plain_scores({"a": {METRIC: one}, "b": {METRIC: other}})), METRIC, QUICK)
    assert () == ranking.tiers
    assert np.isnan(ranking.stability.rank).all()


def test_a_model_without_the_metric_is_in_no_tier() -> None:
    rng = np.random.default_rng(6)
    values = {"a": {METRIC: rng.random(30)}, "b": {METRIC: rng.random(30)}, "c": {"emotion_f1": rng.random(30)}}
    ranking = tiers_of(score_table(plain_scores(values)), METRIC, QUICK)
    assert [["a", "b"]] == labels(ranking)
    assert np.isnan(ranking.tier[2])


def test_under_twenty_conversations_nothing_is_claimed() -> None:
    ranking = tiers_of(graded({"a": 0.9, "b": 0.1}, count=12), METRIC, QUICK)
    assert ranking.small
    assert 1 == len(ranking.tiers)


def test_chances_of_places_sum_to_one() -> None:
    stability = tiers_of(graded(dict.fromkeys("abcd", 0.5)), METRIC, QUICK).stability
    assert pytest.approx(1) == stability.p_best.sum()
    assert pytest.approx(1) == stability.p_above[0, 1] + stability.p_above[1, 0]


# Weights


def test_a_model_that_leads_in_every_pillar_leads_under_any_weights() -> None:
    rng = np.random.default_rng(8)
    noise = [{pillar: 0.01 * rng.standard_normal(30) for pillar in PILLAR_WEIGHTS} for _ in range(2)]
    better, worse = ({k: base + v for k, v in n.items()} for n, base in zip(noise, (0.8, 0.4), strict=True))
    found = weight_effects(score_table(plain_scores({"better": better, "worse": worse})), QUICK)
    assert [1.0, 0.0] == found.uniform.p_best.tolist()
    assert [1.0, 2.0] == found.rank.tolist()


def test_a_model_that_leads_in_one_pillar_alone_leads_under_some_weights() -> None:
    flat = {pillar: np.full(30, 0.5) for pillar in PILLAR_WEIGHTS}
    keen = flat | {"emotion_tracking": np.full(30, 0.8), "evaluation_quality": np.full(30, 0.4)}
    found = weight_effects(score_table(plain_scores({"flat": flat, "keen": keen})), QUICK)
    assert 0.5 < found.uniform.p_best[1] < 0.9


def test_the_span_of_models_leaves_out_the_oracle() -> None:
    slope = np.linspace(0, 0.01, 60)
    means = {"one": 0.5, "other": 0.25, "baseline/oracle": 0.99}
    study = score_table(plain_scores({name: {METRIC: mean + slope} for name, mean in means.items()}))
    said = tiers_of(study, METRIC, QUICK).sentence()
    assert "2 models" in said
    assert "0.250" in said
