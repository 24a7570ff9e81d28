"""Everything that goes wrong in the self-test, by name: what a server sends in place of an answer. Waits that a fault
asks for are short, so that a self-test is quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any

from attunebench.selftest.behaviours import Answer, Behaviour, Broken, Drip, Hang, Raw, Status

_WAIT = 0.02
"""Seconds that a fault asks to wait."""
_AFTER = {"retry-after": f"{_WAIT}"}
_IN_MS = f"{_WAIT * 1000:.0f}"
_LONG_AGO = formatdate(0, usegmt=True)
_JSON = {"content-type": "application/json"}
_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _error(message: str, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "metadata": {"provider_name": "fake"}}}


def _rate_limit(headers: Mapping[str, str]) -> Status:
    return Status(429, _error("Rate limit reached", "rate_limit_exceeded"), headers)


def _parts(text: str) -> list[dict[str, str]]:
    texts = [{"type": "text", "text": half} for half in (text[: len(text) // 2], text[len(text) // 2 :])]
    return [{"type": "thinking", "thinking": "not to be read"}, *texts]


Fault = Behaviour | Callable[[str], Answer]
"""What is done, or what the text of a good answer becomes."""
_TRUNCATED: dict[str, Fault] = {
    "cut at the limit": lambda text: Answer(text[: len(text) // 2], finish_reason="length"),
    "the limit spent on reasoning": Answer(
        "", finish_reason="length", message={"content": None, "reasoning": "Let me think about this person."}
    ),
    "a thought that does not end": lambda text: Answer(f"<think>Perhaps {text}"),
}
_UNUSABLE: dict[str, Fault] = {
    "prose": Answer("[I would rather talk about it than fill in a form.]"),
    "no content": Answer("", message={"content": None}),
    "a broken JSON": lambda text: Answer(text[:9] + "::{{"),
    "an object without what was asked": Answer('{"thoughts": "This person is sad."}'),
}
FOR_EVER: dict[str, Fault] = {
    **_UNUSABLE,
    "a thought that does not end": _TRUNCATED["a thought that does not end"],
    "always cut at the limit": lambda text: Answer(text[:9], finish_reason="length"),
    "a refusal": Answer("", message={"content": None, "refusal": "I would rather not."}),
    "filtered": Answer("", finish_reason="content_filter", message={"content": None}),
}
"""Answers of a model that stays so: nothing of what was asked is ever answered."""
ODD: dict[str, Fault] = {
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
"""Good answers in an unusual shape."""
FAULTS: dict[str, dict[str, Fault]] = {
    "rate": {
        "429 for a fraction of a second": _rate_limit(_AFTER),
        "429 for milliseconds": _rate_limit({"retry-after-ms": _IN_MS}),
        "429 with the reset in a header": _rate_limit(
            {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": f"{_IN_MS}ms"}
        ),
    },
    "bare": {
        "429 without a word of when": _rate_limit({}),
        # By its own clock, which is years off ours, the server asks to wait for no second at all.
        "429 until a date by the server's own clock": _rate_limit({"date": _LONG_AGO, "retry-after": _LONG_AGO}),
        "429 under status 200": Status(200, {"id": None, "choices": None, "usage": None, **_error("slow down", 429)}),
    },
    "bodies": {
        "an error under status 200": Status(200, _error("Provider returned error", 502)),
        "an error without code under 200": Status(200, {"error": {"message": "Upstream error"}}),
        "no choices": Status(200, {"id": "x", "object": "chat.completion", "usage": _USAGE}),
        "empty choices": Status(200, {"id": "x", "choices": [], "usage": _USAGE}),
        "a message of null": Status(200, {"id": "x", "choices": [{"index": 0, "message": None}]}),
        "an empty body": Status(200, b"", _JSON),
        "a body of white space": Status(200, b"  \n\n  ", _JSON),
        "a web page under 200": Status(200, _PAGE),
    },
    "cut": {
        "a body shorter than announced": Broken("length", 0.5),
        "a body without its last chunk": Broken("chunked", 0.7),
        "half a JSON, well delivered": Status(200, b'{"id": "x", "choices": [{"index": 0, "mess'),
        "a connection reset in the body": Broken("reset", 0.3),
        "a connection reset before it": Broken("reset", 0.0),
        "a connection closed without a word": Raw(b""),
        "gzip that is none": Broken("no gzip"),
        "gzip without its end": Broken("cut gzip"),
    },
    "slow": {"a byte now and then": Drip(0.1), "silence": Hang(), "silence in the middle": Hang(0.5)},
    "statuses": {
        "408": Status(408, "Request Timeout", _AFTER),
        "500": Status(500, {"object": "error", "message": "internal error"}, _AFTER),
        "502 with a web page": Status(502, _PAGE, _AFTER),
        "503": Status(503, {"error": "no worker is free"}, _AFTER),
        "504": Status(504, _PAGE, _AFTER),
        "520": Status(520, "error code: 520", _AFTER),
        "529": Status(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, _AFTER),
    },
    "truncated": _TRUNCATED,
    "unusable": _UNUSABLE,
    "model": {**_TRUNCATED, **_UNUSABLE},
    "for ever": FOR_EVER,
    "odd": ODD,
}
"""By family. After one of "rate" to "statuses" the same request is sent again; after one of "truncated", "unusable"
(and "model", both) the model is asked again."""

NO_MONEY = Status(402, _error("Insufficient credits. Add more to go on.", 402))
DEAD = Status(503, {"error": "the machine of this shard is down"}, _AFTER)


def refused(body: Mapping[str, Any]) -> Status | None:
    """What a server says that takes no JSON schema or object, no temperature, `max_tokens` or system role."""
    form = (body.get("response_format") or {}).get("type")
    if form is not None:
        return Status(400, _error(f"response_format.type '{form}' is not supported by this model"))
    if "temperature" in body:
        return Status(400, _error("Unsupported value: 'temperature' is not supported with this model."))
    if "max_tokens" in body:
        hint = "Use 'max_completion_tokens' instead."
        return Status(400, _error(f"Unsupported parameter: 'max_tokens' is not supported. {hint}"))
    if any(message.get("role") == "system" for message in body.get("messages", ())):
        return Status(400, _error("System role not supported"))
    return None
