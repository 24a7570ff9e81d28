"""A chat message of a server's: what in it is the answer, what are thoughts, what is a refusal.

Pure. What a model says in parts, or writes as the call of a tool that it was never offered, is its answer all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from attunebench.text import encodable

_ANSWERING = frozenset((None, "", "text", "output_text", "message", "answer"))
"""Types of parts that are the answer; whatever else holds a text is thought, or a tool's."""
_GIVEN = ("arguments", "parameters", "input", "args")


class Content(NamedTuple):
    """A message's content; each None where there is none."""

    answer: str | None
    thoughts: str | None = None
    refusal: str | None = None


def read_content(content: Any) -> Content:
    """The text parts of each kind in order."""
    if isinstance(content, str):
        return Content(encodable(content))
    if isinstance(content, Mapping) and "text" not in content and "type" not in content:
        return Content(encodable(json.dumps(content, ensure_ascii=False)) if content else None)
    parts = content if isinstance(content, list) else [content]
    answer: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    for part in parts:
        if not isinstance(part, Mapping):
            answer += [part] if isinstance(part, str) else []
        elif part.get("type") == "refusal":
            refusals.append(_deep_text(part.get("refusal")) or _deep_text(part.get("text")) or "refused")
        elif part.get("type") == "tool_use":
            answer.append(_arguments(part.get("input")))
        elif part.get("type") in _ANSWERING and part.get("thought") is not True:
            answer.append(_deep_text(part.get("text")))
        else:
            thoughts.append(_deep_text(part.get("thinking")) or _deep_text(part.get("text")))
    texts = "".join(answer), "\n".join(filter(None, thoughts)), "\n".join(refusals)
    return Content(*(encodable(text) or None for text in texts))


def reasoning_of(message: Mapping[str, Any]) -> str | None:
    """The thoughts that stand in fields of their own."""
    for name in ("reasoning", "reasoning_content"):
        if (said := _deep_text(message.get(name))).strip():
            return encodable(said)
    details = message.get("reasoning_details")
    steps = [step for step in details if isinstance(step, Mapping)] if isinstance(details, list) else []
    texts = [_deep_text(step.get("text")) or _deep_text(step.get("summary")) for step in steps]
    return encodable("\n".join(text for text in texts if text.strip())) or None


def arguments_in(message: Mapping[str, Any]) -> str | None:
    """What a message hands to tools: no tool was offered, so it is the answer in the form of a call."""
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, list) else [calls]
    functions = [call.get("function", call) for call in listed if isinstance(call, Mapping)]
    functions.append(message.get("function_call"))
    named = [each for each in functions if isinstance(each, Mapping)]
    said = [next((_arguments(each[name]) for name in _GIVEN if each.get(name)), "") for each in named]
    return encodable("\n".join(filter(None, said))) or _arguments(message.get("parsed")) or None


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""


def _deep_text(value: Any, depth: int = 3) -> str:
    """A text, or those in a part or a list of parts, each under `text` or `value`."""
    if isinstance(value, str) or not depth:
        return value if isinstance(value, str) else ""
    if isinstance(value, Mapping):
        return _deep_text(value.get("text", value.get("value")), depth - 1)
    return "".join(_deep_text(each, depth - 1) for each in value) if isinstance(value, list) else ""
