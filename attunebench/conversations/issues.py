"""What is wrong or remarkable in a conversation file: where, and in one sentence. Knows no rule of the format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

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
        self.warn(path, f"{what}, so there is no truth for it", "no truth")


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
