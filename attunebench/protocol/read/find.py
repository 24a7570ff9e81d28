"""The objects in a reply: the whole text, or what is left when the reasoning part is set aside, fences first.

The work on hostile text is bounded: strict attempts, mending attempts and the characters that they look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attunebench.protocol.read.decode import ABSENT, Obj, decode, decode_at
from attunebench.protocol.read.scan import mended
from attunebench.protocol.read.thoughts import end_of_first_part, without_thoughts

_FENCE_OR_OBJECT = re.compile(r"`{3,}|~{3,}|\{|\[(?=\s*[\[{\"'“‘])")
_OBJECT_BEGINS = re.compile(r"""\{\s*["'“][^"'“”\n]{1,80}["'”]\s*:""")
"""Told from a brace in prose: its inside is not searched, since an object there stands in one of its strings."""
_OF_TAGS = frozenset("<[◁【")
_STRICT_ATTEMPTS = 1000
_STRICT_CHARACTERS = 5_000_000
_MENDED_CHARACTERS = 120_000


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a reply gives.

    `intact`: the strings that mending cannot have changed; None where nothing was mended. `fenced`: it counts before
    those in the text around fences.
    """

    value: Any
    intact: frozenset[str] | None = None
    fenced: bool = False

    def within(self, value: Any) -> Given:
        """A value that stands in this one."""
        return Given(value, self.intact, self.fenced)

    def trusts(self, text: str) -> bool:
        """Whether `text` in it is as the model wrote it, not what mending made of it."""
        return self.intact is None or text in self.intact


@dataclass(frozen=True, slots=True)
class Found:
    """What a reply holds. `objects`: its objects and lists, in the order of the text. `prose`: text without reasoning.

    `hint`: an object began, though nothing of it could be kept.
    """

    objects: tuple[Given, ...] = ()
    prose: str = ""
    fenced: bool = False
    reasoning_open: bool = False
    hint: bool = False


def find(text: str, knows: Callable[[Any], bool], mentions: Callable[[str], bool]) -> Found:
    """All objects of `text` that may hold an answer, in the order of spec 3.4.

    One that is worth mending is told by its keys (`knows`), or by names in the text of it (`mentions`).
    """
    text = text.lstrip("\ufeff \t\r\n").rstrip()
    whole = _whole(text)
    if whole is not None:
        return whole
    kept = _answering(text)
    if kept is None:
        return Found(reasoning_open=True)
    whole = _whole(kept) if kept != text else None
    return whole or _walk(kept, knows, mentions)


def _whole(text: str) -> Found | None:
    value = decode(text)
    if isinstance(value, (Obj, list)):
        return Found((Given(value),), text)
    if isinstance(value, str):
        inner = decode(value)
        return Found((Given(inner),), text) if isinstance(inner, Obj) else Found(prose=value)
    return None


def _answering(text: str) -> str | None:
    """`text` without its thoughts; None if the last of them never closes."""
    strict = _Strict(text)
    kept = without_thoughts(text, lambda start: start if strict.spent else strict.at(start)[1])
    if kept is None:
        return None
    kept = kept.strip()
    # A first part in tags that no table knows is set aside too where an object stands behind it, in no tags of its own.
    rest = kept[end_of_first_part(kept) :].lstrip()
    return rest if "{" in rest and rest[:1] not in _OF_TAGS else kept


class _Strict:
    """Strict decoding within one text, until it was tried too often or too much was looked at in vain."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._attempts = _STRICT_ATTEMPTS
        self._characters = _STRICT_CHARACTERS

    @property
    def spent(self) -> bool:
        return self._attempts <= 0 or self._characters <= 0

    def at(self, start: int) -> tuple[Any, int]:
        """The value that begins at `start` and its end; (ABSENT, start) where there is none."""
        self._attempts -= 1
        value, end = decode_at(self._text, start)
        self._characters -= end - start if value is ABSENT else 0
        return value, end if value is not ABSENT else start


def _walk(text: str, knows: Callable[[Any], bool], mentions: Callable[[str], bool]) -> Found:
    """One pass over a text without reasoning."""
    strict, characters = _Strict(text), _MENDED_CHARACTERS
    objects = list[Given]()
    fences, hint, pos = 0, False, 0
    while not strict.spent and (match := _FENCE_OR_OBJECT.search(text, pos)):
        start, pos = match.span()
        if match[0][0] in "`~":
            fences += 1
            continue
        (value, end), intact = strict.at(start), None
        if value is ABSENT and characters > 0:
            value, stop, certain = mended(text, start, characters)
            characters -= stop - start
            if value is not ABSENT and knows(value):
                intact, end = certain, stop
            else:
                meant, value = _OBJECT_BEGINS.match(text, start) is not None, ABSENT
                hint = hint or meant or mentions(text[start:stop])
                end = stop if meant else start
        pos = max(end, start + 1)
        if value is not ABSENT:
            objects.append(Given(value, intact, fences % 2 == 1))
    return Found(tuple(objects), text, fences > 0, hint=hint)
