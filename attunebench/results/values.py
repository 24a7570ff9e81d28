"""How single values of a result file are read: whole values in a few spellings, and None for anything else.

Nothing is clamped or guessed: a value that does not fit is not answered (spec 4). Knows no file and no key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attunebench.constants import INTENSITY_WORDS

YES_NO: dict[object, str] = {
    **dict.fromkeys(("yes", "y", "true", "1"), "yes"),
    **dict.fromkeys(("no", "n", "false", "0"), "no"),
    True: "yes",
    False: "no",
}
LETTERS: dict[object, str] = {
    **dict.fromkeys(("A", "a", "response_1", "responsea"), "A"),
    **dict.fromkeys(("B", "b", "response_2", "responseb"), "B"),
}

MOST = 1e12
_MOST_WHOLE = 10**9


def yes_no(value: Any) -> str | None:
    """ "yes" or "no" from the word, a boolean, 1 or 0, in any letter case; None for all else."""
    if isinstance(value, str):
        return YES_NO.get(value.strip().lower())
    return YES_NO.get(value) if isinstance(value, (bool, int)) else None


def letter(value: Any) -> str | None:
    """ "A" or "B", in either case or as the side's key; None for all else."""
    return LETTERS.get(value.strip().lower()) if isinstance(value, str) else None


def number(value: Any, low: float, high: float) -> float | None:
    """The number, also out of a string, where it lies in [low, high]; None for all else, booleans among it."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits, below an infinite bound
        return None


def rating(value: Any) -> float | None:
    """A number on the scale 1–7, else None."""
    return number(value, 1, 7)


def panas_total(value: Any) -> float | None:
    """A number on the scale 10–70, else None."""
    return number(value, 10, 70)


def intensity(value: Any) -> float | None:
    """An intensity 1–7, also as one of the words mild, moderate, intense; else None."""
    known = INTENSITY_WORDS.get(value.strip().lower()) if isinstance(value, str) else None
    return rating(value) if known is None else float(known)


def amount(value: Any) -> float | None:
    """A number from 0 to 10¹² (money, seconds, counts: beyond that none is meant), else None."""
    return number(value, 0, MOST)


def whole(value: Any) -> int | None:
    """A whole number, also as 2.0 or as text ("2"); None for all else."""
    known = number(value, -_MOST_WHOLE, _MOST_WHOLE)
    return int(known) if known is not None and known.is_integer() else None


def text(value: Any) -> str | None:
    """A text with something in it, trimmed; None for an empty one and for all else."""
    return (value.strip() or None) if isinstance(value, str) else None


def identifier(value: Any) -> str | None:
    """A text with something in it, to the letter: white space at its ends tells one conversation from another."""
    return value if isinstance(value, str) and value.strip() else None


def texts(value: Any) -> tuple[str, ...] | None:
    """A list of texts; one text is a list of one. A non-empty list without any text is None, as is all else."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return None
    found = tuple(entry for entry in map(text, value) if entry is not None)
    return found if found or not value else None


def block(value: Any) -> Mapping[str, Any]:
    """A JSON object; an empty one for all else."""
    return value if isinstance(value, dict) else {}


def first(value: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """The value of the first of the keys that is there, else None."""
    return next((value[key] for key in keys if key in value), None)
