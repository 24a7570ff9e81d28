"""How far getting data has come, on stderr: a bar on a terminal, seldom lines in a log, or nothing.

Knows how a step is shown, and not what it does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attunebench.datasets.bounds import megabytes
from attunebench.datasets.watching import Unwatched, Watcher
from attunebench.text import clean

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SELDOM = 10.0
"""Seconds between two lines of progress in a log."""


@contextmanager
def shown(quiet: bool) -> Iterator[Watcher]:
    """Who is told, for as long as the block lasts."""
    if quiet:
        yield Unwatched()
    elif sys.stderr.isatty():
        with _bars() as progress:
            yield _Bars(progress)
    else:
        yield _Lines()


class _Lines:
    """A line for each step and, while bytes come, one now and then."""

    def __init__(self) -> None:
        self._what = ""
        self._bytes = False
        self._total: int | None = None
        self._last = 0.0

    def step(self, what: str, total: int | None, *, unit: str) -> None:
        self._what, self._total, self._bytes, self._last = what, total, unit == "bytes", time.monotonic()
        size = "" if total is None else f" ({megabytes(total) if self._bytes else f'{total:,} {unit}'})"
        self.note(f"{what}{size}.")

    def reached(self, done: int) -> None:
        if self._bytes and time.monotonic() - self._last >= SELDOM:
            self._last = time.monotonic()
            of = "" if self._total is None else f" of {megabytes(self._total)}"
            self.note(f"{self._what}: {megabytes(done)}{of}.")

    def note(self, sentence: str) -> None:
        print(clean(sentence), file=sys.stderr, flush=True)


class _Bars:
    """A bar for each step, and notes above them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._bytes = False

    def step(self, what: str, total: int | None, *, unit: str) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._bytes = unit == "bytes"
        self._task = self._progress.add_task(what, total=total, counted="")
        self.reached(0)

    def reached(self, done: int) -> None:
        assert self._task is not None
        total = self._progress.tasks[-1].total
        count = megabytes if self._bytes else "{:,.0f}".format
        of = f" of {count(int(total))}" if total is not None else ""
        self._progress.update(self._task, completed=done, counted=f"{count(done)}{of}" if done or of else "")

    def note(self, sentence: str) -> None:
        self._progress.console.print(clean(sentence), markup=False, highlight=False, soft_wrap=True)


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[counted]}", markup=False),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )
