"""JSON text → plain values, strictly, and by a repair library only where that fails.

Keeps what a dict would lose: a JSON object becomes an `Obj`, all its pairs in order, so that a key that stands twice
stays visible. Knows nothing of calls and items. Nothing here raises, whatever the text.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
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

_STAND_IN = re.compile(r"__text_([0-9]{1,6})__")
_QUOTED_KEY = re.compile(r"""["'“”‘’]([^"'“”‘’\n]{1,80})["'“”‘’]\s*:""")


class Obj(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, in order, duplicates included."""

    __slots__ = ()

    @property
    def cut(self) -> bool:
        """Whether the text ended inside this object."""
        return bool(self) and self[-1][0] is CUT


def is_cut(value: Any) -> bool:
    """Whether `value` is a list or an object that the text did not close."""
    if isinstance(value, Obj):
        return value.cut
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


def mend(text: str, strings: Sequence[str] = ()) -> Any:
    """The value of `text`, by a repair library if it is no JSON, else ABSENT; `stand_in(i)` becomes `strings[i]`.

    The library keeps the last of two equal keys, so a key that the text has more often than the result is dropped.
    """
    value = decode(text)
    if value is not ABSENT:
        return _as_pairs(value, _MAX_DEPTH, strings)
    if len(text) > _MAX_MENDED:
        return ABSENT
    from json_repair import repair_json

    try:
        repaired = repair_json(text, return_objects=True, skip_json_loads=True)
    except Exception:  # foreign code on hostile text: whatever it raises means "not mended"
        return ABSENT
    value = _as_pairs(repaired, _MAX_DEPTH, strings)
    written = Counter(_QUOTED_KEY.findall(text))
    kept = Counter(_keys(value))
    lost = {key for key, times in kept.items() if written[key] > times}
    return _without(value, lost) if lost else value


def stand_in(index: int) -> str:
    """What stands for a string while a text is mended, so that mending cannot change it."""
    return f"__text_{index}__"


def _as_pairs(value: Any, depth: int, strings: Sequence[str]) -> Any:
    if isinstance(value, str):
        if value == CUT:
            return CUT
        match = _STAND_IN.fullmatch(value)
        index = int(match[1]) if match else len(strings)
        return strings[index] if index < len(strings) else value
    if depth and isinstance(value, (dict, Obj)):
        pairs = value.items() if isinstance(value, dict) else value
        return Obj((CUT if key == CUT else str(key), _as_pairs(item, depth - 1, strings)) for key, item in pairs)
    if depth and isinstance(value, (list, tuple)):
        return [_as_pairs(item, depth - 1, strings) for item in value]
    return value if isinstance(value, (int, float)) else None


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Obj):
        for key, item in value:
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _without(value: Any, lost: set[str]) -> Any:
    """`value` without the pairs whose key is in `lost`, unless they lead to an object or a list of their own."""
    if isinstance(value, Obj):
        kept = ((key, item) for key, item in value if key not in lost or isinstance(item, (Obj, list)))
        return Obj((key, _without(item, lost)) for key, item in kept)
    if isinstance(value, list):
        return [_without(item, lost) for item in value]
    return value
