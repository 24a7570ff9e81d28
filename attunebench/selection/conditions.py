"""What a conversation is chosen by, as data: tests of fields, and how they combine.

Three-valued: a test is true, false, or None where the value that it needs is missing, and so is whatever hangs on it
(Kleene): None and False is False, None or True is True, not None is None. Builds and checks nothing (see `checked`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Literal

from attunebench.selection.fields import Field, fold, plain
from attunebench.text import clean

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry

Operator = Literal["<", "<=", "=", ">=", ">"]
_HOLDS = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}
_WORDS = {"<": "below", "<=": "at most", "=": "exactly", ">=": "at least", ">": "above"}


class Condition(ABC):
    """Something that holds of a conversation, does not, or cannot be told.

    Two conditions that are written alike are equal.
    """

    @abstractmethod
    def holds(self, entry: GroundTruthEntry) -> bool | None:
        """True, False, or None where a value that matters is missing."""

    @abstractmethod
    def lacking(self, entry: GroundTruthEntry) -> tuple[Field, ...]:
        """The fields whose missing values are why `holds` is None; () where it is not."""

    @abstractmethod
    def words(self, *, negated: bool = False) -> str:
        """The condition, or its negation, as a sentence's part that a paper can quote."""

    @abstractmethod
    def text(self) -> str:
        """The condition as `--where` reads it."""


@dataclass(frozen=True)
class _Test(Condition):
    """A test of one field."""

    field: Field

    def holds(self, entry: GroundTruthEntry) -> bool | None:
        return None if self.field.read(entry) is None else self._passes(entry)

    def lacking(self, entry: GroundTruthEntry) -> tuple[Field, ...]:
        return (self.field,) if self.holds(entry) is None else ()

    @abstractmethod
    def _passes(self, entry: GroundTruthEntry) -> bool:
        """Whether a value that is known passes."""


@dataclass(frozen=True)
class Is(_Test):
    """A text that is one of `values`, or a list that has one of them; letter case and the kind of dash don't count."""

    values: tuple[str, ...]

    def _passes(self, entry: GroundTruthEntry) -> bool:
        wanted = set(map(fold, self.values))
        return any(fold(text) in wanted for text in self.field.texts(entry) or ())

    def words(self, *, negated: bool = False) -> str:
        several = self.field.kind == "list"
        verb = ("does not include" if negated else "includes") if several else ("is not" if negated else "is")
        return f"{self.field.label} {verb} {_listed(map(self.field.in_words, self.values))}"

    def text(self) -> str:
        if len(self.values) == 1:
            return f"{self.field.name} = {quoted(self.values[0])}"
        return f"{self.field.name} in ({', '.join(map(quoted, self.values))})"


@dataclass(frozen=True)
class Contains(_Test):
    """A text that has `part` in it, or a list with such an entry; letter case does not count."""

    part: str

    def _passes(self, entry: GroundTruthEntry) -> bool:
        wanted = fold(self.part)
        return any(wanted in fold(text) for text in self.field.texts(entry) or ())

    def words(self, *, negated: bool = False) -> str:
        return f"{self.field.label} {'does not contain' if negated else 'contains'} “{clean(self.part)}”"

    def text(self) -> str:
        return f"{self.field.name} contains {quoted(self.part)}"


@dataclass(frozen=True)
class Compared(_Test):
    """A number on one side of a bound, which `<=`, `=` and `>=` include."""

    operator: Operator
    bound: float

    def _passes(self, entry: GroundTruthEntry) -> bool:
        number = self.field.number(entry)
        return number is not None and bool(_HOLDS[self.operator](number, self.bound))

    def words(self, *, negated: bool = False) -> str:
        return f"{self.field.label} {'not ' if negated else ''}{_WORDS[self.operator]} {plain(self.bound)}"

    def text(self) -> str:
        return f"{self.field.name} {self.operator} {plain(self.bound)}"


@dataclass(frozen=True)
class Between(_Test):
    """A number from `low` to `high`, both included."""

    low: float
    high: float

    def _passes(self, entry: GroundTruthEntry) -> bool:
        number = self.field.number(entry)
        return number is not None and self.low <= number <= self.high

    def words(self, *, negated: bool = False) -> str:
        return f"{self.field.label} {'not ' if negated else ''}from {plain(self.low)} to {plain(self.high)}"

    def text(self) -> str:
        return f"{self.field.name} between {plain(self.low)} and {plain(self.high)}"


@dataclass(frozen=True)
class Known(Condition):
    """Whether there is a value at all: always true or false."""

    field: Field

    def holds(self, entry: GroundTruthEntry) -> bool:
        return self.field.read(entry) is not None

    def lacking(self, entry: GroundTruthEntry) -> tuple[Field, ...]:
        return ()

    def words(self, *, negated: bool = False) -> str:
        return f"{self.field.label} is {'missing' if negated else 'known'}"

    def text(self) -> str:
        return f"{self.field.name} is known"


@dataclass(frozen=True)
class Not(Condition):
    """The opposite; of what cannot be told, neither holds."""

    part: Condition

    def holds(self, entry: GroundTruthEntry) -> bool | None:
        found = self.part.holds(entry)
        return None if found is None else not found

    def lacking(self, entry: GroundTruthEntry) -> tuple[Field, ...]:
        return self.part.lacking(entry)

    def words(self, *, negated: bool = False) -> str:
        return self.part.words(negated=not negated)

    def text(self) -> str:
        if isinstance(self.part, Known):
            return f"{self.part.field.name} is missing"
        return f"not ({self.part.text()})" if isinstance(self.part, (And, Or)) else f"not {self.part.text()}"


@dataclass(frozen=True)
class _Joined(Condition):
    """Several conditions together."""

    parts: tuple[Condition, ...]

    def lacking(self, entry: GroundTruthEntry) -> tuple[Field, ...]:
        if self.holds(entry) is not None:
            return ()
        return tuple(dict.fromkeys(field for part in self.parts for field in part.lacking(entry)))

    def _joined(self, word: str, *, negated: bool) -> str:
        """The parts in words; a part that is itself joined stands in brackets."""
        shown = (
            f"({part.words(negated=negated)})" if _is_joined(part) else part.words(negated=negated)
            for part in self.parts
        )
        return f" {word} ".join(shown)

    def _typed(self, word: str) -> str:
        return f" {word} ".join(
            f"({part.text()})" if isinstance(part, (And, Or)) else part.text() for part in self.parts
        )


@dataclass(frozen=True)
class And(_Joined):
    """All of them; without any part it holds of every conversation."""

    def holds(self, entry: GroundTruthEntry) -> bool | None:
        found = [part.holds(entry) for part in self.parts]
        return False if False in found else None if None in found else True

    def words(self, *, negated: bool = False) -> str:
        if not self.parts:
            return "no conversation" if negated else "all conversations"
        return self._joined("or" if negated else "and", negated=negated)

    def text(self) -> str:
        return self._typed("and")


@dataclass(frozen=True)
class Or(_Joined):
    """Any of them."""

    def holds(self, entry: GroundTruthEntry) -> bool | None:
        found = [part.holds(entry) for part in self.parts]
        return True if True in found else None if None in found else False

    def words(self, *, negated: bool = False) -> str:
        return self._joined("and" if negated else "or", negated=negated)

    def text(self) -> str:
        return self._typed("or")


EVERYTHING: Condition = And(())
"""Holds of every conversation."""


def all_of(parts: Iterable[Condition]) -> Condition:
    """One condition that holds where all do; `EVERYTHING` of none."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(parts: Sequence[Condition]) -> Condition:
    """One condition that holds where any does, of at least one."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def quoted(text: str) -> str:
    """A text as `--where` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _is_joined(part: Condition) -> bool:
    while isinstance(part, Not):
        part = part.part
    return isinstance(part, (And, Or)) and bool(part.parts)


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
