"""The format of each answer: its JSON schema, and the items that it has. The schema keeps to what strict structured
outputs of all providers have in common: closed objects, all keys required, arrays, strings, integers, enums; no
bounds, no alternatives. The reader stays more tolerant than this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from attunebench.codebook import Codebook, default_codebook
from attunebench.conversations.traits import CANNOT_TELL, Trait
from attunebench.protocol.calls import (
    CHANGES,
    DIMENSIONS,
    DRAFTS,
    PREDICTED_PROFILE,
    PREFERENCES,
    RATINGS,
    Asked,
    Kind,
    PanasStrategy,
)

BINARY_MAPS = ("binary_om_assessment", "binary_human_prediction")
JUDGE_MAP = "draft_binary_assessment"
WIDE = "conversation_wide"
Q1, Q2, Q3 = "q1_lookingFor", "q2_emotionClarity", "q3_modelFit"
FOLLOW_UP = "q3_followUp_whatFeltOff"
FOUR_BRANCH = "fourBranchScores"

_Schema = dict[str, Any]
Path = tuple[str, ...]
_INTEGER: _Schema = {"type": "integer"}
_TEXT: _Schema = {"type": "string"}


def schema_for(asked: Asked) -> Mapping[str, Any]:
    """The answer's schema; reasoning keys come first. Calls of one shape share one object: do not change it."""
    return _format(_shape(asked))[0]


def expected_items(asked: Asked) -> tuple[str, ...]:
    """Every item that the call asks for, in the order of the schema, as a path such as `binary_om_assessment.B13`."""
    return tuple(".".join(path) for path in _format(_shape(asked))[1])


def missing_items(values: Mapping[str, Any], asked: Asked) -> tuple[str, ...]:
    """The paths of the items that `values` does not answer."""
    paths = _format(_shape(asked))[1]
    return tuple(".".join(path) for path in paths if item_at(values, path) is None)


def item_at(values: Mapping[str, Any], path: Path) -> Any:
    """The value at `path` in nested dicts, or None."""
    value: Any = dict(values) if not isinstance(values, dict) else values
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def mood_key(panas: PanasStrategy) -> str:
    """The key under which `post` gives the mood afterwards."""
    return "predicted_panas_delta" if panas in CHANGES else "predicted_post_panas"


_Shape = tuple[Kind, tuple[str, ...], tuple[str, ...], PanasStrategy, bool, bool, tuple[Trait, ...]]


def _shape(asked: Asked) -> _Shape:
    ids = tuple(asked.questions), tuple(asked.comparisons)
    return asked.kind, *ids, asked.panas, asked.rated, asked.verbose, asked.traits


@lru_cache(maxsize=1024)
def _format(shape: _Shape) -> tuple[_Schema, tuple[Path, ...]]:
    """Options and items belong to the data format, so they are ours whatever codebook words the questions."""
    kind, questions, comparisons, panas, rated, verbose, traits = shape
    codebook = default_codebook()
    reasons = ["reasoning"] if verbose else []
    if verbose and kind == "review":
        reasons += ["emotion_reasoning", *(["binary_reasoning"] if questions else [])]
    fields: dict[str, _Schema] = {}
    if kind in DRAFTS:
        fields["drafted_response"] = _TEXT
    elif kind == "pairwise":
        fields["pairwise_selections"] = _map(comparisons, _choice(("A", "B")))
    elif kind == "verdict":
        reasons = ["evidence", "rationale"]
        fields["dimensions"] = _map(DIMENSIONS, _choice(("1", "2", "same")))
        fields |= {"decided_by": _choice(DIMENSIONS), "preference": _choice(PREFERENCES)}
    elif kind == "post":
        fields |= _post(panas, codebook)
    elif kind == "profile":
        fields[PREDICTED_PROFILE] = _object({trait.id: _answer(trait) for trait in traits})
    elif kind == "judge":
        fields |= dict.fromkeys(RATINGS if rated else (), _INTEGER)
        if questions:
            fields[JUDGE_MAP] = _yes_no(questions)
    else:
        if kind == "review":
            fields["emotion_tags"] = _list_of(_object({"emotion": _choice(codebook.panas), "intensity": _INTEGER}))
        if questions:
            fields |= dict.fromkeys(BINARY_MAPS, _yes_no(questions))
    return _object({**dict.fromkeys(reasons, _TEXT), **fields}), tuple(_leaves(fields))


def _leaves(fields: Mapping[str, _Schema], above: Path = ()) -> Iterator[Path]:
    for key, schema in fields.items():
        if schema["type"] == "object":
            yield from _leaves(schema["properties"], (*above, key))
        else:
            yield (*above, key)


def _post(panas: PanasStrategy, codebook: Codebook) -> dict[str, _Schema]:
    return {
        mood_key(panas): _object({"items": _map(codebook.panas, _INTEGER)}),
        WIDE: _object(
            {
                Q1: _list_of(_choice(codebook.q1_options)),
                Q2: _choice(codebook.q2_options),
                Q3: _choice(codebook.q3_options),
                FOLLOW_UP: _list_of(_TEXT),
                FOUR_BRANCH: _map(codebook.branches, _INTEGER),
            }
        ),
    }


def _answer(trait: Trait) -> _Schema:
    """Numbers as texts: "cannot tell" stands in their place, and an alternative of types is not common to all."""
    numbers = map(str, range(trait.low, trait.high + 1)) if trait.form in ("scale", "age") else ()
    one = _choice((*trait.options, *numbers, CANNOT_TELL))
    return _list_of(one) if trait.form == "groups" else one


def _object(fields: Mapping[str, _Schema]) -> _Schema:
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def _map(keys: Iterable[str], value: _Schema) -> _Schema:
    return _object(dict.fromkeys(keys, value))


def _yes_no(questions: tuple[str, ...]) -> _Schema:
    return _map(questions, _choice(("yes", "no")))


def _choice(values: Iterable[str]) -> _Schema:
    return {"type": "string", "enum": list(values)}


def _list_of(items: _Schema) -> _Schema:
    return {"type": "array", "items": items}
