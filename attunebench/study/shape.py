"""Whether what a scores file holds has the shape that a study reads: asked once, so that nothing above is defensive.

Owns which keys must be there and what their values may be. Takes keys that it does not know (a newer minor version adds
some), and scores of an older version, which lack labels and answers. Refuses to know what a value means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

# pydantic reads the typed dicts of `typing` from Python 3.12 on only.
from typing_extensions import NotRequired, TypedDict

from attunebench.errors import DataError
from attunebench.text import printable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_STRICT = ConfigDict(strict=True, extra="ignore")
_MOST = 1e12
"""Beyond it no score, price or count is one, and sums of squares leave the range of floats."""

_BLOCKS = frozenset(("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp", "observed", "preferred"))
_MESSAGES = {
    "missing": "it is missing",
    "string_pattern_mismatch": "it has letters that are no answers",
    "too_long": "it has too many parts",
    "too_short": "it has too few parts",
}
"""What the kinds of pydantic's errors mean here, where its own words are for programmers."""

_Number = Annotated[float, Field(ge=-_MOST, le=_MOST)]
_Values = dict[str, "_Number | None"]
_Known = dict[str, _Number]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Counts = dict[str, "_Count"]
_Answered = Annotated[str, Field(pattern=r"^[yn-]*\z")]
_Labelled = Annotated[str, Field(pattern=r"^[yn.]*\z")]
_Choices = Annotated[str, Field(pattern=r"^[AB-]*\z")]
_Comparison = Annotated[list["str | None"], Field(min_length=4, max_length=4)]


class _State(TypedDict):
    positive: _Number | None
    negative: _Number | None
    items: _Known


class _Wide(TypedDict):
    q1: list[str] | None
    q2: str | None
    q3: str | None
    follow_up: list[str] | None
    four_branch: _Known


class _TurnAnswers(TypedDict):
    tags: NotRequired[_Values | None]
    binary_om: NotRequired[_Answered]
    binary_hp: NotRequired[_Answered]
    binary_om_hp: NotRequired[_Answered]
    binary_hp_hp: NotRequired[_Answered]
    pairwise: NotRequired[_Choices]


class _Turn(TypedDict):
    turnNumber: int
    metrics: _Values
    answers: NotRequired[_TurnAnswers]


class _Answers(TypedDict):
    post_panas: NotRequired[_State | None]
    wide: NotRequired[_Wide | None]


class _Group(TypedDict):
    provider: NotRequired[str]
    em_model: str
    mode: NotRequired[str]


class _Conversation(_Group):
    conversationId: str
    participant_id: str | None
    source_file: NotRequired[str]
    calls: NotRequired[_Values | None]
    epoch: NotRequired[int | None]
    metrics: _Values
    turns: list[_Turn]
    answers: NotRequired[_Answers | None]
    usage: NotRequired[_Known | None]
    api_cost: NotRequired[_Number | None]
    duration_seconds: NotRequired[_Number | None]


class _Estimate(TypedDict):
    mean: NotRequired[_Number | None]
    ci_low: NotRequired[_Number | None]
    ci_high: NotRequired[_Number | None]
    n: NotRequired[_Count]


class _Coverage(TypedDict):
    expected: NotRequired[_Count]
    skipped: NotRequired[list[str]]
    duplicated: NotRequired[list[str]]
    missing: NotRequired[list[str]]


class _Aggregate(_Group):
    metrics: dict[str, _Estimate]
    n_conversations: NotRequired[_Count]
    composite_incomplete: NotRequired[_Count]
    coverage: NotRequired[_Coverage | None]


class _TurnTruth(TypedDict):
    turnNumber: int
    tags: _Values | None
    observed: _Labelled
    preferred: _Labelled
    comparisons: list[_Comparison]


class _Truth(TypedDict):
    conversationId: str
    source_file: str
    participant_id: str | None
    om_model: str | None
    topics: list[str]
    subtopic: str | None
    attitude: str | None
    demographics: dict[str, str | list[str] | _Number | None]
    diagnosis_groups: list[str]
    computed_scores: _Known
    pre_panas: _State
    post_panas: _State
    wide: _Wide
    turns: list[_TurnTruth]


class _ReferenceConversation(TypedDict):
    conversationId: str
    metrics: _Values


class _Reference(TypedDict):
    id: str
    label: str
    meaning: str
    metrics: dict[str, _Estimate]
    conversations: list[_ReferenceConversation]


class _Variant(TypedDict):
    n_results: NotRequired[_Count]
    judge_models: NotRequired[list[str] | None]
    parameters: NotRequired[dict[str, Any] | None]


class _Observed(TypedDict):
    models_reported: NotRequired[_Counts | None]
    providers_reported: NotRequired[_Counts | None]
    structured_used: NotRequired[_Counts | None]
    adapted: NotRequired[dict[str, _Counts] | None]


class _Settings(_Group):
    variants: NotRequired[list[_Variant] | None]
    observed: NotRequired[_Observed | None]


class _Intervals(TypedDict):
    seed: NotRequired[_Count]
    resamples: NotRequired[Annotated[int, Field(ge=1, le=10**6)]]
    unit: NotRequired[str]
    method: NotRequired[str]


class _BertScore(TypedDict):
    model: str
    layer: _Count
    sha256: NotRequired[str | None]
    rescaled: NotRequired[bool]


class _Metadata(TypedDict):
    created: NotRequired[str | None]
    ground_truth: NotRequired[str | None]
    results: NotRequired[str | None]
    ground_truth_sha256: NotRequired[str | None]
    settings: NotRequired[list[_Settings] | None]
    sources: NotRequired[list[str] | None]
    intervals: NotRequired[_Intervals | None]
    bertscore: NotRequired[_BertScore | None]


@with_config(_STRICT)
class _Scores(TypedDict):
    metadata: _Metadata
    conversations: list[_Conversation]
    aggregates: list[_Aggregate]
    questions: NotRequired[list[str] | None]
    ground_truth: NotRequired[list[_Truth] | None]
    references: NotRequired[list[_Reference] | None]


_ENTRIES: dict[str, Any] = {
    "conversations": list[_Conversation],
    "aggregates": list[_Aggregate],
    "ground_truth": list[_Truth],
    "references": list[_Reference],
}
"""The lists of the file that stand in it with an entry on each line."""


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


def read_before_written(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces of a scores file as `scores.write_scores` makes them, each passed on once it has been read.

    Raises ValueError where the file would not be JSON, or would not have the shape that `require_shape` asks for.
    """
    frame: list[str] = []
    reader: TypeAdapter[Any] | None = None
    for piece in pieces:
        text = piece.strip(",\n")
        if reader is not None and text.startswith("{"):
            reader.validate_json(f"[{text}]")
            frame.append(piece.replace(text, "null", 1))
        else:
            reader = _readers().get(text.partition(":")[0].strip('"')) if text.endswith("[") else None
            frame.append(piece)
        yield piece
    _reader().validate_python(json.loads("".join(frame)) | {name: [] for name in _ENTRIES})


@cache
def _reader() -> TypeAdapter[_Scores]:
    return TypeAdapter(_Scores)


@cache
def _readers() -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(entries, config=_STRICT) for name, entries in _ENTRIES.items()}


def _refusal(name: str, what: str) -> DataError:
    return DataError(
        f"{name} holds what no scores file does: {what}. Score the results again with `attune-bench score`."
    )


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
