"""What is right about a predicted profile, and what could be had without reading anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiled import talk, talks

from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import CANNOT_TELL, TRAITS, traits_of
from attunebench.profiles.running import answers_in
from attunebench.profiles.scoring import Answers, Item, Scored, base_numbers, base_right, labels_of, score


def scored(conversations: list[Conversation], *answers: Mapping[str, Any]) -> Scored:
    """Each conversation with its answers, as a file would hold them."""
    given: dict[str, Answers] = {
        c.conversation_id: answers_in({"predicted_profile": dict(said)}, TRAITS)
        for c, said in zip(conversations, answers, strict=True)
    }
    return score(conversations, given, traits_of(conversations))


def item(found: Scored, name: str) -> Item:
    return next(one for one in found.items if one.id == name)


def test_declining_and_not_answering_earn_what_a_wrong_answer_earns() -> None:
    people = talks([{"who_5": 5}, {"who_5": 5}, {"who_5": 5}, {"who_5": 20}, {}])
    found = item(
        scored(people, {"who_5": "poor"}, {"who_5": CANNOT_TELL}, {}, {"who_5": "poor"}, {"who_5": "poor"}), "who_5"
    )
    nan = np.nan
    np.testing.assert_array_equal([1, 0, 0, 0, nan], found.right)
    np.testing.assert_array_equal([1, 0, 0, 1, nan], found.answered)
    np.testing.assert_array_equal([0, 1, 0, 0, nan], found.declined)


def test_diagnoses_are_right_as_a_set_and_group_by_group() -> None:
    people = talks([{"diagnoses": ("ADHD", "Anxiety")}, {"diagnoses": ("None of the above",)}])
    found = scored(people, {"diagnosis_groups": ["ASD or ADHD"]}, {"diagnosis_groups": ["none"]})
    rights = {one.id: list(one.right) for one in found.items if one.id.startswith("diagnosis")}
    assert {
        "diagnosis_groups": [0, 1],
        "diagnosis_groups.none": [1, 1],
        "diagnosis_groups.anxiety or depression": [0, 1],
        "diagnosis_groups.ASD or ADHD": [1, 1],
        "diagnosis_groups.other": [1, 1],
    } == rights


def test_declining_the_diagnoses_is_no_hit_on_any_group() -> None:
    people = talks([{"diagnoses": ("None of the above",)}] * 2)
    found = scored(people, {"diagnosis_groups": CANNOT_TELL}, {"diagnosis_groups": ["none"]})
    assert all(0 == one.right[0] and 1 == one.declined[0] for one in found.items if one.id.startswith("diagnosis"))


@pytest.mark.parametrize(("expected", "age"), [(0, 24), (1, 25), (1, 34), (1, 34.5), (0, 35), (0, CANNOT_TELL)])
def test_an_age_is_right_in_the_person_s_range(expected: int, age: object) -> None:
    people = talks([{"age_range": "25-34"}, {"age_range": "65+"}])
    assert expected == item(scored(people, {"age": age}, {}), "age").right[0]


def test_asrs_is_held_against_the_form_of_these_data() -> None:
    said = [{"asrs_6": "screen-positive"}] * 2
    counts = item(scored(talks([{"asrs_6": 5}, {"asrs_6": 1}]), *said), "asrs_6")
    sums = item(scored(talks([{"asrs_6": 5}, {"asrs_6": 20}]), *said), "asrs_6")
    assert ([1, 0], [0, 1]) == (list(counts.right), list(sums.right))


def test_thirds_of_a_scale_are_those_of_the_participants() -> None:
    people = talks([{"tipi_openness": value} for value in (2, 3, 7, 8, 13, 14)])
    said = [{"tipi_openness": value} for value in (6, 7, 7, CANNOT_TELL, 14, 13)]
    found = item(scored(people, *said), "tipi_openness")
    assert [1, 0, 1, 0, 1, 1] == list(found.right)


def test_people_who_are_all_alike_have_no_thirds() -> None:
    found = scored(talks([{"tipi_openness": 7}] * 3), {}, {}, {})
    assert "tipi_openness" not in {one.id for one in found.items}


def test_a_person_counts_once_in_every_base_rate() -> None:
    people = [talk("a", number=n, who_5=5) for n in range(5)]
    people += [talk(name, number=9 + place, who_5=20) for place, name in enumerate("bcde")]
    found = item(scored(people, *[{}] * len(people)), "who_5")
    assert [0] * 5 + [1] * 4 == list(found.base)


def test_conversations_of_unknown_people_are_people_of_their_own() -> None:
    assert [0, 1, 2, 0] == list(labels_of([talk("a"), talk(None), talk(None), talk("a")]))


def test_nobody_else_means_no_base_rate() -> None:
    people = np.zeros(2, dtype=np.intp)
    assert np.isnan(base_right(("poor", "poor"), people)).all()
    assert np.isnan(base_numbers(np.array([3.0, 3.0]), people)).all()


@pytest.mark.parametrize(("classes", "expected"), [("aabb", [0.5] * 4), ("aaabb", [0.5] * 5), ("aaab", [1, 1, 1, 0])])
def test_where_one_person_decides_which_answer_leads_the_base_rate_guesses(classes: str, expected: list[float]) -> None:
    """Else it would be wrong of everybody where answers are even, and whoever guesses would be above it."""
    np.testing.assert_array_equal(expected, base_right(tuple(classes), np.arange(len(classes))))


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=12))
def test_where_nobody_tips_it_the_base_rate_is_that_of_all_others(classes: list[str]) -> None:
    counts = Counter(classes).most_common()
    if len(counts) > 1 and counts[0][1] - counts[1][1] < 2:
        return
    found = base_right(tuple(classes), np.arange(len(classes)))
    for place, name in enumerate(classes):
        others = classes[:place] + classes[place + 1 :]
        assert float(name == Counter(others).most_common()[0][0]) == found[place]


@given(st.lists(st.one_of(st.none(), st.integers(2, 14)), min_size=1, max_size=12))
def test_the_base_number_is_the_median_of_all_others(values: list[int | None]) -> None:
    truth = np.array([np.nan if value is None else value for value in values], dtype=float)
    found = base_numbers(truth, np.arange(len(values)))
    for place, value in enumerate(values):
        others = [v for i, v in enumerate(values) if v is not None and i != place]
        if value is None or not others:
            assert np.isnan(found[place])
        else:
            assert median(others) == found[place]


def test_both_errors_of_a_scale_are_over_what_was_answered() -> None:
    people = talks([{"tipi_openness": value} for value in (4, 8, 12)])
    (found,) = [
        one
        for one in scored(people, {"tipi_openness": 5}, {"tipi_openness": CANNOT_TELL}, {}).scales
        if one.id == "tipi_openness"
    ]
    np.testing.assert_array_equal([5, np.nan, np.nan], found.given)
    np.testing.assert_array_equal([10, np.nan, np.nan], found.base)


def test_a_conversation_without_a_prediction_is_no_row() -> None:
    people = talks([{"who_5": 5}, {"who_5": 5}, {"who_5": 20}])
    found = score(people, {"c001": {"who_5": "poor"}}, traits_of(people))
    assert (1, 1) == (len(found.people), len(item(found, "who_5").right))


@pytest.mark.parametrize("name", ["who_5", "gender", "age"])
def test_one_more_wrong_answer_never_helps(name: str) -> None:
    people = talks([{"who_5": 5, "gender": "Woman", "age_range": "25-34"}] * 3)
    right = {"who_5": "poor", "gender": "woman", "age": 30}
    wrong = {"who_5": "not poor", "gender": "man", "age": 50}
    before = item(scored(people, right, right, right), name).right.mean()
    assert before > item(scored(people, right, {**right, name: wrong[name]}, right), name).right.mean()


def test_what_somebody_wrote_into_a_file_is_read_like_a_reply() -> None:
    content = {"predicted_profile": {"age": "thirty", "who_5": "POOR", "gender": 5, "shoe size": 44}}
    assert {"who_5": "poor"} == answers_in(content, TRAITS)
    assert {} == answers_in({"predicted_profile": "poor"}, TRAITS)
