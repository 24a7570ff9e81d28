"""Single values of a JSON file → their normal forms, None for anything else. Nothing is clamped or guessed: a value
that does not fit is no answer (spec 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from attunebench.constants import INTENSITY_WORDS

# True and False stand for 1 and 0 too: they are equal and hash alike.
YES_NO: Mapping[object, Literal["yes", "no"]] = {
    True: "yes", "yes": "yes", "y": "yes", "true": "yes", "1": "yes",
    False: "no", "no": "no", "n": "no", "false": "no", "0": "no",
}  # fmt: skip
NOT_APPLICABLE = frozenset(("na", "n/a", "not_applicable"))
LETTERS: Mapping[object, Literal["A", "B"]] = {
    "A": "A", "a": "A", "response_1": "A", "responsea": "A",
    "B": "B", "b": "B", "response_2": "B", "responseb": "B",
}  # fmt: skip
MOST = 1e12
"""No amount of money, seconds or tokens, and no scale, is above this."""
_MOST_WHOLE = 10**9


def folded(value: Any) -> str:
    """A text for comparing; what is no text becomes one that equals nothing."""
    return value.strip().lower() if isinstance(value, str) else "\0"


def yes_no(value: Any) -> Literal["yes", "no"] | None:
    """ "yes" or "no" from one of the words in any letter case, a boolean, 1 or 0; None for all else."""
    if isinstance(value, str):
        return YES_NO.get(value) or YES_NO.get(folded(value))
    return YES_NO.get(value) if isinstance(value, (bool, int, float)) else None


def letter(value: Any) -> Literal["A", "B"] | None:
    """ "A" or "B", in either case or as the side's key; None for all else."""
    return LETTERS.get(folded(value))


def in_range(value: Any, low: float, high: float) -> float | None:
    """A JSON number in [low, high] as it is; None for all else, booleans and texts among it."""
    return value if type(value) in (int, float) and low <= value <= high else None


def number(value: Any, low: float, high: float) -> float | None:
    """As `in_range`, also out of a text, and always a float; the bounds are finite."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    # As `in_range`, without a call: results hold many thousands of numbers.
    return float(value) if type(value) in (int, float) and low <= value <= high else None


def rating(value: Any) -> float | None:
    """A number on the scale 1–7, else None."""
    return number(value, 1, 7)


def panas_total(value: Any) -> float | None:
    """A number on the scale 10–70, else None."""
    return number(value, 10, 70)


def intensity_word(value: Any) -> float | None:
    """The place on the scale 1–7 of mild, moderate or intense; None for all else."""
    known = INTENSITY_WORDS.get(folded(value))
    return None if known is None else float(known)


def intensity(value: Any) -> float | None:
    """An intensity 1–7, a number or one of the words; else None."""
    known = intensity_word(value) if isinstance(value, str) else None
    return rating(value) if known is None else known


def amount(value: Any) -> float | None:
    """A number from 0 to 10¹² (money, seconds, counts), else None."""
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
