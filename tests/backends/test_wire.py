"""What is read from bodies of every dialect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.backends.wire import error_in, error_in_text, parse_body, read_completion, tidy
from attunebench.protocol.calls import Usage


def completion(message: Any = None, **extra: Any) -> dict[str, Any]:
    return {"choices": [{"message": message or {"content": "yes"}, "finish_reason": "stop"}], **extra}


def read(message: Any = None, **extra: Any) -> Reply:
    reply = read_completion(completion(message, **extra))
    assert reply is not None
    return reply


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf", b"\n\n  ", b"\xef\xbb\xbf\r\n"])
def test_a_body_is_read_behind_a_bom_and_white_space(prefix: bytes) -> None:
    assert {"a": 1} == parse_body(prefix + b'{"a": 1}\n')


@pytest.mark.parametrize("body", [b"", b"  ", b'{"a": ', b"<html>", b"[" * 200_000])
def test_a_body_that_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_body(body)


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ("yes", "yes", None),
        ("", "", None),
        (None, None, None),
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}], "ab", None),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}], "a", "hm"),
        (["a", "b"], "ab", None),
        ([], None, None),
        ([None, 5, {"type": "text"}], None, None),
        ("half \ud83d", "half \ufffd", None),
        ("whole 😀", "whole 😀", None),
    ],
)
def test_content_is_text_or_a_list_of_parts(content: Any, text: str | None, reasoning: str | None) -> None:
    reply = read({"content": content})
    assert (text, reasoning) == (reply.text, reply.reasoning)


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}, {"type": "reasoning.encrypted", "data": "x"}]},
    ],
)
def test_reasoning_beside_the_content_is_kept_apart(message: dict[str, Any]) -> None:
    reply = read({"content": "yes", **message})
    assert ("yes", "hm") == (reply.text, reply.reasoning)


def test_a_refusal_is_kept() -> None:
    assert "no" == read({"content": None, "refusal": "no"}).refusal
    assert None is read({"content": "yes", "refusal": ""}).refusal


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, None, 4, None)),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(3, None, 4, None)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}, Usage(3, 2, None, None)),
        ({"completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 1}}, Usage(None, None, 4, 1)),
        ({"prompt_tokens": 3, "prompt_cache_hit_tokens": 1}, Usage(3, 1, None, None)),
        ({"prompt_tokens": "3", "completion_tokens": True}, Usage(3, None, None, None)),
        ({"prompt_tokens": 3.0, "completion_tokens": "4.0"}, Usage(3, None, 4, None)),
        ({"prompt_tokens": "many", "completion_tokens": 4.5}, Usage()),
        ({"prompt_tokens": "-1", "completion_tokens": "nan"}, Usage()),
        ([], Usage()),
    ],
)
def test_usage_goes_by_several_names(usage: Any, expected: Usage) -> None:
    assert expected == read(usage=usage).usage


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.5}, 0.5),
        ({"cost": 0}, 0.0),
        ({}, None),
        ({"cost": None}, None),
        ({"cost": "free"}, None),
        ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, 2.1),
        ({"cost": 0.1, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.1}}, 0.1),
    ],
)
def test_an_unstated_cost_is_unknown_and_not_zero(usage: dict[str, Any], cost: float | None) -> None:
    assert cost == read(usage=usage).cost


def test_the_answering_model_and_provider_are_kept() -> None:
    reply = read(model="m-2", provider="Somebody")
    assert ("m-2", "Somebody") == (reply.model, reply.provider)


@pytest.mark.parametrize(
    ("sent", "read_as"), [("length", "length"), ("MAX_TOKENS", "length"), ("stop", "stop"), (None, None)]
)
def test_finish_reasons_of_other_dialects_are_translated(sent: str | None, read_as: str | None) -> None:
    reply = read_completion({"choices": [{"message": {"content": "a"}, "finish_reason": sent}]})
    assert reply is not None
    assert read_as == reply.finish_reason


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{"message": None}]},
        {"choices": 5},
    ],
)
def test_a_body_without_a_choice_holds_no_reply(body: Any) -> None:
    assert None is read_completion(body)


@pytest.mark.parametrize(
    ("body", "message", "code", "status"),
    [
        ({"error": {"message": "Bad", "code": "c", "type": "t"}}, "Bad", "c t", 0),
        ({"error": {"message": "Bad", "code": 502}}, "Bad", "", 502),
        ({"error": {"message": "Bad", "code": "429"}, "choices": None}, "Bad", "429", 429),
        ({"error": "Bad"}, "Bad", "", 0),
        ({"object": "error", "message": "Bad", "code": 400}, "Bad", "", 400),
        ({"detail": [{"loc": ["body", "seed"], "msg": "Bad", "input": "a secret prompt"}]}, "seed: Bad", "", 0),
        ({"detail": "Bad"}, "Bad", "", 0),
        ([{"error": {"message": "Bad", "status": "INVALID"}}], "Bad", "invalid", 0),
        ({"title": "Bad", "status": 404, "detail": ""}, "Bad", "", 404),
        ({"errors": [{"message": "Bad"}]}, "Bad", "", 0),
        ({"message": "Bad"}, "Bad", "", 0),
        ({"choices": [{"error": {"message": "Bad", "code": 502}, "message": {"content": ""}}]}, "Bad", "", 502),
        (
            {"error": {"message": "Provider error", "metadata": {"raw": '{"error": {"message": "Bad"}}'}}},
            "Provider error: Bad",
            "",
            0,
        ),
    ],
)
def test_errors_are_found_in_every_dialect(body: Any, message: str, code: str, status: int) -> None:
    error = error_in(body)
    assert error is not None
    assert (message, code, status) == (error.message, error.code, error.status)


@pytest.mark.parametrize("body", [completion(), completion(error=None), {}, [], None, 5, {"choices": []}])
def test_a_body_without_an_error_has_none(body: Any) -> None:
    assert None is error_in(body)


def test_a_page_s_title_is_its_sentence() -> None:
    page = b"<!DOCTYPE html><html><head><title>502 Bad &amp; Gateway</title><style>p{}</style></head><body>x</body>"
    assert "502 Bad & Gateway" == error_in_text(page).message
    assert "Not here" == error_in_text(b"<html><body><h1>Not</h1> here</body></html>").message


def test_a_servers_words_are_bounded_and_printable() -> None:
    assert "a b c" == tidy("a\x1b\n b\tc")
    assert "busy" == tidy("\x1b[31mbusy\x1b[0m")
    assert 300 == len(tidy("x" * 10_000))


@given(st.binary(max_size=200))
def test_the_error_reader_never_raises_on_any_bytes(content: bytes) -> None:
    error_in_text(content)


@pytest.mark.parametrize("count", [-1, 10**12, 10**400, "twelve", 1.5, True, None])
def test_a_token_count_that_measures_nothing_is_unknown(count: Any) -> None:
    assert read(usage={"prompt_tokens": count}).usage.prompt_tokens is None


def test_the_name_of_a_model_steers_no_terminal_and_fills_no_screen() -> None:
    assert "evil red" == read(model="\x1b]0;title\x07\u202eevil\n\x1b[31mred").model
    assert read(model="\x1b[2J").model is None
    assert len(read(provider="x" * 10_000).provider or "") <= 300
