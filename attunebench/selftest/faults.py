"""Everything that goes wrong in the self-test, by name: what a server sends in place of an answer.

`LINE` are families of troubles of the line and the server, after which the same request is sent again; `MODEL` those
of answers that say nothing usable, after which a model is asked again. `ODD` are good answers in an unusual shape.
Waits that a fault asks for are short, so that a self-test is quick; which call meets which fault is decided elsewhere
(`plans`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any

from attunebench.selftest.behaviours import Answer, Behaviour, Broken, Drip, Hang, Raw, Status

_WAIT = 0.02
"""Seconds that a fault asks to wait."""
_AFTER = {"retry-after": f"{_WAIT}"}
_LONG_AGO = formatdate(0, usegmt=True)
_JSON = {"content-type": "application/json"}
_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _error(message: str, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "metadata": {"provider_name": "fake"}}}


def _limited(**headers: str) -> Status:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Status(429, _error("Rate limit reached", "rate_limit_exceeded"), fields)


_RATE: dict[str, Behaviour] = {
    "429 for a fraction of a second": _limited(**_AFTER),
    "429 for milliseconds": _limited(retry_after_ms=f"{_WAIT * 1000:.0f}"),
    "429 with the reset in a header": _limited(
        x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests=f"{_WAIT * 1000:.0f}ms"
    ),
}
_BARE: dict[str, Behaviour] = {
    "429 without a word of when": _limited(),
    # By its own clock, which is years off ours, the server asks to wait for no second at all.
    "429 until a date by the server's own clock": _limited(date=_LONG_AGO, retry_after=_LONG_AGO),
    "429 under status 200": Status(200, {"id": None, "choices": None, "usage": None, **_error("slow down", 429)}),
}
_BODIES: dict[str, Behaviour] = {
    "an error under status 200": Status(200, _error("Provider returned error", 502)),
    "an error without code under 200": Status(200, {"error": {"message": "Upstream error"}}),
    "no choices": Status(200, {"id": "x", "object": "chat.completion", "usage": _USAGE}),
    "empty choices": Status(200, {"id": "x", "choices": [], "usage": _USAGE}),
    "a message of null": Status(200, {"id": "x", "choices": [{"index": 0, "message": None}]}),
    "an empty body": Status(200, b"", _JSON),
    "a body of white space": Status(200, b"  \n\n  ", _JSON),
    "a web page under 200": Status(200, _PAGE),
}
_CUT: dict[str, Behaviour] = {
    "a body shorter than announced": Broken("length", 0.5),
    "a body without its last chunk": Broken("chunked", 0.7),
    "half a JSON, well delivered": Status(200, b'{"id": "x", "choices": [{"index": 0, "mess'),
    "a connection reset in the body": Broken("reset", 0.3),
    "a connection reset before it": Broken("reset", 0.0),
    "a connection closed without a word": Raw(b""),
    "gzip that is none": Broken("no gzip"),
    "gzip without its end": Broken("cut gzip"),
}
_SLOW: dict[str, Behaviour] = {"a byte now and then": Drip(0.1), "silence": Hang(), "silence in the middle": Hang(0.5)}
_STATUSES: dict[str, Behaviour] = {
    "408": Status(408, "Request Timeout", _AFTER),
    "500": Status(500, {"object": "error", "message": "internal error"}, _AFTER),
    "502 with a web page": Status(502, _PAGE, _AFTER),
    "503": Status(503, {"error": "no worker is free"}, _AFTER),
    "504": Status(504, _PAGE, _AFTER),
    "520": Status(520, "error code: 520", _AFTER),
    "529": Status(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, _AFTER),
}
LINE: dict[str, dict[str, Behaviour]] = {
    "rate": _RATE,
    "bare": _BARE,
    "bodies": _BODIES,
    "cut": _CUT,
    "slow": _SLOW,
    "statuses": _STATUSES,
}

_Spoil = Callable[[str], Answer]
_TRUNCATED: dict[str, _Spoil] = {
    "cut at the limit": lambda text: Answer(text[: len(text) // 2], finish_reason="length"),
    "the limit spent on reasoning": lambda _: Answer(
        "", finish_reason="length", message={"content": None, "reasoning": "Let me think about this person."}
    ),
    "a thought that does not end": lambda text: Answer(f"<think>Perhaps {text}"),
}
_UNUSABLE: dict[str, _Spoil] = {
    "prose": lambda _: Answer("[I would rather talk about it than fill in a form.]"),
    "no content": lambda _: Answer("", message={"content": None}),
    "a broken JSON": lambda text: Answer(text[:9] + "::{{"),
    "an object without what was asked": lambda _: Answer('{"thoughts": "This person is sad."}'),
}
MODEL: dict[str, dict[str, _Spoil]] = {
    "truncated": _TRUNCATED,
    "unusable": _UNUSABLE,
    "model": {**_TRUNCATED, **_UNUSABLE},
}
FOR_EVER: dict[str, _Spoil] = {
    **_UNUSABLE,
    "a thought that does not end": _TRUNCATED["a thought that does not end"],
    "always cut at the limit": lambda text: Answer(text[:9], finish_reason="length"),
    "a refusal": lambda _: Answer("", message={"content": None, "refusal": "I would rather not."}),
    "filtered": lambda _: Answer("", finish_reason="content_filter", message={"content": None}),
}
"""Answers of a model that stays so: nothing of what was asked is ever answered."""
ODD: dict[str, _Spoil] = {
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

NO_MONEY = Status(402, _error("Insufficient credits. Add more to go on.", 402))
DEAD = Status(503, {"error": "the machine of this shard is down"}, _AFTER)


def _parts(text: str) -> list[dict[str, str]]:
    texts = [{"type": "text", "text": half} for half in (text[: len(text) // 2], text[len(text) // 2 :])]
    return [{"type": "thinking", "thinking": "not to be read"}, *texts]


def refused(body: Mapping[str, Any]) -> Status | None:
    """What a server says that takes no JSON schema or object, no temperature, `max_tokens` or system role."""
    form = (body.get("response_format") or {}).get("type")
    has_system = any(message.get("role") == "system" for message in body.get("messages", ()))
    for is_there, words in (
        (form is not None, f"response_format.type '{form}' is not supported by this model"),
        ("temperature" in body, "Unsupported value: 'temperature' is not supported with this model."),
        (
            "max_tokens" in body,
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
        ),
        (has_system, "System role not supported"),
    ):
        if is_there:
            return Status(400, _error(words))
    return None
