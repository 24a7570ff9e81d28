"""The options by which a command lets people choose conversations, made from the catalogue, and what they come to.

Owns the options' names, their help, and how several combine. Knows no parser of a command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from attunebench.errors import UsageError
from attunebench.selection.catalogue import CATALOGUE
from attunebench.selection.fields import Field

if TYPE_CHECKING:
    from attunebench.selection.conditions import Condition, Operator
    from attunebench.selection.known import Fields

Test = Literal["is", "min", "max", "below", "above"]

_OPERATORS: Mapping[Test, Operator] = {"is": "=", "min": ">=", "max": "<=", "below": "<", "above": ">"}
_SAID = {"min": "at least N", "max": "at most N", "below": "under N", "above": "over N"}
_EXACT = frozenset(("turns",))
"""Number fields that also take one number."""


@dataclass(frozen=True)
class Filter:
    """One option: `--who5-below N` is the test "below" of the field who_5. `negated`: `--not-diagnosis TEXT`."""

    field: Field
    test: Test
    negated: bool = False

    @property
    def name(self) -> str:
        """Without the dashes: who5-below, diagnosis, not-diagnosis."""
        stem = f"not-{self.field.option}" if self.negated else str(self.field.option)
        return stem if self.test == "is" else f"{stem}-{self.test}"

    @property
    def flag(self) -> str:
        """As it is typed: --who5-below."""
        return f"--{self.name}"

    @property
    def parameter(self) -> str:
        """As a name in Python: who5_below."""
        return self.name.replace("-", "_")

    @property
    def metavar(self) -> str:
        """What stands for the value in `--help`."""
        return "N" if self.field.kind == "number" else "TEXT"

    @property
    def help(self) -> str:
        """What the option does, in a line."""
        if self.negated:
            return f"Not this {self.field.label}."
        if self.test == "is":
            return self.field.meaning
        said = f"{self.field.label} {_SAID[self.test]}."
        return f"{said} {self.field.meaning}" if self.test in ("min", "below") else said


@cache
def filters() -> tuple[Filter, ...]:
    """All options in the order of the catalogue: each text or list with its negation, each number with four bounds."""
    found: list[Filter] = []
    for field in CATALOGUE:
        if field.option is None:
            continue
        if field.kind == "number":
            exact = [Filter(field, "is"), Filter(field, "is", negated=True)] if field.name in _EXACT else []
            found += [*exact, *(Filter(field, test) for test in ("min", "max", "below", "above"))]
        else:
            found += [Filter(field, "is"), Filter(field, "is", negated=True)]
    return tuple(found)


def condition_from(given: Mapping[str, Sequence[str | float]], fields: Fields, where: Sequence[str] = ()) -> Condition:
    """What parsed options choose; `given`: an option's name (who5-below or who5_below) → the values that it was given.

    The same option repeated means any of its values, different options mean all of them; a negated option excludes
    every value that it is given. Each of the `where` expressions must hold. Without any, `EVERYTHING`. UsageError names
    the option and what it cannot take.
    """
    from attunebench.selection.checked import merged
    from attunebench.selection.conditions import Not, all_of
    from attunebench.selection.where import parse_where

    known = {found.parameter: found for found in filters()}
    parts: list[Condition] = []
    for name, values in given.items():
        option = known.get(name.removeprefix("--").replace("-", "_"))
        if option is None:
            raise UsageError(
                f"There is no option {name} to choose conversations by; `--list-fields` shows those there are."
            )
        if values:
            any_value = merged([_condition(option, value, fields) for value in values])
            parts.append(Not(any_value) if option.negated else any_value)
    return all_of([*parts, *(parse_where(text, fields) for text in where)])


def _condition(option: Filter, value: str | float, fields: Fields) -> Condition:
    from attunebench.selection import checked

    field = fields.named(option.field.name)
    try:
        if field.kind == "number":
            return checked.compared(field, _OPERATORS[option.test], value, fields)
        return checked.chosen(fields, field, str(value))
    except UsageError as error:
        raise UsageError(f"{option.flag}: {error}") from None
