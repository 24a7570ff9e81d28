"""The tag list: which emotions a reply names, and how strong. Knows the twenty names it is given and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attunebench.protocol.read import values
from attunebench.protocol.read.decode import CUT, Obj, is_cut
from attunebench.protocol.read.shapes import key_name

NEUTRAL = frozenset({"neutral", "none", "no change"})
_NAME_KEYS = frozenset({"emotion", "name", "tag", "label"})
_STRENGTH_KEYS = frozenset({"intensity", "score", "value", "rating", "strength"})


def tags(value: Any, display: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """`[{emotion, intensity}]` in the order given, [] for neutral, None if unreadable.

    `display`: lower-case name → display form. An intensity that is no 1–7 is None; of an emotion that stands twice the
    highest intensity counts, as it does in the labels. Words outside `display` are dropped, but a list that holds
    nothing else is unreadable.
    """
    if is_cut(value) or not isinstance(value, (str, list, Obj)):
        return None
    entries = list(_entries(value))
    if not entries:
        return [] if value == [] else None
    said = [(values.plain(name), strength) for name, strength in entries if isinstance(name, str)]
    neutral = [name in NEUTRAL for name, _ in said]
    if any(neutral):
        return [] if all(neutral) else None
    found: dict[str, float | None] = {}
    for name, strength in said:
        emotion = display.get(name)
        if emotion is not None:
            levels = (found.get(emotion), values.intensity(strength))
            found[emotion] = max((level for level in levels if level is not None), default=None)
    return [{"emotion": emotion, "intensity": level} for emotion, level in found.items()] or None


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """(name, strength) of each entry; a name of None is an entry that names nothing, or two things."""
    if isinstance(value, str):
        yield value, None
    elif isinstance(value, Obj):
        if any(key_name(key) in _NAME_KEYS for key, _ in value):
            yield _field(value, _NAME_KEYS), _field(value, _STRENGTH_KEYS)
        else:
            yield from ((key, item) for key, item in value if key is not CUT)
    else:
        for entry in value:
            if isinstance(entry, (str, Obj)):
                yield from _entries(entry)
            else:
                yield None, None


def _field(entry: Obj, keys: frozenset[str]) -> Any:
    found = [item for key, item in entry if key_name(key) in keys]
    return found[0] if found and all(item == found[0] for item in found) else None
