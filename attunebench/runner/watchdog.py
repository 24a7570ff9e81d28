"""Notices that nothing happens any more, and says so. What the run waits for is told by whoever knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attunebench.runner.events import Observer


class Watchdog:
    """Runs beside the work inside `async with Watchdog(observer, describe) as watchdog:`; `touch()` at every event.

    After `quiet_after` seconds without a touch the observer hears `stalled(describe(), seconds)`, and again whenever
    the quiet time has doubled. It changes nothing.
    """

    def __init__(self, observer: Observer, describe: Callable[[], str], quiet_after: float = 60.0) -> None:
        self._observer = observer
        self._describe = describe
        self._quiet_after = quiet_after
        self._task: asyncio.Task[None] | None = None
        self._last = 0.0

    def touch(self) -> None:
        """Something has happened. Costs next to nothing, and may be called at any time."""
        if self._task is not None:
            self._last = self._task.get_loop().time()

    async def __aenter__(self) -> Watchdog:
        self._task = asyncio.create_task(self._watch(), name="watchdog")
        self.touch()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        loop, due = asyncio.get_running_loop(), self._quiet_after
        while True:
            seen = self._last
            # Never longer than the shortest silence: a touch in the middle of a long one begins anew.
            await asyncio.sleep(min(self._quiet_after, seen + due - loop.time()))
            if self._last != seen:
                due = self._quiet_after
            elif loop.time() >= seen + due:
                self._observer.stalled(self._describe(), due)
                due *= 2
