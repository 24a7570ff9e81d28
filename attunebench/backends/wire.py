"""The bodies that servers send: from any dialect to a reply or a `Fault`. Pure: takes parsed or raw bodies and never a
connection. `read_completion` and `error_in` never raise on odd content."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from html import unescape
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from attunebench.backends.base import Reply
from attunebench.backends.faults import LONGEST_SENTENCE, WAIT_FIELDS, Fault, number
from attunebench.protocol.calls import Usage
from attunebench.protocol.endings import canonical, is_broken
from attunebench.text import encodable, printable

LONGEST_NAME = 4096  # characters of a model's name, which may be a path: it is compared with the one asked for
_SHOWN = 120  # bytes or characters of an unreadable body that the user is shown
_MOST_TOKENS = 1e12 - 1  # a larger count is no measurement and would swamp every sum
_DEAREST = 1e9
_NO_ERROR = frozenset(("", "none", "null", "nan", "undefined", "nil", "false", "0", "200", "ok", "success", "{}"))
_MESSAGE_KEYS = (
    "message", "Message", "msg", "status_msg", "error_msg", "error_message", "errorMessage", "errmsg", "detail",
    "error_description", "description", "title", "reason",
)  # fmt: skip
_CODE_KEYS = ("code", "Code", "type", "status", "status_code", "error_code", "errcode")
_ENDS = ("finish_reason", "native_finish_reason", "finishReason", "stop_reason")
_ANSWERING = (None, "", "text", "output_text", "message", "answer")
"""Types of parts that are the answer; whatever else holds a text is thought, or a tool's."""
_REASONING = ("reasoning", "reasoning_content", "reasoning_details")
_TEXTS = ("text", "value", "thinking", "summary", "refusal")
_TOKENS = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "cached_tokens": ("cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "reasoning_tokens": ("reasoning_tokens",),
}
"""Field of `Usage` → its names in a body."""
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_EVENT = re.compile(r"^[ \t]*(?:data:)?[ \t]*(\{.*\}|\[DONE\])[ \t\r]*$", re.MULTILINE)
"""An event's data; some leave out `data:`."""
_DECODER = json.JSONDecoder(strict=False)


def encoded(body: Mapping[str, Any]) -> bytes:
    """The body as JSON in UTF-8; lone surrogates are repaired, since no request can carry them."""
    try:
        return to_json(body)
    except (PydanticSerializationError, UnicodeError):
        return encodable(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def outcome_of(status: int, content: bytes) -> Reply | Fault:
    """What a response says: the reply in its body, or why there is none."""
    if not 200 <= status < 300:
        return fault_of_response(status, content)
    if looks_like_html(content):
        return Fault(line="html", message=error_in_text(content).message, parsed=False)
    try:
        return outcome_of_body(parse_body(content))
    except ValueError:
        begins = tidy(content[:_SHOWN].decode("utf-8", "replace"))
        # 202 is "accepted": such servers want to be asked for the answer later, at another address.
        empty = "the body was empty" if status == 200 else f"the body was empty (status {status})"
        message = f'the body was truncated or is not JSON; it begins "{begins}"' if content.strip() else empty
        return Fault(line="body", message=message, parsed=False)


def outcome_of_body(body: Any) -> Reply | Fault:
    """As `outcome_of`, for the parsed body of a successful response, which some gateways wrap, as under `data`."""
    if isinstance(body, Mapping) and not first_choice(body) and not says_something(body.get("error")):
        body = next(filter(first_choice, body.values()), body)
    if error := error_in(body):
        return fault_of_error(error, status=200)
    reply = read_completion(body)
    if reply is None:
        begins = tidy(json.dumps(body, ensure_ascii=False, default=str)[:_SHOWN])
        return Fault(line="body", message=f'it contains no choice; it begins "{begins}"')
    if is_broken(reply.finish_reason):
        return Fault(line="error body", message=f'it broke off (finish reason "{tidy(reply.finish_reason or "")}")')
    return reply


def fault_of_response(status: int, content: bytes) -> Fault:
    """A fault from a response with an error status."""
    # A gateway's page or a plain "404 page not found" says nothing about the API's models.
    return fault_of_error(error_in_text(content), status=status, parsed=content.lstrip()[:1] in (b"{", b"[", b'"'))


def fault_of_error(error: Fault, *, status: int, parsed: bool = True) -> Fault:
    """What an error body says, under this status; the status inside the body counts where this one means success."""
    if 200 <= status < 300:
        return replace(error, line="error body", parsed=parsed)
    return replace(error, status=status, parsed=parsed)


def parse_body(content: bytes) -> Any:
    """The JSON in a body, in any Unicode encoding, or what the events of a stream come to. Raises ValueError."""
    text = content.decode(json.detect_encoding(content), errors="replace").lstrip("\ufeff \t\r\n")
    try:
        with suppress(ValueError):
            return _DECODER.decode(text)
        return _body_of_stream(_EVENT.findall(text))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _body_of_stream(events: list[str]) -> Any:
    """The completion of a stream's chunks, or an error or completion among them. ValueError: none, or it was cut."""
    chunks = [_DECODER.decode(event) for event in events if event != "[DONE]"]
    choices = [choice for chunk in chunks if (choice := first_choice(chunk)) and choice.get("index") in (None, 0)]
    for chunk in chunks:
        choice = first_choice(chunk) or {}
        # Some end with a chunk that has an empty message beside its delta.
        if error_in(chunk) or (choice.get("message") and "delta" not in choice):
            return chunk
    ends = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    if not choices or not (ends or "[DONE]" in events):
        raise ValueError("not JSON, or a truncated stream")
    deltas = mappings_in([choice.get("delta", {"content": choice.get("text")}) for choice in choices])
    message: dict[str, Any] = {name: [] for name in ("content", *_REASONING)}
    for name, parts in message.items():
        for delta in deltas:
            parts += delta[name] if isinstance(delta.get(name), list) else [delta.get(name)]
    message["refusal"] = "".join(_deep_text(delta.get("refusal")) for delta in deltas)
    message["tool_calls"] = [{"function": {"arguments": "".join(map(_arguments_in, deltas))}}]
    around = {name: chunk[name] for chunk in chunks for name in ("model", "provider", "usage") if chunk.get(name)}
    return {**around, "choices": [{"message": message, "finish_reason": ends[-1] if ends else None}]}


def read_completion(body: Any) -> Reply | None:
    """The first choice of a chat completion; None where there is none to read."""
    choice = first_choice(body)
    if choice is None:
        return None
    message = choice.get("text") if choice.get("message") is None else choice["message"]
    message = {"content": message} if isinstance(message, str) else message
    if not isinstance(message, Mapping):
        return None
    answer, thoughts, refusal = _read_content(message.get("content"))
    if not (answer and answer.strip()):
        answer = _arguments_in(message) or answer  # no tool was offered, so a call of one is the answer
    own = (_deep_text(message.get(name)) for name in _REASONING)
    reasoning = next((encodable(text) for text in own if text.strip()), None)
    usage = body["usage"] if isinstance(body.get("usage"), Mapping) else {}
    cost, details = amount(usage.get("cost"), _DEAREST), usage.get("cost_details")
    if usage.get("is_byok") is True and isinstance(details, Mapping):
        # With the user's own key behind a router: the router's fee and the provider's charge.
        upstream = amount(details.get("upstream_inference_cost"), _DEAREST)
        cost = cost if upstream is None else (cost or 0.0) + upstream
    ended = canonical(next(filter(None, (_text(choice.get(name)) for name in _ENDS)), None))
    refusal = _text(message.get("refusal")) if says_something(message.get("refusal")) else refusal
    model, provider = _name(body.get("model"), LONGEST_NAME), _name(body.get("provider"))
    return Reply(answer, ended, refusal, reasoning or thoughts, _usage(usage), cost, model, provider)


def first_choice(body: Any) -> Mapping[str, Any] | None:
    """The first choice of a completion, or None."""
    return next(iter(mappings_in(body.get("choices"))), None) if isinstance(body, Mapping) else None


def _read_content(content: Any) -> tuple[str | None, str | None, str | None]:
    """The answer, the thoughts and the refusal in a message's content; each None where there is none."""
    if isinstance(content, str):
        return encodable(content), None, None
    answer, thoughts, refusals = list[str](), list[str](), list[str]()
    for part in content if isinstance(content, list) else [content]:
        of = part if isinstance(part, Mapping) else {}
        if (kind := of.get("type")) == "refusal":
            refusals.append(_deep_text(part) or "refused")
        else:
            (answer if kind in _ANSWERING and of.get("thought") is not True else thoughts).append(_deep_text(part))
    text, thought, refusal = (encodable("".join(parts)) or None for parts in (answer, thoughts, refusals))
    return text, thought, refusal


def _arguments_in(message: Mapping[str, Any]) -> str:
    """What a message hands to tools."""
    functions = mappings_in([call.get("function") for call in mappings_in(message.get("tool_calls"))])
    return encodable("\n".join(_text(function.get("arguments")) or "" for function in functions))


def _deep_text(value: Any, depth: int = 4) -> str:
    """A text, or those in a part or a list of parts."""
    if isinstance(value, str) or not depth:
        return value if isinstance(value, str) else ""
    if isinstance(value, Mapping):
        return _deep_text(next((value[name] for name in _TEXTS if value.get(name)), ""), depth - 1)
    return "".join(_deep_text(each, depth - 1) for each in value) if isinstance(value, list) else ""


def says_something(error: Any) -> bool:
    """Whether an error is one: servers and tools write null, "None", NaN, 0, "success" or an object of these."""
    if isinstance(error, Mapping | list):
        return any(map(says_something, error.values() if isinstance(error, Mapping) else error))
    return str(error).strip().strip("\"'").lower() not in _NO_ERROR


def error_in(body: Any) -> Fault | None:
    """The error in a body, beside or in place of an answer, or None. `status` is the code inside the body where that is
    one of HTTP's, `code` has all textual codes and types, `message` the most useful sentence, perhaps ""."""
    if isinstance(body, list):
        return next((error for entry in body if (error := error_in(entry))), None)
    if not isinstance(body, Mapping):
        return None
    if says_something(error := body.get("error")):
        return _described(error, body)
    for verdict in mappings_in([body.get("base_resp"), body.get("status")]):
        if says_something(verdict.get("status_code", verdict.get("code"))):
            return _described(verdict, body)
    if choice := first_choice(body):
        return _described(choice["error"], {}) if says_something(choice.get("error")) else None
    if says_something(errors := body.get("errors")):
        return _described(errors[0] if isinstance(errors, list) else errors, body)
    described = "error" in (body.get("object"), body.get("type")) or isinstance(body.get("detail"), list | Mapping)
    return _described(body, {}) if described or any(_text(body.get(key)) for key in _MESSAGE_KEYS) else None


def error_in_text(content: bytes) -> Fault:
    """The error in a body of any kind; of a page of HTML its title or its first words."""
    try:
        body = parse_body(content)
    except ValueError:
        page = content[:20_000].decode("utf-8", errors="replace")
        title = _TITLE.search(page)
        return Fault(message=tidy(unescape(title.group(1) if title else _TAG.sub(" ", page))))
    return error_in(body) or Fault(message=tidy(body) if isinstance(body, str) else "")


def looks_like_html(content: bytes) -> bool:
    """Whether a body begins as a web page does, behind a BOM and white space."""
    return content[:500].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype", b"<html", b"<head", b"<body"))


def tidy(text: str) -> str:
    """A server's words as one printable line of at most `LONGEST_SENTENCE` characters."""
    return printable(text, LONGEST_SENTENCE)


def _described(error: Any, around: Mapping[str, Any]) -> Fault:
    if not isinstance(error, Mapping):
        message = _text(around.get("message")) or (error if isinstance(error, str) else json.dumps(error, default=str))
        return Fault(message=tidy(message), code=_code(around), status=_status(around))
    # Beside the message stand OpenRouter's metadata, or the details of Google's dialect, here as one mapping.
    metadata = error.get("metadata")
    if not isinstance(metadata, Mapping):
        details = error["details"] if isinstance(error.get("details"), list) else []
        metadata = {str(key): value for entry in mappings_in(details) for key, value in entry.items()}
    quotas = [each.get("quotaId") for each in mappings_in(metadata.get("violations"))]
    message = _sentence(error)
    # OpenRouter puts the provider's message here; its own says only that there was an error.
    if raw := _text(metadata.get("raw")):
        message = f"{message}: {error_in_text(raw.encode('utf-8', 'replace')).message or raw}"
    return Fault(
        message=tidy(message),
        code=" ".join([_code(error), *filter(None, map(_text, quotas))]),
        param=_text(error.get("param")) or _location(error.get("detail")) or "",
        status=_status(error) or _status(around),
        metadata={**{name: error[name] for name in WAIT_FIELDS if name in error}, **metadata},
    )


def _sentence(error: Mapping[str, Any]) -> str:
    for key in _MESSAGE_KEYS:
        value = error.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, Mapping):
            return _sentence(value)
        # A validator's list: where and what, but not the input that it repeats, which holds the whole request.
        if entries := mappings_in(value)[:3]:
            return "; ".join(f"{_location([entry])}: {_text(entry.get('msg'))}" for entry in entries)
    return _text(error.get("code")) or _text(error.get("type")) or ""


def _location(detail: Any) -> str | None:
    location = next((entry.get("loc") for entry in mappings_in(detail)), None)
    return ".".join(str(part) for part in location if part != "body") if isinstance(location, list) else None


def _code(error: Mapping[str, Any]) -> str:
    """All codes and types, those of a vendor's own numbering too."""
    values = [error.get(key) for key in _CODE_KEYS]
    texts = [_text(str(value) if isinstance(value, int) and not 0 <= value < 600 else value) for value in values]
    return " ".join(text.lower() for text in texts if text)


def _status(error: Mapping[str, Any]) -> int:
    numbers = (number(error.get(key)) or 0 for key in ("code", "status", "status_code"))
    return int(next((each for each in numbers if 400 <= each <= 599), 0))


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = [usage.get(f"{side}_tokens_details") for side in ("prompt", "input", "completion", "output")]
    counts = {name: value for each in (usage, *mappings_in(details)) for name, value in each.items()}
    found = {
        field: next((known for name in names if (known := amount(counts.get(name), _MOST_TOKENS)) is not None), None)
        for field, names in _TOKENS.items()
    }
    return Usage(**{field: int(known) for field, known in found.items() if known is not None and known.is_integer()})


def amount(value: Any, most: float) -> float | None:
    """A number between 0 and `most`, or None."""
    known = number(value)
    return known if known is not None and 0 <= known <= most else None


def mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """Those elements of a list, or the value itself, that are objects."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]


def _name(value: Any, limit: int = LONGEST_SENTENCE) -> str | None:
    """A name that a server gives itself goes into files and tables: one printable line, or None."""
    return (printable(value, limit) or None) if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return encodable(value) if isinstance(value, str) and value.strip() else None
