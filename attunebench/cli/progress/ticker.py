"""A thread that does one thing now and then until it is closed. Knows nothing of what it does."""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE = 2.0
"""Seconds to wait at the end for a thread that is stuck in writing; it ends with the process then."""


class Ticker:
    """Calls `tick` every `interval` seconds, and at once after `wake`, in a thread that the first `wake` starts.

    An output that is gone or closed ends it silently: a display is no reason to disturb what it shows.
    """

    def __init__(self, tick: Callable[[], None], interval: float) -> None:
        self._tick = tick
        self._interval = interval
        self._woken = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Do it now. Returns at once."""
        self._woken.set()
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._go, name="progress", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread; no tick runs after this, unless one is stuck."""
        self._closed = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _go(self) -> None:
        while not self._closed:
            self._woken.clear()
            try:
                self._tick()
            except (OSError, ValueError):
                return
            self._woken.wait(self._interval)
