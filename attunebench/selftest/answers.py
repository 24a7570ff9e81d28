"""What the fault server answers when it behaves: complete answers, the same for the same request at any time. `varied`
answers differ from one prompt to the next, so that a reply under another call shows; a re-prompt gets what its
call gets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from typing import Any

from attunebench.prompts import render
from attunebench.selftest.behaviours import Answer, Asked

SAID = "I hear you. What would help most right now?"
_CHARACTERS_PER_TOKEN = 4


def completion(asked: Asked, answer: Answer) -> dict[str, Any]:
    """The body of a chat completion."""
    text = answer_text(asked) if answer.text is None else answer.text
    prompt, completed = len(asked.content) // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN
    usage = {"prompt_tokens": prompt, "completion_tokens": completed, "total_tokens": prompt + completed}
    message = {"role": "assistant", "content": text, **answer.message}
    return {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
        "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}],
        "usage": usage if answer.cost is None else {**usage, "cost": answer.cost},
        **answer.extra,
    }


def answer_text(asked: Asked) -> str:
    """A complete answer: whatever the schema wants, or words where there is none."""
    return json.dumps(filled(asked.schema), ensure_ascii=False) if asked.schema else SAID


def varied_text(asked: Asked, schema: Mapping[str, Any] | None = None) -> str:
    """A complete answer that no other prompt gets, but for a re-prompt of the same; to `schema` where the request has
    none."""
    salt = _digest(first_ask(asked.prompt))
    return json.dumps(filled(asked.schema or schema or {}, salt=salt, most=6), ensure_ascii=False)


def first_ask(prompt: str) -> str:
    """The prompt without the line that a re-prompt has behind it."""
    return _reask_line().sub("", prompt)


def filled(schema: Mapping[str, Any], path: str = "", salt: str = "", most: int = 7) -> Any:
    """A value that fits the schema, the same at every call: closed choices vary with the place they stand in.

    With a `salt` ratings (1 to `most`: a change of the mood is 6 at most) and texts vary too, and everything varies
    with the salt.
    """
    if "enum" in schema:
        return schema["enum"][int(_digest(f"{salt}{path}"), 16) % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        inner = schema.get("properties", {})
        return {name: filled(each, f"{path}.{name}", salt, most) for name, each in inner.items()}
    if kind == "array":
        return [filled(schema["items"], f"{path}[]", salt, most)]
    if kind in ("integer", "number"):
        return 1 + int(_digest(f"{salt}{path}"), 16) % most if salt else 4
    if kind == "boolean":
        return True
    return f"{SAID} ({salt})" if salt else SAID


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


@cache
def _reask_line() -> re.Pattern[str]:
    start, end = map(re.escape, render("reask", missing="\0").split("\0"))
    return re.compile(rf"\n\n{start}[^\n]*{end}\Z")
