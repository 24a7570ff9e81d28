"""What the conversations at hand have of each field: how many know it, its values, and an option that chooses by it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from attunebench.selection.conditions import quoted
from attunebench.selection.fields import Field, fold, plain
from attunebench.selection.known import Fields, fields_of, people, thirds

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry


@dataclass(frozen=True)
class ValueCount:
    """How many conversations, and of how many participants, have a value; `stretch` is what a band stands for."""

    value: str
    conversations: int
    participants: int
    stretch: str = ""


@dataclass(frozen=True)
class FieldOverview:
    """One field. `conversations` and `participants` are those of which it is known, `missing` the other conversations.

    `values` of texts and lists, in the order of `Fields.counts`; of numbers the least, the median and
    the largest over conversations, and where the middle and the high third begin (None where all are equal).
    `example` is an option, or a `--where`, that goes by it.
    """

    field: Field
    conversations: int
    participants: int
    missing: int
    values: tuple[ValueCount, ...] = ()
    least: float | None = None
    median: float | None = None
    largest: float | None = None
    thirds: tuple[float, float] | None = None
    example: str = ""


def overview(entries: Iterable[GroundTruthEntry]) -> tuple[FieldOverview, ...]:
    """Each field of which anything is known, in the order of the catalogue."""
    fields = fields_of(entries)
    return tuple(_seen(fields, field) for field in fields if any(field.read(e) is not None for e in fields.entries))


def _seen(fields: Fields, field: Field) -> FieldOverview:
    persons = people(fields.entries)
    known = [(who, entry) for who, entry in zip(persons, fields.entries, strict=True) if field.read(entry) is not None]
    numbers = fields.numbers(field) if field.kind == "number" else []
    values = () if field.kind == "number" else _values(fields, field, known)
    return FieldOverview(
        field,
        conversations=len(known),
        participants=len({who for who, _ in known}),
        missing=len(persons) - len(known),
        values=values,
        least=min(numbers, default=None),
        median=median(numbers) if numbers else None,
        largest=max(numbers, default=None),
        thirds=thirds(numbers),
        example=_example(field, values, numbers),
    )


def _values(
    fields: Fields, field: Field, known: list[tuple[str | tuple[int], GroundTruthEntry]]
) -> tuple[ValueCount, ...]:
    theirs: dict[str, set[object]] = {}
    for who, entry in known:
        for value in field.texts(entry) or ():
            theirs.setdefault(fold(value), set()).add(who)
    return tuple(
        ValueCount(value, count, len(theirs[fold(value)]), field.bands.stretch(value) if field.bands else "")
        for value, count in fields.counts(field).items()
    )


def _example(field: Field, values: tuple[ValueCount, ...], numbers: Sequence[float]) -> str:
    if field.kind == "number":
        test, bound = field.cutoff or ("min", plain(median(numbers)))
        if field.option:
            return f"--{field.option}-{test} {bound}"
        return f"--where {_typed(f'{field.name} >= {bound}')}"
    value = max(values, key=lambda found: found.conversations).value if values else ""
    if field.option:
        return f"--{field.option} {_typed(value)}"
    return f"--where {_typed(f'{field.name} = {quoted(value)}')}"


def _typed(text: str) -> str:
    """A text as a shell takes it, in the quotes that are easier to read."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else shlex.quote(text)
