"""Awkward replies to the question for a profile, and how each is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.conversations.traits import CANNOT_TELL, TRAITS
from attunebench.protocol.calls import PREDICTED_PROFILE, Answer, Asked
from attunebench.protocol.read import expected_items, merge_answers, read_reply
from attunebench.protocol.read.traits import trait_answer

ASKED = Asked("profile", traits=TRAITS)
BY_ID = {trait.id: trait for trait in TRAITS}
COMPLETE: dict[str, Any] = {
    "diagnosis_groups": ["none"],
    "who_5": "not poor",
    "promis_anxiety": "mild",
    "promis_depression": "normal",
    "promis_sleep": CANNOT_TELL,
    "aq_10": "screen-negative",
    "asrs_6": "screen-positive",
    "tipi_extraversion": 9,
    "tipi_agreeableness": 10,
    "tipi_conscientiousness": 11,
    "tipi_stability": 4,
    "tipi_openness": CANNOT_TELL,
    "age": 31,
    "gender": "another gender",
    "education": "bachelor's degree",
    "english_proficiency": "fluent",
}


def read(text: str) -> Answer:
    return read_reply(ASKED, Reply(text), default_codebook())


def test_a_complete_answer_is_read_as_it_stands() -> None:
    answer = read(json.dumps({PREDICTED_PROFILE: COMPLETE}))
    assert (COMPLETE, (), "answered") == (answer.values[PREDICTED_PROFILE], answer.missing, answer.outcome)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(COMPLETE),
        f"```json\n{json.dumps({PREDICTED_PROFILE: COMPLETE})}\n```",
        f"<think>they sound young</think>{json.dumps({PREDICTED_PROFILE: COMPLETE})}",
        json.dumps({"result": {PREDICTED_PROFILE: COMPLETE}}),
        json.dumps({PREDICTED_PROFILE: json.dumps(COMPLETE)}),
        json.dumps({"PredictedProfile": {key.upper().replace("_", "-"): value for key, value in COMPLETE.items()}}),
        json.dumps({PREDICTED_PROFILE: {k: {"answer": v, "reason": "so it seems"} for k, v in COMPLETE.items()}}),
        json.dumps({PREDICTED_PROFILE: [{"item": k, "answer": v} for k, v in COMPLETE.items()]}),
        json.dumps({PREDICTED_PROFILE: COMPLETE})[:-1] + ",}",
        str({PREDICTED_PROFILE: COMPLETE}),
    ],
    ids=["flat", "fence", "thought", "wrapped", "text inside", "spelling", "reasons", "list", "comma", "python"],
)
def test_the_shape_does_not_matter(text: str) -> None:
    assert COMPLETE == read(text).values[PREDICTED_PROFILE]


@pytest.mark.parametrize(
    ("expected", "trait", "raw"),
    [
        ("poor", "who_5", " Poor. "),
        ("poor", "who_5", "poor (0 to 12)"),
        (None, "who_5", "rather poor"),
        (None, "who_5", "poor or not poor"),
        (None, "who_5", 11),
        ("screen-positive", "aq_10", "screen positive"),
        ("screen-positive", "aq_10", "Positive"),
        ("screen-negative", "asrs_6", "screen–negative"),
        (None, "aq_10", "not screen-positive"),
        (None, "aq_10", "yes"),
        ("mild", "promis_sleep", ["mild"]),
        (None, "promis_sleep", ["mild", "severe"]),
        (None, "promis_sleep", "57.3"),
        ("woman", "gender", "female"),
        (None, "gender", "positive"),
        ("bachelor's degree", "education", "Bachelor’s Degree"),
        (8, "tipi_openness", "8"),
        (8, "tipi_openness", "8/14"),
        (8, "tipi_openness", "8 - curious"),
        (8.5, "tipi_openness", 8.5),
        (None, "tipi_openness", 15),
        (None, "tipi_openness", 1),
        (None, "tipi_openness", "high"),
        (None, "tipi_openness", True),
        (34, "age", "34 years"),
        (None, "age", "25-34"),
        (None, "age", 17),
        (["none"], "diagnosis_groups", "none"),
        (["anxiety or depression", "ASD or ADHD"], "diagnosis_groups", ["ASD or ADHD", "Anxiety or Depression"]),
        (["anxiety or depression", "ASD or ADHD"], "diagnosis_groups", "ASD or ADHD, anxiety or depression"),
        (["anxiety or depression"], "diagnosis_groups", ["anxiety", "depression"]),
        (None, "diagnosis_groups", ["none", "other"]),
        (None, "diagnosis_groups", ["other", CANNOT_TELL]),
        (None, "diagnosis_groups", ["sad"]),
        (None, "diagnosis_groups", []),
        (None, "diagnosis_groups", 3),
        (CANNOT_TELL, "diagnosis_groups", [CANNOT_TELL]),
        (CANNOT_TELL, "diagnosis_groups", CANNOT_TELL),
        (CANNOT_TELL, "who_5", "Cannot tell."),
        (CANNOT_TELL, "who_5", "can't tell"),
        (CANNOT_TELL, "age", "cannot_tell"),
        (CANNOT_TELL, "tipi_openness", "cannot tell (no ground)"),
        (None, "who_5", "I cannot tell, perhaps poor"),
        (None, "who_5", ""),
        (None, "who_5", None),
        (None, "who_5", {"answer": "poor"}),
    ],
)
def test_an_answer_is_one_of_the_trait_s_or_none(expected: object, trait: str, raw: object) -> None:
    assert expected == trait_answer(BY_ID[trait], raw)


def test_what_is_left_out_is_missing_by_its_path_and_declining_is_not() -> None:
    some = {key: value for key, value in COMPLETE.items() if key != "age"}
    answer = read(json.dumps({PREDICTED_PROFILE: some}))
    assert (("predicted_profile.age",), "incomplete") == (answer.missing, answer.outcome)


def test_two_answers_to_one_item_are_none() -> None:
    text = json.dumps({PREDICTED_PROFILE: COMPLETE}).replace('"age": 31', '"age": 31, "age": 60')
    assert ("predicted_profile.age",) == read(text).missing


@pytest.mark.parametrize("text", ["", "I'd rather not.", "{", "[]", "null", '{"predicted_profile": 5}'])
def test_a_reply_without_answers_answers_nothing(text: str) -> None:
    answer = read(text)
    assert expected_items(ASKED) == answer.missing
    assert {} == answer.values[PREDICTED_PROFILE]


def test_the_first_valid_answer_of_each_trait_stands() -> None:
    first = read(json.dumps({PREDICTED_PROFILE: {"age": 30}}))
    merged = merge_answers(ASKED, first, read(json.dumps({PREDICTED_PROFILE: COMPLETE})))
    assert {**COMPLETE, "age": 30} == merged.values[PREDICTED_PROFILE]
    assert "answered" == merged.outcome
