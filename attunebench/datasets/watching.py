"""Who is told how far getting data has come. The library prints nothing; a command shows it."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    """Told of each step, in order."""

    def step(self, what: str, total: int | None, *, unit: str) -> None:
        """A step begins: "Downloading" of `total` "bytes" (None where nobody knows), "Checking" of "files"."""

    def reached(self, done: int) -> None:
        """So much of the step's total is done."""

    def note(self, sentence: str) -> None:
        """Something the user would want to know while it goes on: a try that failed, a download that is resumed."""


class Unwatched:
    """Tells nobody."""

    def step(self, what: str, total: int | None, *, unit: str) -> None:
        """See `Watcher`."""

    def reached(self, done: int) -> None:
        """See `Watcher`."""

    def note(self, sentence: str) -> None:
        """See `Watcher`."""
