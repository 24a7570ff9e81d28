"""What is said line by line while a run goes on: warnings all, skipped conversations in small doses."""

from __future__ import annotations

from attunebench.cli.progress import words
from attunebench.cli.progress.tally import Tally
from attunebench.text import printable

DOSE = 5
"""Skipped conversations that are named in one period; the others of it are told in sum."""
PERIOD = 15.0
"""Seconds."""


class News:
    """Takes from a tally what has not been said yet."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._told: set[str] = set()
        self._since: float | None = None
        self._named = 0
        self._unnamed: list[tuple[str, str, str]] = []

    def lines(self) -> list[str]:
        """What is to be said now."""
        now = self._tally.clock()
        found = self._warnings()
        if self._since is not None and now - self._since >= PERIOD:
            found += self.rest()
            self._since, self._named = None, 0
        while self._tally.skipped_news:
            skipped = self._tally.skipped_news.popleft()
            if self._since is None:
                self._since = now
            self._named += 1
            if self._named <= DOSE:
                name, mode, why = skipped
                found.append(f"skipped {printable(name)} ({mode}): {words.reason(why)}")
            else:
                self._unnamed.append(skipped)
        return found

    def rest(self) -> list[str]:
        """The skipped conversations that were not named, in sum."""
        if not self._unnamed:
            return []
        count, why = len(self._unnamed), self._unnamed[-1][2]
        self._unnamed.clear()
        return [f"skipped {count:,} more, the last one: {words.reason(why)}"]

    def _warnings(self) -> list[str]:
        found = []
        while self._tally.warnings:
            warning = printable(self._tally.warnings.popleft())
            if warning not in self._told:
                self._told.add(warning)
                found.append(warning)
        return found
