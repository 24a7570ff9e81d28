"""An event loop whose clock jumps to the next timer: tests of waits that take no time and always the same course.

For coroutines that wait for timers and for each other alone, not for sockets, threads or processes. Where nobody can
ever go on, it fails at once.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class DeadlockError(AssertionError):
    """Every task waits for something that nobody will do."""


class _Jumping(selectors.SelectSelector):
    """Adds the time that it is asked to wait to `now` in place of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("no timer is set and nothing is ready")
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 0 s."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def settle(self, moments: int = 10) -> None:
        """Let everything run that is ready, and no time pass; with few `moments`, only its first steps."""
        self.run_until_complete(_moments(moments))

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass."""
        self.run_until_complete(asyncio.sleep(seconds))
        self.settle()

    def finish(self) -> None:
        """Cancel what is left, and close."""
        tasks = asyncio.all_tasks(self)
        for task in tasks:
            task.cancel()
        if tasks:
            self.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.run_until_complete(self.shutdown_asyncgens())
        self.close()


async def _moments(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def run_virtual(coroutine: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.finish()
