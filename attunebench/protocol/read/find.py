"""The objects in a reply: the whole text, or what is left when the reasoning part is set aside, fences first.

Finds and decodes; what an object says is read elsewhere. The work on hostile text is bounded: strict attempts, mending
attempts and the characters that they look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from attunebench.protocol.read.decode import ABSENT, Obj, decode, decode_at, mend
from attunebench.protocol.read.scan import scan
from attunebench.protocol.read.thoughts import end_of_first_part, without_thoughts

_FENCE_OR_OBJECT = re.compile(r"`{3,}|~{3,}|\{|\[(?=\s*[\[{\"'“‘])")
_OBJECT_BEGINS = re.compile(r"""\{\s*["'“][^"'“”\n]{1,80}["'”]\s*:""")
"""Told from a brace in prose: its inside is not searched, since an object there stands in one of its strings."""
_OF_TAGS = frozenset("<[◁【")
_STRICT_ATTEMPTS = 1000
_STRICT_CHARACTERS = 5_000_000
_MENDED_CHARACTERS = 120_000


@dataclass(frozen=True, slots=True)
class Root:
    """One decoded value of a reply. `intact`: the strings that mending cannot have changed; None where none was.

    `at`: where in the text it begins.
    """

    value: Any
    mended: bool = False
    intact: frozenset[str] | None = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What a reply holds. `groups`: roots, those in fences before the others. `prose`: text without reasoning.

    `hint`: an object began, though nothing of it could be kept.
    """

    groups: tuple[tuple[Root, ...], ...] = ()
    prose: str = ""
    fenced: bool = False
    reasoning_open: bool = False
    hint: bool = False

    @property
    def roots(self) -> tuple[Root, ...]:
        return tuple(root for group in self.groups for root in group)


@dataclass(frozen=True, slots=True)
class Interest:
    """How to tell an object of interest: `knows(value)` by its keys, `mentions(text)` by names in a text."""

    knows: Callable[[Any], bool]
    mentions: Callable[[str], bool]


def find(text: str, interest: Interest) -> Found:
    """All objects of `text` that may hold an answer, in the order of spec 3.4."""
    text = text.lstrip("\ufeff \t\r\n").rstrip()
    whole = _whole(text)
    if whole is not None:
        return whole
    kept = _answering(text)
    if kept is None:
        return Found(reasoning_open=True)
    whole = _whole(kept) if kept != text else None
    return whole or _walk(kept, interest)


def _whole(text: str) -> Found | None:
    value = decode(text)
    if isinstance(value, (Obj, list)):
        return Found(groups=((Root(value),),), prose=text)
    if isinstance(value, str):
        inner = decode(value)
        return Found(groups=((Root(inner),),), prose=text) if isinstance(inner, Obj) else Found(prose=value)
    return None


def _answering(text: str) -> str | None:
    """`text` without its thoughts; None if the last of them never closes.

    A first part in tags that no table knows is set aside too where an object stands behind it, in no tags of its own.
    """
    strict = _Strict(text)
    kept = without_thoughts(text, lambda start: start if strict.spent else strict.at(start)[1])
    if kept is None:
        return None
    kept = kept.strip()
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
        if value is not ABSENT:
            return value, end
        self._characters -= end - start
        return ABSENT, start


def _walk(text: str, interest: Interest) -> Found:
    fenced: list[Root] = []
    free: list[Root] = []
    walker = _Walker(text, interest)
    for root, in_fence in walker.roots():
        (fenced if in_fence else free).append(root)
    groups = tuple(tuple(group) for group in (fenced, free) if group)
    return Found(groups, text, walker.fences > 0, hint=walker.hint)


class _Walker:
    """One pass over a text without reasoning; `fences` and `hint` are known when `roots` is exhausted."""

    def __init__(self, text: str, interest: Interest) -> None:
        self.fences = 0
        self.hint = False
        self._text = text
        self._interest = interest
        self._strict = _Strict(text)
        self._characters = _MENDED_CHARACTERS

    def roots(self) -> Iterator[tuple[Root, bool]]:
        pos = 0
        while not self._strict.spent and (match := _FENCE_OR_OBJECT.search(self._text, pos)):
            pos = match.end()
            if match[0][0] in "`~":
                self.fences += 1
                continue
            root, pos = self._root(match.start())
            if root is not None:
                yield root, self.fences % 2 == 1

    def _root(self, start: int) -> tuple[Root | None, int]:
        """The object at `start`, if there is one, and the offset to go on from."""
        value, end = self._strict.at(start)
        if value is not ABSENT:
            return Root(value, at=start), end
        if self._characters <= 0:
            return None, start + 1
        span = scan(self._text, start, self._characters)
        self._characters -= span.end - start
        value = mend(span.skeleton, span.texts) if span.skeleton else ABSENT
        if value is not ABSENT and self._interest.knows(value):
            return Root(value, True, span.certain, start), span.end
        meant = _OBJECT_BEGINS.match(self._text, start) is not None
        if meant or self._interest.mentions(self._text[start : span.end]):
            self.hint = True
        return None, span.end if meant else start + 1
