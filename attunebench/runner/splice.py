"""Changes a few keys of a JSON text and leaves every other byte of it as it is.

A file of somebody else's holds what we do not know: the spelling of its numbers, escapes, the order of its keys, white
space. Reading and writing it anew would change all of that. Owns where a value stands in a text; knows no key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple["str | int", ...]
"""The way to an object: keys and places from the outermost value, e.g. ("turns", 0)."""

_WHITE = " \t\n\r"
# Only where a value ends is asked, and numbers of any length end somewhere.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


@dataclass(frozen=True, slots=True)
class _Object:
    """Where an object's members stand: key → (start, end) of its value; the last one counts of a key that is there
    twice. `end` is where its last value ends (or the opening brace), `gap` the white space before its first key."""

    values: Mapping[str, tuple[int, int]]
    end: int
    gap: str


def spliced(text: str, changes: Mapping[Path, Mapping[str, Any]]) -> str:
    """The text with the values of these keys in these objects; a key that is not there comes in at the object's end.

    `text` is valid JSON, and every path leads to an object in it. What is put in is laid out as the file is.
    """
    edits: list[tuple[int, int, str]] = []
    first = _object(text, _after_white(text, 0))
    for path, values in changes.items():
        there = _object(text, _find(text, path))
        added = []
        for key, value in values.items():
            if key in there.values:
                edits.append((*there.values[key], _written(text, value, there.gap, first.gap)))
            else:
                added.append(f"{_key(text, key)}{_written(text, value, there.gap, first.gap)}")
        if added:
            comma = "," if there.values else ""
            gap = there.gap if "\n" in there.gap else " " if _is_spaced(text) else ""
            joined = f",{gap}".join(added)
            edits.append((there.end, there.end, f"{comma}{gap if there.values else there.gap}{joined}"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _find(text: str, path: Path) -> int:
    """Where the value at the end of the path starts."""
    at = _after_white(text, 0)
    for step in path:
        at = _elements(text, at)[step] if isinstance(step, int) else _object(text, at).values[step][0]
    return at


def _object(text: str, at: int) -> _Object:
    inside = _after_white(text, at + 1)
    gap, values, end = text[at + 1 : inside], {}, at + 1
    at = inside
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _after_white(text, _after_white(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        values[key] = (start, end)
        at = _after_white(text, end)
        if text[at] == ",":
            at = _after_white(text, at + 1)
    return _Object(values, end, gap)


def _elements(text: str, at: int) -> list[int]:
    """Where the elements of the array start."""
    starts = []
    at = _after_white(text, at + 1)
    while text[at] != "]":
        starts.append(at)
        _, end = _DECODER.raw_decode(text, at)
        at = _after_white(text, end)
        if text[at] == ",":
            at = _after_white(text, at + 1)
    return starts


def _after_white(text: str, at: int) -> int:
    while text[at] in _WHITE:
        at += 1
    return at


def _is_spaced(text: str) -> bool:
    """Whether a blank follows the colons of this file, as it then follows commas too."""
    return '": ' in text


def _key(text: str, key: str) -> str:
    return json.dumps(key, ensure_ascii=text.isascii()) + (": " if _is_spaced(text) else ":")


def _written(text: str, value: Any, gap: str, unit: str) -> str:
    """The value as this file writes its values: over several lines where it does, else in one. `unit`: the file's
    indentation, behind a line's end; `gap`: that of the object's keys."""
    if "\n" not in gap:
        separators = (", ", ": ") if _is_spaced(text) else (",", ":")
        return json.dumps(value, ensure_ascii=text.isascii(), allow_nan=False, separators=separators)
    indent = unit[unit.rfind("\n") + 1 :] if "\n" in unit else "  "
    lines = json.dumps(value, ensure_ascii=text.isascii(), allow_nan=False, indent=indent).split("\n")
    return gap.join(lines)
