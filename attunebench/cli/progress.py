"""Shows a run while it goes: a live line on a terminal, a plain line now and then elsewhere, both on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench.reports.model import plural
from attunebench.runner import Observer, RunPlan, RunSettings, RunSummary, Silent
from attunebench.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from attunebench.protocol.calls import Call, Record

PLAIN_INTERVAL = 15.0
"""Seconds between two progress lines where there is no terminal."""


@contextmanager
def shown(settings: RunSettings, *, quiet: bool) -> Iterator[Observer]:
    """The display that suits where stderr goes. However the run ends, the terminal is left as it was."""
    if quiet or not sys.stderr.isatty():
        yield Quiet() if quiet else Plain(settings)
        return
    live = Live(settings)
    try:
        yield live
    finally:
        live.close()


class Quiet(Silent):
    """Nothing but what must be said."""

    def warned(self, message: str) -> None:
        print(f"attune-bench: {printable(message)}", file=sys.stderr)


class _Counts:
    """What both displays count."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.start = time.monotonic()
        self.plan: RunPlan | None = None
        self.calls = self.done = self.skipped = self.retries = self.reasks = self.tokens = 0
        self.cost = 0.0
        self.unpriced = False

    def add(self, record: Record) -> None:
        self.calls += 1
        self.tokens += (record.usage.prompt_tokens or 0) + (record.usage.completion_tokens or 0)
        self.unpriced = self.unpriced or record.cost is None
        self.cost += record.cost or 0.0

    @property
    def planned(self) -> int:
        return self.plan.calls if self.plan else 0

    @property
    def left(self) -> float | None:
        """Seconds to go at the rate so far."""
        elapsed = time.monotonic() - self.start
        return elapsed / self.calls * (self.planned - self.calls) if self.calls else None

    def money(self) -> str:
        if self.unpriced or not self.calls:
            return "cost unknown" if self.unpriced else "cost –"
        projected = self.cost * self.planned / self.calls
        return f"${self.cost:.2f} of about ${projected:.2f}"

    def trouble(self) -> str:
        parts = [
            f"{count} {name}"
            for count, name in ((self.retries, "retries"), (self.reasks, "reasks"), (self.skipped, "skipped"))
            if count
        ]
        return ", ".join(parts)

    def opening(self) -> str:
        plan, em = self.plan, self.settings.em
        assert plan is not None
        judges = ", ".join(judge.model for judge in self.settings.judges)
        return (
            f"{printable(em.model)} ({em.provider}), {', '.join(self.settings.modes)}: "
            f"{plural(plan.jobs - plan.complete, 'result')} to make ({plan.order}), "
            f"{plan.complete} complete, {plural(plan.calls, 'call')}"
            + (f", judged by {printable(judges)}" if judges else "")
            + f", into {self.settings.output}"
        )


class Plain(Silent):
    """Lines for logs: the start, trouble, one line of progress every quarter of a minute."""

    def __init__(self, settings: RunSettings) -> None:
        self._counts = _Counts(settings)
        self._last = time.monotonic()

    def started(self, plan: RunPlan) -> None:
        self._counts.plan = plan
        self._line(self._counts.opening())

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        self._counts.retries += 1
        self._line(f"retry in {wait:.1f} s: {printable(call.id)}: {printable(reason)}")

    def reasking(self, call: Call, missing: int) -> None:
        self._counts.reasks += 1

    def answered(self, call: Call, record: Record) -> None:
        self._counts.add(record)
        self._tick()

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self._counts.done += 1
        self._tick()

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        self._counts.skipped += 1
        self._line(f"skipped {printable(conversation_id)} ({mode}): {printable(reason)}")

    def warned(self, message: str) -> None:
        self._line(printable(message))

    def _tick(self) -> None:
        if time.monotonic() - self._last < PLAIN_INTERVAL:
            return
        self._last = time.monotonic()
        counts = self._counts
        left = counts.left
        parts = [
            f"{counts.calls} of {counts.planned} calls",
            plural(counts.done, "result"),
            f"{counts.tokens:,} tokens",
            counts.money(),
            f"{left / 60:.0f} min left" if left is not None else "",
            counts.trouble(),
        ]
        self._line(", ".join(part for part in parts if part))

    def _line(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Live(Silent):
    """A progress bar with what it costs and what goes wrong, for a terminal of any width."""

    def __init__(self, settings: RunSettings) -> None:
        from rich.console import Console

        self._counts = _Counts(settings)
        self._console: Console = Console(stderr=True, highlight=False)
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def started(self, plan: RunPlan) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._counts.plan = plan
        self._console.print(self._counts.opening(), markup=False)
        if not plan.calls:
            return
        columns = [
            BarColumn(bar_width=None if self._console.width < 100 else 40),
            MofNCompleteColumn(),
            TextColumn("calls"),
            TimeRemainingColumn(),
            TextColumn("left"),
            TextColumn("{task.fields[note]}", markup=False),
        ]
        self._progress = Progress(*columns, console=self._console, transient=False)
        self._task = self._progress.add_task("", total=plan.calls, note="")
        self._progress.start()

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        self._counts.retries += 1
        self._show(0)

    def reasking(self, call: Call, missing: int) -> None:
        self._counts.reasks += 1
        self._show(0)

    def answered(self, call: Call, record: Record) -> None:
        self._counts.add(record)
        self._show(1)

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self._counts.done += 1
        self._show(0)

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        self._counts.skipped += 1
        self._print(f"skipped {printable(conversation_id)} ({mode}): {printable(reason)}")

    def warned(self, message: str) -> None:
        self._print(printable(message))

    def finished(self, summary: RunSummary) -> None:
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was; safe at any time."""
        if self._progress is not None:
            with suppress(Exception):
                self._progress.stop()
            self._progress = None

    def _show(self, advance: int) -> None:
        if self._progress is None or self._task is None:
            return
        counts = self._counts
        tokens = f"{counts.tokens / 1000:,.0f}k tokens" if counts.tokens else ""
        parts = (plural(counts.done, "result"), tokens, counts.money(), counts.trouble())
        self._progress.update(self._task, advance=advance, note=" · ".join(part for part in parts if part))

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False)
