"""Awkward verdicts on two replies, and how each is read; replies to a history are read like drafts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.protocol.calls import DIMENSIONS, PREFERENCES, Answer, Asked
from attunebench.protocol.read import expected_items, merge_answers, read_reply
from attunebench.protocol.read.values import preference, side

ASKED = Asked("verdict")
SIDES = dict(zip(DIMENSIONS, ("1", "2", "same", "1", "2"), strict=True))
VERDICT: dict[str, Any] = {"decided_by": "attunement", "preference": "2 slightly better", "dimensions": SIDES}
TOLD = {"evidence": "I feel tired", "rationale": "Reply 2 takes it up."}
COMPLETE = {**TOLD, **VERDICT}
TEXT = json.dumps(COMPLETE)
OTHER = json.dumps({**COMPLETE, "preference": "1 much better", "dimensions": dict.fromkeys(DIMENSIONS, "1")})


def read(text: str | None, **reply: Any) -> Answer:
    return read_reply(ASKED, Reply(text, **reply), default_codebook())


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"Here is my verdict:\n```json\n{TEXT}\n```",
        f"<think>{OTHER}</think>{TEXT}",
        f"One could say {OTHER}, but on reflection: {TEXT}",
        json.dumps({"answer": COMPLETE}),
        json.dumps({**TOLD, **SIDES, "decided_by": "Attunement", "preference": "2 slightly better."}),
        json.dumps(
            {**COMPLETE, "preference": "Reply 2 is slightly better", "dimensions": [{k: v} for k, v in SIDES.items()]}
        ),
        json.dumps({**COMPLETE, "dimensions": [{"dimension": k, "winner": v} for k, v in SIDES.items()]}),
        json.dumps({**COMPLETE, "dimensions": {k: f"Reply {v}" if v != "same" else "tie" for k, v in SIDES.items()}}),
        json.dumps({**COMPLETE, "dimensions": {k: int(v) if v != "same" else "Equal" for k, v in SIDES.items()}}),
        json.dumps({k.upper().replace("_", " "): v for k, v in COMPLETE.items()}),
        TEXT[:-1] + ",}",
        str(COMPLETE),
    ],
)
def test_a_verdict_is_read_however_it_is_dressed(text: str) -> None:
    answer = read(text)
    assert ((), "answered") == (answer.missing, answer.outcome)
    assert COMPLETE == answer.values


@pytest.mark.parametrize(
    ("said", "dimension"),
    [
        ("Attunement, because it takes up the exam", "attunement"),
        ("human-alignment (a person is here)", "human_alignment"),
        ("task following - it stays in its role", "task_following"),
        ("attunement and resonance", None),
        ("the attunement", None),
    ],
)
def test_a_reason_may_follow_the_dimension_that_decided(said: str, dimension: str | None) -> None:
    assert dimension == read(json.dumps({**COMPLETE, "decided_by": said})).values["decided_by"]


@pytest.mark.parametrize("kept", [("evidence",), ("rationale",), ()])
def test_a_verdict_without_quote_or_reasons_lacks_nothing(kept: tuple[str, ...]) -> None:
    answer = read(json.dumps({**VERDICT, **{name: TOLD[name] for name in kept}}))
    assert ("answered", ()) == (answer.outcome, answer.missing)
    assert set(kept) == answer.values.keys() & TOLD.keys()


@pytest.mark.parametrize(
    "said", ["1", "Reply 2", 2, "better", "1 better", "3 much better", "1 or 2 slightly better", "", None, []]
)
def test_a_side_without_strength_is_no_preference(said: Any) -> None:
    answer = read(json.dumps({**COMPLETE, "preference": said}))
    assert (None, ("preference",), "incomplete") == (answer.values["preference"], answer.missing, answer.outcome)


@pytest.mark.parametrize(
    "said", ["both", "Neither", "tie", "same", "Equal.", "The same", "equally good", "No preference"]
)
def test_a_tie_in_other_words_is_a_tie(said: str) -> None:
    assert ("same", "same") == (preference(said), side(said))


@pytest.mark.parametrize(
    "said",
    [
        "1 (much better)",
        "Reply 1: much better",
        "reply 1 is much better than reply 2",
        "**1 much better**",
        "1  MUCH better.",
        "1_much_better",
        "Response 1 much-better",
        "[[1]] much better",
        "1 much better - it names the exam",
    ],
)
def test_a_preference_in_more_words_is_the_same(said: str) -> None:
    assert "1 much better" == preference(said)


@pytest.mark.parametrize("words", PREFERENCES)
def test_every_answer_that_is_asked_for_is_read(words: str) -> None:
    assert words == preference(words)


@pytest.mark.parametrize(
    "said", ["1 much better, 1 slightly better, same", "1 much better, 2 slightly better", "1 much better - or same"]
)
def test_a_preference_that_names_two_choices_is_none(said: str) -> None:
    assert preference(said) is None


@pytest.mark.parametrize("said", ["1", 1, 1.0, "[[1]]", "(1)", "1 much better", "Response 1", "1 - warmer"])
def test_a_side_in_more_words_is_the_same(said: Any) -> None:
    assert "1" == side(said)


@pytest.mark.parametrize("said", ["3", "12", "1 and 2", "1 or 2", "1, not better", "not 1", True, 1.5, None, {"1": 2}])
def test_what_names_no_reply_is_no_side(said: Any) -> None:
    assert side(said) is None


def test_missing_dimensions_are_named_and_the_rest_stands() -> None:
    answer = read(json.dumps({**COMPLETE, "dimensions": {"attunement": "1"}}))
    assert {"attunement": "1"} == answer.values["dimensions"]
    assert {f"dimensions.{name}" for name in DIMENSIONS if name != "attunement"} == set(answer.missing)
    assert "2 slightly better" == answer.values["preference"]


def test_two_verdicts_that_contradict_each_other_are_none() -> None:
    answer = read(f'{TEXT[:-1]}, "preference": "1 much better"}}')
    assert answer.values["preference"] is None


def test_a_refusal_is_no_verdict_whatever_else_it_says() -> None:
    answer = read(TEXT, refusal="I cannot compare these.")
    assert ("refused", None, {}) == (answer.outcome, answer.values["preference"], answer.values["dimensions"])
    assert set(expected_items(ASKED)) == set(answer.missing)


def test_a_cut_verdict_keeps_what_it_said() -> None:
    answer = read(TEXT[: TEXT.index('"preference"')], finish_reason="length")
    assert ("truncated", "attunement") == (answer.outcome, answer.values["decided_by"])


def test_a_later_answer_fills_what_the_first_one_lacked() -> None:
    first = read(json.dumps({**COMPLETE, "preference": "better"}))
    merged = merge_answers(ASKED, first, read(OTHER))
    assert ("1 much better", SIDES, ()) == (merged.values["preference"], merged.values["dimensions"], merged.missing)


@given(st.text())
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    assert read(text).values["preference"] in (None, *PREFERENCES)


@pytest.mark.parametrize(
    "text", ["I hear you.", '{"drafted_response": "I hear you."}', '```\n{"reply": "I hear you."}\n```']
)
def test_a_reply_to_a_history_is_read_like_a_draft(text: str) -> None:
    assert "I hear you." == read_reply(Asked("respond"), Reply(text), default_codebook()).values["drafted_response"]
