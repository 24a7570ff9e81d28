"""The shapes that one answer may come in: wrapped, flat, a list in place of a map, an item beside its reason.

Names are exact, after levelling case, spaces and punctuation at the edges; where two items fit, none is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from attunebench.protocol.read.decode import ABSENT, Obj, decode, is_cut
from attunebench.protocol.read.find import Given
from attunebench.protocol.read.values import key_name, plain
from attunebench.text import levelled

T = TypeVar("T")
Givens = tuple[Given, ...]

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
_ID_KEYS = (
    "comparisonid", "questionid", "id", "index", "comparison", "question", "item", "name", "emotion", "dimension",
)  # fmt: skip

_COMPARISON = re.compile(r"\s*(?:(?:comparison|pair|item|index)[\s_\-#:]*|#)?([0-9]{1,4})[\s.:]*", re.IGNORECASE)
_QUESTION = re.compile(r"(?:question[\s_:]*)?([a-z]{1,4}[0-9]{1,4})(?![0-9a-z])[\s.:)\]-]*(.*)", re.DOTALL)


class Namer(NamedTuple):
    """The names of items, in the order asked, and which of them a key as the model wrote it means."""

    names: tuple[str, ...]
    find: Callable[[str], str | None]


def sources(found: Iterable[Given], knows: Callable[[Obj], bool]) -> Givens:
    """The objects with their wrapping taken off: objects of the answer format, or lists that may stand for a map."""
    return tuple(given.within(inner) for given in found for inner in unwrapped(given.value, knows))


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


def fields(givens: Iterable[Given], *names: str) -> Givens:
    """What the objects give for a key of the answer format, under any of `names`."""
    wanted = set(map(key_name, names))
    objects = (given for given in givens if isinstance(given.value, Obj))
    return tuple(given.within(item) for given in objects for key, item in given.value if key_name(key) in wanted)


def inside_or_flat(givens: Givens, name: str) -> Givens:
    """The containers under `name`; where those in fences, or those around them, have none, these themselves (a level
    left out)."""
    inside = fields(givens, name)
    ranks = {given.fenced for given in inside}
    return (*inside, *(given for given in givens if given.fenced not in ranks))


def pairs_of(value: Any, order: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Key and value of an object, or of a list's entries by their own names, or by `order` where it is as long."""
    if isinstance(value, Obj):
        yield from value
    elif isinstance(value, list):
        named = [(_id_of(entry), entry) for entry in value]
        if order and len(value) == len(order) and not is_cut(value) and not any(key for key, _ in named):
            by_place = [entry for entry in value if not isinstance(entry, Obj) or _answers_in(entry)]
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
        values = {str(item) for key, item in entry if key_name(key) == name and type(item) in (str, int)}
        if values:
            return values.pop() if len(values) == 1 else None
    return None


def _answers_in(entry: Obj) -> list[Any]:
    return [item for key, item in entry if key_name(key) in _ANSWER_KEYS]


def bare(value: Any, read: Callable[[Any], T | None]) -> T | None:
    """`read(value)`, where the value may be an object that holds the answer beside a reason; a cut one holds none."""
    if not isinstance(value, Obj):
        return read(value)
    if is_cut(value):
        return None
    said = [reading for item in _answers_in(value) if (reading := read(item)) is not None]
    return said[0] if said and all(reading == said[0] for reading in said) else None


def named_by_word(names: Iterable[str]) -> Namer:
    """Names that are plain words ("Proud", "perceiving")."""
    return _by_table(names, plain)


def named_by_key(names: Iterable[str]) -> Namer:
    """Names that are keys of an answer format ("who_5"), however they are punctuated ("WHO-5")."""
    return _by_table(names, key_name)


def _by_table(names: Iterable[str], level: Callable[[str], str]) -> Namer:
    table = {level(name): name for name in names}
    return Namer(tuple(table.values()), lambda key: table.get(level(key)))


def named_by_index(indices: Iterable[str]) -> Namer:
    """Indices: `0`, `comparison_0`, `#0`."""
    known = dict.fromkeys(indices)

    def find(key: str) -> str | None:
        if key in known:
            return key
        match = _COMPARISON.fullmatch(levelled(key))
        return match[1] if match and match[1] in known else None

    return Namer(tuple(known), find)


_plain_text = lru_cache(maxsize=1024)(plain)
"""Of a question's text, which many replies share."""


def named_by_question(texts: Mapping[str, str]) -> Namer:
    """Question IDs, alone or before their text, or the text alone where only one question has it."""
    by_id = {key.casefold(): key for key in texts}
    shown = {key: _plain_text(text) for key, text in texts.items()}

    def find(key: str) -> str | None:
        if key in texts:
            return key
        name = plain(key)
        if name in by_id:
            return by_id[name]
        match = _QUESTION.fullmatch(name)
        meant = by_id.get(match[1]) if match else None
        if match and meant is not None:
            return meant if match[2] in ("", shown[meant]) else None
        same = [question for question, text in shown.items() if text and text == name]
        return same[0] if len(same) == 1 else None

    return Namer(tuple(texts), find)
