"""What a run by batches says: what is under way at the service, since when, and when it is looked at next.

Hours may pass between two changes: a terminal gets a block that counts down, a log a line for each change and one now
and then.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from attunebench.backends.prices import usd
from attunebench.batches.pending import discount_of
from attunebench.cli.emitting import first
from attunebench.cli.progress.board import Board
from attunebench.cli.progress.display import Display
from attunebench.progress import words
from attunebench.progress.tally import Tally
from attunebench.runner import Observer, RunSettings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.batches.ledger import Submission

LATEST = 600.0
"""Seconds after which a log says again where things stand."""
_MOST_SHOWN = 8


class BatchTally(Tally):
    """Also keeps what is under way at the service."""

    batches: Sequence[Submission] = ()
    next_look = 0.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.changes: deque[list[str]] = deque(maxlen=100)  # states that a log has not told yet: it misses none

    def looked(self, batches: Sequence[Submission], seconds: float) -> None:
        self.batches, self.next_look = batches, self.clock() + seconds
        self.changes.append([described(each) for each in batches])
        self.wake()


class BatchDisplay(Display):
    """Tells of batches what a display tells of calls. `discount` as it was given."""

    def __init__(self, tally: BatchTally, board: Board, discount: float | None) -> None:
        super().__init__(tally, board)
        self._batches = tally
        self._saved = discount_of(tally.settings.em.provider, discount)
        self._told = -LATEST
        self._last: list[str] = []

    def finish(self) -> None:
        self._batches.batches = ()
        super().finish()

    def _opening(self) -> Iterator[str]:
        new = not self._opened
        yield from super()._opening()
        price = self._tally.plan.price if new and self._tally.plan else None
        if price is not None and 0.0 < self._saved < 1.0:
            expected, worst = (usd(each / (1.0 - self._saved)) for each in price)
            yield f"The same calls made live: about {expected} in all and {worst} at worst."

    def _log(self, over: bool) -> Iterator[str]:
        yield from self._pauses(over)
        now = self._tally.clock()
        while self._batches.changes:
            state = self._batches.changes.popleft()
            if state and (state != self._last or now - self._told >= LATEST):
                self._last, self._told = state, now
                yield from (*state, self._foot())

    def _block(self) -> list[RenderableType]:
        batches = self._batches.batches
        rows = first([described(each) for each in batches], most=_MOST_SHOWN)
        foot = [Text(f"{self._foot()} | Ctrl-C exits; batches continue at the provider", "dim")] if rows else []
        return [*(Text(row) for row in rows), *(Text(state, "yellow") for state in words.states(self._tally)), *foot]

    def _foot(self) -> str:
        results = f"{counted(self._tally.results, 'result')} written so far; " if self._tally.results else ""
        return f"{results}next check in {words.duration(max(0.0, self._batches.next_look - self._tally.clock()))}"


def described(sent: Submission) -> str:
    """A batch in one line."""
    batch = sent.batch
    name = printable(sent.id, 80) if sent.id else "a batch without an id so far"
    status = printable(batch.status, 40) if batch else "not checked yet"
    failed = f", {batch.failed:,} failed" if batch and batch.failed else ""
    return (
        f"{name} ({printable(sent.model, 60)}): {status}, {batch.completed if batch else 0:,} of "
        f"{sent.requests:,} answered{failed}, since {_since(sent.at)}"
    )


def _since(when: str) -> str:
    """The local time, with its date where that is not today's."""
    try:
        moment = datetime.fromisoformat(when).astimezone()
    except ValueError:
        return printable(when, 40)
    today = moment.date() == datetime.now().astimezone().date()
    return moment.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")


@contextmanager
def batches_shown(settings: RunSettings, *, discount: float | None, quiet: bool) -> Iterator[Observer]:
    """The display for stderr. However the run ends, the terminal is left as it was."""
    board = Board(sys.stderr, quiet=quiet)
    tally = BatchTally(settings, wake=board.wake)
    display = BatchDisplay(tally, board, discount)
    with board.ticking(display.tick, display.finish, 1.0):
        yield tally
