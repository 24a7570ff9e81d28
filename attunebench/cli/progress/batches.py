"""What a run by batches says: what is under way at the service, since when, and when it is looked at next.

Hours may pass between two changes: a terminal gets a block that counts down, a log a line for each change and one now
and then.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from attunebench.backends.prices import usd
from attunebench.batches.pending import discount_of
from attunebench.batches.running import Watcher
from attunebench.cli.progress import words
from attunebench.cli.progress.board import Board
from attunebench.runner import RunPlan, RunSettings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.batches.ledger import Submission

LATEST = 600.0
"""Seconds after which a log says again where things stand."""
_MOST_SHOWN = 8


class BatchDisplay(Watcher):
    """A watcher that tells on a board what changes; what is under way is its block. `discount` as it was given."""

    def __init__(
        self,
        settings: RunSettings,
        board: Board,
        *,
        discount: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._saved = discount_of(settings.em.provider, discount)
        self._board = board
        self._clock = clock
        self._lines: deque[str] = deque()
        self._batches: Sequence[Submission] = ()
        self._results = 0
        self._next = self._told = -LATEST
        self._last: list[str] = []

    def started(self, plan: RunPlan) -> None:
        lines = words.opening(plan, self._settings)
        if plan.price is not None and 0.0 < self._saved < 1.0:
            expected, worst = (usd(price / (1.0 - self._saved)) for price in plan.price)
            lines.append(f"The same calls made live: about {expected} in all and {worst} at worst.")
        self._say(*lines)

    def warned(self, message: str) -> None:
        self._lines.append(printable(message))
        self._board.wake()

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        self._say(f"{words.reason(reason)}; again in {words.duration(seconds)}.")

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        self._say(f"skipped {printable(conversation_id)} ({mode}): {words.reason(reason)}")

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self._results += 1

    def looked(self, batches: Sequence[Submission], seconds: float) -> None:
        """What is under way, and in how many seconds it is looked at again."""
        now = self._clock()
        self._batches, self._next = batches, now + seconds
        state = [described(each) for each in batches]
        if not self._board.live and (state != self._last or now - self._told >= LATEST):
            self._last, self._told = state, now
            self._say(*state, self._foot())
        self._board.wake()

    def tick(self) -> None:
        """Say what is new, and draw the block."""
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        rows = [described(each) for each in self._batches[:_MOST_SHOWN]]
        if more := len(self._batches) - len(rows):
            rows.append(f"and {more} more")
        block = [Text(self._board.text(row)) for row in rows]
        if rows:
            foot = f"{self._foot()} · Ctrl-C leaves; batches go on at the provider"
            block.append(Text(self._board.text(foot), "dim"))
        self._board.show(lines, block)

    def finish(self) -> None:
        """Say what is left to say, and take the block away."""
        self._batches = ()
        self.tick()

    def _foot(self) -> str:
        results = f"{counted(self._results, 'result')} written so far; " if self._results else ""
        return f"{results}next look in {words.duration(max(0.0, self._next - self._clock()))}"

    def _say(self, *lines: str) -> None:
        if not self._board.quiet:
            self._lines += lines
            self._board.wake()


def described(sent: Submission) -> str:
    """A batch in one line."""
    batch = sent.batch
    name = printable(sent.id, 80) if sent.id else "a batch whose id is not known yet"
    status = printable(batch.status, 40) if batch else "not looked at yet"
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
def batches_shown(settings: RunSettings, *, discount: float | None, quiet: bool) -> Iterator[BatchDisplay]:
    """The display for stderr. However the run ends, the terminal is left as it was."""
    board = Board(sys.stderr, quiet=quiet)
    display = BatchDisplay(settings, board, discount=discount)
    with board.ticking(display.tick, display.finish, 1.0):
        yield display
