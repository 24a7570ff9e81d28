"""What can be chosen by, field by field, for `--help` and the docs: made from the catalogue, so that neither drifts.

Imports nothing heavy. Knows no parser and no layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from attunebench.selection.catalogue import CATALOGUE, GROUPS
from attunebench.selection.fields import Field, plain
from attunebench.selection.filters import Filter, filters

MATCHES: Mapping[str, str] = {
    "part": "a part of the name",
    "words": "the whole name, or the beginning of a word in it",
    "whole": "the whole name",
}
"""What an option takes of a text, by the field's `match`; letter case never counts."""


@dataclass(frozen=True)
class Entry:
    """A field and its options. `field.name` is how `--where` calls it."""

    field: Field
    options: tuple[Filter, ...]

    @property
    def usage(self) -> str:
        """All options of the field in a line: "--diagnosis, --not-diagnosis TEXT", "--who5-{min,max,below,above} N"."""
        plain_flags = [option.flag for option in self.options if option.test == "is"]
        tests = [option.test for option in self.options if option.test != "is"]
        bounds = [f"--{self.field.option}-{{{','.join(tests)}}}"] if tests else []
        return f"{', '.join((*plain_flags, *bounds))} {self.options[0].metavar}" if self.options else ""

    @property
    def takes(self) -> str:
        """What the options take: "a part of the name", "0 to 25", "poor or not poor"."""
        field = self.field
        if field.bands is not None:
            return " or ".join((", ".join(field.bands.names[:-1]), field.bands.names[-1]))
        if field.kind != "number":
            return MATCHES[field.match]
        if field.low is None or field.high is None:
            return "a number" if field.low is None else f"{plain(field.low)} and above"
        return f"{plain(field.low)} to {plain(field.high)}"


@cache
def guide() -> Mapping[str, tuple[Entry, ...]]:
    """Heading → the fields under it, in the order in which they are shown."""
    entries = [Entry(field, tuple(one for one in filters() if one.field is field)) for field in CATALOGUE]
    found = {group: tuple(entry for entry in entries if entry.field.group == group) for group in GROUPS}
    return {group: listed for group, listed in found.items() if listed}
