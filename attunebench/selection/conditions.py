"""Conditions on conversations, made by `where.parse_where`, and which conversations they choose.

A condition is true, false or, where a value that matters is missing, unknown, which is said by the names of the missing
fields. As in Kleene's logic unknown and false is false, unknown or true is true, not unknown is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, Literal, TypeAlias

from attunebench.selection.fields import Field, Fields, fold, people, plain

Holds = bool | frozenset[str]
"""Whether a condition holds, or the fields (at least one) without which that is unknown."""
Operator = Literal["<", "<=", "=", ">=", ">", "contains", "known"]

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">=": ge, ">": gt}


@dataclass(frozen=True)
class Comparison:
    """A field compared with values; `=` takes any of several. "known" has none.

    Of texts letter case and the kind of dash don't count; a list has what one of its texts has.
    """

    field: Field
    operator: Operator
    values: tuple[str | float, ...] = ()

    def holds(self, place: int) -> Holds:
        """Whether it holds of the conversation in this place."""
        value = self.field.values[place]
        if self.operator == "known":
            return value is not None
        if value is None:
            return frozenset((self.field.name,))
        if self.operator in _ORDER:
            return _ORDER[self.operator](value, self.values[0])
        values = {value} if isinstance(value, float) else set(map(fold, value))
        wanted = {fold(one) if isinstance(one, str) else one for one in self.values}
        if self.operator == "contains":
            return any(str(part) in str(text) for text in values for part in wanted)
        return bool(values & wanted)

    def text(self) -> str:
        """The condition as `--where` reads it."""
        values = [quoted(value) if isinstance(value, str) else plain(value) for value in self.values]
        if self.operator == "known":
            return f"{self.field.name} is known"
        if len(values) > 1:
            return f"{self.field.name} in ({', '.join(values)})"
        return f"{self.field.name} {self.operator} {values[0]}"


@dataclass(frozen=True)
class Joined:
    """All of the parts ("and"; without any it holds of every conversation), any of them ("or"), or "not" the one."""

    word: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]

    def holds(self, place: int) -> Holds:
        """Whether it holds of the conversation in this place."""
        results = [part.holds(place) for part in self.parts]
        missing = frozenset(name for one in results if isinstance(one, frozenset) for name in one)
        if self.word == "not":
            return missing or not results[0]
        settles = self.word == "or"
        return settles if settles in results else missing or not settles

    def text(self) -> str:
        """The condition as `--where` reads it; "" of every conversation."""
        if self.word == "not" and isinstance(part := self.parts[0], Comparison) and part.operator == "known":
            return f"{part.field.name} is missing"
        lists = [isinstance(part, Joined) and part.word != "not" for part in self.parts]
        texts = [
            f"({part.text()})" if is_list else part.text() for part, is_list in zip(self.parts, lists, strict=True)
        ]
        return f"not {texts[0]}" if self.word == "not" else f" {self.word} ".join(texts)


Condition: TypeAlias = Comparison | Joined
EVERYTHING = Joined("and", ())


def joined(word: Literal["and", "or"], parts: Iterable[Condition]) -> Condition:
    """One condition of several; parts that are joined by the same word are taken apart, a single one stays as it is."""
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, Joined) and part.word == word else (part,)
    return flat[0] if len(flat) == 1 else Joined(word, tuple(flat))


def fields_in(condition: Condition) -> Iterator[Field]:
    """The fields that a condition reads, as often as it names them."""
    if isinstance(condition, Comparison):
        yield condition.field
    else:
        for part in condition.parts:
            yield from fields_in(part)


def quoted(text: str) -> str:
    """A text as `--where` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True)
class Selection:
    """Which conversations a condition chooses: ids in the order of the data.

    A missing value leaves a conversation out of both sides, also under negation: `unknown` has its id and the names of
    the fields that it lacks. `participants`: how many are on each side ("chosen", "others", "unknown"), each
    conversation without a participant's id as one more, and how many have conversations on "both" of the first two.
    """

    condition: Condition
    chosen: tuple[str, ...]
    others: tuple[str, ...]
    unknown: Mapping[str, frozenset[str]]
    participants: Mapping[str, int]

    @property
    def lacking(self) -> Mapping[str, int]:
        """Field → how many conversations are left out for want of its value, the most first; one can lack several."""
        return dict(Counter(name for names in self.unknown.values() for name in sorted(names)).most_common())


def choose(fields: Fields, condition: Condition) -> Selection:
    """Hold a condition on these fields against each conversation; any side may be empty."""
    who, ids = people(fields.entries), [entry["conversationId"] for entry in fields.entries]
    holds = [condition.holds(place) for place in range(len(ids))]
    inside, outside = ([place for place, one in enumerate(holds) if one is side] for side in (True, False))
    unknown = {place: one for place, one in enumerate(holds) if isinstance(one, frozenset)}
    sides = {"chosen": inside, "others": outside, "unknown": unknown}
    persons = {side: {who[place] for place in places} for side, places in sides.items()}
    persons["both"] = persons["chosen"] & persons["others"]
    return Selection(
        condition,
        chosen=tuple(ids[place] for place in inside),
        others=tuple(ids[place] for place in outside),
        unknown={ids[place]: names for place, names in unknown.items()},
        participants={side: len(them) for side, them in persons.items()},
    )
