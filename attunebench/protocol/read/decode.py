"""JSON text → plain values, strictly, and by a repair library only where that fails. A JSON object becomes an `Obj`,
all its pairs in order, so that a key that stands twice stays visible. Nothing here raises, whatever the text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any


class _Mark(str):
    """A text that is known by identity, so that a model that writes the same letters means no more than these."""

    __slots__ = ()


CUT = _Mark("__cut__")
"""A key (in an object) or a last entry (in a list) that says: the text ended before this was closed."""

ABSENT: Any = object()
"""What the decoders give where there is no JSON; None is JSON's null."""

_MAX_DIGITS = 18
_DEEP = 10_000
_MAX_DEPTH = 64
_MAX_MENDED = 60_000


class Obj(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, in order, duplicates included."""

    __slots__ = ()


def is_cut(value: Any) -> bool:
    """Whether `value` is a list or an object that the text did not close."""
    if isinstance(value, Obj):
        return bool(value) and value[-1][0] is CUT
    return isinstance(value, list) and bool(value) and value[-1] is CUT


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


_DECODER = json.JSONDecoder(object_pairs_hook=Obj, parse_int=_integer, strict=False)


def decode(text: str) -> Any:
    """The value of a text that is JSON as a whole, else ABSENT. Raw control characters in strings are allowed."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return ABSENT


def decode_at(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start` and the offset behind it; where it is not JSON, ABSENT and how far one saw."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return ABSENT, error.pos
    except (ValueError, RecursionError):
        return ABSENT, start + _DEEP


def mend(skeleton: str, texts: Sequence[str]) -> Any:
    """The value of what `scan` made of a text that is no JSON, by a repair library where need be; else ABSENT."""
    value = decode(skeleton)
    if value is not ABSENT:
        return _as_pairs(value, _MAX_DEPTH, texts)
    if len(skeleton) > _MAX_MENDED:
        return ABSENT
    from json_repair import repair_json

    try:
        repaired = repair_json(skeleton, return_objects=True, skip_json_loads=True)
    except Exception:  # foreign code on hostile text: whatever it raises means "not mended"
        return ABSENT
    return _as_pairs(repaired, _MAX_DEPTH, texts)


def _as_pairs(value: Any, depth: int, texts: Sequence[str]) -> Any:
    if isinstance(value, str):
        return CUT if value == CUT else texts[int(value)] if value.isdecimal() and int(value) < len(texts) else value
    if depth and isinstance(value, (dict, Obj)):
        pairs = value.items() if isinstance(value, dict) else value
        return Obj((_as_pairs(str(key), 0, texts), _as_pairs(item, depth - 1, texts)) for key, item in pairs)
    if depth and isinstance(value, (list, tuple)):
        return [_as_pairs(item, depth - 1, texts) for item in value]
    return value if isinstance(value, (int, float)) else None
