"""Reads single values of a conversation file: each method returns the normal form, or notes why there is none.

Owns the aliases of spec 2.1; the spellings of values are in `coerce`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, get_args

from attunebench import coerce
from attunebench.codebook import default_codebook
from attunebench.coerce import folded
from attunebench.conversations.issues import Notes
from attunebench.conversations.schema import Frozen, Letter, Variant, YesNoNa

_VARIANTS: Mapping[str, Variant] = {name: name for name in get_args(Variant)}
_EMOTIONS = default_codebook().display_names


class Block:
    """An object of the file: its content, the path to it, and the notes on the file. Remembers which keys were read."""

    def __init__(self, raw: Mapping[str, Any], path: str, notes: Notes) -> None:
        self.raw = raw
        self.path = path
        self.notes = notes
        self.read: set[str] = set()

    def at(self, name: str) -> str:
        """The path of a member; at the top of the file its name alone."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, *names: str) -> tuple[str, Any]:
        """The path of the first of `names` that holds something, and what; None where none does."""
        self.read.update(names)
        for name in names:
            value = self.raw.get(name)
            if value is not None:
                return self.at(name), value
        return self.at(names[0]), None

    def extras(self, model: type[Frozen]) -> dict[str, Any]:
        """The keys that nobody read; one that would hide a field of the model gets an underscore behind it."""
        return {
            f"{key}_" if key in model.model_fields else key: self.raw[key] for key in self.raw if key not in self.read
        }

    def block(self, name: str) -> Block:
        """The object under `name`; an empty one where it is missing or null."""
        path, value = self.get(name)
        if value is not None and not isinstance(value, dict):
            self.notes.expected(path, "an object", value)
        return Block(value if isinstance(value, dict) else {}, path, self.notes)

    def entries(self, name: str) -> list[Any] | None:
        """The list under `name`; None where it is missing, null or no list."""
        path, value = self.get(name)
        if value is None or isinstance(value, list):
            return value
        self.notes.expected(path, "a list", value)
        return None

    def item(self, name: str, index: int, entry: Any, what: str = "an object") -> Block | None:
        """The entry of a list under `name`, which has to be an object."""
        path = f"{self.at(name)}[{index}]"
        if isinstance(entry, dict):
            return Block(entry, path, self.notes)
        self.notes.expected(path, what, entry)
        return None

    def yes_no(self, *names: str) -> YesNoNa | None:
        """The answer under the first of `names` that holds one; None is no truth."""
        path, value = self.get(*names)
        answer = coerce.yes_no(value)
        if answer:
            return answer
        if folded(value) in coerce.NOT_APPLICABLE:
            return "na"
        if value is None or folded(value) == "":
            self.notes.no_truth(path)
        else:
            self.notes.expected(path, "yes, no or na", value)
        return None

    def winner(self) -> Letter | None:
        """The side that won; a tie or nothing is no truth."""
        path, value = self.get("winner")
        letter = coerce.letter(value)
        if letter is None:
            if value is None or folded(value) in ("", "tie"):
                self.notes.no_truth(path, "a tie" if folded(value) == "tie" else "no value")
            else:
                self.notes.expected(path, "A or B", value)
        return letter

    def variant(self, *names: str) -> Variant | None:
        """The reply variant under one of `names`; anything else, also nothing, is an error."""
        path, value = self.get(*names)
        variant = _VARIANTS.get(folded(value))
        if variant is None:
            self.notes.expected(path, "original, alternate or human", value)
        return variant

    def known_id(self, known: Collection[str], what: str) -> str | None:
        """The `questionId`, which has to be one of `known`; `what` names these in the error."""
        path, value = self.get("questionId")
        if isinstance(value, str) and value in known:
            return value
        self.notes.expected(path, what, value)
        return None

    def emotion(self) -> str | None:
        """The display form of the PANAS item under `emotion`."""
        path, value = self.get("emotion")
        name = _EMOTIONS.get(folded(value))
        if name is None:
            self.notes.expected(path, "one of the 20 PANAS items", value)
        return name

    def intensity(self) -> float | None:
        """1–7, a number or one of the three words; None is unknown."""
        path, value = self.get("intensity")
        if value is None:
            self.notes.no_truth(path)
            return None
        known = coerce.intensity_word(value)
        return known if known is not None else self.number(path, value, 1, 7)

    def number(self, path: str, value: Any, low: float, high: float) -> float | None:
        """A number in [low, high], fractions kept; a boolean is none."""
        known = coerce.in_range(value, low, high)
        if known is None:
            what = "a number" if high == coerce.MOST else f"a number from {low:g} to {high:g}"
            self.notes.expected(path, what, value)
        return known

    def text(self, name: str) -> str:
        """A text that has to be there; one of white space alone is remarked."""
        path, value = self.get(name)
        if not isinstance(value, str):
            self.notes.expected(path, "a text", value)
            return ""
        if not value.strip():
            self.notes.warn(path, "this text is empty")
        return value

    def optional_text(self, *names: str) -> str | None:
        """A text or None; an empty one is None."""
        path, value = self.get(*names)
        if value is None or isinstance(value, str):
            return value if value and value.strip() else None
        self.notes.expected(path, "a text", value)
        return None

    def label(self, name: str) -> str | None:
        """A describing text; a number there (an id, a version, an age) is taken as its digits."""
        _, value = self.get(name)
        return str(value) if type(value) in (int, float) else self.optional_text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one, nothing is none."""
        path, value = self.get(name)
        texts = [value] if isinstance(value, str) else [] if value is None else value
        if isinstance(texts, list) and all(isinstance(entry, str) for entry in texts):
            return tuple(entry for entry in texts if entry.strip())
        self.notes.expected(path, "a list of texts", value)
        return ()

    def option(self, path: str, value: Any, options: Iterable[str]) -> str | None:
        """The option that `value` is; letter case, white space at the ends and a final stop do not matter."""
        plain = folded(value).rstrip(".")
        for known in options:
            if known.lower() == plain:
                return known
        self.notes.expected(path, "one of the options " + ", ".join(repr(known) for known in options), value)
        return None
