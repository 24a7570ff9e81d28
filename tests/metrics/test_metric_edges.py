"""What no truth, no answer and an empty answer mean, metric by metric."""

from __future__ import annotations

import numpy as np
import pytest

from attunebench.constants import PANAS_SIMILARITY, Q3_OPTIONS
from attunebench.errors import UsageError
from attunebench.metrics import binary, draft, emotion, four_branch, pairwise, panas, questions, text
from attunebench.metrics.composite import composite
from attunebench.metrics.rates import rate
from attunebench.metrics.registry import REGISTRY, metric

ZERO_WHERE_NOT_ANSWERED = (
    "emotion_f1",
    "emotion_va",
    "emotion_precision",
    "emotion_recall",
    "emotion_va_intensity",
    "emotion_f1_intensity",
)


@pytest.mark.parametrize("felt", [{}, {"Proud": 3}])
def test_tags_not_answered_score_0_also_on_a_neutral_turn(felt):
    values = emotion.turn_values(felt, None, PANAS_SIMILARITY)
    assert dict.fromkeys(ZERO_WHERE_NOT_ANSWERED, 0.0) == {name: values[name] for name in ZERO_WHERE_NOT_ANSWERED}


def test_an_empty_tag_list_is_right_on_a_neutral_turn_and_wrong_on_another():
    assert 1 == emotion.emotion_va({}, {}, PANAS_SIMILARITY)
    assert 0 == emotion.emotion_va({"Proud": 3}, {}, PANAS_SIMILARITY)
    assert 0 == emotion.emotion_va({}, {"Proud": 3}, PANAS_SIMILARITY)


def test_tags_without_truth_leave_every_metric_undefined():
    assert {None} == set(emotion.turn_values(None, {"Proud": 3}, PANAS_SIMILARITY).values())
    assert emotion.neutral_turn_share(None) is None


def test_silence_on_a_neutral_turn_counts_as_a_false_alarm():
    assert [0, 1, 1, None] == [
        emotion.neutral_false_alarm({}, {}),
        emotion.neutral_false_alarm({}, {"Upset": 1}),
        emotion.neutral_false_alarm({}, None),
        emotion.neutral_false_alarm({"Upset": 1}, {}),
    ]


def test_a_shared_name_without_intensity_earns_nothing_where_intensity_counts():
    felt, guessed = {"Proud": None}, {"Proud": 5}
    assert 0 == emotion.emotion_f1_intensity(felt, guessed)
    assert pytest.approx(0.7) == emotion.emotion_va_intensity(felt, guessed, PANAS_SIMILARITY)
    assert emotion.emotion_intensity_mae(felt, guessed) is None


def test_not_answered_is_a_miss_where_the_truth_is_yes_and_an_alarm_where_it_is_no():
    labels, answers = (
        np.array([[[*map(ord, turn)] for turn in turns]], dtype=np.uint8)
        for turns in (("yn", "y.", ".."), ("--", "yy", "yy"))
    )
    truth = binary.BinaryTruth.of(labels, np.array([1, 0]), 2)
    right = truth.right(answers)
    assert [[[*binary.Confusion(fp=1)], [*binary.Confusion(tp=1, fn=1)]]] == truth.tally(right).tolist()
    np.testing.assert_array_equal([[0, 1, np.nan]], truth.accuracies(right))


def test_rates_of_no_truth_are_undefined_and_of_an_empty_denominator_0():
    assert binary.Confusion().rates["accuracy"] is None
    assert (0, 0, 0) == (
        binary.Confusion(tn=3).rates["precision"],
        binary.Confusion(tn=3).rates["f1"],
        binary.Confusion(tn=3).rates["mcc"],
    )


def test_accuracies_without_a_question_are_undefined():
    assert pairwise.pairwise_accuracy({}, {"0": "A"}) is None
    assert pairwise.kendall_tau({}, {}, {}) is None


def test_an_unanswered_comparison_is_a_win_for_the_other_reply():
    sides = {str(i): ("original", "human") for i in range(3)}
    winners = dict.fromkeys(sides, "A")
    assert (3, 0, 0) == pairwise.wins(sides, winners)
    assert pairwise.kendall_tau(sides, winners, None) == pairwise.kendall_tau(sides, winners, dict.fromkeys(sides, "B"))


def test_a_judge_that_is_missing_costs_nothing_and_a_missing_draft_everything():
    assert pytest.approx(0.5) == draft.draft_judge(True, {"one": {"helpfulness": 4}, "two": {}})
    assert draft.draft_judge(True, {"one": {}}) is None
    assert 0 == draft.draft_judge(False, {})


def test_every_judge_has_the_same_say_whatever_it_marked():
    votes = {"one": {"a": 7, "b": 7, "c": 7}, "two": {"a": 1}}
    assert pytest.approx(0.5) == draft.draft_judge(True, votes)


def test_questions_that_a_judge_left_out_do_not_count():
    preferred = {"B1": "yes", "B2": "no"}
    assert 1 == draft.draft_binary_alignment(True, preferred, {"one": {"B1": "yes"}, "two": {}})
    assert draft.draft_binary_alignment(True, preferred, {"one": {"B9": "yes"}}) is None
    assert draft.draft_binary_alignment(False, {}, {}) is None
    assert 0 == draft.draft_binary_alignment(False, preferred, {})


def test_a_variant_without_a_text_has_no_similarity_and_no_share():
    similarity = draft.response_similarity(text.tokens("so sorry"), {"original": text.tokens("Sorry!")})
    assert {"original": 0.5, "alternate": None, "human": None, "max": 0.5} == similarity
    assert 0.5 == draft.response_preference_alignment(similarity, {"original": 1, "human": 5}, answered=True)
    assert draft.response_preference_alignment(similarity, {"original": 0, "human": 5}, answered=True) is None


def test_tokens_ignore_case_width_and_punctuation():
    assert {"straße".casefold(), "abc"} == text.tokens("STRASSE, ＡＢＣ!")
    assert (1, 0) == (text.jaccard(set(), set()), text.jaccard({"a"}, set()))


def test_ten_items_beat_the_stated_total_and_nine_do_not():
    side = [str(i) for i in range(10)]
    assert 30 == panas.total_of(dict.fromkeys(side, 3), side, 55)
    assert 55 == panas.total_of(dict.fromkeys(side[1:], 3), side, 55)
    assert panas.total_of(dict.fromkeys(side[1:], 3), side, None) is None


def test_panas_rules_are_tested_in_the_order_of_the_definition():
    assert panas.baseline_adjusted(None, 40, None) is None
    assert panas.baseline_adjusted(40, None, 40) is None
    assert panas.baseline_adjusted(40, 40, None) is None
    assert -1 == panas.baseline_adjusted(40, 41, None)
    assert 0.75 == panas.mean_baseline_adjusted((40, 10, 9), (44, 12, 9), (44, 13, 1))


def test_an_unanswered_side_is_as_far_off_as_can_be():
    assert pytest.approx(0.5) == panas.panas_normalized((30, 30), (30, None))
    assert panas.panas_normalized((None,), (3,)) is None
    assert pytest.approx(0.5) == panas.panas_item_normalized((7, 1), (7, None))


def test_options_compare_whatever_their_case_and_spacing():
    assert 1 == questions.same_option("Mostly well-matched", " mostly  WELL-matched ")
    assert 1 == questions.q1_goals(["Other"], ["OTHER", "other"])
    assert (1, 0, 0) == (questions.q1_goals([], []), questions.q1_goals([], None), questions.q1_goals([], ["Other"]))


def test_fit_distance_is_3_where_nothing_of_the_list_was_answered():
    first, last = Q3_OPTIONS[0], Q3_OPTIONS[-1]
    distances = [questions.q3_fit_distance(first, guess, Q3_OPTIONS) for guess in (first, last, None, "Splendid")]
    assert [0, 3, 3, 3] == distances
    assert questions.q3_fit_distance(None, first, Q3_OPTIONS) is None


def test_a_follow_up_left_out_is_wrong_also_where_nothing_felt_off():
    assert (1, 0, 0) == tuple(questions.q3_follow_up([], guess) for guess in ([], None, ["Too long"]))
    assert (0, 1, 1) == tuple(questions.q3_follow_up_false_alarm([], guess) for guess in ([], None, ["Too long"]))
    assert questions.q3_follow_up(None, []) is None


def test_a_token_overlap_under_the_threshold_is_none():
    assert 0 == questions.entry_similarity("a b c d", "a e f g")
    assert pytest.approx(1 / 3) == questions.entry_similarity("a b", "b c")


def test_a_branch_not_answered_counts_as_6_off():
    assert pytest.approx(0.5) == four_branch.four_branch({"managing": 4, "perceiving": 2}, {"managing": 4})
    assert four_branch.four_branch({}, {"managing": 4}) is None
    assert (0, None) == (four_branch.branch(4, None), four_branch.branch(None, 4))


def test_a_rate_of_nothing_is_undefined():
    assert (0.5, None, None) == (rate(1, 2), rate(0, 0), rate(None, 2))


CANONICAL = {card.id: 1.0 for card in REGISTRY.values() if card.status == "canonical" and card.group != "pillar"}


def test_everything_right_is_100_and_everything_wrong_is_0():
    assert pytest.approx(100) == composite(CANONICAL, nothing_moved=False).values["composite"]
    wrong = {**dict.fromkeys(CANONICAL, 0.0), "panas_baseline_adjusted": -1.0}
    assert 0 == composite(wrong, nothing_moved=False).values["composite"]


def test_a_mood_that_did_not_move_counts_half_and_is_complete():
    still = composite({**CANONICAL, "panas_baseline_adjusted": None}, nothing_moved=True)
    assert pytest.approx(0.8) == still.values["holistic_comprehension"]
    assert still.complete


def test_a_term_left_out_rescales_its_pillar_and_makes_the_composite_incomplete():
    part = composite({**CANONICAL, "four_branch": None, "panas_baseline_adjusted": 0.0}, nothing_moved=False)
    assert pytest.approx((0.4 * 0.5 + 0.3) / 0.7) == part.values["holistic_comprehension"]
    assert not part.complete


def test_a_missing_member_of_a_term_leaves_the_composite_complete():
    assert composite({**CANONICAL, "binary_hp_accuracy": None}, nothing_moved=False).complete


def test_a_pillar_without_any_term_leaves_no_composite():
    whole = composite({**CANONICAL, "emotion_f1": None, "emotion_va": None}, nothing_moved=False)
    assert whole.values["composite"] is None
    assert not whole.complete


def test_a_metric_that_does_not_exist_is_answered_with_its_neighbours():
    assert "Composite" == metric("composite").label
    with pytest.raises(UsageError, match="pairwise_accuracy"):
        metric("pairwise_acuracy")
    with pytest.raises(UsageError, match="no metric 'zzz'"):
        metric("zzz")


def test_every_card_is_filled_in():
    for metric_id, card in REGISTRY.items():
        assert metric_id == card.id
        assert card.low < card.high
        assert all((card.label, card.meaning.endswith("."), card.definition.endswith("."), card.source)), metric_id
        assert card.chance is None or card.low <= card.chance <= card.high
