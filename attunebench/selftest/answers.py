"""What the fault server answers when it behaves: complete answers, the same for the same request at any time.

An answer follows the request's schema where it has one, else the words of this project's prompts. `varied` answers
follow the words alone and differ from one prompt to the next, so that a reply that is filed under another call shows;
a reask of a call gets what the call itself gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from attunebench.prompts import render

if TYPE_CHECKING:
    from attunebench.selftest.behaviours import Answer, Asked

SAID = "I hear you. What would help most right now?"
_CHARACTERS_PER_TOKEN = 4
_MOST_FORMS = 1024
_Schema = dict[str, Any]

_by_form: dict[bytes, str] = {}
"""Answers by the tail of the request that asks for their form: benchmarks send many thousand requests of few forms."""


def completion(asked: Asked, answer: Answer) -> dict[str, Any]:
    """The body of a chat completion."""
    text = answer_text(asked) if answer.text is None else answer.text
    usage: dict[str, Any] = {
        "prompt_tokens": len(asked.content) // _CHARACTERS_PER_TOKEN,
        "completion_tokens": len(text) // _CHARACTERS_PER_TOKEN,
    }
    usage["total_tokens"] = sum(usage.values())
    if answer.cost is not None:
        usage["cost"] = answer.cost
    return {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
        "choices": [
            {
                "index": 0,
                "finish_reason": answer.finish_reason,
                "message": {"role": "assistant", "content": text, **answer.message},
            }
        ],
        "usage": usage,
        **answer.extra,
    }


def answer_text(asked: Asked) -> str:
    """A complete answer: whatever the schema wants, or, without one, what the prompt's own words ask for."""
    if (known := _by_form.get(asked.form)) is not None:
        return known
    if asked.schema:
        text = json.dumps(filled(asked.schema), ensure_ascii=False)
        if asked.form and len(_by_form) < _MOST_FORMS:
            _by_form[asked.form] = text
        return text
    return json.dumps(filled(_wanted(_step(asked.prompt))), ensure_ascii=False)


def varied_text(prompt: str) -> str:
    """A complete answer to one of this project's prompts that no other prompt gets, but for a reask of the same."""
    first = first_ask(prompt)
    return json.dumps(filled(_wanted(_step(first)), salt=_digest(first).hex()), ensure_ascii=False)


def first_ask(prompt: str) -> str:
    """The prompt without the line that a reask has behind it."""
    before, mark, after = _reask_line()
    place = prompt.rfind(before)
    is_reask = place > 0 and prompt.endswith(after) and "\n" not in prompt[place + len(mark) :]
    return prompt[:place] if is_reask else prompt


def filled(schema: Mapping[str, Any], path: str = "", salt: str = "") -> Any:
    """A value that fits the schema, the same at every call: closed choices vary with the place they stand in.

    With a `salt` ratings and texts vary too, and everything varies with the salt.
    """
    if "enum" in schema:
        return schema["enum"][_draw(path, salt) % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        return {name: filled(inner, f"{path}.{name}", salt) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [filled(schema["items"], f"{path}[]", salt)]
    if kind in ("integer", "number"):
        return 1 + _draw(path, salt) % schema.get("maximum", 7) if salt else 4
    if kind == "boolean":
        return True
    return f"{SAID} ({salt})" if salt else SAID


def _draw(path: str, salt: str) -> int:
    return int.from_bytes(_digest(f"{salt}{path}"), "big")


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()


@cache
def _reask_line() -> tuple[str, str, str]:
    """The reask's line before and after what it names, the first part also without the line breaks before it."""
    start, end = render("reask", missing="\0").split("\0")
    return f"\n\n{start}", start, end


def _step(prompt: str) -> str:
    """A prompt's own task, behind the transcript; a judge's draft follows it and is left out."""
    step = prompt[prompt.rfind("\nTASK: ") + 1 :]
    return step.partition("\nThe draft:\n")[0]


@lru_cache(maxsize=512)
def _wanted(step: str) -> _Schema:
    """The schema of the answer, found by the answer keys that the task's format names."""
    wanted = set(re.findall(r'"(\w+)":', step))
    yes_no = dict.fromkeys(re.findall(r"^(\w+): .*\?", step, re.MULTILINE), _one_of("yes", "no"))
    fields: dict[str, _Schema] = {}
    for key in ("reasoning", "emotion_reasoning", "binary_reasoning", "drafted_response"):
        if key in wanted:
            fields[key] = {"type": "string"}
    if "emotion_tags" in wanted:
        emotions = re.search(r"Choose only from: (.+?)\. Give", step)
        names = emotions[1].split(", ") if emotions else ["Nervous"]
        tag = _object({"emotion": _one_of(*names), "intensity": {"type": "integer"}})
        fields["emotion_tags"] = {"type": "array", "items": tag}
    if "pairwise_selections" in wanted:
        numbers = re.findall(r"^\W*(\d+)\W.*\bReply \d", step, re.MULTILINE)
        fields["pairwise_selections"] = _object(dict.fromkeys(numbers, _one_of("A", "B")))
    for key in ("binary_om_assessment", "binary_human_prediction", "draft_binary_assessment"):
        if key in wanted:
            fields[key] = _object(yes_no)
    for key in ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match"):
        if key in wanted:
            fields[key] = {"type": "integer"}
    return _object(fields | _looking_back(step, wanted))


def _looking_back(step: str, wanted: set[str]) -> dict[str, _Schema]:
    """The answer about the whole conversation: the items and options are read off the task."""
    if "conversation_wide" not in wanted:
        return {}
    sides = re.findall(r"^(?:Positive|Negative): (.+)\.$", step, re.MULTILINE)
    items = [item.strip() for side in sides for item in side.split(",")]
    mood = "predicted_panas_delta" if "predicted_panas_delta" in wanted else "predicted_post_panas"
    rating = {"type": "integer", "maximum": 6 if mood == "predicted_panas_delta" else 7}
    branches = re.search(r"^fourBranchScores:.*\n((?:.+\n)+)", step, re.MULTILINE)
    names = re.findall(r"^\W*(\w+)", branches.group(1), re.MULTILINE) if branches else []
    options = {key: _one_of(*_options(step, key)) for key in ("q1_lookingFor", "q2_emotionClarity", "q3_modelFit")}
    options["q1_lookingFor"] = {"type": "array", "items": options["q1_lookingFor"]}
    felt_off = {"type": "array", "items": _one_of(*_options(step, "q3_followUp_whatFeltOff"))}
    wide = {**options, "q3_followUp_whatFeltOff": felt_off}
    wide["fourBranchScores"] = _object({name: {"type": "integer"} for name in names})
    return {mood: _object({"items": _object(dict.fromkeys(items, rating))}), "conversation_wide": _object(wide)}


def _options(step: str, key: str) -> list[str]:
    """The bullets under a question's line."""
    listed = re.search(rf"^{key}: .*\n((?:- .+\n)+)", step, re.MULTILINE)
    return [line[2:] for line in listed[1].splitlines()] if listed else ["Other"]


def _object(fields: Mapping[str, _Schema]) -> _Schema:
    return {"type": "object", "properties": dict(fields)}


def _one_of(*values: str) -> _Schema:
    return {"type": "string", "enum": list(values)}
