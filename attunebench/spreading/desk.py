"""The desk of a run: hands its jobs out one by one to whoever has room, and takes the news of all.

One queue for all workers, so that the last conversations go to whoever is free. A job that a worker has begun stays
this worker's, also when it dies: its answered calls are in that worker's journal, and its successor goes on from there.
Knows neither processes nor what the news says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Life:
    """One process that does a worker's part: the `number`-th (1 is the first) of that worker."""

    worker: int
    number: int


News = tuple[str, tuple[Any, ...]]
"""(what happened, with what): an event of the engine or of a stint."""


class Desk:
    """Jobs by number, from 0; `take` and `tell` are called by workers, the rest by the driver."""

    def __init__(self, jobs: Sequence[Any]) -> None:
        self._jobs = jobs
        self._queue = deque(range(len(jobs)))
        self._begun: dict[int, list[int]] = {}
        self._again: dict[int, deque[int]] = {}
        self._alive: dict[int, int] = {}
        self._news: list[tuple[Life, News]] = []
        self._closed = False

    def begin(self, life: Life) -> None:
        """From now on this life does its worker's part; what the one before has begun is handed out to it again."""
        self._alive[life.worker] = life.number
        self._again[life.worker] = deque(self._begun.pop(life.worker, ()))

    def take(self, life: Life) -> tuple[int, Any] | None:
        """A job with its number; None where there is none for this life, now and later."""
        if self._closed or self._alive.get(life.worker) != life.number:
            return None
        queue = self._again[life.worker] or self._queue
        if not queue:
            return None
        number = queue.popleft()
        self._begun.setdefault(life.worker, []).append(number)
        return number, self._jobs[number]

    def tell(self, life: Life, news: Sequence[News]) -> None:
        """Take news. Those of a life that is over come too late, and its successor tells them again."""
        if self._alive.get(life.worker) != life.number:
            return
        for what, about in news:
            if what == "ended":
                self._begun[life.worker].remove(about[0])
            self._news.append((life, (what, about)))

    def news(self) -> list[tuple[Life, News]]:
        """The news since the last time, in their order."""
        news, self._news = self._news, []
        return news

    def bury(self, life: Life) -> bool:
        """Hear no more of this life. Whether its worker has jobs that are begun and not ended."""
        if self._alive.get(life.worker) == life.number:
            del self._alive[life.worker]
            self._begun.setdefault(life.worker, []).extend(self._again.pop(life.worker, ()))
        return bool(self._begun.get(life.worker))

    def close(self) -> None:
        """Hand out nothing more."""
        self._closed = True

    @property
    def waiting(self) -> int:
        """Jobs that nobody has begun."""
        return len(self._queue)

    def left(self) -> int:
        """As `waiting`, for those who reach the desk by calls alone."""
        return self.waiting
