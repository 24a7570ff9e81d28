"""Answers in bodies of other forms: event streams, wrappers, parts, calls of tools, errors that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.backends.faults import Fault
from attunebench.backends.wire import outcome_of, says_something

SAID = '{"emotion_tags": []}\n data: [DONE] é心\u2028'
GOOD: dict[str, Any] = {
    "id": "c",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5},
}


def chunk(delta: Any = None, finish: str | None = None, **around: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": "m", "choices": [choice], **around}


def events(*payloads: Any, before: str = "data: ", after: str = "\n\n") -> str:
    return "".join(f"{before}{each if isinstance(each, str) else json.dumps(each)}{after}" for each in payloads)


HALVES = (chunk({"role": "assistant", "content": ""}), chunk({"content": SAID[:7]}), chunk({"content": SAID[7:]}))
LAST = {"choices": [], "usage": GOOD["usage"]}
STREAMS = {
    "chunks": events(*HALVES, chunk(finish="stop"), LAST, "[DONE]"),
    "no space": events(*HALVES, chunk(finish="stop"), LAST, "[DONE]", before="data:"),
    "carriage returns": events(*HALVES, chunk(finish="stop"), LAST, "[DONE]", after="\r\n\r\n"),
    "no blank lines": events(*HALVES, chunk(finish="stop"), LAST, "[DONE]", after="\n"),
    "pings and names": ": ping\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nretry: 3\n"
    + events(*HALVES, chunk(finish="stop"), LAST, before="id: 1\nevent: message\ndata: "),
    "no end but a finish reason": events(*HALVES, chunk(finish="stop"), LAST),
    "an end but no finish reason": events(*HALVES, LAST, "[DONE]"),
    "an answer and then the end": f"{json.dumps(GOOD)}\n\ndata: [DONE]\n\n",
    "an answer as an event": events(GOOD, "[DONE]"),
    "lines of JSON": events(*HALVES, chunk(finish="stop"), LAST, before="", after="\n"),
    "parts": events(chunk({"content": [{"type": "text", "text": SAID}]}, "stop"), LAST, "[DONE]"),
    "errors of nulls": events(*({**each, "error": None} for each in HALVES), chunk(finish="stop"), LAST, "[DONE]"),
    "a byte order mark": "\ufeff" + events(*HALVES, chunk(finish="stop"), LAST, "[DONE]"),
}  # fmt: skip


@pytest.mark.parametrize("how", STREAMS)
def test_an_event_stream_is_read_as_the_answer_it_comes_to(how: str) -> None:
    reply = outcome_of(200, STREAMS[how].encode())
    assert isinstance(reply, Reply), reply
    assert (reply.text, reply.finish_reason or "stop", reply.model) == (SAID, "stop", "m")
    assert (reply.usage.prompt_tokens, reply.cost) == (10, 0.5)


def test_thoughts_calls_and_refusals_of_a_stream_stay_what_they_are() -> None:
    arguments = [{"index": 0, "function": {"name": "x", "arguments": part}} for part in ('{"a"', ": 1}")]
    parts = [chunk({"reasoning_content": "So"}), *(chunk({"tool_calls": [part]}) for part in arguments)]
    reply = outcome_of(200, events(*parts, chunk(finish="tool_calls"), "[DONE]").encode())
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ('{"a": 1}', "So")
    refused = outcome_of(200, events(chunk({"refusal": "No."}), chunk(finish="stop")).encode())
    assert isinstance(refused, Reply)
    assert refused.refusal == "No."


def test_another_choice_of_a_stream_is_not_mixed_in() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "other"}}]}
    reply = outcome_of(200, events(other, chunk({"content": "mine"}), other, chunk(finish="stop")).encode())
    assert isinstance(reply, Reply)
    assert reply.text == "mine"


@pytest.mark.parametrize(
    "text", [events(*HALVES), events(*HALVES)[:-20], "data: [DONE]\n\n", "data: {", "event: x", ": ping\n\n", "data"]
)
def test_a_stream_that_was_cut_is_no_answer(text: str) -> None:
    fault = outcome_of(200, text.encode())
    assert isinstance(fault, Fault)
    assert fault.line == "body"


@pytest.mark.parametrize("status", [200, 429])
def test_an_error_inside_a_stream_is_one(status: int) -> None:
    error = {"error": {"message": "slow down", "code": 429}}
    fault = outcome_of(
        status, events(*(HALVES if status == 200 else ()), error, before="event: error\ndata: ").encode()
    )
    assert isinstance(fault, Fault)
    assert (fault.status, fault.message) == (429, "slow down")


WRAPPED = {
    "a message that is a text": {**GOOD, "choices": [{"message": SAID, "stop_reason": "stop"}]},
    "a refusal that is a word for none": {
        **GOOD,
        "choices": [{"message": {"content": SAID, "refusal": "None"}, "finish_reason": "stop"}],
    },
    "beside a code": {**GOOD, "code": 0, "message": "success"},
    "an error of nulls": {**GOOD, "error": {"code": None, "message": None, "type": None}},
    "an empty error": {**GOOD, "error": {}},
    "an error that is a word for none": {**GOOD, "error": "None"},
    "an error of zero": {**GOOD, "error": {"code": 0, "message": "success"}},
    "data": {"code": 200, "msg": "success", "data": GOOD},
    "result": {"success": True, "result": GOOD, "errors": [], "messages": []},
    "an error of nulls in the choice": {**GOOD, "choices": [{**GOOD["choices"][0], "error": {"code": None}}]},
}


@pytest.mark.parametrize("how", WRAPPED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_an_answer_is_found_under_its_wrapping_and_beside_an_error_that_is_none(how: str, encoding: str) -> None:
    reply = outcome_of(200, json.dumps(WRAPPED[how], ensure_ascii=False).encode(encoding))
    assert isinstance(reply, Reply), reply
    assert (reply.text, reply.usage.completion_tokens, reply.refusal) == (SAID, 5, None)


@pytest.mark.parametrize(
    "body",
    [{"code": 500, "msg": "overloaded", "data": None}, {"error": {"message": "no"}, "data": GOOD},
     {"data": {"choices": []}, "message": "failed"}, {**GOOD, "error": {"message": "cut off", "code": 502}}],
)  # fmt: skip
def test_an_error_beside_anything_else_counts(body: Any) -> None:
    assert isinstance(outcome_of(200, json.dumps(body).encode()), Fault)


WORDS = st.sampled_from(["code", "message", "x"])
NONE = st.sampled_from([None, "", "None", "null", "NaN", float("nan"), 0, False, "success", "200", 200, {}, []])


@settings(max_examples=25)
@given(st.recursive(NONE, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2)))
def test_an_error_of_nothings_says_nothing(error: Any) -> None:
    assert not says_something(error)
    assert says_something({"message": error, "code": "rate_limited"})


MESSAGES = {
    "thoughts in parts": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}, "ab"]},
    "parts of other types": {"content": [{"type": "reasoning", "text": "so"}, {"type": "text", "text": "ab"}]},
    "a part marked as thought": {"content": [{"text": "so", "thought": True}, {"text": {"value": "ab"}}]},
    "one part": {"content": {"type": "text", "text": "ab"}},
    "a tool call": {"content": None, "tool_calls": [{"function": {"name": "json_tool_call", "arguments": "ab"}}]},
    "a tool call beside blanks": {"content": " \n", "tool_calls": [{"function": {"arguments": "ab"}}]},
    "the content before a call": {"content": "ab", "tool_calls": [{"function": {"arguments": "c"}}]},
}


@pytest.mark.parametrize("what", MESSAGES)
def test_the_text_of_a_message_is_its_answer_alone(what: str) -> None:
    reply = outcome_of(200, json.dumps({"choices": [{"message": MESSAGES[what]}]}).encode())
    assert isinstance(reply, Reply)
    assert reply.text == "ab"


KEYS = [
    *("choices", "model", "usage", "data", "error", "message", "content", "tool_calls", "delta", "detail", "loc"),
    *("errors", "raw", "metadata"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["", "data: ", "event: x\ndata: "]))
def test_no_body_makes_the_reader_raise(body: Any, before: str) -> None:
    for content in (body, {"choices": [body]}, {"choices": [{"message": body}]}, {"choices": [{"delta": body}]}):
        for status in (200, 400):
            assert isinstance(outcome_of(status, f"{before}{json.dumps(content)}\n".encode()), Reply | Fault)
