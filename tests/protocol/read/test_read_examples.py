"""Finding, shapes and outcomes: what the shared cases do not show."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from attunebench.backends.base import Reply
from attunebench.codebook import Codebook
from attunebench.protocol.calls import Answer, Asked
from attunebench.protocol.read import expected_items, merge_answers, read_reply

Reader = Callable[..., Answer]
TWO = Asked("pairwise", comparisons={"0": ("Reply 2", "Reply 1"), "1": ("Reply 1", "Reply 3")})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["A","B"]', {"0": "A", "1": "B"}),
        ('{"pairwise_selections":["A"]}', {}),
        ('{"pairwise_selections":{"comparison_0":"A","Comparison 1":"b"}}', {"0": "A", "1": "B"}),
        ('{"pairwise_selections":{"-1":"A","0.1":"B","10":"A"}}', {}),
        ('{"pairwise_selections":{"0":{"selection":"A","reason":"B is cold"}}}', {"0": "A"}),
        ('{"pairwise_selections":{"0":{"selection":"A","answer":"B"}}}', {}),
        ('{"pairwise_selections":{"0":"A","0":"B","1":"A"}}', {"1": "A"}),
        ('{"pairwise_selections":{"0":"A","0":"a"}}', {"0": "A"}),
        ("{'0':'A','0':'B','1':'A'}", {"1": "A"}),
        ('{"0":"A"} and {"0":"tie","1":"B"}', {"1": "B"}),
        ('{"0":"A","1":null} {"1":"B"}', {"0": "A", "1": "B"}),
        ('For example {"0":"A"}.\n```json\n{"0":"B"}\n```', {"0": "B"}),
        ('```\n{"0":"A"}\n```\n```\n{"1":"B"}\n```', {"0": "A", "1": "B"}),
        ('```json\n{"0":"A"\n```\nand\n```json\n{"1":"B"}\n```', {"0": "A", "1": "B"}),
        ('{"0":"A"\n"1":"B"}', {"0": "A", "1": "B"}),
        ('{"0": "A" (warm), "1": "B"}', {"0": "A", "1": "B"}),
        ('{"0":[', {}),
        ('[{"id":"0","selection":"A"},{"id":"1","sel', {"0": "A"}),
        ('{"0":{"selection":"A","reason":"bec', {}),
        ('{"reasoning":"{\\"0\\":\\"A\\"}"}', {}),
        ('{"reasoning":"maybe {\'0\': \'A\'} but', {}),
        ('<think>{"0":"A"}</think>', {}),
        ('{"0":"A","1":"</think>"}', {"0": "A"}),
        ('It said <think> <think> {"0":"B"} </think> {"0":"A"}', {"0": "A"}),
    ],
)  # fmt: skip
def test_comparisons_in_awkward_shapes(text: str, expected: dict[str, str], read: Reader) -> None:
    assert expected == read(TWO, text).values["pairwise_selections"]


def test_a_number_at_the_very_end_may_have_been_cut(read: Reader) -> None:
    assert read("judge", '{"overall_score": 5').values["overall_score"] is None
    assert 5 == read("judge", '{"overall_score": 5,').values["overall_score"]


def test_a_list_that_was_cut_is_no_answer(read: Reader) -> None:
    assert read("review", '{"emotion_tags": ["Proud"').values["emotion_tags"] is None
    assert read("review", '{"emotion_tags": [').values["emotion_tags"] is None
    assert [] == read("review", '{"emotion_tags": [], "bi').values["emotion_tags"]


def test_words_that_look_like_the_mark_of_a_cut_are_words(read: Reader) -> None:
    wide = {"q3_followUp_whatFeltOff": ["__cut__"], "__cut__": None}
    for text in (json.dumps({"conversation_wide": wide}), json.dumps({"conversation_wide": wide})[:-1] + ",}"):
        assert ["__cut__"] == read("post", text).values["conversation_wide"]["q3_followUp_whatFeltOff"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("Neutral", []),
        (["none"], []),
        (["Neutral", "Proud"], None),
        (["Neutral", "Sad"], None),
        ([None], None),
        ({}, None),
        ("proud", [{"emotion": "Proud", "intensity": None}]),
        ({"emotion": "Proud", "intensity": "mild"}, [{"emotion": "Proud", "intensity": 2}]),
        ([{"emotion": "Proud", "intensity": 9}], [{"emotion": "Proud", "intensity": None}]),
        ([{"Proud": 5}, {"emotion": ["Upset"]}], [{"emotion": "Proud", "intensity": 5}]),
        (
            [{"emotion": "Proud", "intensity": 2}, {"emotion": "proud", "intensity": 5}, "Proud"],
            [{"emotion": "Proud", "intensity": 5}],
        ),
    ],
)
def test_tag_lists(tags: Any, expected: Any, read: Reader) -> None:
    assert expected == read("review", json.dumps({"emotion_tags": tags})).values["emotion_tags"]


def test_questions_may_be_named_by_their_text(book: Codebook, read: Reader) -> None:
    text = book.binary["B13"].observer_text
    named = {text.upper(): "yes", f"B1: {book.binary['B1'].observer_text}": "no", "B1-3": "no", "question_B108": "yes"}
    answer = read("binary_hp", json.dumps({"binary_om_assessment": named}))
    assert {"B13": "yes", "B1": "no", "B108": "yes"} == answer.values["binary_om_assessment"]


def test_a_text_that_two_questions_share_names_neither(read: Reader) -> None:
    asked = Asked("judge", questions={"B1": "Same?", "B2": "Same?"}, rated=False)
    assert {"draft_binary_assessment": {}} == read(asked, '{"Same?": "yes"}').values


@pytest.mark.parametrize(
    ("wide", "expected"),
    [
        ({"q3_modelFit": "Mostly well-matched"}, []),
        ({"q3_modelFit": "mostly off-target or intrusive"}, None),
        ({}, None),
        ({"q3_modelFit": "Mostly well-matched", "q3_followUp_whatFeltOff": [7]}, None),
        ({"q3_followUp_whatFeltOff": [" Too long ", ""]}, ["Too long"]),
        ({"q3_followUp_whatFeltOff": "None."}, []),
        ({"q3_followUp_whatFeltOff": ["N/A"]}, []),
        ({"q3_followUp_whatFeltOff": ["None of it helped"]}, ["None of it helped"]),
    ],
)
def test_the_follow_up_is_left_out_only_beside_a_positive_q3(wide: Any, expected: Any, read: Reader) -> None:
    values = read("post", json.dumps({"conversation_wide": wide})).values
    assert expected == values["conversation_wide"]["q3_followUp_whatFeltOff"]


def test_levels_may_be_left_out_of_post(read: Reader) -> None:
    values = read("post", '{"predicted_post_panas":{"proud":5},"fourBranchScores":{"managing":2}}').values
    assert {"Proud": 5} == values["predicted_post_panas"]["items"]
    assert {"managing": 2} == values["conversation_wide"]["fourBranchScores"]


def test_items_of_the_other_strategy_are_not_read(read: Reader) -> None:
    for text in ('{"predicted_panas_delta":{"Proud":5}}', '{"predicted_panas_delta":{"Upset":1},"items":{"Proud":5}}'):
        assert {} == read("post", text).values["predicted_post_panas"]["items"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"drafted_response": "Hi \\"you\\",\\n\\nbye.",}', 'Hi "you",\n\nbye.'),
        ('{"drafted_response": "I am here.", "reasoning": "bec', "I am here."),
        ("{'drafted_response': 'I am sorry.'}", "I am sorry."),
        ("{'drafted_response': 'I'm sorry.'}", None),
        ('{"drafted_response": "You said "no" to', None),
        ('Sure: {"drafted_response": "I am', None),
        ("<think>So?</think>I am here.", "I am here."),
        ("Look:\n```\nI am here.\n```", None),
        ("[sighs]", None),
        ('"I am here."', "I am here."),
        ("{this", None),
    ],
)
def test_drafts(text: str, expected: str | None, read: Reader) -> None:
    assert expected == read("draft", text).values["drafted_response"]


def test_a_bare_draft_that_met_the_length_limit_was_cut(read: Reader) -> None:
    answer = read("draft", "I am so sorry that", finish_reason="length")
    assert (None, "truncated") == (answer.values["drafted_response"], answer.outcome)


def test_a_full_answer_counts_even_at_the_length_limit(read: Reader) -> None:
    assert "answered" == read(TWO, '{"0":"A","1":"B"} and so', finish_reason="length").outcome


@pytest.mark.parametrize("fields", [{"refusal": "I will not."}, {"finish_reason": "content_filter"}])
def test_a_refused_reply_answers_nothing(fields: dict[str, str], read: Reader) -> None:
    answer = read(TWO, '{"0":"A","1":"B"}', **fields)
    assert ("refused", {}) == (answer.outcome, answer.values["pairwise_selections"])


def test_a_refusal_is_never_told_by_its_wording(read: Reader) -> None:
    assert "answered" == read("draft", "I can't help with that.").outcome


def test_reasoning_beside_the_content_is_never_the_answer(book: Codebook) -> None:
    answer = read_reply(TWO, Reply(text=None, reasoning='{"0":"A","1":"B"}'), book)
    assert ("unreadable", ("pairwise_selections.0", "pairwise_selections.1")) == (answer.outcome, answer.missing)


def test_reasoning_texts_are_kept_and_are_no_items(read: Reader) -> None:
    answer = read("review", '{"reasoning":"r","emotion_reasoning":"e","emotion_tags":[]}')
    assert {"reasoning": "r", "emotion_reasoning": "e"} == answer.reasoning


def test_only_repaired_json_is_called_mended(read: Reader) -> None:
    assert not read(TWO, 'x\n```\n{"0":"A","1":"B"}\n```').mended
    assert read(TWO, '{"0":"A","1":"B",}').mended


@pytest.mark.parametrize(
    "text",
    ["{" * 200_000, '"' * 200_000, "[" * 200_000, '{"a":' * 99_999, "{'0': '" * 50_000, '{"0":"A",' * 30_000,
     "{}" * 99_999, '{"0":' + "9" * 99_999 + "}", "<think>" * 50_000, "/*" * 9_999, '{"a" ' * 50_000, "\x00", "\ud800"],
    ids=lambda text: text[:8].encode("unicode_escape").decode(),
)  # fmt: skip
def test_hostile_texts_are_read_in_bounded_time_and_say_nothing(text: str, read: Reader) -> None:
    assert {} == read(TWO, text).values["pairwise_selections"]


def test_every_item_of_a_call_has_a_path(asked: dict[str, Asked]) -> None:
    counts = {kind: len(expected_items(call)) for kind, call in asked.items()}
    assert {
        "draft": 1, "judge": 8, "review": 9, "binary_hp": 8, "pairwise": 4, "post": 28, "delta": 28
    } == counts  # fmt: skip
    assert "predicted_panas_delta.items.Proud" in expected_items(asked["delta"])
    assert "conversation_wide.fourBranchScores.perceiving" in expected_items(asked["post"])
    assert ("drafted_response",) == expected_items(asked["draft"])


def test_the_first_valid_answer_of_each_item_stands(read: Reader) -> None:
    merged = merge_answers(TWO, read(TWO, '{"0":"A"}'), read(TWO, '{"0":"B","1":"B",}'))
    assert {"0": "A", "1": "B"} == merged.values["pairwise_selections"]
    assert ("answered", (), True) == (merged.outcome, merged.missing, merged.mended)


def test_what_nobody_answered_keeps_the_later_reason(read: Reader) -> None:
    first = read(TWO, '{"0":"A"}')
    assert "incomplete" == merge_answers(TWO, first, read(TWO, "no idea")).outcome
    assert "truncated" == merge_answers(TWO, first, read(TWO, "<think>")).outcome
    assert "refused" == merge_answers(TWO, read(TWO, "?"), read(TWO, None, refusal="no")).outcome
    assert "refused" == merge_answers(TWO, read(TWO, None, refusal="no"), read(TWO, "?")).outcome


def test_a_follow_up_inferred_from_a_q3_that_does_not_stand_is_none(read: Reader, asked: dict[str, Asked]) -> None:
    def wide(q3: str) -> Answer:
        return read("post", json.dumps({"conversation_wide": {"q3_modelFit": q3}}))

    merged = merge_answers(asked["post"], wide("Mostly off-target or intrusive"), wide("Mostly well-matched"))
    assert merged.values["conversation_wide"]["q3_followUp_whatFeltOff"] is None
    assert "conversation_wide.q3_followUp_whatFeltOff" in merged.missing
