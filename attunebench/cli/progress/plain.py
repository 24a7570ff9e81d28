"""A run in plain lines, for logs: seldom, and in sum. However much goes wrong, the log stays readable."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TextIO

from attunebench.cli.progress import words
from attunebench.cli.progress.news import News
from attunebench.cli.progress.tally import Pause, Stop, Tally
from attunebench.text import printable

SOONEST, LATEST = 15.0, 60.0
"""Seconds between two lines of progress: from the first, growing with the run, to the second."""
GROWTH = 20
"""The time between two lines is the run's own time divided by this."""
PAUSE_WORTH_A_LINE = 5.0
"""Seconds: shorter pauses are not told by themselves."""


class Quiet:
    """Nothing but what must be said."""

    interval = 0.5

    def __init__(self, tally: Tally, out: TextIO) -> None:
        self._tally = tally
        self._out = out
        self._stop: Stop | None = None

    def tick(self) -> None:
        """Say what is new."""
        while self._tally.warnings:
            self._line(printable(self._tally.warnings.popleft()))
        if (stop := self._tally.stop) is not self._stop:
            self._stop = stop
            self._line(words.stopping(self._tally))

    def close(self) -> None:
        """Say what is left to say."""
        self.tick()

    def _line(self, text: str) -> None:
        print(f"attune-bench: {text}", file=self._out, flush=True)


class Plain:
    """Lines for logs: the start, progress four times a minute and later once, what changes between."""

    interval = 1.0

    def __init__(self, tally: Tally, out: TextIO) -> None:
        self._tally = tally
        self._out = out
        self._news = News(tally)
        self._opened = False
        self._last = self._due = 0.0
        self._before: dict[str, int] = {}
        self._pauses: dict[str, Pause] = {}
        self._stop: Stop | None = None

    def tick(self) -> None:
        """Say what is new, and how far the run is where that is due."""
        tally = self._tally
        tally.sample()
        self._lines(self._news.lines())
        if tally.plan is None:
            return
        now = tally.clock()
        if not self._opened:
            self._opened = True
            self._last, self._due = now, now + SOONEST
            self._lines(words.opening(tally.plan, tally.settings))
        self._changes()
        if now >= self._due and tally.plan.calls:
            self._lines(self._progress(now))
            self._last, self._due = now, now + min(LATEST, max(SOONEST, tally.elapsed / GROWTH))

    def close(self) -> None:
        """Say what is left to say."""
        self.tick()
        self._lines(self._news.rest())

    def _changes(self) -> None:
        """Long pauses, once for each model until the next line of progress; silences; an interruption."""
        tally = self._tally
        now = tally.clock()
        for pause in tally.pauses_now():
            if pause.model not in self._pauses and pause.until - now >= PAUSE_WORTH_A_LINE:
                self._pauses[pause.model] = pause
                seconds = words.duration(pause.until - now)
                self._lines([f"waiting {seconds} for {printable(pause.model, 60)}: {words.reason(pause.reason)}"])
        if tally.stop is not self._stop:
            self._stop = tally.stop
            self._lines([words.stopping(tally)])

    def _progress(self, now: float) -> list[str]:
        tally = self._tally
        plan = tally.plan
        assert plan is not None
        rate, left = tally.rate, tally.left
        parts = [
            f"{tally.calls:,} of {tally.planned:,} calls ({tally.calls / tally.planned:.0%})",
            f"{tally.results:,} of {plan.jobs - plan.complete:,} results",
            words.rate(rate) if rate else "",
            *words.tokens(plan.spending.usage),
            words.money(tally),
            *words.split(plan.spending),
            *words.troubles(tally),
            *words.pace(tally),
            f"about {words.duration(left)} left" if left is not None else "",
        ]
        self._pauses = {model: pause for model, pause in self._pauses.items() if pause.until > now}
        return [", ".join(part for part in parts if part), *self._retries(now)]

    def _retries(self, now: float) -> list[str]:
        """The retries since the last line of progress, in sum."""
        counts = dict(self._tally.reasons)
        new = [(count - self._before.get(kind, 0), why) for kind, (count, why) in counts.items()]
        total = sum(count for count, _ in new)
        self._before = {kind: count for kind, (count, _) in counts.items()}
        if not total:
            return []
        seconds = words.duration(now - self._last)
        what = "1 retry" if total == 1 else f"{total:,} retries"
        return [f"{what} in the last {seconds}, mostly: {words.reason(max(new)[1])}"]

    def _lines(self, lines: Iterable[str]) -> None:
        stamp = time.strftime("%H:%M:%S")
        for line in lines:
            print(f"{stamp} {line}", file=self._out, flush=True)
