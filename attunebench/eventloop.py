"""Runs coroutines by a clock that stands still while this process does (SIGSTOP, a frozen container): that time is
taken out of `loop.time()`, by which all timers are set, so no call is given up whose answer lies in its socket. The
clock of a suspended machine stands still by itself on Linux; that it slept is noticed: connections may be dead."""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import sys
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from attunebench.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")

BEAT = 0.25
"""Seconds after which the loop looks at its clock at the latest."""
LATE = 0.5
"""Seconds of lateness after which they are no time of ours; shorter ones are the timers' own."""
NAP = 2.0
"""Seconds of lateness that a busy machine does not explain: this process slept, and connections may be lost."""


class AwakeClock:
    """`time.monotonic` without the stretches in which nobody could look at it. `naps` counts the longer ones of these.

    `now` and `since_boot` are monotonic clocks in seconds; the second goes on while the machine is suspended.
    """

    def __init__(
        self, now: Callable[[], float] = time.monotonic, since_boot: Callable[[], float] | None = None
    ) -> None:
        self.naps = 0
        self._now = now
        self._since_boot = since_boot or _since_boot
        self._asleep = 0.0
        self._due = self._now()
        self._apart = self._since_boot() - self._due

    def read(self) -> float:
        """The time, which is to be read often; whoever waits says so by `begin_wait`."""
        now = self._now()
        if now - self._due > LATE:
            self._asleep += now - self._due
            self.naps += now - self._due > NAP
        self._due = max(self._due, now)
        return now - self._asleep

    def begin_wait(self, seconds: float) -> None:
        """Nobody reads the clock for so long."""
        self.read()
        self._due += seconds

    def end_wait(self) -> None:
        """The wait is over, maybe before its time."""
        self.read()
        self._due = now = self._now()
        apart = self._since_boot() - now
        self.naps += apart - self._apart > NAP
        self._apart = apart


class _Selector(selectors.DefaultSelector):
    """Waits no longer than a beat at once, so that a stop in a long wait is noticed."""

    def __init__(self, clock: AwakeClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        seconds = BEAT if timeout is None else min(BEAT, max(0.0, timeout))
        self._clock.begin_wait(seconds)
        try:
            return super().select(seconds)
        finally:
            self._clock.end_wait()


class AwakeLoop(asyncio.SelectorEventLoop):
    """The loop of `run`."""

    def __init__(self) -> None:
        self._awake = AwakeClock()
        super().__init__(_Selector(self._awake))
        self.set_exception_handler(_drop)

    def time(self) -> float:
        return self._awake.read()

    @property
    def naps(self) -> int:
        """How often this process or its machine slept so far."""
        return self._awake.naps


def naps() -> int:
    """How often the running loop slept so far; always 0 on loops of others."""
    return int(getattr(asyncio.get_running_loop(), "naps", 0))


_KEPT: WeakKeyDictionary[Any, asyncio.AbstractEventLoop] = WeakKeyDictionary()


def run(main: Coroutine[Any, Any, T], *, owner: object = None) -> T:
    """As `asyncio.run`, in an `AwakeLoop`; on Windows, whose loops are of another make, in its own.

    Where a loop is running already (in a notebook), ours runs in a thread, and the caller waits for it. `owner` keeps
    its connections from one run to the next, so all its runs are in one loop, which is closed with it.
    """
    inside = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        inside = False
    if not inside:  # outside of `except`, whose error would become the innermost cause of all that fails in the run
        return _run_here(main, owner)
    apart = _Apart(partial(_run_here, main, owner))
    try:
        return apart.future.result()
    except KeyboardInterrupt:
        apart.cancel()
        wait([apart.future])
        raise


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function that calls `run`, in a thread of its own. Cancelling ends what it runs, and waits until that has
    let go of its files and connections."""
    apart = _Apart(function)
    future = asyncio.wrap_future(apart.future)
    try:
        while not future.done():  # the loop of a notebook's kernel learns that it is interrupted when it turns
            await asyncio.wait([future], timeout=BEAT)
    except asyncio.CancelledError:
        apart.cancel()
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # how it ended is of no interest, and no reason for a warning
        raise
    return future.result()


class _Apart(Generic[T]):
    """A call of a function in a thread of its own, whose runs can be cancelled from another one."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._lock, self._cancelled = Lock(), False
        self._task: asyncio.Task[Any] | None = None
        context = copy_context()
        context.run(_APART.set, self)
        thread = ThreadPoolExecutor(1, thread_name_prefix="attunebench")
        self.future: Future[T] = thread.submit(context.run, function)
        thread.shutdown(wait=False)

    def cancel(self) -> None:
        """Cancel the run that goes on, and those that the function begins from now on."""
        with self._lock:
            self._cancelled = True
            if self._task is not None:
                with suppress(RuntimeError):  # it has ended in this moment
                    self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def watched(self, main: Coroutine[Any, Any, R]) -> R:
        """The coroutine, as the run that `cancel` ends."""
        with self._lock:
            self._task = asyncio.current_task()
            if self._cancelled and self._task is not None:
                self._task.cancel()
        return await main


_APART: ContextVar[_Apart[Any] | None] = ContextVar("attunebench_apart", default=None)


def _run_here(main: Coroutine[Any, Any, T], owner: object) -> T:
    if owner is not None and owner in _KEPT and _KEPT[owner].is_running():
        main.close()
        raise UsageError("This `client` is in use by another run; give each concurrent run its own client.")
    if (apart := _APART.get()) is not None:
        main = apart.watched(main)
    if owner is not None:
        return _run_in_kept_loop(main, owner)
    if os.name == "nt":
        return asyncio.run(main)
    if sys.version_info >= (3, 11):
        with asyncio.Runner(loop_factory=AwakeLoop) as runner:
            return runner.run(main)
    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(_Policy())
    try:
        return asyncio.run(main)
    finally:
        asyncio.set_event_loop_policy(before)


def _run_in_kept_loop(main: Coroutine[Any, Any, T], owner: object) -> T:
    loop = _KEPT.get(owner)
    if loop is None:
        _KEPT[owner] = loop = asyncio.new_event_loop() if os.name == "nt" else AwakeLoop()
        weakref.finalize(owner, loop.close)
    task = loop.create_task(main)
    try:
        return loop.run_until_complete(task)
    finally:
        if not task.done():  # interrupted: what it holds is let go of
            task.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)


def ending_signals() -> list[signal.Signals]:
    """What asks this process to end: Ctrl-C, a supervisor, a terminal that is closed (not where `nohup` ignores it)."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    found = [signal.Signals[name] for name in names]
    return [each for each in found if each == signal.SIGINT or signal.getsignal(each) is not signal.SIG_IGN]


@contextmanager
def on_interruption(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` in the running loop for every Ctrl-C, and for the first of the other `ending_signals`.

    Shells and supervisors send those twice as a matter of course, so that a second one says nothing.
    """
    loop, taken = asyncio.get_running_loop(), list[signal.Signals]()
    asked = False

    def handle(number: signal.Signals) -> None:
        nonlocal asked
        if number == signal.SIGINT or not asked:
            asked = True
            act()

    try:
        for number in ending_signals():
            loop.add_signal_handler(number, handle, number)
            taken.append(number)
    except (NotImplementedError, RuntimeError):  # Windows' loops, or not the main thread: Ctrl-C stops at once there.
        pass
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


if sys.version_info < (3, 11):

    class _Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            return AwakeLoop()


def _drop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # asyncio prints tracebacks of tasks whose end nobody asked for: two timers that ended one request, most often.
    if loop.get_debug():
        loop.default_exception_handler(context)


def _since_boot() -> float:
    # On macOS this one goes on while the machine is suspended, and `time.monotonic` does not.
    clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic() if clock is None else time.clock_gettime(clock)
