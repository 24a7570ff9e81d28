"""Answers in other dresses: wrapped as a call, beside extra keys, in characters that look like others, of any size."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.protocol.calls import Answer, Asked
from attunebench.protocol.endings import FILTERED, LENGTH, canonical, fills_limit, is_broken
from attunebench.protocol.read import read_reply, scan
from attunebench.protocol.read.kinds import LONGEST_DRAFT
from attunebench.protocol.read.values import yes_no

Reader = Callable[..., Answer]
Answers = Callable[[str], st.SearchStrategy[dict[str, Any]]]
KINDS = ("draft", "judge", "review", "binary_hp", "pairwise", "post", "delta")

WRAPPINGS: dict[str, Callable[[Any], Any]] = {
    "parameters": lambda said: {"name": "attunebench_review", "parameters": said},
    "arguments": lambda said: {"name": "attunebench_review", "arguments": said},
    "arguments as text": lambda said: {"name": "x", "arguments": json.dumps(said)},
    "properties": lambda said: {"type": "object", "properties": said, "required": []},
    "a function": lambda said: {"type": "function", "function": {"name": "x", "arguments": json.dumps(said)}},
    "a list of calls": lambda said: [{"name": "x", "arguments": said}],
    "tool_calls": lambda said: {"tool_calls": [{"id": "t", "function": {"name": "x", "arguments": json.dumps(said)}}]},
    "beside a confidence": lambda said: {"assessment": said, "confidence": 0.9},
    "beside thoughts": lambda said: {"thoughts": {"drafted_response": "first idea"}, "final": said},
}

DRESSES = ("{}", "<tool_call>\n{}\n</tool_call>", "<function=x>{}</function>", "```\n{}\n```")


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=3)
def test_an_answer_is_unwrapped(kind: str, wrapping: str, read: Reader, answers: Answers, data: st.DataObject) -> None:
    said, dress = data.draw(answers(kind)), data.draw(st.sampled_from(DRESSES))
    answer = read(kind, dress.replace("{}", json.dumps(WRAPPINGS[wrapping](said))))
    assert (answer.values, answer.outcome) == (said, "answered")


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=3)
def test_keys_that_were_not_asked_take_nothing_away(
    kind: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    extra = {key: value for each in KINDS if each != kind for key, value in data.draw(answers(each)).items()}
    assert read(kind, json.dumps({**extra, **said})).values == said
    assert read(kind, json.dumps({**said, "confidence": 1, "notes": {"x": []}})).values == said


@given(data=st.data())
@settings(max_examples=3)
def test_a_key_twice_with_two_values_is_not_answered_and_with_one_it_is(data: st.DataObject) -> None:
    one, other = data.draw(st.permutations(["yes", "no"]))
    asked = Asked("judge", questions={"B1": "One?", "B2": "Two?"}, rated=False)
    text = '{"draft_binary_assessment": {"B1": "%s", "B1": "%s", "B2": "yes"}%s}'
    for end in ("", ","):
        assert read_reply(asked, Reply(text % (one, other, end)), default_codebook()).values == {
            "draft_binary_assessment": {"B2": "yes"}
        }
        assert read_reply(asked, Reply(text % (one, one, end)), default_codebook()).outcome == "answered"


LOOKS: dict[str, Callable[[str], str]] = {
    "zero-width spaces": lambda text: "\u200b" + "\u200b".join(text) + "\u200b",
    "soft hyphens": lambda text: text[:1] + "\u00ad" + text[1:],
    "a byte order mark": lambda text: text + "\ufeff",
    "direction marks": lambda text: f"\u202a{text}\u202c",
    "a joiner": lambda text: text + "\u200d",
    "no-break hyphens": lambda text: text.replace("-", "\u2011"),
    "en dashes": lambda text: text.replace("-", "\u2013"),
    "minus signs": lambda text: text.replace("-", "\u2212"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "thin spaces": lambda text: text.replace(" ", "\u2009"),
    "full-width letters": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "Cyrillic letters": lambda text: text.translate(str.maketrans("ABEKMHOPCTaeopcyx", "АВЕКМНОРСТаеорсух")),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "draft"])
@given(data=st.data())
@settings(max_examples=3)
def test_look_alikes_and_invisible_characters_change_no_answer(
    kind: str, look: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    def dressed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {LOOKS[look](name): dressed(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [dressed(entry, key) for entry in value]
        return value if key == "q3_followUp_whatFeltOff" else LOOKS[look](str(value))

    said = data.draw(answers(kind))
    assert read(kind, json.dumps(dressed(said), ensure_ascii=False)).values == said


def test_what_people_read_keeps_its_characters(read: Reader) -> None:
    draft = "It\u2019s a long\u2011term thing \u2013 I\u00a0see. \u200bReally."
    assert read("draft", json.dumps({"drafted_response": draft})).values == {"drafted_response": draft}
    assert read("draft", draft).values == {"drafted_response": draft}


@pytest.mark.parametrize(
    "text",
    [
        '{\u200b"0":\u00a0"A",\u200b\n\u00a0"1": "B"\ufeff}',
        '{"0"：\u3000"A"，"1"："B"}',
        '{\u00a0\u00a0"0": "A",\u2028"1": "B"}',
    ],
)
def test_look_alikes_between_the_values_change_nothing(text: str) -> None:
    asked = Asked("pairwise", comparisons={"0": ("Reply 2", "Reply 1"), "1": ("Reply 1", "Reply 3")})
    assert read_reply(asked, Reply(text), default_codebook()).values == {"pairwise_selections": {"0": "A", "1": "B"}}


@pytest.mark.parametrize(
    ("said", "meant"),
    [("1.0", "yes"), ("0.0", "no"), (1.0, "yes"), ("1.00.", "yes"), ("Yes (1.0)", "yes"), ("yes, 0.9 sure", "yes"),
     ("0.5", None), ("10", None), ("1.5", None), (2.0, None), ("1.0 or 0.0", None)],
)  # fmt: skip
def test_a_whole_number_with_a_point_is_yes_or_no(said: Any, meant: str | None) -> None:
    assert yes_no(said) == meant


MEANINGS = {
    LENGTH: ("length", "LENGTH", "MAX_TOKENS", "max_tokens", "max-tokens", "maxTokens", "max_output_tokens",
             "max_completion_tokens", "max_new_tokens", "model_length", "model_context_window_exceeded",
             "FinishReason.MAX_TOKENS", "token_limit", "TOKEN_LIMIT_REACHED", "output_limit", "truncated", "incomplete",
             "context_length_exceeded", "Max Tokens", "limit"),
    FILTERED: ("content_filter", "content-filter", "contentFilter", "CONTENT_FILTERED", "SAFETY", "RECITATION",
               "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "sensitive", "refusal", "content_policy",
               "guardrail_intervened", "FinishReason.SAFETY", "moderation", "policy_violation", "blocked", "copyright",
               "data_inspection_failed", "safety_limit", "ERROR_TOXIC", "high_risk", "NSFW", "sexual", "violence"),
}  # fmt: skip


@pytest.mark.parametrize(("reason", "meaning"), [(each, name) for name, group in MEANINGS.items() for each in group])
def test_finish_reasons_count_by_what_they_mean(reason: str, meaning: str, read: Reader) -> None:
    assert canonical(reason) == meaning
    answer = read("draft", "I am so sorry, that", finish_reason=reason)
    assert answer.values == {"drafted_response": None}
    assert answer.outcome == ("truncated" if meaning == LENGTH else "refused")


@pytest.mark.parametrize(
    "reason", [None, "", "stop", "STOP", "end_turn", "eos_token", "stop_sequence", "tool_calls", "function_call",
               "FINISH_REASON_UNSPECIFIED", "OTHER", "error", "COMPLETE", "rate_limit", "completed", "time_limit"],
)  # fmt: skip
def test_other_reasons_leave_a_reply_as_it_is(reason: str | None, read: Reader) -> None:
    assert read("draft", "I am so sorry.", finish_reason=reason).outcome == "answered"


@pytest.mark.parametrize(
    ("reason", "broken"),
    [("error", True), ("insufficient_system_resource", True), ("network_error", True), ("abort", True),
     ("USER_CANCELLED", True), ("ERROR_LIMIT", False), ("ERROR_TOXIC", False), ("stop", False), (None, False),
     ("OTHER", False), ("tool_calls", False), ("end_turn", False)],
)  # fmt: skip
def test_some_reasons_mean_that_the_server_broke_off(reason: str | None, broken: bool) -> None:
    assert is_broken(reason) is broken


@pytest.mark.parametrize(
    ("completion", "reasoning", "limit", "fills"),
    [(64, None, 64, True), (63, None, 64, False), (70, None, 64, True), (90, 30, 64, False), (94, 30, 64, True),
     (64, 30, 64, True), (None, None, 64, False), (64, None, None, False)],
)  # fmt: skip
def test_a_reply_fills_its_limit_by_what_the_limit_counts(
    completion: int | None, reasoning: int | None, limit: int | None, fills: bool
) -> None:
    assert fills_limit(completion, reasoning, limit) is fills


@pytest.mark.parametrize("as_json", [True, False])
def test_a_draft_longer_than_any_reply_to_a_person_is_not_answered(as_json: bool, read: Reader) -> None:
    for length, answered in ((LONGEST_DRAFT, True), (LONGEST_DRAFT + 1, False)):
        text = "a" * length
        answer = read("draft", json.dumps({"drafted_response": text}) if as_json else text)
        assert (answer.outcome == "answered") is answered


TOKENS = st.sampled_from([*"{}[]\",:'\\\n#`/“”", '"a"', "'it's'", 'say "hi"', "// x\n", "/* y */", "True", "1", "…"])


@settings(max_examples=60)
@given(unit=st.lists(TOKENS, min_size=1, max_size=12).map("".join), times=st.integers(1, 400))
def test_a_repair_library_is_asked_about_the_structure_alone(unit: str, times: int) -> None:
    skeletons: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "mend", lambda skeleton, _texts: skeletons.append(skeleton))
        scan.mended("{" + unit * times, 0, 60_000)
    for skeleton in skeletons:
        assert re.fullmatch(r'(?:[{}\[\],:]|"\d+"|-?[0-9.]+|true|false|null|"__cut__"| )*', skeleton)
        assert skeleton.count(" ") <= scan.MAX_TOKENS + 200
