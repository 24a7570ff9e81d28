"""Models that were scored on different conversations: who answered is not taken for how well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import Plan, Skill, planted_scores
from planted_studies import cell_of, made, table_of

from attunebench.analyses import coverage
from attunebench.scores import Scores
from attunebench.scores.loading import score_table

TABLES = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).normal(size=(9, 4)))


@given(TABLES)
def test_without_gaps_the_level_is_the_plain_mean(values: np.ndarray) -> None:
    assert pytest.approx(values.mean(axis=1)) == coverage.level_over_models(values)
    assert coverage.coverage_text(values) == ""


@given(TABLES, st.integers(0, 10**6))
def test_where_model_and_conversation_add_up_gaps_change_no_difference(values: np.ndarray, seed: int) -> None:
    rows, models = values[:, 0], values[:4, 1]
    table = rows[:, None] + models
    gaps = np.random.default_rng(seed).random(table.shape) < 0.4
    gaps[0] = False
    table[gaps] = np.nan
    found = coverage.level_over_models(table)
    known = ~np.isnan(found)
    assert pytest.approx((rows + models.mean())[known]) == found[known]
    assert bool(gaps[~gaps.all(axis=1)].any()) == bool(coverage.coverage_text(table))


def test_a_row_without_any_model_stays_undefined_and_models_without_a_common_row_keep_their_means() -> None:
    gap = np.nan
    assert pytest.approx([1, 3, gap], nan_ok=True) == coverage.level_over_models(
        np.array([[1, gap], [gap, 3], [gap, gap]])
    )


def _half_told(conversation: dict, index: int) -> dict:  # type: ignore[type-arg]
    told = ["Anxiety"] if index % 2 else ["None of the above"]
    conversation["participant_profile"]["demographics"]["diagnoses"] = told
    conversation["metadata"]["category"] = "worries" if index % 2 else "work"
    return conversation


def _scores() -> Scores:
    """Two equal models, and one that reads every feeling but was scored where no diagnosis was told alone."""
    common_skill = Skill(tag=0.5, false_tag=0.4, pairwise=0.55)
    models = {"one": common_skill, "two": common_skill, "choosy": Skill(tag=1.0, false_tag=0.0, pairwise=1.0)}
    scores = planted_scores(models, Plan(conversations=60, turns=3, seed=17, shape=_half_told))
    truth = {entry["conversationId"]: entry for entry in scores["ground_truth"]}
    scores["conversations"] = [
        entry
        for entry in scores["conversations"]
        if entry["em_model"] != "choosy" or "none" in truth[entry["conversationId"]]["diagnosis_groups"]
    ]
    return scores


def test_a_good_model_that_lacks_a_group_makes_no_gap_of_all_models() -> None:
    study = score_table(_scores())
    gap = made("affect-gap", study)
    assert "is lower" not in gap.shows
    table = table_of(gap, "gap-emotion_va")
    alone = np.mean([cell_of(table, name, "gap").value for name in ("one", "two")])
    assert pytest.approx(alone, abs=0.02) == cell_of(table, "all models", "gap").value
    assert any("adjusted" in note for note in gap.notes)


def test_nor_does_it_make_a_subgroup_differ() -> None:
    found = made("for-whom", score_table(_scores()))
    assert "Over all models no subgroup" in found.shows
    assert any("adjusted" in note for note in found.notes)
