"""The worked values of spec 09, and the edges that its table states in words, on the tests' own implementation."""

from __future__ import annotations

from typing import Any

import pytest
import released_oracle as oracle
import released_turns as turns


def turn(**annotations: Any) -> dict[str, Any]:
    return {"turnNumber": 1, "llmResponse": "one two", "moodShiftTags": [], "annotations": annotations}


def judged(*truths: tuple[str | None, str | None]) -> dict[str, Any]:
    judgements = [
        {"questionId": f"B{place}", "observedBehavior": observed, "preferredBehavior": preferred}
        for place, (observed, preferred) in enumerate(truths)
    ]
    return turn(binaryJudgements=judgements)


def wide(**answers: Any) -> dict[str, Any]:
    return {"conversationWideQuestions": answers}


def said(**answers: Any) -> dict[str, Any]:
    return {"post_conversation": {"predicted_conversation_wide": answers}}


def tags(*pairs: tuple[str, int | None]) -> list[dict[str, Any]]:
    return [{"emotion": emotion, "intensity": intensity} for emotion, intensity in pairs]


def test_worked_q1() -> None:
    values = oracle.wide(wide(q1_lookingFor=["a", "b"]), said(q1_lookingFor=["b", "c"]))
    assert pytest.approx(0.5) == values["q1_looking_for_score"]
    assert pytest.approx(1 / 3) == values["q1_jaccard"]


def test_worked_follow_up() -> None:
    truth, predicted = ["too long", "too generic"], ["too long"]
    assert pytest.approx(0.666667, abs=1e-6) == sum(oracle.entry_credit(each, predicted) for each in truth) / 2
    assert 1 == oracle.entry_credit("too long", truth)
    assert pytest.approx(0.8) == oracle.follow_up(truth, predicted)
    values = oracle.wide(
        wide(q3_followUp_whatFeltOff=["Too long", "Too generic"]), said(q3_followUp_whatFeltOff=["too long"])
    )
    assert pytest.approx(0.8) == values["q3_follow_up_score"]


def test_worked_empty_follow_up() -> None:
    assert 1 == oracle.follow_up([], [])


def test_worked_binary() -> None:
    values, counts = turns.binary(judged(("yes", None), ("no", None)), {})
    assert 0.5 == values["binary_om_accuracy"]
    assert {"tp": 0, "tn": 1, "fp": 0, "fn": 1} == counts["binary_om"]


def test_worked_tau() -> None:
    truth, predicted = {"original": 2, "human": 1}, {"original": 1, "alternate": 1, "human": 1}
    assert -1 == turns.tau(("original", "human", "alternate"), truth, predicted)


def test_values_of_spec_04_that_hold_here_too() -> None:
    assert (0.9233, 0.4069, 0.4344) == (
        turns.va_similarity("distressed", "upset"),
        turns.va_similarity("afraid", "inspired"),
        turns.va_similarity("proud", "afraid"),
    )
    values = turns.emotions(
        {"moodShiftTags": tags(("Proud", 4), ("Nervous", 3))}, {"em_emotion_tags": tags(("Proud", 6))}
    )
    assert pytest.approx(0.666667, abs=1e-6) == values["emotion_f1"]
    assert pytest.approx(0.5) == values["emotion_va_score"]
    assert pytest.approx(0.444444, abs=1e-6) == values["emotion_f1_intensity"]
    assert pytest.approx(0.45) == values["emotion_va_intensity_score"]
    assert 2 == values["emotion_intensity_mae"]
    best = turns.assigned(["interested", "inspired"], ["guilty", "strong"], turns.va_similarity)
    assert pytest.approx(0.77015) == best


def test_baseline_adjusted_of_spec_04() -> None:
    assert [0.5, 0, -1, -1] == pytest.approx([oracle.adjusted(49, predicted, 43, 60) for predicted in (46, 43, 37, 30)])
    assert oracle.adjusted(43, 46, 43, 60) is None


def test_a_name_that_stands_twice_counts_twice_in_va() -> None:
    values = turns.emotions(
        {"moodShiftTags": tags(("Proud", 4))}, {"em_emotion_tags": tags(("Proud", 4), ("proud ", 4))}
    )
    assert 0.5 == values["emotion_va_score"]
    assert 1 == values["emotion_f1"]


def test_a_turn_without_judgements_or_comparisons_is_right() -> None:
    values, _ = turns.binary(turn(), {})
    assert (1, 1, 0, 0) == tuple(values.values())
    assert {"pairwise_accuracy": 1.0, "pairwise_kendall_tau": None} == turns.pairwise(turn(), {})


def test_the_preferred_behaviour_falls_back_to_the_observed_one_and_na_is_no_truth() -> None:
    given = judged(("yes", None), ("no", "na"), ("na", "yes"), (None, None))
    assert {"B0": "yes", "B2": "yes"} == turns.truths(given, ("preferredBehavior", "observedBehavior"))
    values, _ = turns.binary(judged(("na", "na")), {})
    assert 0 == values["binary_om_accuracy"]


def test_a_comparison_without_a_winner_is_never_right() -> None:
    comparison = {"responseA": "original", "responseB": "human"}
    given = turn(pairwiseComparisons=[{**comparison, "winner": "A"}, {**comparison, "winner": None}])
    values = turns.pairwise(given, {"em_pairwise_selections": {"0": "A", "1": "A"}})
    assert {"pairwise_accuracy": 0.5, "pairwise_kendall_tau": 1.0} == values


def test_an_empty_draft_assessment_is_an_assessment() -> None:
    given = judged(("yes", "yes"))
    assert 0 == turns.drafts(given, {"em_draft_binary_assessment": {}})["draft_binary_alignment"]
    assert turns.drafts(given, {})["draft_binary_alignment"] is None


def test_totals_beat_items_and_a_missing_side_is_forty() -> None:
    after = {"totalPositiveAffect": 75, "responses": {"proud": 3, "upset": 4}}
    result = {"post_conversation": {"predicted_post_panas": {"totalNegativeAffect": 34}}}
    values = oracle.panas({"postPanas": after, "prePanas": {}}, result)
    assert (abs(70 - 40) + abs(4 - 34)) / 2 == values["panas_mae"]
    assert (0.5, 1, None) == (
        values["panas_normalized"],
        oracle.panas({}, {})["panas_normalized"],
        values["panas_baseline_adjusted"],
    )


def test_z_scores_need_two_groups_that_differ() -> None:
    assert ([0.0], [0.0, 0.0]) == (oracle.z_scores([50.0]), oracle.z_scores([50.0, 50.0]))
    assert [-0.7071, 0.7071] == pytest.approx(oracle.z_scores([40.0, 60.0]), abs=1e-4)


def test_everything_right_is_100_and_equal_weights_agree() -> None:
    values = {
        **dict.fromkeys(("emotion_f1", "emotion_va_score", "binary_om_accuracy", "binary_human_accuracy"), 1.0),
        **dict.fromkeys(("pairwise_accuracy", "four_branch_normalized", "panas_baseline_adjusted"), 1.0),
        **dict.fromkeys(("q1_looking_for_score", "q2_match", "q3_match", "q3_follow_up_score"), 1.0),
    }
    found = oracle.composites(values)
    assert (100, 100) == (found["composite_score"], found["equal_weight_composite"])
    # 27 · 0.4 · 0.5 points less: P is 0.5 where the change is undefined.
    assert pytest.approx(94.6) == oracle.composites({**values, "panas_baseline_adjusted": None})["composite_score"]
