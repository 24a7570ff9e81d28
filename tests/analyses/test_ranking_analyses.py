"""Leaderboard, discrimination, group tiers, leaders and win rates: a planted order is found, and none where none is."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from planted_studies import PAIRWISE, QUICK, cell_of, covers, level, made, ranked, ranked_scores, table_of

from attunebench.analyses.base import label_of
from attunebench.scores.loading import score_table

ORDER = sorted(PAIRWISE, key=lambda name: -PAIRWISE[name])


def pairwise_values(model: str) -> dict[str, float]:
    """Conversation → a model's pairwise accuracy, straight from the scores."""
    found = {}
    for entry in ranked_scores()["conversations"]:
        if entry["em_model"] == model and entry["mode"] == "default":
            value = entry["metrics"]["pairwise_accuracy"]
            assert value is not None
            found[entry["conversationId"]] = value
    return found


# Leaderboard


def test_a_single_model_has_a_score_and_no_tier_rank_or_chance_to_be_best() -> None:
    analysis = made("leaderboard", ranked().with_groups([g for g in ranked().groups if g.model == ORDER[0]]))
    alone = table_of(analysis, "pairwise_accuracy")
    assert cell_of(alone, ORDER[0], "score").value is not None
    assert [None] * 4 == [cell_of(alone, ORDER[0], name).value for name in ("tier", "rank", "p_best", "apart")]
    assert any("at least two models" in note for note in analysis.notes)


def test_intervals_of_pairwise_cover_the_planted_chances_but_for_the_one_in_twenty_that_may_miss() -> None:
    table = table_of(made("leaderboard", ranked()), "pairwise_accuracy")
    covered = [covers(cell_of(table, model, "score"), chance) for model, chance in PAIRWISE.items()]
    assert len(PAIRWISE) - 1 <= sum(covered)


def test_the_mean_is_the_plain_mean_over_conversations() -> None:
    values = pairwise_values("beta")
    cell = cell_of(table_of(made("leaderboard", ranked()), "pairwise_accuracy"), "beta", "score")
    assert pytest.approx(sum(values.values()) / len(values)) == cell.value
    assert len(values) == cell.n


def test_the_planted_order_stands_in_tiers_and_equal_models_share_one() -> None:
    analysis = made("leaderboard", ranked())
    table = table_of(analysis, "pairwise_accuracy")
    assert [1, 2, 3, 3, 4] == [cell_of(table, name, "tier").value for name in ORDER]
    assert 9 == cell_of(table_of(analysis, "told_apart"), "Pairwise", "corrected").value


def test_a_leader_far_ahead_is_best_in_all_resamples() -> None:
    table = table_of(made("leaderboard", ranked()), "pairwise_accuracy")
    assert (1.0, 1.0, 1.0) == (cell_of(table, "alpha", "rank").low, 1.0, cell_of(table, "alpha", "p_best").value)


def test_equal_models_are_not_ranked_apart() -> None:
    analysis = made("leaderboard", level())
    assert {0} == {row[5].value for row in table_of(analysis, "told_apart").rows}
    assert {1} == {cell_of(table_of(analysis, "composite"), name, "tier").value for name in "abcd"}


def test_skill_is_the_share_of_the_room_above_the_base_rate() -> None:
    study = ranked().of_mode("default")
    base = next(r for r in study.references if r.id == "base-rate").values["composite"]
    ours = study.values("composite")[:, [g.model for g in study.groups].index("alpha")]
    expected = (ours.mean() - base.mean()) / (100 - base.mean())
    assert pytest.approx(expected) == cell_of(table_of(made("leaderboard", study), "composite"), "alpha", "skill").value


def test_there_is_no_skill_over_a_base_rate_below_chance() -> None:
    study = ranked().of_mode("default")
    base = next(r for r in study.references if r.id == "base-rate").values["pairwise_accuracy"]
    assert base.mean() < 0.5
    assert "skill" not in [column.id for column in table_of(made("leaderboard", study), "pairwise_accuracy").columns]


def test_references_stand_beside_the_models_and_in_no_ranking() -> None:
    analysis = made("leaderboard", ranked())
    expected = {"Base rate", "Always no emotion", "mean over models"}
    assert expected == {row[0].value for row in table_of(analysis, "references").rows}
    assert set(PAIRWISE) == {row[0].value for row in table_of(analysis, "composite").rows}


def test_few_conversations_are_ranked_without_a_claim() -> None:
    study = ranked()
    analysis = made("leaderboard", study.with_conversations(study.ids[:10]))
    assert "differ significantly" not in analysis.shows
    assert all(row[3].small for row in table_of(analysis, "composite").rows)


def test_models_that_were_asked_otherwise_are_warned_of() -> None:
    scores = copy.deepcopy(ranked_scores())
    for entry in scores["metadata"]["settings"]:
        entry["variants"][0]["prompt_set_sha256"] = entry["em_model"]
    study = score_table(scores)
    for name in ("leaderboard", "discrimination", "group-tiers", "leaders", "win-rates", "independence", "modes"):
        assert any("PROMPT SETS" in warning for warning in made(name, study).warnings)


def test_a_conversation_that_a_model_lacks_is_in_no_ranking() -> None:
    scores = ranked_scores()
    first = scores["conversations"][0]
    lacking = [entry for entry in scores["conversations"] if entry is not first]
    analysis = made("leaderboard", score_table({**scores, "conversations": lacking}))
    assert {29} == {row[2].value for row in table_of(analysis, "composite").rows}
    assert any("1 conversation not scored for every model" in note for note in analysis.notes)


# Discrimination


def test_the_metric_with_planted_differences_discriminates_most() -> None:
    analysis = made("discrimination", ranked())
    table = table_of(analysis, "pairs")
    metrics = [row[0].value for row in table.rows]
    assert 9 == cell_of(table, "Pairwise", "corrected").value
    assert 0 == cell_of(table, "Emotion F1", "corrected").value == cell_of(table, "Binary OM", "corrected").value
    assert metrics.index("Pairwise") < metrics.index("Emotion VA")


def test_no_metric_discriminates_where_nothing_was_planted() -> None:
    analysis = made("discrimination", level())
    assert {0} == {cell.value for row in analysis.tables[0].rows for cell in row[4:5]}


def test_metrics_stand_in_the_order_in_which_they_discriminate() -> None:
    rows = made("discrimination", ranked()).tables[0].rows
    counts = [(row[4].value, row[3].value) for row in rows]
    assert sorted(counts, reverse=True) == counts


def test_the_judge_is_named_where_a_judged_score_stands() -> None:
    for name in ("discrimination", "leaders", "independence", "modes"):
        assert any("judged by judge-1" in note for note in made(name, ranked()).notes)


# Group tiers


def test_the_planted_all_rounder_is_the_only_one_in_both_top_tiers() -> None:
    analysis = made("group-tiers", ranked())
    assert ["alpha"] == [row[0].value for row in analysis.tables[0].rows if row[0].mark == "top of both"]


def test_equal_models_share_the_tiers() -> None:
    assert {1} == {cell.value for row in made("group-tiers", level()).tables[0].rows for cell in (row[3], row[6])}


# Leaders


def test_a_best_and_a_lowest_are_marked_where_they_were_planted() -> None:
    analysis = made("leaders", ranked())
    leaders = table_of(analysis, "leaders")
    assert ("alpha", "best") == (
        cell_of(leaders, "Pairwise", "first").value,
        cell_of(leaders, "Pairwise", "first").mark,
    )
    assert ("omega", "lowest") == (
        cell_of(leaders, "Pairwise", "last").value,
        cell_of(leaders, "Pairwise", "last").mark,
    )
    assert "" == cell_of(leaders, "Emotion F1", "first").mark


def test_the_lead_covers_the_planted_difference() -> None:
    lead = cell_of(table_of(made("leaders", ranked()), "leaders"), "Pairwise", "lead")
    assert covers(lead, PAIRWISE["alpha"] - PAIRWISE["beta"])


def test_the_grid_marks_the_same_leaders() -> None:
    grid = table_of(made("leaders", ranked()), "means")
    assert "best" == cell_of(grid, "alpha", "pairwise_accuracy").mark
    assert "lowest" == cell_of(grid, "omega", "pairwise_accuracy").mark


def test_models_below_chance_have_a_negative_tau_and_are_counted() -> None:
    study = ranked().of_mode("default")
    below = int((np.nanmean(study.values("kendall_tau"), axis=0) < 0).sum())
    assert 0 < below
    assert f"{below} of 5 models" in made("leaders", study).shows


def test_nobody_leads_where_nothing_was_planted() -> None:
    analysis = made("leaders", level())
    assert {""} == {cell.mark for row in table_of(analysis, "leaders").rows for cell in (row[1], row[6])}


# Win rates


def test_win_rates_are_shares_of_conversations_with_ties_as_halves() -> None:
    first, second = pairwise_values("gamma"), pairwise_values("delta")
    wins = [0.5 if math.isclose(first[i], second[i]) else float(first[i] > second[i]) for i in first]
    matrix = table_of(made("win-rates", ranked()), "matrix")
    assert pytest.approx(sum(wins) / len(wins)) == cell_of(matrix, "gamma", "against_delta").value


def test_both_sides_of_a_win_rate_sum_to_one() -> None:
    matrix = table_of(made("win-rates", ranked()), "matrix")
    one, other = cell_of(matrix, "alpha", "against_beta"), cell_of(matrix, "beta", "against_alpha")
    assert isinstance(one.value, float)
    assert isinstance(other.value, float)
    assert pytest.approx(1.0) == one.value + other.value
    assert one.p == other.p


def test_the_planted_order_wins_and_equal_models_do_not() -> None:
    analysis = made("win-rates", ranked())
    overall = table_of(analysis, "overall")
    assert ["alpha", "beta"] == [row[0].value for row in overall.rows[:2]]
    assert "omega" == overall.rows[-1][0].value
    assert 9 == sum(int(row[3].value or 0) for row in overall.rows)
    ratings = [cell_of(overall, name, "elo").value for name in ("alpha", "beta", "gamma", "omega")]
    assert sorted(ratings, key=lambda rating: -float(rating or 0)) == ratings


def test_equal_models_have_no_winner() -> None:
    analysis = made("win-rates", level())
    assert {(0, 0)} == {(row[3].value, row[4].value) for row in table_of(analysis, "overall").rows}


def test_few_conversations_have_no_winner() -> None:
    study = ranked()
    analysis = made("win-rates", study.with_conversations(study.ids[:10]))
    assert {0} == {row[3].value for row in table_of(analysis, "overall").rows}


def test_another_metric_can_decide_who_wins() -> None:
    analysis = made("win-rates", ranked(), replace(QUICK, metrics=("q2_clarity",)))
    assert label_of("q2_clarity") in analysis.shows
