"""Shows a run by batches on stderr: what is under way at the service, since when, and when it is looked at next.

Hours may pass between two changes: a terminal gets a block that counts down, a log a line for each change and one now
and then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from attunebench.backends.prices import usd
from attunebench.batches.pending import discount_of
from attunebench.cli.progress import words
from attunebench.cli.progress.screen import Line, Screen
from attunebench.cli.progress.ticker import Ticker
from attunebench.runner import Observer, RunPlan, RunSettings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.batches.ledger import Submission

LATEST = 600.0
"""Seconds after which a log says again where things stand."""
_MOST_SHOWN = 8


class BatchDisplay(Observer):
    """A watcher that writes lines; what is under way is a block at the foot of a terminal. `discount` as it was given;
    `quiet`: only what must be said."""

    def __init__(
        self,
        settings: RunSettings,
        out: TextIO,
        *,
        discount: float | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._saved = discount_of(settings.em.provider, discount)
        self._out = out
        self._quiet = quiet
        self._clock = clock
        self._screen = None if quiet else Screen.of(out)
        self._ticker = Ticker(self._draw, 1.0)
        self._above: list[str] = []
        self._batches: Sequence[Submission] = ()
        self._results = 0
        self._next = self._told = -LATEST
        self._last: tuple[str, ...] = ()

    def started(self, plan: RunPlan) -> None:
        if not self._quiet:
            self._say(*words.opening(plan, self._settings))
            if plan.price is not None and 0.0 < self._saved < 1.0:
                expected, worst = (usd(price / (1.0 - self._saved)) for price in plan.price)
                self._say(f"The same calls made live: about {expected} in all and {worst} at worst.")

    def warned(self, message: str) -> None:
        self._say(printable(message))

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        if not self._quiet:
            self._say(f"{words.reason(reason)}; again in {words.duration(seconds)}.")

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        if not self._quiet:
            self._say(f"skipped {printable(conversation_id)} ({mode}): {words.reason(reason)}")

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self._results += 1

    def looked(self, batches: Sequence[Submission], seconds: float) -> None:
        """What is under way, and in how many seconds it is looked at again."""
        now = self._clock()
        self._batches, self._next = batches, now + seconds
        if self._screen is not None:
            self._ticker.wake()
            return
        state = tuple(map(described, batches))
        if self._quiet or (state == self._last and now - self._told < LATEST):
            return
        self._last, self._told = state, now
        self._say(*state, self._foot(seconds))

    def close(self) -> None:
        """Take the block away."""
        self._ticker.close()
        self._batches = ()
        self._draw()

    def _foot(self, seconds: float) -> str:
        results = f"{counted(self._results, 'result')} written so far; " if self._results else ""
        return f"{results}next look in {words.duration(max(0.0, seconds))}"

    def _say(self, *lines: str) -> None:
        if self._screen is not None:
            self._above += lines
            self._ticker.wake()
            return
        stamp = "attune-bench:" if self._quiet else time.strftime("%H:%M:%S")
        for line in lines:
            print(f"{stamp} {line}", file=self._out, flush=True)

    def _draw(self) -> None:
        if self._screen is None:
            return
        above, self._above = self._above, []
        block: list[Line] = [((described(each), ""),) for each in self._batches[:_MOST_SHOWN]]
        if more := len(self._batches) - len(block):
            block.append(((f"and {more} more", ""),))
        if block:
            foot = f"{self._foot(self._next - self._clock())} · Ctrl-C leaves; batches go on at the provider"
            block.append(((foot, "dim"),))
        self._screen.show(above, block)


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
    display = BatchDisplay(settings, sys.stderr, discount=discount, quiet=quiet)
    try:
        yield display
    finally:
        display.close()
