"""What a field is: something known of a conversation or its person, by which conversations can be chosen.

Owns how a value is read from an entry of the ground truth and when two texts are the same. Knows no single field (see
`catalogue`) and no condition. Imports nothing heavy, since `--help` is made from fields.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from attunebench.text import clean, levelled

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry

Kind = Literal["number", "text", "list"]
Value = float | str | tuple[str, ...] | None
"""Of a number, a text or a list field; None is not known. An empty list is an answer where a field says so."""
Match = Literal["whole", "words", "part"]
"""What `--option TEXT` takes: the whole option alone; the whole option, else every option in which a word begins with
the text; every option that has the text in it."""
Thirds = Literal["thirds"]

UNTOLD = frozenset(("", "n/a", "prefer not to say", "prefer not to answer", "prefer not to disclose"))
"""Answers that tell nothing. Those of `conversations.groups`, whose import would load readers of files: a test keeps
them equal."""


@lru_cache(maxsize=1 << 14)
def fold(text: str) -> str:
    """What two texts are compared by: letter case, white space, and the kind of dash or apostrophe don't count."""
    return " ".join(levelled(text).split()).casefold()


def untold(text: str) -> bool:
    """Whether an answer about oneself tells nothing ("Prefer not to say"): it is as if it were missing."""
    return fold(text) in UNTOLD


def plain(number: float) -> str:
    """A number as it is typed: 13, 57.3."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(float(number))


@dataclass(frozen=True)
class Bands:
    """Names for stretches of a number field, from the lowest up: names[i + 1] begins at cuts[i], which it includes.

    `cuts` None: they depend on the data at hand, by `rule`; `known.fields_of` settles them.
    """

    of: Field
    names: tuple[str, ...]
    cuts: tuple[float, ...] | None
    rule: Literal["fixed", "thirds", "asrs"] = "fixed"

    def band(self, number: float) -> str | None:
        """The name of the stretch that the number is in; None while the cuts are not settled."""
        return None if self.cuts is None else self.names[bisect_right(self.cuts, number)]

    def stretch(self, name: str) -> str:
        """From where to where a band goes, in words; empty while the cuts are not settled."""
        if self.cuts is None:
            return ""
        place = self.names.index(name)
        low, high = (self.cuts[place - 1] if place else None), (self.cuts[place] if place < len(self.cuts) else None)
        if low is None or high is None:
            return f"below {plain(high)}" if high is not None else f"{plain(low or 0.0)} and above"
        return f"{plain(low)} to < {plain(high)}"


@dataclass(frozen=True)
class Field:
    """Something known of a conversation. `name` is what `--where` calls it, `option` the stem of its options.

    `low`, `high`: the range of a number, None where it has no end. `of_person`: it says something of the person, so
    that it is the same in all of their talks. `aliases`: other names under which `--where` takes it. `cutoff`: a test
    and a bound for examples, those of the literature where there are any. `bands`: it names stretches of another field.
    """

    name: str
    kind: Kind
    label: str
    meaning: str
    group: str
    source: Callable[[GroundTruthEntry], Value] = field(compare=False, repr=False)
    option: str | None = None
    match: Match = "whole"
    of_person: bool = False
    low: float | None = None
    high: float | None = None
    aliases: tuple[str, ...] = ()
    cutoff: tuple[str, str] | None = None
    bands: Bands | None = None

    def read(self, entry: GroundTruthEntry) -> Value:
        """The value in an entry; None where it is not known."""
        if self.bands is None:
            return self.source(entry)
        number = self.bands.of.read(entry)
        return self.bands.band(number) if isinstance(number, float) else None

    def texts(self, entry: GroundTruthEntry) -> tuple[str, ...] | None:
        """The value of a text or list field as a list."""
        value = self.read(entry)
        return (value,) if isinstance(value, str) else value if isinstance(value, tuple) else None

    def number(self, entry: GroundTruthEntry) -> float | None:
        """The value of a number field."""
        value = self.read(entry)
        return value if isinstance(value, float) else None

    def in_words(self, value: str) -> str:
        """A value in a sentence, with the stretch that it names."""
        shown = f"“{clean(value)}”"
        names = {} if self.bands is None else {fold(name): name for name in self.bands.names}
        stretch = self.bands.stretch(names[fold(value)]) if self.bands is not None and fold(value) in names else ""
        return f"{shown} ({stretch})" if stretch else shown
