"""A chat message of a server's: what in it is the answer, what are thoughts, what is a refusal. And the body that an
event stream comes to, where one was sent though none was asked for.

Pure. What a model says in parts, or writes as the call of a tool that it was never offered, is its answer all the same.
What servers get wrong in streams is forgiven: no blank lines, no space behind `data:`, pings, a whole completion before
or among the events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attunebench.text import encodable

_ANSWERING = frozenset((None, "", "text", "output_text", "message", "answer"))
"""Types of parts that are the answer; whatever else holds a text is thought, or a tool's."""
_LINES = re.compile(r"\r\n|\n|\r")
_DECODER = json.JSONDecoder(strict=False)
DONE = "[DONE]"
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
    answer, thoughts, refusals = list[str](), list[str](), list[str]()
    for part in content if isinstance(content, list) else [content]:
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


def body_of_stream(text: str) -> Any:
    """The body that the events of a stream come to. Raises ValueError where it is no stream, or was cut."""
    chunks = _Chunks()
    for payload in _payloads(text.lstrip()):
        if payload == DONE:
            chunks.done = True
        elif isinstance(payload, Mapping) and (whole := chunks.take(payload)) is not None:
            return whole
    return chunks.body()


def _payloads(text: str) -> Iterator[Any]:
    """What the events say: JSON values and the last word. A value may go over several lines of data."""
    if text.startswith("{"):
        value, end = _DECODER.raw_decode(text)
        text = text[end:]
        yield value
    waiting = ""
    for line in _LINES.split(text):
        name, colon, said = line.partition(":")
        if not line.strip():
            waiting = ""
        elif line.lstrip().startswith("{"):
            yield _DECODER.decode(line.strip())
        elif colon and name.strip().lower() == "data":
            waiting = f"{waiting}\n{said}".strip()
            with suppress(ValueError):
                yield DONE if waiting == DONE else _DECODER.decode(waiting)
                waiting = ""
        elif not colon or name.strip().lower() not in ("", "event", "id", "retry"):
            raise ValueError("no event stream")
    if waiting:
        raise ValueError("the stream was cut")


@dataclass(slots=True)
class _Chunks:
    """The first choice of a stream, as far as it has come."""

    done: bool = False
    seen: bool = False
    finish_reason: Any = None
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[Any, list[str]] = field(default_factory=dict)
    around: dict[str, Any] = field(default_factory=dict)

    def take(self, payload: Mapping[str, Any]) -> Any:
        """Add an event; a body where it is one by itself: an error, or a whole completion."""
        listed = payload.get("choices")
        choices = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
        choice = next((each for each in choices if each.get("index") in (None, 0)), None)
        says_error = payload.get("error") or "error" in (payload.get("type"), payload.get("object"))
        if choice is None and (says_error or ("code" in payload and isinstance(payload.get("message"), str))):
            return payload
        # Some end with a chunk that has an empty message beside its delta.
        if choice is not None and (choice.get("error") or (choice.get("message") and not self.texts)):
            return payload
        for name in ("id", "model", "provider", "usage"):
            if payload.get(name):
                self.around[name] = payload[name]
        if choice is not None:
            self.seen = True
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            delta = choice.get("delta")
            self._add(delta if isinstance(delta, Mapping) else {"content": choice.get("text")})
        return None

    def _add(self, delta: Mapping[str, Any]) -> None:
        for name in ("content", "reasoning", "reasoning_content", "refusal"):
            for part in delta[name] if isinstance(delta.get(name), list) else [delta.get(name)]:
                thinks = isinstance(part, Mapping) and part.get("type") not in (None, "text", "output_text")
                said = part.get("text") if isinstance(part, Mapping) else part
                if isinstance(said, str):
                    self.texts.setdefault("reasoning" if thinks else name, []).append(said)
        calls = delta.get("tool_calls") or ([delta["function_call"]] if delta.get("function_call") else [])
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            function = call.get("function", call) if isinstance(call, Mapping) else {}
            said = function.get("arguments") if isinstance(function, Mapping) else None
            if isinstance(said, str):
                self.calls.setdefault(call.get("index", place), []).append(said)

    def body(self) -> dict[str, Any]:
        """The answer as a plain request would have got it."""
        if not self.seen or not (self.done or self.finish_reason):
            raise ValueError("the stream was cut")
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(parts) for name, parts in self.texts.items()}
        if self.calls:
            message["tool_calls"] = [{"function": {"arguments": "".join(parts)}} for parts in self.calls.values()]
        return {**self.around, "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}]}
