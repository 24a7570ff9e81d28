"""The worked values of spec 4.4."""

from __future__ import annotations

import pytest

from attunebench.constants import PANAS_SIMILARITY
from attunebench.metrics import emotion
from attunebench.metrics.composite import composite
from attunebench.metrics.pairwise import tau_b
from attunebench.metrics.panas import baseline_adjusted
from attunebench.metrics.questions import q3_follow_up


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("Distressed", "Upset", 0.9233), ("Afraid", "Inspired", 0.4069), ("Proud", "Afraid", 0.4344)],
)
def test_similarity_of_two_emotions(one, other, expected):
    assert expected == PANAS_SIMILARITY[one][other] == PANAS_SIMILARITY[other][one]


def test_one_of_two_emotions_is_named_with_another_strength():
    felt, guessed = {"Proud": 4, "Nervous": 3}, {"Proud": 6}
    values = emotion.turn_values(felt, guessed, PANAS_SIMILARITY)
    assert pytest.approx(0.666667, abs=1e-6) == values["emotion_f1"]
    assert pytest.approx(0.5) == values["emotion_va"]
    assert pytest.approx(0.444444, abs=1e-6) == values["emotion_f1_intensity"]
    assert pytest.approx(0.45) == values["emotion_va_intensity"]
    assert 2 == values["emotion_intensity_mae"]


def test_near_misses_without_a_common_name():
    felt, guessed = {"Upset": 5, "Guilty": 3}, {"Ashamed": 3, "Distressed": 5, "Nervous": 2}
    assert 0 == emotion.emotion_f1(felt, guessed)
    assert pytest.approx(0.642767, abs=1e-6) == emotion.emotion_va(felt, guessed, PANAS_SIMILARITY)
    assert pytest.approx(0.644103, abs=1e-6) == emotion.emotion_va_intensity(felt, guessed, PANAS_SIMILARITY)


def test_the_best_matching_is_not_the_greedy_one():
    felt, guessed = dict.fromkeys(("Interested", "Inspired")), dict.fromkeys(("Guilty", "Strong"))
    assert pytest.approx(0.77015) == emotion.emotion_va(felt, guessed, PANAS_SIMILARITY)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((5, 4, 3), (8, 4, 0), 1),
        ((4, 4, 4), (8, 4, 0), None),
        ((8, 4, 0), (0, 6, 6), pytest.approx(-0.816497, abs=1e-6)),
    ],
)
def test_tau_b_of_wins(one, other, expected):
    assert expected == tau_b(one, other)


@pytest.mark.parametrize(("predicted", "expected"), [(46, 0.5), (43, 0), (37, -1), (30, -1)])
def test_baseline_adjusted_panas_of_a_rise_from_43_to_49(predicted, expected):
    assert expected == baseline_adjusted(43, 49, predicted)


@pytest.mark.parametrize("predicted", [43, 50, None])
def test_a_side_that_did_not_move_is_undefined_whatever_was_answered(predicted):
    assert baseline_adjusted(43, 43, predicted) is None


def test_follow_up_entries_overlap_softly():
    person = ["Gave advice before listening", "Too long"]
    assert pytest.approx(0.285714, abs=1e-6) == q3_follow_up(person, ["gave advice too early before listening"])


def test_an_undefined_accuracy_leaves_the_other_one_in_its_place():
    values = {"binary_hp_accuracy": None, "binary_om_accuracy": 0.9, "pairwise_accuracy": 0.6}
    assert pytest.approx(0.75) == composite(values, nothing_moved=False).values["evaluation_quality"]
