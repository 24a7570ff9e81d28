"""Reads single values of a conversation file: each function returns the normal form, or notes why there is none.

Owns the aliases of spec 2.1; the spellings of values are in `coerce`. Knows no place of a file but the path that it is
told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, get_args

from attunebench import coerce
from attunebench.codebook import default_codebook
from attunebench.coerce import folded
from attunebench.conversations.issues import Notes
from attunebench.conversations.schema import Frozen, Letter, Variant, YesNoNa

Object = Mapping[str, Any]

_VARIANTS: Mapping[str, Variant] = {name: name for name in get_args(Variant)}
_EMOTIONS = default_codebook().display_names


def extras_of(raw: Object, known: Collection[str], model: type[Frozen]) -> dict[str, Any]:
    """The keys that the format does not know; one that would hide a field of ours gets an underscore behind it."""
    return {f"{key}_" if key in model.model_fields else key: raw[key] for key in raw if key not in known}


def pick(raw: Object, *names: str) -> tuple[str, Any]:
    """The first of `names` that holds something, and what; the first name and None where none does."""
    for name in names:
        value = raw.get(name)
        if value is not None:
            return name, value
    return names[0], None


def member(raw: Object, name: str, path: str, notes: Notes) -> Object:
    """The object under `name`; an empty one where it is missing or null."""
    value = raw.get(name)
    if isinstance(value, dict):
        return value
    if value is not None:
        notes.expected(joined(path, name), "an object", value)
    return {}


def entries(raw: Object, name: str, path: str, notes: Notes) -> list[Any] | None:
    """The list under `name`; None where it is missing, null or no list."""
    value = raw.get(name)
    if value is None or isinstance(value, list):
        return value
    notes.expected(joined(path, name), "a list", value)
    return None


def joined(path: str, name: str) -> str:
    """The path of a member; at the top of the file its name alone."""
    return f"{path}.{name}" if path else name


def yes_no(raw: Object, path: str, notes: Notes, *names: str) -> YesNoNa | None:
    """The answer under the first of `names` that holds one; None is no truth."""
    name, value = pick(raw, *names)
    answer = coerce.yes_no(value)
    if answer:
        return answer
    if folded(value) in coerce.NOT_APPLICABLE:
        return "na"
    if value is None or folded(value) == "":
        notes.no_truth(f"{path}.{name}")
    else:
        notes.expected(f"{path}.{name}", "yes, no or na", value)
    return None


def winner(raw: Object, path: str, notes: Notes) -> Letter | None:
    """The side that won; a tie or nothing is no truth."""
    value = raw.get("winner")
    letter = coerce.letter(value)
    if letter is None:
        if value is None or folded(value) in ("", "tie"):
            notes.no_truth(f"{path}.winner", "a tie" if folded(value) == "tie" else "no value")
        else:
            notes.expected(f"{path}.winner", "A or B", value)
    return letter


def variant(raw: Object, path: str, notes: Notes, *names: str) -> Variant | None:
    """The reply variant under one of `names`; anything else, also nothing, is an error."""
    name, value = pick(raw, *names)
    found = _VARIANTS.get(folded(value))
    if found is None:
        notes.expected(f"{path}.{name}", "original, alternate or human", value)
    return found


def known_id(raw: Object, path: str, notes: Notes, known: Mapping[str, Any], what: str) -> str | None:
    """The `questionId`, which has to be one of `known`; `what` names these in the error."""
    value = raw.get("questionId")
    if isinstance(value, str) and value in known:
        return value
    notes.expected(f"{path}.questionId", what, value)
    return None


def emotion(raw: Object, path: str, notes: Notes) -> str | None:
    """The display form of the PANAS item under `emotion`."""
    value = raw.get("emotion")
    name = _EMOTIONS.get(folded(value))
    if name is None:
        notes.expected(f"{path}.emotion", "one of the 20 PANAS items", value)
    return name


def intensity(raw: Object, path: str, notes: Notes) -> float | None:
    """1–7, a number or one of the three words; None is unknown."""
    value = raw.get("intensity")
    if value is None:
        notes.no_truth(f"{path}.intensity")
        return None
    known = coerce.intensity_word(value)
    return known if known is not None else bounded(value, 1, 7, f"{path}.intensity", notes)


def bounded(value: Any, low: float, high: float, path: str, notes: Notes) -> float | None:
    """A number in [low, high], fractions kept; a boolean is none."""
    known = coerce.in_range(value, low, high)
    if known is None:
        notes.expected(path, f"a number from {low:g} to {high:g}", value)
    return known


def finite(value: Any, path: str, notes: Notes) -> float | None:
    """A number, of a size that scales have."""
    known = coerce.in_range(value, -coerce.MOST, coerce.MOST)
    if known is None:
        notes.expected(path, "a number", value)
        return None
    return float(known)


def text(raw: Object, name: str, path: str, notes: Notes) -> str:
    """A text that has to be there; one of white space alone is remarked."""
    value = raw.get(name)
    if not isinstance(value, str):
        notes.expected(joined(path, name), "a text", value)
        return ""
    if not value.strip():
        notes.warn(joined(path, name), "this text is empty")
    return value


def optional_text(raw: Object, path: str, notes: Notes, *names: str) -> str | None:
    """A text or None; an empty one is None."""
    name, value = pick(raw, *names)
    if value is None or isinstance(value, str):
        return value if value and value.strip() else None
    notes.expected(joined(path, name), "a text", value)
    return None


def texts(raw: Object, name: str, path: str, notes: Notes) -> tuple[str, ...]:
    """A list of texts; a single text is a list of one, nothing is none."""
    value = raw.get(name)
    if value is None:
        return ()
    found = [value] if isinstance(value, str) else value
    if isinstance(found, list) and all(isinstance(entry, str) for entry in found):
        return tuple(entry for entry in found if entry.strip())
    notes.expected(joined(path, name), "a list of texts", value)
    return ()


def option(value: Any, options: Iterable[str], path: str, notes: Notes) -> str | None:
    """The option that `value` is; letter case, white space at the ends and a final stop do not matter."""
    plain = folded(value).rstrip(".")
    for known in options:
        if known.lower() == plain:
            return known
    notes.expected(path, "one of the options " + ", ".join(repr(known) for known in options), value)
    return None
