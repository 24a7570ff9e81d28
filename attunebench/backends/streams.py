"""Answers that came as an event stream though none was asked for: the chunks put together to the body of one answer.

Pure: takes the bytes of a body. Forgives what servers get wrong (no blank lines, no space behind `data:`, pings, a
whole completion before or among the events).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

_LINES = re.compile(r"\r\n|\n|\r")
_DECODER = json.JSONDecoder(strict=False)
DONE = "[DONE]"


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
