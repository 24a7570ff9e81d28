"""What the fault server answers when it behaves: complete answers, the same for the same request at any time.

An answer follows the request's schema where it has one, else the words of this project's prompts. `varied` answers
follow the words alone and differ from one prompt to the next, so that a reply that is filed under another call shows;
a re-prompt of a call gets what the call itself gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any

from attunebench.prompts import render
from attunebench.selftest.behaviours import Answer, Asked, schema_of

SAID = "I hear you. What would help most right now?"
_CHARACTERS_PER_TOKEN = 4
_Schema = dict[str, Any]


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
    """A complete answer: whatever the schema wants, or, without one, what the prompt's own words ask for."""
    return _text_of_form(asked.form) or json.dumps(filled(_wanted(_step(asked.prompt))), ensure_ascii=False)


@lru_cache(maxsize=512)
def _text_of_form(form: bytes) -> str:
    """Empty without a schema. Kept, for benchmarks send many thousand requests of few forms."""
    schema = schema_of(form)
    return json.dumps(filled(schema), ensure_ascii=False) if schema else ""


def varied_text(prompt: str) -> str:
    """A complete answer to one of this project's prompts that no other prompt gets, but for a re-prompt of the same."""
    first = first_ask(prompt)
    return json.dumps(filled(_wanted(_step(first)), salt=_digest(first).hex()), ensure_ascii=False)


def first_ask(prompt: str) -> str:
    """The prompt without the line that a re-prompt has behind it."""
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
    return _object({key: form(step) for key, form in _FORMS.items() if f'"{key}":' in step})


def _tags(step: str) -> _Schema:
    emotions = re.search(r"Choose only from: (.+?)\. Give", step)
    tag = {"emotion": _one_of(*(emotions[1].split(", ") if emotions else ["Nervous"])), "intensity": _INTEGER}
    return {"type": "array", "items": _object(tag)}


def _selections(step: str) -> _Schema:
    return _object(dict.fromkeys(re.findall(r"^\W*(\d+)\W.*\bReply \d", step, re.MULTILINE), _one_of("A", "B")))


def _yes_no(step: str) -> _Schema:
    return _object(dict.fromkeys(re.findall(r"^(\w+): .*\?", step, re.MULTILINE), _one_of("yes", "no")))


def _mood(step: str) -> _Schema:
    sides = re.findall(r"^(?:Positive|Negative): (.+)\.$", step, re.MULTILINE)
    rating = {"type": "integer", "maximum": 6 if "predicted_panas_delta" in step else 7}
    return _object({"items": _object({item.strip(): rating for side in sides for item in side.split(",")})})


def _whole_conversation(step: str) -> _Schema:
    branches = re.search(r"^fourBranchScores:.*\n((?:.+\n)+)", step, re.MULTILINE)
    names = re.findall(r"^\W*(\w+)", branches[1], re.MULTILINE) if branches else []
    wide: dict[str, _Schema] = {}
    for key in ("q1_lookingFor", "q2_emotionClarity", "q3_modelFit", "q3_followUp_whatFeltOff"):
        listed = re.search(rf"^{key}: .*\n((?:- .+\n)+)", step, re.MULTILINE)
        option = _one_of(*([line[2:] for line in listed[1].splitlines()] if listed else ["Other"]))
        is_list = key in ("q1_lookingFor", "q3_followUp_whatFeltOff")
        wide[key] = {"type": "array", "items": option} if is_list else option
    return _object({**wide, "fourBranchScores": _object(dict.fromkeys(names, _INTEGER))})


def _object(fields: Mapping[str, _Schema]) -> _Schema:
    return {"type": "object", "properties": dict(fields)}


def _one_of(*values: str) -> _Schema:
    return {"type": "string", "enum": list(values)}


_INTEGER: _Schema = {"type": "integer"}
_TEXTS = ("reasoning", "emotion_reasoning", "binary_reasoning", "drafted_response")
_RATINGS = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
_FORMS: dict[str, Callable[[str], _Schema]] = {
    **dict.fromkeys(_TEXTS, lambda _: {"type": "string"}),
    "emotion_tags": _tags,
    "pairwise_selections": _selections,
    **dict.fromkeys(("binary_om_assessment", "binary_human_prediction", "draft_binary_assessment"), _yes_no),
    **dict.fromkeys(_RATINGS, lambda _: _INTEGER),
    "predicted_post_panas": _mood,
    "predicted_panas_delta": _mood,
    "conversation_wide": _whole_conversation,
}
"""The form of each answer, read off the task's words, in the order in which it is answered."""
