"""The released rules: the worked values of spec 09, each rule's corners, and what must hold for any answers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_SIMILARITY, Q1_OPTIONS, Q3_OPTIONS
from attunebench.metrics import released
from attunebench.metrics.released import Comparison, Confusion, Judgement, Panas, Wide

SIMILARITY = {one.lower(): {other.lower(): v for other, v in row.items()} for one, row in PANAS_SIMILARITY.items()}
VARIANTS = ("original", "alternate", "human")
NAMES = [item.lower() for item in PANAS_ITEMS]


def emotions(truth: Any, predicted: Any) -> dict[str, float | None]:
    return released.emotions(truth, predicted, SIMILARITY)


# Worked values


def test_q1_is_the_f1_of_the_options_with_their_jaccard_beside() -> None:
    values = released.questions(Wide(q1=["a", "b"]), Wide(q1=["B", "c"]), Q3_OPTIONS)
    assert values["q1_goals"] == 0.5
    assert values["q1_jaccard"] == pytest.approx(1 / 3)


def test_follow_up_entries_may_meet_the_same_one() -> None:
    assert released.follow_up(["Too long", "Too generic"], ["too long"]) == pytest.approx(0.8)


def test_follow_up_without_entries_on_both_sides_is_1_and_on_one_side_0() -> None:
    assert released.follow_up([], []) == 1
    assert released.follow_up([], ["too long"]) == released.follow_up(["too long"], []) == 0


def test_an_unanswered_no_counts_as_right() -> None:
    counts = released.confusion({"B1": "yes", "B2": "no"}, {})
    assert counts == Confusion(tp=0, tn=1, fp=0, fn=1)
    assert counts.accuracy == 0.5


def test_ties_in_wins_are_broken_by_the_alphabet() -> None:
    truth = {"alternate": 0, "human": 1, "original": 2}
    assert released.kendall_tau(truth, {"alternate": 1, "human": 1, "original": 1}) == -1


# Corners


@pytest.mark.parametrize(
    ("truth", "predicted", "f1", "va", "hit_rate", "f1_intensity"),
    [
        ([], [], 1, 1, 1, 1),
        ([], [("Proud", 3)], 0, 0, 0, 0),
        ([("Proud", 3)], [], 0, 0, 0, 0),
        ([("Proud", 4), ("Nervous", 3)], [(" proud ", 6)], 2 / 3, 0.5, 0.5, 2 / 3 * (1 - 2 / 6)),
        ([("Proud", 4)], [("Joyful", 4)], 0, 0, 0, 0),
        ([("Proud", 4)], [("Proud", None)], 1, 1, 1, 0),
        # A name that stands there twice counts twice in the matching, and once in the set.
        ([("Proud", 4)], [("Proud", 4), ("Proud", 4)], 1, 0.5, 1, 1),
    ],
)
def test_emotions(truth: Any, predicted: Any, f1: float, va: float, hit_rate: float, f1_intensity: float) -> None:
    values = emotions(truth, predicted)
    assert [values[name] for name in ("emotion_f1", "emotion_va", "emotion_hit_rate", "emotion_f1_intensity")] == (
        pytest.approx([f1, va, hit_rate, f1_intensity])
    )


def test_the_matching_is_optimal_and_not_greedy() -> None:
    values = emotions([("Interested", None), ("Inspired", None)], [("Guilty", None), ("Strong", None)])
    assert values["emotion_va"] == pytest.approx(0.77015)
    assert values["emotion_va_intensity"] == pytest.approx(0.7 * 0.77015)


def test_hit_rate_over_tagged_turns_and_intensity_error_are_undefined_without_data() -> None:
    assert emotions([], [("Proud", 3)])["emotion_hit_rate_tagged"] is None
    assert emotions([("Proud", None)], [("Proud", 3)])["emotion_intensity_mae"] is None
    assert emotions([("Proud", 1)], [("Proud", 3)])["emotion_intensity_mae"] == 2


@pytest.mark.parametrize(
    ("labels", "om", "hp"),
    [
        (("yes", "no", "no"), "yes", "no"),
        ((None, "no", None), "no", None),
        (("na", "yes", None), "na", "na"),
        (("yes", None, None), "yes", "yes"),
        (("yes", None, "na"), "yes", "na"),
        ((None, None, None), None, None),
    ],
)
def test_truth_of_binary_questions(labels: Any, om: str | None, hp: str | None) -> None:
    judgement = Judgement("B1", *labels)
    assert (judgement.om, judgement.hp) == (om, hp)
    assert released.confusion({"B1": "na"}, {"B1": "yes"}) == Confusion()


def test_a_turn_without_judgements_has_accuracy_1_and_0_in_the_participants_wording() -> None:
    nothing = Confusion()
    assert released.accuracy(nothing, judged=False, participant=False) == 1
    assert released.accuracy(nothing, judged=False, participant=True) == 0
    assert released.accuracy(nothing, judged=True, participant=False) == 0


def test_a_comparison_without_a_winner_is_never_right_and_no_comparison_is() -> None:
    comparisons = [Comparison("original", "human", "A"), Comparison("human", "alternate", None)]
    assert released.pairwise_accuracy(comparisons, {"0": "A", "1": "B"}) == 0.5
    assert released.pairwise_accuracy([], {}) == 1


def test_tau_needs_a_selection_and_two_labels() -> None:
    comparisons = [Comparison("original", "human", "A")]
    assert released.kendall_tau(released.wins(comparisons, ["A"]), released.wins(comparisons, [None])) is None
    assert released.kendall_tau({"original": 1}, {"original": 1}) is None
    assert released.kendall_tau({}, {}) is None


def test_the_draft_is_judged_by_four_ratings_and_an_assessment() -> None:
    assert released.draft_judge({"overall": 7, "tone": 4, "length": 1}) == pytest.approx(4.5 / 6)
    assert released.draft_judge({"length": 1}) is None
    truth = {"B1": "yes", "B2": "no", "B3": "na"}
    assert released.draft_binary_alignment(truth, {"B1": "yes"}) == 0.5
    assert released.draft_binary_alignment(truth, {}) == 0
    assert released.draft_binary_alignment(truth, None) is None
    assert released.draft_binary_alignment({"B3": "na"}, {}) is None


def test_similarity_to_the_preferred_replies_is_renormalised_over_those_with_a_text() -> None:
    texts = {"original": "a b", "human": "A c"}
    won = {"original": 1, "alternate": 5, "human": 1}
    values = released.response_similarity("a b", texts, won)
    assert values["response_similarity_max"] == 1
    assert values["response_preference_alignment"] == pytest.approx((1 + 1 / 3) / 2)
    assert values["response_similarity_alternate"] is None
    assert released.response_similarity("a b", texts, {})["response_preference_alignment"] == 1
    assert released.response_similarity(None, texts, won)["response_preference_alignment"] == 0


def test_totals_are_the_files_clamped_and_rounded_half_up_else_the_sum_of_what_is_there() -> None:
    assert Panas((8.0, 44.5)).totals == (10, 45)
    assert Panas((None, None), {"proud": 3, "alert": 2}, {}).totals == (5, None)
    assert Panas((71.0, None), {"proud": 3}, {"upset": 7}).totals == (70, 7)


def test_a_missing_total_is_40_and_a_side_missing_on_both_is_left_out() -> None:
    nothing = Panas()
    one_side = released.panas(nothing, Panas((30.0, None)), nothing)
    assert (one_side["panas_mae"], one_side["panas_normalized_negative"]) == (10, None)
    without = released.panas(nothing, nothing, nothing)
    assert (without["panas_mae"], without["panas_normalized"]) == (0, 1)
    assert without["panas_baseline_adjusted"] is without["panas_item_mae"] is None


@pytest.mark.parametrize(("predicted", "expected"), [(46.0, 0.5), (43.0, 0), (37.0, -1), (30.0, -1), (None, None)])
def test_baseline_adjusted_is_undefined_without_a_prediction(predicted: float | None, expected: float | None) -> None:
    values = released.panas(Panas((43.0, 20.0)), Panas((49.0, 20.0)), Panas((predicted, 20.0)))
    assert values["panas_baseline_adjusted"] == (None if expected is None else pytest.approx(expected))


def test_items_count_where_both_have_them() -> None:
    pre, post = Panas((None, None), {"proud": 1}), Panas((None, None), {"proud": 3, "alert": 7}, {"upset": 2})
    values = released.panas(pre, post, Panas((None, None), {"proud": 2}, {"upset": 2}))
    assert values["panas_item_mae"] == 0.5
    assert values["panas_item_normalized"] == pytest.approx(1 - 0.5 / 6)
    assert values["panas_item_baseline_adjusted"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("truth", "predicted", "distance", "match"),
    [
        (Q3_OPTIONS[0], f" {Q3_OPTIONS[3].upper()} ", 3, 0),
        (Q3_OPTIONS[0], "something", 3, 0),
        ("", "", 0, 1),
        ("", Q3_OPTIONS[0], 3, 0),
    ],
)
def test_fit(truth: str, predicted: str, distance: float, match: float) -> None:
    values = released.questions(Wide(q3=truth), Wide(q3=predicted), Q3_OPTIONS)
    assert (values["q3_fit_distance"], values["q3_fit"]) == (distance, match)


def test_a_branch_that_is_not_predicted_counts_as_4() -> None:
    values = released.four_branch({"perceiving": 7, "managing": 4}, {})
    assert values["four_branch"] == pytest.approx(1 - 1.5 / 6)
    assert values["four_branch_understanding"] is None
    assert released.four_branch({}, {"managing": 7})["four_branch"] == 1


def test_phrasings_are_compared_by_difference_and_ratio_without_a_bound() -> None:
    perfect, none = Confusion(tp=2, tn=2), Confusion(fp=2, fn=2)
    values = released.perspective(perfect, none, 0.5, 1.0)
    assert (values["phrasing_gap"], values["hp_perspective_alignment"]) == (-0.5, 2)
    assert (values["hp_perspective_gap_mcc"], values["hp_perspective_alignment_mcc"]) == (2, -1)
    assert released.perspective(none, perfect, 0.0, 1.0)["hp_perspective_alignment"] == 0
    assert released.perspective(none, perfect, 0.0, 1.0)["hp_perspective_alignment_mcc"] == 0


CANONICAL = (
    *("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy"),
    *("q1_goals", "q2_clarity", "q3_fit", "q3_follow_up", "four_branch"),
)


def test_the_composite_is_rounded_half_up_and_an_undefined_mood_is_one_half() -> None:
    values: dict[str, float | None] = dict.fromkeys(CANONICAL, 1.0)
    found = released.composite({**values, "panas_baseline_adjusted": None})
    assert found["composite"] == pytest.approx(100 * (0.24 + 0.49 + 0.27 * 0.8))
    assert found["equal_weight_composite"] == pytest.approx(91.67)
    assert released.composite({**values, "panas_baseline_adjusted": 1.0})["composite"] == 100


def test_z_scores_need_two_and_a_spread() -> None:
    assert released.z_scores([]) == []
    assert released.z_scores([50.0]) == [0]
    assert released.z_scores([50.0, 50.0]) == [0, 0]
    assert released.z_scores([40.0, 50.0, 60.0]) == [-1, 0, 1]
    assert released.z_scores([40.0, 41.0]) == [-0.7071, 0.7071]


# What must hold for any answers

tags = st.lists(st.tuples(st.sampled_from([*NAMES, "joyful"]), st.none() | st.integers(1, 7)), max_size=5)
answers = st.dictionaries(st.sampled_from(["B1", "B2", "B3", "B4"]), st.sampled_from(["yes", "no", "na"]))
entries = st.lists(st.text("ab c", max_size=6), max_size=4)
goals = st.lists(st.sampled_from(Q1_OPTIONS), max_size=6)
ratings = st.dictionaries(st.sampled_from(BRANCHES), st.integers(1, 7))
states = st.builds(
    Panas,
    st.tuples(st.none() | st.floats(-100, 100), st.none() | st.floats(-100, 100)),
    st.dictionaries(st.sampled_from(NAMES[:10]), st.integers(1, 7)),
    st.dictionaries(st.sampled_from(NAMES[10:]), st.integers(1, 7)),
)
compared = st.lists(
    st.builds(
        Comparison,
        st.sampled_from(VARIANTS[:2]),
        st.just("human"),
        st.sampled_from(["A", "B", None]),
    ),
    max_size=12,
)
SYMMETRIC = ("emotion_f1", "emotion_va", "emotion_va_intensity", "emotion_f1_intensity", "emotion_intensity_mae")


@settings(max_examples=40)
@given(tags, tags)
def test_emotion_scores_are_shares_and_swapping_sides_swaps_precision_and_recall(one: Any, other: Any) -> None:
    values, swapped = emotions(one, other), emotions(other, one)
    for name in SYMMETRIC:
        assert values[name] == (None if swapped[name] is None else pytest.approx(swapped[name]))
    assert values["emotion_precision"] == swapped["emotion_recall"]
    for name, value in values.items():
        assert value is None or -1e-9 <= value <= (6 if name == "emotion_intensity_mae" else 1 + 1e-9)


@settings(max_examples=40)
@given(tags, tags)
def test_a_wrong_emotion_never_helps(truth: Any, predicted: Any) -> None:
    worse = [*predicted, ("bored", None)]
    for name in ("emotion_f1", "emotion_va", "emotion_hit_rate", "emotion_precision", "emotion_recall"):
        assert (emotions(truth, worse)[name] or 0) <= (emotions(truth, predicted)[name] or 0) + 1e-9


@settings(max_examples=40)
@given(tags, tags)
def test_doubling_both_lists_of_emotions_changes_nothing(truth: Any, predicted: Any) -> None:
    once, twice = emotions(truth, predicted), emotions(truth * 2, predicted * 2)
    for name, value in once.items():
        assert twice[name] == (None if value is None else pytest.approx(value))


@settings(max_examples=40)
@given(answers, answers)
def test_every_truth_is_counted_once_and_a_wrong_answer_never_helps(truth: Any, predicted: Any) -> None:
    counts = released.confusion(truth, predicted)
    assert sum(counts) == sum(answer != "na" for answer in truth.values())
    assert 0 <= counts.accuracy <= 1
    assert -1 <= counts.mcc <= 1
    wrong = {question: "no" if answer == "yes" else "yes" for question, answer in truth.items() if answer != "na"}
    assert released.confusion(truth, {**predicted, **wrong}).accuracy <= counts.accuracy
    assert released.total([counts, counts]).mcc == pytest.approx(counts.mcc)


@settings(max_examples=40)
@given(compared, st.lists(st.sampled_from(["A", "B", None]), min_size=12, max_size=12))
def test_tau_lies_within_its_range_and_swapping_the_sides_keeps_it(comparisons: Any, letters: Any) -> None:
    truth = released.wins(comparisons, [one.winner for one in comparisons])
    predicted = released.wins(comparisons, letters[: len(comparisons)])
    tau = released.kendall_tau(truth, predicted)
    assert tau is None or -1 <= tau <= 1
    if tau is not None and any(truth.values()):
        assert released.kendall_tau(predicted, truth) == tau
    selections = {str(i): letter for i, letter in enumerate(letters) if letter}
    assert 0 <= released.pairwise_accuracy(comparisons, selections) <= 1


@settings(max_examples=40)
@given(compared)
def test_selecting_the_winners_is_the_best_there_is(comparisons: Any) -> None:
    winners = [one.winner for one in comparisons]
    won = released.wins(comparisons, winners)
    selections = {str(i): letter for i, letter in enumerate(winners) if letter}
    assert released.kendall_tau(won, won) in (None, 1)
    expected = len(selections) / len(comparisons) if comparisons else 1
    assert released.pairwise_accuracy(comparisons, selections) == pytest.approx(expected)


@settings(max_examples=40)
@given(entries, entries)
def test_follow_up_is_a_share_and_the_same_from_both_sides(one: list[str], other: list[str]) -> None:
    value = released.follow_up(one, other)
    assert 0 <= value <= 1
    assert value == pytest.approx(released.follow_up(other, one))
    assert released.follow_up(one, one) == 1
    assert released.follow_up(one, [*other, "zzz"]) <= value + 1e-9


@settings(max_examples=40)
@given(goals, goals)
def test_goals_are_sets(one: list[str], other: list[str]) -> None:
    def of(truth: list[str], predicted: list[str]) -> Any:
        return released.questions(Wide(q1=truth), Wide(q1=predicted), Q3_OPTIONS)

    assert of(one, other) == of(other, one) == of(one * 2, other)
    f1, overlap = of(one, other)["q1_goals"], of(one, other)["q1_jaccard"]
    assert f1 == pytest.approx(2 * overlap / (1 + overlap))


@settings(max_examples=40)
@given(ratings, ratings)
def test_branches_lie_within_their_range_and_the_truth_scores_1(truth: Any, predicted: Any) -> None:
    values = released.four_branch(truth, predicted)
    assert all(value is None or 0 <= value <= 1 for value in values.values())
    assert released.four_branch(truth, truth)["four_branch"] == 1


@settings(max_examples=40)
@given(states, states, states)
def test_panas_values_lie_within_their_ranges_and_the_truth_is_the_best_prediction(
    pre: Any, post: Any, guess: Any
) -> None:
    values, best = released.panas(pre, post, guess), released.panas(pre, post, post)
    ranges = {"panas_mae": (0, 70), "panas_item_mae": (0, 6)}
    for name, value in values.items():
        low, high = ranges.get(name, (-1 if name.endswith("adjusted") else 0, 1))
        assert value is None or low - 1e-9 <= value <= high + 1e-9
    assert best["panas_mae"] == 0
    assert best["panas_baseline_adjusted"] in (None, 1)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(CANONICAL), st.floats(0, 1)), st.none() | st.floats(-1, 1))
def test_the_composite_lies_within_its_range_with_two_decimals(given_values: Any, mood: float | None) -> None:
    values = released.composite({**dict.fromkeys(CANONICAL, 0.0), **given_values, "panas_baseline_adjusted": mood})
    for name in ("composite", "equal_weight_composite"):
        value = values[name]
        assert value is not None
        assert 0 <= value <= 100
        assert math.isclose(value * 100, round(value * 100), abs_tol=1e-6)
