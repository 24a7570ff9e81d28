"""Distributions: planted difficulty of conversations is told from planted skill of models."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from planted import Place, Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, made, ranked, table_of
from scipy import stats

from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

ONLY_PAIRWISE = replace(QUICK, metrics=("pairwise_accuracy",))


def hard_or_easy(place: Place) -> float:
    """Every other conversation is hard for everybody."""
    return 0.9 if place.index % 2 else 0.5


@cache
def uneven() -> ScoreTable:
    """Four equal models; conversations differ by 0.4 in pairwise."""
    skill = Skill(pairwise=hard_or_easy)
    return score_table(planted_scores(dict.fromkeys("abcd", skill), Plan(conversations=30, turns=4, seed=6)))


def test_planted_difficulty_shows_as_the_conversations_share() -> None:
    analysis = made("distributions", uneven(), ONLY_PAIRWISE)
    share = cell_of(table_of(analysis, "variance"), "Pairwise", "conversation")
    noise = np.mean([0.9 * 0.1, 0.5 * 0.5]) / 48
    expected = 0.04 / (0.04 + noise)
    assert share.low is not None
    assert share.high is not None
    assert share.low <= expected <= share.high
    assert "conversations account for more on Pairwise" in analysis.shows


def test_planted_skill_shows_as_the_models_share() -> None:
    analysis = made("distributions", ranked(), ONLY_PAIRWISE)
    assert "models account for more on Pairwise" in analysis.shows


def test_shares_sum_to_one() -> None:
    for row in table_of(made("distributions", ranked()), "variance").rows:
        assert pytest.approx(1.0) == sum(float(cell.value or 0) for cell in row[3:6])


def test_quartiles_are_numpys() -> None:
    study = uneven()
    values = study.values("pairwise_accuracy")[:, 0]
    table = table_of(made("distributions", study, ONLY_PAIRWISE), "spread_pairwise_accuracy")
    found = [cell_of(table, "a", name).value for name in ("lowest", "quarter", "median", "three_quarters", "highest")]
    assert pytest.approx(list(np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))) == found
    assert pytest.approx(values.std(ddof=1)) == cell_of(table, "a", "sd").value


def test_a_metric_that_makes_conversations_easy_follows_the_composite() -> None:
    study = uneven()
    cell = cell_of(table_of(made("distributions", study), "difficulty"), "Pairwise", "rho")
    whole, part = (study.values(m).mean(axis=1).round(9) for m in ("composite", "pairwise_accuracy"))
    assert pytest.approx(stats.spearmanr(whole, part).statistic) == cell.value
    assert cell.low is not None
    assert 0 < cell.low


def test_one_model_has_a_distribution_and_no_sources() -> None:
    study = ranked()
    analysis = made("distributions", study.with_groups(study.groups[:1]))
    assert "variance" not in [table.id for table in analysis.tables]
