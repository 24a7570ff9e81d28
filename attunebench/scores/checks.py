"""Whether what a scores file holds fits its schema: asked once, so that nothing above is defensive.

Refuses to know what a value means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from attunebench.errors import DataError
from attunebench.scores.schema import Scores
from attunebench.text import printable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_BLOCKS = frozenset(("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp", "observed", "preferred"))
_MESSAGES = {
    "missing": "it is missing",
    "string_pattern_mismatch": "it has letters that are not answers",
    "too_long": "it has too many parts",
    "too_short": "it has too few parts",
}
"""What the kinds of pydantic's errors mean here, where its own words are for programmers."""


def require_shape(content: Mapping[str, Any], name: str) -> None:
    """Raise DataError with the first thing in the content of a scores file that no study can read; `name` is its name.

    Wrong or missing values, letters that do not fit the questions, and one result or conversation that stands there
    twice.
    """
    try:
        _reader().validate_python(content)
    except ValidationError as error:
        raise _refusal(name, _first(error)) from None
    if odd := _letters(content) or _twice(content):
        raise _refusal(name, odd)


@cache
def _reader() -> TypeAdapter[Scores]:
    return TypeAdapter(Scores)


def _refusal(name: str, what: str) -> DataError:
    return DataError(f"{name} is not a valid scores file: {what}. Run `attune-bench score` again.")


def _first(error: ValidationError) -> str:
    found: ErrorDetails = error.errors(include_url=False, include_context=False, include_input=False)[0]
    message = _MESSAGES.get(found["type"]) or found["msg"][:1].lower() + found["msg"][1:]
    return f"{printable(_place(found['loc']), 200)}: {message.replace('input', 'it', 1)}"


def _place(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _letters(content: Mapping[str, Any]) -> str:
    """Where a string of letters has not one for each question; empty if nowhere."""
    count = len(content.get("questions") or ())
    for part in ("conversations", "ground_truth"):
        for row, entry in enumerate(content.get(part) or ()):
            for place, turn in enumerate(entry["turns"]):
                blocks = turn.get("answers", {}) if part == "conversations" else turn
                for name, letters in blocks.items():
                    if name in _BLOCKS and len(letters) != count:
                        where = f"{part}[{row}].turns[{place}]"
                        return f"{name} in {where} has {len(letters)} letters for {count} questions"
    return ""


def _twice(content: Mapping[str, Any]) -> str:
    """What stands there twice although a study has room for one; empty if nothing."""
    entries, truths = content["conversations"], content.get("ground_truth") or ()
    results = Counter((*group_key(e), e["conversationId"], e.get("epoch")) for e in entries)
    for (_, model, mode, conversation, epoch), count in results.items():
        if count > 1:
            run = "" if epoch is None else f", epoch {epoch}"
            return printable(f"{count} results of {model} for conversation {conversation} (mode {mode}{run})", 200)
    for conversation, count in Counter(truth["conversationId"] for truth in truths).items():
        if count > 1:
            return printable(f"conversation {conversation} {count} times in ground_truth", 200)
    for entry in (*entries, *truths):
        numbers = [turn["turnNumber"] for turn in entry["turns"]]
        if len(set(numbers)) < len(numbers):
            return printable(f"a turn of conversation {entry['conversationId']} more than once", 200)
    return ""


def group_key(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """(provider, model, mode) of an entry."""
    return str(entry.get("provider", "unknown")), str(entry["em_model"]), str(entry.get("mode", "default"))
