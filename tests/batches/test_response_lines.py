"""What a line of a response file says, in the shapes in which engines document it (files of this kind, made here)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from engines import openai_line, ray_row, reply, vllm_line
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from attunebench.backends.base import Reply
from attunebench.backends.negotiation import Terms
from attunebench.backends.providers import NO_KEY, Endpoint
from attunebench.batches.collecting import outcome_of_line, read_line
from attunebench.batches.requests import Row
from attunebench.codebook import default_codebook
from attunebench.errors import AttuneBenchError, ConfigurationError, ItemError, TransientError
from attunebench.protocol.calls import Asked, Call, Message
from attunebench.runner.job import Exchange, Rules
from attunebench.selftest.server import Answer

REQUEST = {
    "custom_id": "attune-abc-000001",
    "method": "POST",
    "url": "/v1/chat/completions",
    "body": {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 64},
}
ROW = {
    "custom_id": "attune-abc-000001",
    "request_hash": "0" * 64,
    "call_id": "c/default/1/draft",
    "conversation_id": "c",
    "mode": "default",
    "turn": 1,
    "kind": "draft",
    "judge": None,
    "ask": 0,
    "provider": "local",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "m",
    "prompt_sha256": "1" * 64,
    "schema_sha256": "2" * 64,
    "parameters": '{"max_tokens": 64, "seed": null, "structured": "auto", "temperature": 0.0}',
    "max_tokens": 64,
    "structured": "auto",
    "given_up": [],
    "ceiling": None,
}
ENDPOINT = Endpoint("local", "m", "http://127.0.0.1:9/v1", SecretStr(NO_KEY), "none")


def row(**changes: Any) -> Row:
    """The row of a table."""
    return Row.from_json({**ROW, **changes})


def said(line: Any, **changes: Any) -> Any:
    """What a line says of the request in the row."""
    read = read_line(line if isinstance(line, bytes) else json.dumps(line).encode())
    assert read is not None
    return outcome_of_line(read, row(**changes), ENDPOINT) if read.outcome is not None else "a request"


GOOD = reply(REQUEST)
SHAPES = {
    "OpenAI": openai_line(REQUEST),
    "vLLM": vllm_line(REQUEST),
    "Ray, all columns": ray_row(REQUEST),
    "a status from a table of floats": {"custom_id": "x", "response": {"status_code": 200.0, "body": GOOD}},
    "no status": {"custom_id": "x", "response": {"body": GOOD}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_engines_shape_gives_the_text_and_the_tokens(shape: str) -> None:
    found = said(SHAPES[shape])
    assert isinstance(found, Reply)
    usage = GOOD["usage"]
    assert (GOOD["choices"][0]["message"]["content"], usage["prompt_tokens"], usage["completion_tokens"]) == (
        found.text,
        found.usage.prompt_tokens,
        found.usage.completion_tokens,
    )


MESSAGES: dict[str, tuple[Answer, Any]] = {
    "length": (Answer(finish_reason="length"), lambda found: found.finish_reason == "length"),
    "refusal": (Answer(message={"refusal": "No.", "content": None}), lambda found: found.refusal == "No."),
    "tool calls": (Answer(message={"content": None, "tool_calls": [{}]}), lambda found: found.text is None),
    "nothing": (Answer(text=""), lambda found: found.text == ""),
    "parts": (Answer(message={"content": [{"type": "text", "text": "a"}]}), lambda found: found.text == "a"),
    "filtered": (Answer(finish_reason="content_filter"), lambda found: found.finish_reason == "content_filter"),
}


@pytest.mark.parametrize("what", MESSAGES)
@pytest.mark.parametrize("line", [openai_line, vllm_line])
def test_messages_are_read_as_the_live_path_reads_them(what: str, line: Any) -> None:
    answer, holds = MESSAGES[what]
    assert holds(said(line(REQUEST, reply(REQUEST, answer))))


def outcome(found: Any) -> str:
    """The outcome of a draft call that got this reply."""
    assert isinstance(found, Reply)
    call = Call("c/default/1/draft", "c", "default", 1, "draft", (Message("user", "Hello"),), Asked("draft"), {})
    exchange = Exchange(call, Rules(default_codebook(), max_tokens=64, max_reasks=0))
    exchange.add(replace(row().entry, reply=found))
    return exchange.record().answer.outcome


@pytest.mark.parametrize(("tokens", "meant"), [(63, "answered"), (64, "truncated"), (70, "truncated")])
def test_a_reply_as_long_as_its_limit_was_cut_where_the_engine_does_not_say_why_it_ended(
    tokens: int, meant: str
) -> None:
    assert outcome(said(ray_row(REQUEST, "text", num_generated_tokens=tokens))) == meant


def test_the_limit_that_a_server_has_told_of_counts_for_that_too() -> None:
    found = said(ray_row(REQUEST, "text", num_generated_tokens=40), ceiling=40)
    assert isinstance(found, Reply)
    assert found.notes["max_tokens"] == "lowered to 40"
    assert outcome(found) == "truncated"


CONTEXT = "This model's maximum context length is 4096 tokens, however you requested 9000."
ERRORS: dict[str, tuple[Any, type, str]] = {
    "OpenAI, too long": (
        openai_line(REQUEST, {"error": {"message": CONTEXT, "code": "context_length_exceeded"}}, status=400),
        ItemError,
        "too long",
    ),
    "vLLM, too long": (
        vllm_line(REQUEST, status=400, error={"error": {"message": CONTEXT, "type": "BadRequestError", "code": 400}}),
        ItemError,
        "too long",
    ),
    "vLLM before 0.10, too long": (
        vllm_line(REQUEST, status=400, error={"object": "error", "message": CONTEXT, "type": "x", "code": 400}),
        ItemError,
        "too long",
    ),
    "vLLM, an exception": (vllm_line(REQUEST, status=400, error="EngineDeadError()"), TransientError, "EngineDead"),
    "Ray, too long": (
        ray_row(REQUEST, error="ValueError: The decoder prompt (length 9000) is longer than the maximum model length"),
        ItemError,
        "too long",
    ),
    "Ray, an exception": (ray_row(REQUEST, error="TimeoutError: no answer"), TransientError, "no answer"),
    "expired": (
        openai_line(REQUEST, error={"code": "batch_expired", "message": "This request could not be executed."}),
        TransientError,
        "before the request was run",
    ),
    "busy": (openai_line(REQUEST, {"error": {"message": "Slow down"}}, status=429), TransientError, "Slow down"),
    "broken": (openai_line(REQUEST, "oops", status=500), TransientError, "500"),
    "moderated": (
        openai_line(REQUEST, {"error": {"message": "m", "code": "content_policy_violation"}}, status=400),
        ItemError,
        "moderation",
    ),
    "no such model": (
        openai_line(
            REQUEST, {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}, status=404
        ),
        ConfigurationError,
        "no model m",
    ),
    "no answer and no error": ({"custom_id": "x", "response": None, "error": None}, TransientError, "no complete"),
    "a body that is none": (openai_line(REQUEST, [1, 2]), TransientError, "no complete"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_error_lines_mean_what_the_same_error_means_on_the_line(what: str) -> None:
    line, kind, words = ERRORS[what]
    found = said(line)
    assert kind is type(found)
    assert words in str(found)


def test_a_part_that_the_server_rejects_by_name_is_given_up() -> None:
    body = {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}
    found = said(openai_line(REQUEST, body, status=400))
    assert isinstance(found, Terms)
    assert {"temperature"} == found.given_up


def test_a_limit_that_the_server_names_becomes_the_requests_own() -> None:
    message = "max_tokens is too large: 5000. This model supports at most 200 completion tokens"
    found = said(openai_line(REQUEST, {"error": {"message": message}}, status=400), max_tokens=5000)
    assert isinstance(found, Terms)
    assert 200 == found.ceiling


def test_a_row_of_a_table_is_no_answer() -> None:
    """Tables lie in the results folder, and that may be collected as a whole."""
    read = read_line(json.dumps(ROW).encode())
    assert read is not None
    assert read.outcome is None


def test_a_row_is_written_as_it_was_read() -> None:
    assert row().as_json() == ROW
    changed = {"structured": "schema", "given_up": ["seed", "temperature"], "ceiling": 40, "judge": 1}
    assert row(**changed).as_json() == {**ROW, **changed}


@pytest.mark.parametrize(
    "content",
    [b"", b"<html></html>", b"[1]", b"{}", b'{"custom_id": 3}', b'{"custom_id": "x"', b"[" * 100_000, b"\xff\xfe"],
)
def test_what_is_no_line_is_none(content: bytes) -> None:
    assert read_line(content) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("response", "error", "body", "generated_text", "__inference_error__")
NUMBERS = ("num_input_tokens", "num_generated_tokens", "status_code", "usage")


@given(st.dictionaries(st.sampled_from(KEYS + NUMBERS), JSON, max_size=5))
def test_no_line_is_too_odd_to_be_a_reply_or_an_error(parts: dict[str, Any]) -> None:
    found = said(json.dumps({"custom_id": "x", **parts}).encode())
    assert isinstance(found, Reply | Terms | AttuneBenchError) or found == "a request"


@given(st.dictionaries(st.sampled_from(("status_code", "body", "request_id")), JSON), JSON)
def test_no_response_is_too_odd_to_be_a_reply_or_an_error(response: dict[str, Any], error: Any) -> None:
    found = said(json.dumps({"custom_id": "x", "response": response, "error": error}).encode())
    assert isinstance(found, Reply | Terms | AttuneBenchError)
