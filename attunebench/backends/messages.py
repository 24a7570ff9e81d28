"""A chat message of a server's: what in it is the answer, what are thoughts, what is a refusal; and the body that the
events of a stream come to, where one was sent for a plain request.

Pure. What a model says in parts, or writes as the call of a tool that it was never offered, is its answer all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attunebench.text import encodable

_ANSWERING = (None, "", "text", "output_text", "message", "answer")
"""Types of parts that are the answer; whatever else holds a text is thought, or a tool's."""
_TEXTS = ("text", "value", "thinking", "summary", "refusal")
_ARGUMENTS = ("arguments", "parameters", "input", "args")
_EVENT = re.compile(r"^[ \t]*(?:data:)?[ \t]*(\{.*\}|\[DONE\])[ \t\r]*$", re.M)
"""An event's data; some leave out `data:`."""
_NO_ERROR = frozenset(("", "none", "null", "nan", "undefined", "nil", "false", "0", "200", "ok", "success", "{}"))
_DECODER = json.JSONDecoder(strict=False)
DONE = "[DONE]"


def parse_json(text: str) -> Any:
    """The JSON value that a text is, control characters in its texts or not. Raises ValueError."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def says_something(error: Any) -> bool:
    """Whether an error is one: servers and tools write null, "None", NaN, 0, "success" or an object of these."""
    if isinstance(error, Mapping | list):
        return any(map(says_something, error.values() if isinstance(error, Mapping) else error))
    return str(error).strip().strip("\"'").lower() not in _NO_ERROR


def read_content(content: Any) -> tuple[str | None, str | None, str | None]:
    """The answer, the thoughts and the refusal in a message's content; each None where there is none."""
    if isinstance(content, str):
        return encodable(content), None, None
    if isinstance(content, Mapping) and content.keys().isdisjoint(("text", "type")):
        content = _as_text(content)
    answer, thoughts, refusals = list[str](), list[str](), list[str]()
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "refusal":
            refusals.append(_deep_text(part) or "refused")
        elif kind == "tool_use":
            answer.append(_as_text(part.get("input")))
        elif kind in _ANSWERING and not (isinstance(part, Mapping) and part.get("thought") is True):
            answer.append(_deep_text(part))
        else:
            thoughts.append(_deep_text(part))
    text, thought, refusal = (encodable("".join(parts)) or None for parts in (answer, thoughts, refusals))
    return text, thought, refusal


def reasoning_of(message: Mapping[str, Any]) -> str | None:
    """The thoughts that stand in fields of their own."""
    texts = (_deep_text(message.get(name)) for name in ("reasoning", "reasoning_content", "reasoning_details"))
    return next((encodable(text) for text in texts if text.strip()), None)


def arguments_in(message: Mapping[str, Any]) -> str | None:
    """What a message hands to tools: no tool was offered, so it is the answer in the form of a call."""
    calls = mappings_in([*mappings_in(message.get("tool_calls")), message.get("function_call")])
    named = mappings_in([call.get("function", call) for call in calls])
    texts = [next((_as_text(each[name]) for name in _ARGUMENTS if each.get(name)), "") for each in named]
    return encodable("\n".join(filter(None, texts))) or _as_text(message.get("parsed")) or None


def first_choice(body: Any) -> Mapping[str, Any] | None:
    """The first choice of a completion or a chunk of one, or None."""
    return next(iter(mappings_in(body.get("choices"))), None) if isinstance(body, Mapping) else None


def body_of_stream(text: str) -> Any:
    """The body that the events of a stream come to; an event that is one by itself, as an error or a whole completion
    is. Raises ValueError where it is no stream, or was cut."""
    events = [event if event == DONE else parse_json(event) for event in _EVENT.findall(text)]
    payloads = [event for event in events if event != DONE]
    choices = list[Mapping[str, Any]]()
    for payload in payloads:
        if (choice := first_choice(payload)) is None:
            is_error = "error" in (payload.get("type"), payload.get("object")) or says_something(payload.get("error"))
            is_whole = is_error or ("code" in payload and isinstance(payload.get("message"), str))
        else:
            # Some end with a chunk that has an empty message beside its delta.
            is_whole = says_something(choice.get("error")) or bool(choice.get("message") and "delta" not in choice)
        if is_whole:
            return payload
        if choice is not None and choice.get("index") in (None, 0):
            choices.append(choice)
    finish_reason = next((each["finish_reason"] for each in reversed(choices) if each.get("finish_reason")), None)
    if not choices or not (finish_reason or DONE in events):
        raise ValueError("the stream was cut")
    deltas = [
        each if isinstance(each := choice.get("delta"), Mapping) else {"content": choice.get("text")}
        for choice in choices
    ]
    message: dict[str, Any] = {}
    for name in ("content", "reasoning", "reasoning_content"):
        values = [delta.get(name) for delta in deltas]
        message[name] = [part for value in values for part in (value if isinstance(value, list) else [value])]
    message["refusal"] = "".join(_deep_text(delta.get("refusal")) for delta in deltas)
    message["tool_calls"] = [{"arguments": "".join(arguments_in(delta) or "" for delta in deltas)}]
    around = {name: each[name] for each in payloads for name in ("model", "provider", "usage") if each.get(name)}
    return {**around, "choices": [{"message": message, "finish_reason": finish_reason}]}


def mappings_in(value: Any, most: int | None = None) -> list[Mapping[str, Any]]:
    """Those of the first `most` elements of a list, or the value itself, that are objects."""
    elements = value[:most] if isinstance(value, list) else [value]
    return [element for element in elements if isinstance(element, Mapping)]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""


def _deep_text(value: Any, depth: int = 4) -> str:
    """A text, or those in a part or a list of parts."""
    if isinstance(value, str) or not depth:
        return value if isinstance(value, str) else ""
    if isinstance(value, Mapping):
        return _deep_text(next((value[name] for name in _TEXTS if value.get(name)), ""), depth - 1)
    return "".join(_deep_text(each, depth - 1) for each in value) if isinstance(value, list) else ""
