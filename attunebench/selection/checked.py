"""Conditions made from what somebody typed, held against the data: a value that nobody has is an error that says so.

Its errors are clauses that begin in lower case, so that options and `--where` can say first where they are.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence

from attunebench.errors import UsageError
from attunebench.selection.conditions import Between, Compared, Condition, Contains, Is, Operator, any_of
from attunebench.selection.fields import Field, fold, plain, untold
from attunebench.selection.known import Fields
from attunebench.text import printable

_MOST_NAMED = 12
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)


def equal(fields: Fields, field: Field, values: Sequence[str]) -> Condition:
    """The field is one of the values, or lists one of them; UsageError where no conversation has a value."""
    if field.kind == "number":
        return any_of([compared(field, "=", value, fields) for value in values])
    shown = fields.shown(field)
    found = []
    for value in values:
        if fold(value) not in shown:
            raise UsageError(_absent(fields, field, value))
        found.append(shown[fold(value)])
    return Is(field, tuple(dict.fromkeys(found)))


def merged(parts: Sequence[Condition]) -> Condition:
    """One condition for several values of one field."""
    if all(isinstance(part, Is) for part in parts):
        tests = [part for part in parts if isinstance(part, Is)]
        return Is(tests[0].field, tuple(dict.fromkeys(value for test in tests for value in test.values)))
    return any_of(parts)


def contains(fields: Fields, field: Field, part: str) -> Condition:
    """The field has the part in it; UsageError where no conversation has such a value, or the field is a number."""
    if field.kind == "number":
        raise UsageError(f"{field.name} is a number; compare it with <, <=, =, >=, > or between.")
    _require_text(field, part)
    if not any(fold(part) in value for value in fields.shown(field)):
        raise UsageError(_absent(fields, field, part, "with"))
    return Contains(field, part)


def chosen(fields: Fields, field: Field, value: str) -> Condition:
    """What the option of a text or list field takes a text for, by its `match`; UsageError where nobody has it."""
    if field.match == "part":
        return contains(fields, field, value)
    _require_text(field, value)
    shown = fields.shown(field)
    if field.match == "whole" or fold(value) in shown:
        return equal(fields, field, (value,))
    begins = re.compile(rf"(?<!\w){re.escape(fold(value))}")
    found = tuple(text for text in fields.counts(field) if begins.search(fold(text)))
    if not found:
        raise UsageError(_absent(fields, field, value))
    return Is(field, tuple(sorted(found, key=fold)))


def compared(field: Field, operator: Operator, bound: str | float, fields: Fields) -> Condition:
    """The number on one side of a bound; UsageError for a field that is no number, and for a bound out of its range."""
    return Compared(field, operator, _bound(field, bound, fields))


def between(field: Field, low: str | float, high: str | float, fields: Fields) -> Condition:
    """The number from `low` to `high`; UsageError as of `compared`, and where they are the wrong way round."""
    first, last = _bound(field, low, fields), _bound(field, high, fields)
    if first > last:
        raise UsageError(f"between takes the lower number first; write between {plain(last)} and {plain(first)}.")
    return Between(field, first, last)


def _bound(field: Field, bound: str | float, fields: Fields) -> float:
    if field.kind != "number":
        raise UsageError(f"{field.name} is no number; {_there_is(fields, field, '')}.")
    number = _number(field, bound)
    if not fields.numbers(field):
        raise UsageError(f"no conversation here has a value of {field.label}. {_LIST}")
    low, high = field.low, field.high
    if (low is not None and number < low) or (high is not None and number > high):
        ends = f"from {plain(low)}" if low is not None else ""
        ends += f" to {plain(high)}" if high is not None else " upwards"
        raise UsageError(f"{field.label} runs {ends.strip()}, so {plain(number)} tells nobody apart.")
    return number


def _number(field: Field, bound: str | float) -> float:
    typed = plain(bound) if isinstance(bound, (int, float)) and math.isfinite(bound) else str(bound).strip()
    number = float(typed) if _NUMBER.fullmatch(typed[:400]) else math.nan
    if not math.isfinite(number):
        raise UsageError(f"{field.name} is compared with a number, not with “{printable(typed, 60)}”.")
    return number


_LIST = "`--list-fields` shows what is known of them."


def _require_text(field: Field, value: str) -> None:
    if not fold(value):
        raise UsageError(f"{field.name} is compared with a text that is not empty.")


def _absent(fields: Fields, field: Field, value: str, having: str = "") -> str:
    """Why no conversation can be chosen by this value, and what there is instead."""
    if field.of_person and untold(value):
        return f'“{printable(value, 60)}” counts as not told; --where "{field.name} is missing" finds it.'
    word = " with" if having else ""
    return f"no conversation here has {field.label}{word} “{printable(value, 60)}”; {_there_is(fields, field, value)}."


def _there_is(fields: Fields, field: Field, value: str) -> str:
    """What the data has of a text or list field, the nearest first, with counts."""
    counts = fields.counts(field)
    if not counts:
        return f"nothing is known of {field.label}"
    ordered = _nearest_first(value, counts)
    named = ", ".join(f"{printable(name, 80)} ({counts[name]})" for name in ordered[:_MOST_NAMED])
    more = len(ordered) - _MOST_NAMED
    return f"there is {named}" + (f" and {more} more (`--list-fields` shows all)" if more > 0 else "")


def _nearest_first(value: str, names: Iterable[str]) -> list[str]:
    """Names that hold the value, then by likeness; bands and frequencies keep their order where nothing is alike."""
    wanted = fold(value)[:200]
    if not wanted:
        return list(names)

    def distance(name: str) -> tuple[bool, float]:
        folded = fold(name)[:200]
        return (wanted not in folded, -round(difflib.SequenceMatcher(None, wanted, folded).ratio(), 2))

    return sorted(names, key=distance)
