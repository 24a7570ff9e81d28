"""The shapes that one answer may come in: wrapped, flat, a list in place of a map, an item beside its reason.

Turns the objects of a reply into the values that were given for each key and item, and settles what several of them
say. Knows no question, no option and no scale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from attunebench.protocol.read.decode import ABSENT, Obj, decode, is_cut
from attunebench.protocol.read.find import Interest, Root
from attunebench.text import levelled

T = TypeVar("T")

WRAPPERS = frozenset(
    {"result", "results", "output", "answer", "answers", "response", "data", "json", "parameters", "arguments", "input",
     "properties", "args", "kwargs", "values"}
)  # fmt: skip
ASIDES = frozenset(
    {"reasoning", "emotionreasoning", "binaryreasoning", "thinking", "thoughts", "thought", "analysis", "explanation",
     "rationale", "scratchpad", "comment", "note", "notes", "example", "examples"}
)  # fmt: skip
"""Keys that hold talk about the answer; an object inside them is never the answer."""

_LEVELS = 4
"""As deep as an answer may be wrapped: `tool_calls`, an entry, its `function`, that one's `arguments`."""
_ANSWER_KEYS = frozenset({"answer", "value", "score", "selection", "winner", "choice", "rating"})
_ID_KEYS = ("comparisonid", "questionid", "id", "index", "comparison", "question", "item", "name", "emotion")
_NOT_A_NAME = re.compile(r"[^a-z0-9]")

Namer = Callable[[str], str | None]
"""A key as the model wrote it → the item that it names, or None."""


def key_name(key: str) -> str:
    """A key of the answer format for comparing: neither case nor `_`, `-` and spaces matter."""
    return _NOT_A_NAME.sub("", levelled(key).casefold())


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a reply gives for a key or an item, and the object it comes from."""

    value: Any
    root: Root

    def trusts(self, text: str) -> bool:
        """Whether `text` in it is as the model wrote it, not what mending made of it."""
        return self.root.intact is None or text in self.root.intact


Groups = tuple[tuple[Given, ...], ...]
"""The objects of a reply, those that count first in front (a fence goes before the text around it)."""


def sources(groups: Iterable[tuple[Root, ...]], knows: Callable[[Obj], bool]) -> Groups:
    """The roots with their wrapping taken off: objects of the answer format, or lists that may stand for a map."""
    return tuple(
        tuple(Given(inner, root) for root in group for inner in unwrapped(root.value, knows)) for group in groups
    )


def unwrapped(value: Any, knows: Callable[[Obj], bool]) -> list[Any]:
    """`value` without its wrapping, where it is not the answer itself (spec 3.4).

    What it holds that knows the answer format, a few levels deep, whatever stands beside that; else the list, or the
    object, under a wrapper's name or under the only key.
    """
    if isinstance(value, Obj) and knows(value):
        return [value]
    level = [value]
    for _ in range(_LEVELS):
        level = [inner for outer in level for inner in _held(outer)]
        if objects := [inner for inner in level if isinstance(inner, Obj) and knows(inner)]:
            return objects
    if isinstance(value, list):
        return [value] if not is_cut(value) or len(value) > 1 else []
    if not isinstance(value, Obj):
        return [value]
    pairs = [(key_name(key), item) for key, item in value if key_name(key) not in ASIDES]
    named = [item for name, item in pairs if name in WRAPPERS]
    if not named and len(pairs) == 1:
        named = [pairs[0][1]]
    inner = [item for item in map(container, named) if isinstance(item, (Obj, list))]
    return inner or [value]


def _held(value: Any) -> list[Any]:
    """The objects and lists in a value, without what is talk about the answer."""
    pairs = value if isinstance(value, Obj) else (("", entry) for entry in value) if isinstance(value, list) else ()
    inner = (container(item) for key, item in pairs if key_name(key) not in ASIDES)
    return [item for item in inner if isinstance(item, (Obj, list))]


def container(value: Any) -> Any:
    """`value`, or what it says if it is a string that is itself an object or a list."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        inner = decode(value)
        return value if inner is ABSENT else inner
    return value


def interest(knows: Callable[[Obj], bool], flat_list: bool, names: Iterable[str]) -> Interest:
    """How the finder tells an object that is worth mending; `flat_list`: whether a bare list may be the answer."""
    hints = tuple(name.casefold() for name in names)

    def known(value: Any) -> bool:
        inner = unwrapped(value, knows)
        return any(knows(item) if isinstance(item, Obj) else isinstance(item, list) and flat_list for item in inner)

    return Interest(known, lambda text: any(hint in text.casefold() for hint in hints))


def fields(groups: Groups, *names: str) -> Groups:
    """What the objects of each group give for a key of the answer format, under any of `names` (see `key_name`)."""
    return tuple(
        tuple(
            Given(item, source.root)
            for source in group
            if isinstance(source.value, Obj)
            for key, item in source.value
            if key_name(key) in names
        )
        for group in groups
    )


def inside_or_flat(groups: Groups, *names: str) -> Groups:
    """The containers under `names`; a group that has none of them gives its objects themselves (a level left out)."""
    inside = fields(groups, *names)
    return tuple(found or whole for found, whole in zip(inside, groups, strict=True))


def items(groups: Groups, name: Namer, order: Sequence[str] = ()) -> list[dict[str, list[Given]]]:
    """Item → the values given for it, per group. A bare list counts by position if it is as long as `order`."""
    ballots = []
    for group in groups:
        ballot: dict[str, list[Given]] = {}
        for given in group:
            for key, value in _pairs(container(given.value), order):
                item = name(key)
                if item is not None:
                    ballot.setdefault(item, []).append(Given(value, given.root))
        ballots.append(ballot)
    return ballots


def _pairs(value: Any, order: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Obj):
        yield from value
    elif isinstance(value, list):
        named = [(_id_of(entry), entry) for entry in value]
        if order and len(value) == len(order) and not is_cut(value) and not any(key for key, _ in named):
            by_place = [entry for entry in value if not isinstance(entry, Obj) or _is_dressed(entry)]
            if len(by_place) == len(order):
                yield from zip(order, by_place, strict=True)
                return
        for key, entry in named:
            if key is not None:
                yield key, entry
            elif isinstance(entry, Obj):
                yield from entry


def _id_of(entry: Any) -> str | None:
    """The name that a list's entry gives itself; None if it gives none, or two."""
    if not isinstance(entry, Obj):
        return None
    for name in _ID_KEYS:
        values = {str(item) for key, item in entry if key_name(key) == name and _is_scalar(item)}
        if values:
            return values.pop() if len(values) == 1 else None
    return None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _is_dressed(entry: Obj) -> bool:
    return any(key_name(key) in _ANSWER_KEYS for key, _ in entry)


def bare(value: Any, read: Callable[[Any], T | None]) -> T | None:
    """`read(value)`, where the value may be an object that holds the answer beside a reason; a cut one holds none."""
    if not isinstance(value, Obj):
        return read(value)
    if value.cut:
        return None
    readings = [read(item) for key, item in value if key_name(key) in _ANSWER_KEYS]
    said = [reading for reading in readings if reading is not None]
    return said[0] if said and all(reading == said[0] for reading in said) else None


@dataclass(slots=True)
class Tally:
    """Settles items one by one and counts: how many were given at all, and how many against each other."""

    given: int = 0
    contradicted: int = 0

    def settle(self, groups: Iterable[Sequence[Given]], read: Callable[[Given], T | None]) -> T | None:
        """What the first group that says anything says; None if it is unreadable or says two things."""
        for group in groups:
            said = [given for given in group if not _is_blank(given.value)]
            if not said:
                continue
            self.given += 1
            if len(said) == 1:
                return read(said[0])
            readings = [read(given) for given in said]
            if all(_agree(reading, readings[0]) for reading in readings):
                return readings[0]
            self.contradicted += 1
            return None
        return None

    def settle_map(self, ballots: Sequence[Mapping[str, Sequence[Given]]], order: Iterable[str],
                   read: Callable[[str, Any], T | None]) -> dict[str, T]:  # fmt: skip
        """Every item of `order` that was answered, with `read(item, raw value)`."""
        answers: dict[str, T] = {}
        for item in order:
            given = [ballot[item] for ballot in ballots if item in ballot]
            if not given:
                continue
            first = given[0][0].value
            if len(given) == len(given[0]) == 1 and isinstance(first, str) and first:
                # the usual reply, spared the ways round it: every item once, as a plain string
                self.given += not first.isspace()
                value = read(item, first)
            else:
                value = self.settle(given, lambda one, item=item: bare(one.value, lambda raw: read(item, raw)))  # type: ignore[misc]
            if value is not None:
                answers[item] = value
        return answers


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return bool(one == other)
