"""Everything that goes wrong in the self-test, by name: what a server sends in place of an answer.

`LINE` are troubles of the line and the server, after which the same request is sent again. `MODEL` are answers that
say nothing usable, after which a model is asked again. `ODD` are good answers in an unusual shape. Waits that a fault
asks for are short, so that a self-test is quick; which call meets which fault is decided elsewhere (`plans`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any

from attunebench.selftest.behaviours import Answer, Behaviour, Broken, Drip, Hang, Raw, Status

_WAIT = 0.02
"""Seconds that a fault asks to wait."""
_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _error(message: str, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "metadata": {"provider_name": "fake"}}}


def _limited(headers: Mapping[str, str] | None = None) -> Status:
    return Status(429, _error("Rate limit reached", "rate_limit_exceeded"), headers or {})


def _busy(status: int, body: Any = None, wait: float | None = _WAIT) -> Status:
    return Status(status, body, {} if wait is None else {"retry-after": f"{wait}"})


def _until_now() -> Status:
    # By its own clock, which is years off ours, the server asks to wait for no second at all.
    now = formatdate(0, usegmt=True)
    return _limited({"date": now, "retry-after": now})


RATE: dict[str, Callable[[], Behaviour]] = {
    "429 for a fraction of a second": lambda: _limited({"retry-after": f"{_WAIT}"}),
    "429 for milliseconds": lambda: _limited({"retry-after-ms": f"{_WAIT * 1000:.0f}"}),
    "429 with the reset in a header": lambda: _limited(
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": f"{_WAIT * 1000:.0f}ms"}
    ),
}
BARE: dict[str, Callable[[], Behaviour]] = {
    "429 without a word of when": _limited,
    "429 until a date by the server's own clock": _until_now,
    "429 under status 200": lambda: Status(
        200, {"id": None, "choices": None, "usage": None, **_error("slow down", 429)}
    ),
}
BODIES: dict[str, Callable[[], Behaviour]] = {
    "an error under status 200": lambda: Status(200, _error("Provider returned error", 502)),
    "an error without code under 200": lambda: Status(200, {"error": {"message": "Upstream error"}}),
    "no choices": lambda: Status(200, {"id": "x", "object": "chat.completion", "usage": _USAGE}),
    "empty choices": lambda: Status(200, {"id": "x", "choices": [], "usage": _USAGE}),
    "a message of null": lambda: Status(200, {"id": "x", "choices": [{"index": 0, "message": None}]}),
    "an empty body": lambda: Status(200, b"", {"content-type": "application/json"}),
    "a body of white space": lambda: Status(200, b"  \n\n  ", {"content-type": "application/json"}),
    "a web page under 200": lambda: Status(200, _PAGE),
}
CUT: dict[str, Callable[[], Behaviour]] = {
    "a body shorter than announced": lambda: Broken("length", 0.5),
    "a body without its last chunk": lambda: Broken("chunked", 0.7),
    "half a JSON, well delivered": lambda: Status(200, b'{"id": "x", "choices": [{"index": 0, "mess'),
    "a connection reset in the body": lambda: Broken("reset", 0.3),
    "a connection reset before it": lambda: Broken("reset", 0.0),
    "a connection closed without a word": lambda: Raw(b""),
    "gzip that is none": lambda: Broken("no gzip"),
    "gzip without its end": lambda: Broken("cut gzip"),
}
SLOW: dict[str, Callable[[], Behaviour]] = {
    "a byte now and then": lambda: Drip(0.1),
    "silence": lambda: Hang(),
    "silence in the middle": lambda: Hang(0.5),
}
STATUSES: dict[str, Callable[[], Behaviour]] = {
    "408": lambda: _busy(408, "Request Timeout"),
    "500": lambda: _busy(500, {"object": "error", "message": "internal error"}),
    "502 with a web page": lambda: _busy(502, _PAGE),
    "503": lambda: _busy(503, {"error": "no worker is free"}),
    "504": lambda: _busy(504, _PAGE),
    "520": lambda: _busy(520, "error code: 520"),
    "529": lambda: _busy(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
}
LINE: dict[str, Callable[[], Behaviour]] = {**RATE, **BARE, **BODIES, **CUT, **SLOW, **STATUSES}

TRUNCATED: dict[str, Callable[[str], Answer]] = {
    "cut at the limit": lambda text: Answer(text[: len(text) // 2], finish_reason="length"),
    "the limit spent on reasoning": lambda _: Answer(
        "", finish_reason="length", message={"content": None, "reasoning": "Let me think about this person."}
    ),
    "a thought that does not end": lambda text: Answer(f"<think>Perhaps {text}"),
}
UNUSABLE: dict[str, Callable[[str], Answer]] = {
    "prose": lambda _: Answer("[I would rather talk about it than fill in a form.]"),
    "no content": lambda _: Answer("", message={"content": None}),
    "a broken JSON": lambda text: Answer(text[:9] + "::{{"),
    "an object without what was asked": lambda _: Answer('{"thoughts": "This person is sad."}'),
}
MODEL: dict[str, Callable[[str], Answer]] = {**TRUNCATED, **UNUSABLE}
FOR_EVER: dict[str, Callable[[str], Answer]] = {
    **UNUSABLE,
    "a thought that does not end": lambda text: Answer(f"<think>Perhaps {text}"),
    "always cut at the limit": lambda text: Answer(text[:9], finish_reason="length"),
    "a refusal": lambda _: Answer("", message={"content": None, "refusal": "I would rather not."}),
    "filtered": lambda _: Answer("", finish_reason="content_filter", message={"content": None}),
}
"""Answers of a model that stays so: nothing of what was asked is ever answered."""

ODD: dict[str, Callable[[str], Answer]] = {
    "a BOM before the JSON": lambda text: Answer(text, before=b"\xef\xbb\xbf"),
    "white space before the JSON": lambda text: Answer(text, before=b" \r\n\n" * 20),
    "content in parts, thoughts among them": lambda text: Answer(text, message={"content": _parts(text)}),
    "reasoning beside the content": lambda text: Answer(
        text, message={"reasoning": '{"drafted_response": "not this"}', "reasoning_content": "Hm."}
    ),
    "no usage": lambda text: Answer(text, extra={"usage": None}),
    "usage under other names": lambda text: Answer(text, extra={"usage": {"input_tokens": 9, "output_tokens": 8}}),
    "another model's name": lambda text: Answer(text, extra={"model": "another-model", "provider": "elsewhere"}),
    "gzip": lambda text: Answer(text, gzip=True),
    "a fence and a word before it": lambda text: Answer(f"Here it is:\n```json\n{text}\n```"),
    "a thought before it": lambda text: Answer(f"<think>What does this person need?</think>\n{text}"),
}


def _parts(text: str) -> list[dict[str, str]]:
    middle = len(text) // 2
    return [
        {"type": "thinking", "thinking": "not to be read"},
        {"type": "text", "text": text[:middle]},
        {"type": "text", "text": text[middle:]},
    ]


def refused(body: Mapping[str, Any]) -> Status | None:
    """The first thing in a request that a picky server does not take, as such servers say it; None where all is well.

    It takes no JSON schema and no JSON object, no temperature, no `max_tokens` and no system role.
    """
    form = (body.get("response_format") or {}).get("type")
    if form is not None:
        return Status(400, _error(f"response_format.type '{form}' is not supported by this model"))
    if "temperature" in body:
        return Status(400, _error("Unsupported value: 'temperature' is not supported with this model."))
    if "max_tokens" in body:
        text = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
        return Status(400, _error(text))
    if any(message.get("role") == "system" for message in body.get("messages", ())):
        return Status(400, _error("System role not supported"))
    return None


def no_money() -> Status:
    """The end of a credit."""
    return Status(402, _error("Insufficient credits. Add more to go on.", 402))


def dead() -> Status:
    """A server that will not take this request today."""
    return _busy(503, json.dumps({"error": "the machine of this shard is down"}).encode())
