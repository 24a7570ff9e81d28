"""Reads single values of a conversation file: the normal form, or an issue that says where and why there is none.
Owns what each kind of value may be and the sentences of spec 2.1; spellings that results share are in `coerce`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, TypeVar, get_args

from attunebench import coerce
from attunebench.codebook import default_codebook
from attunebench.coerce import folded
from attunebench.conversations.schema import Frozen, Letter, Variant, YesNoNa

T = TypeVar("T")
WarningKind = Literal["no truth", "total", "count", "letters", "other"]
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding. `file`: relative to the folder; `path`: JSON path such as `turns[2].userMessage`, "" for the file.

    `kind` sorts warnings so that they can be counted: a label without truth, a total that differs from its items, a
    number of entries that is unusual, a letter that gives a variant away, the rest. None for an error.
    """

    file: str
    path: str
    sentence: str
    kind: WarningKind | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.path, self.sentence) if part)


@dataclass(slots=True)
class Notes:
    """Collects the issues of one file while it is read."""

    file: str
    errors: list[Issue] = field(default_factory=list)
    warnings: list[Issue] = field(default_factory=list)

    def error(self, path: str, sentence: str) -> None:
        self.errors.append(Issue(self.file, path, sentence))

    def expected(self, path: str, what: str, value: Any) -> None:
        """The error `expected …, found …`."""
        self.error(path, f"expected {what}, found {shown(value)}")

    def warn(self, path: str, sentence: str, kind: WarningKind = "other") -> None:
        self.warnings.append(Issue(self.file, path, sentence, kind))

    def no_truth(self, path: str, what: str = "no value") -> None:
        """The warning that a label is missing and counts in no denominator."""
        self.warn(path, f"{what}, so it has no label", "no truth")


def shown(value: Any) -> str:
    """A JSON value as a person would name it: texts quoted and shortened, containers by their kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
    text = f"{value}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_CODEBOOK = default_codebook()
_VARIANTS: Mapping[str, Variant] = {name: name for name in get_args(Variant)}


@dataclass(frozen=True)
class Kind(Generic[T]):
    """What a value may be. `read` gives its normal form, None where it does not fit; `what` names the kind in errors.

    `absent`: values (texts in lower case) that stand for none, noted as a label without truth where it is a `label`.
    """

    read: Callable[[Any], T | None]
    what: str
    absent: tuple[str | None, ...] = ()
    label: bool = False


def _yes_no_na(value: Any) -> YesNoNa | None:
    return "na" if folded(value) in coerce.NOT_APPLICABLE else coerce.yes_no(value)


def _intensity(value: Any) -> float | None:
    word = coerce.intensity_word(value)
    return coerce.in_range(value, 1, 7) if word is None else word


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _label(value: Any) -> str | None:
    return str(value) if type(value) in (int, float) else _text(value)


def _texts(value: Any) -> tuple[str, ...] | None:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(entry, str) for entry in texts):
        return None
    return tuple(entry for entry in texts if entry.strip())


def number_in(low: float, high: float, *, label: bool = False) -> Kind[float]:
    """A JSON number in [low, high], fractions kept; a boolean is none."""
    what = "a number" if high == coerce.MOST else f"a number from {low:g} to {high:g}"
    return Kind(partial(coerce.in_range, low=low, high=high), what, (None,), label)


def one_of(known: Iterable[str], what: str) -> Kind[str]:
    """An ID, to the letter."""
    ids = frozenset(known)
    return Kind(lambda value: value if isinstance(value, str) and value in ids else None, what)


def option_of(options: Iterable[str], *absent: str | None) -> Kind[str]:
    """One of the options; letter case, white space at the ends and a final stop do not matter."""
    plain = {option.lower(): option for option in options}
    what = "one of the options " + ", ".join(map(repr, plain.values()))
    return Kind(lambda value: plain.get(folded(value).rstrip(".")), what, absent, label=True)


OBJECT: Kind[Mapping[str, Any]] = Kind(lambda value: value if isinstance(value, dict) else None, "an object", (None,))
LIST: Kind[list[Any]] = Kind(lambda value: value if isinstance(value, list) else None, "a list", (None,))
TEXT = Kind(_text, "a text")
OPTIONAL_TEXT = Kind(_text, "a text", (None, ""))
LABEL = Kind(_label, "a text", (None, ""))
"""A describing text; a number there (an id, a version, an age) is taken as its digits."""
TEXTS = Kind(_texts, "a list of texts", (None,))
"""A single text is a list of one."""
YES_NO: Kind[YesNoNa] = Kind(_yes_no_na, "yes, no or na", (None, ""), label=True)
WINNER: Kind[Letter] = Kind(coerce.letter, "A or B", (None, "", "tie"), label=True)
VARIANT: Kind[Variant] = Kind(lambda value: _VARIANTS.get(folded(value)), "original, alternate or human")
EMOTION = Kind(lambda value: _CODEBOOK.display_names.get(folded(value)), "one of the 20 PANAS items")
INTENSITY = Kind(_intensity, "a number from 1 to 7", (None,), label=True)
RATING = number_in(1, 7, label=True)
BINARY_ID = one_of(_CODEBOOK.binary, "the ID of a binary question (B1 … B505)")
PAIRWISE_ID = one_of(_CODEBOOK.pairwise, "general or PW1 … PW16")


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

    def value(self, kind: Kind[T], *names: str) -> T | None:
        """The value of this kind under the first of `names` that holds something; None where there is none."""
        return self.checked(kind, *self.get(*names))

    def checked(self, kind: Kind[T], path: str, value: Any) -> T | None:
        """`value` in its normal form, noting under `path` why there is none."""
        key = folded(value) if isinstance(value, str) else value
        if key in kind.absent:
            if kind.label:
                self.notes.no_truth(path, shown(value) if key else "no value")
            return None
        result = kind.read(value)
        if result is None:
            self.notes.expected(path, kind.what, value)
        return result

    def extras(self, model: type[Frozen]) -> dict[str, Any]:
        """The keys that nobody read; one that would hide a field of the model gets an underscore behind it."""
        return {
            f"{key}_" if key in model.model_fields else key: self.raw[key] for key in self.raw if key not in self.read
        }

    def block(self, name: str) -> Block:
        """The object under `name`; an empty one where it is missing or null."""
        path, value = self.get(name)
        return Block(self.checked(OBJECT, path, value) or {}, path, self.notes)

    def item(self, name: str, index: int, entry: Any, what: str = "an object") -> Block | None:
        """The entry of a list under `name`, which has to be an object."""
        path = f"{self.at(name)}[{index}]"
        if isinstance(entry, dict):
            return Block(entry, path, self.notes)
        self.notes.expected(path, what, entry)
        return None

    def text(self, name: str) -> str:
        """A text that has to be there; one of white space alone is remarked."""
        value = self.value(TEXT, name)
        if value is not None and not value.strip():
            self.notes.warn(self.at(name), "this text is empty")
        return value or ""
