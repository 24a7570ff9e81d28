"""Counts what happens in a run, and works out rate, time left and projected cost. Writes nothing.

The engine's thread counts, a display's thread reads: every attribute is replaced or appended to in one step, so the
reader needs no lock and at worst sees one event less.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench.runner import Observer, RunPlan, RunSettings

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call, Record

WINDOW = 60.0
"""Seconds over which a rate is taken: long enough for slow answers, short enough to follow a server's moods."""
ENOUGH_CALLS = 20
"""Calls after which their own mean cost tells more than the estimate before the run."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing goes to `model` before `until` (the tally's clock)."""

    model: str
    reason: str
    until: float


@dataclass(frozen=True, slots=True)
class Stop:
    """An interruption: at `at` so many calls were under way and `answered` were done; they have until `until`."""

    under_way: int
    answered: int
    grace: float
    until: float


class Tally(Observer):
    """The observer that a display reads. `wake` is called for what must be seen at once."""

    def __init__(
        self, settings: RunSettings, clock: Callable[[], float] = time.monotonic, *, wake: Callable[[], object]
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.wake = wake
        self.plan: RunPlan | None = None
        self.calls = self.results = self.skips = self.reasks = self.retries = 0
        self.last_reason = ""
        self.limits: dict[str, tuple[int, int]] = {}
        self.pauses: dict[str, Pause] = {}
        self.stop: Stop | None = None
        self.skipped_news: deque[tuple[str, str, str]] = deque()
        self.warnings: deque[str] = deque()
        self._start = clock()
        self._samples: deque[tuple[float, int, int]] = deque([(self._start, 0, 0)])

    def started(self, plan: RunPlan) -> None:
        self._start = self.clock()
        self._samples = deque([(self._start, 0, 0)])
        self.plan = plan
        self.wake()

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        self.retries += 1
        self.last_reason = reason

    def reasking(self, call: Call, missing: int) -> None:
        self.reasks += 1

    def answered(self, call: Call, record: Record) -> None:
        self.calls += 1

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self.results += 1

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        self.skips += 1
        self.skipped_news.append((conversation_id, mode, reason))

    def warned(self, message: str) -> None:
        self.warnings.append(message)
        self.wake()

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        self.pauses = {**self.pauses, model: Pause(model, reason, self.clock() + seconds)}

    def pacing(self, model: str, under_way: int, limit: int, ceiling: int) -> None:
        self.limits = {**self.limits, model: (limit, ceiling)}

    def interrupted(self, under_way: int, grace: float) -> None:
        self.stop = Stop(under_way, self.calls, grace, self.clock() + grace)
        self.wake()

    @property
    def planned(self) -> int:
        """Calls of the whole run."""
        return self.plan.calls if self.plan else 0

    @property
    def elapsed(self) -> float:
        """Seconds since the run started."""
        return self.clock() - self._start

    @property
    def fresh(self) -> int:
        """Calls answered by a server in this run; those that the journal answered cost neither time nor money."""
        if self.plan is None:
            return self.calls
        return self.calls - min(self.plan.spending.replayed, self.plan.journalled, self.calls)

    @property
    def replies(self) -> int:
        """What servers have answered so far, re-prompts included."""
        return self.plan.spending.model.replies + self.plan.spending.judges.replies if self.plan else 0

    def sample(self) -> None:
        """Note where the run is; the rates are taken from such notes. To be called at most a few times a second."""
        now = self.clock()
        if now - self._samples[-1][0] >= 1.0:
            self._samples.append((now, self.fresh, self.replies))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW:
            self._samples.popleft()

    @property
    def rate(self) -> float | None:
        """Replies a second of late, or None before there is one."""
        at, _, replies = self._samples[0]
        return _ratio(self.replies - replies, self.clock() - at)

    @property
    def left(self) -> float | None:
        """Seconds to go at the rate of late, or None where it cannot be told."""
        at, fresh, _ = self._samples[0]
        rate = _ratio(self.fresh - fresh, self.clock() - at)
        return (self.planned - self.calls) / rate if rate else None

    @property
    def projected(self) -> float | None:
        """USD that the whole run will have taken, or None where a part of the cost is unknown."""
        if self.plan is None:
            return None
        cost, fresh = self.plan.spending.cost, self.fresh
        expected = self.plan.price[0] if self.plan.price else None
        to_ask = self.planned - (self.calls - fresh)
        if cost is None or (fresh < min(ENOUGH_CALLS, to_ask)):
            return expected
        return cost / fresh * to_ask if fresh else None

    def pauses_now(self) -> list[Pause]:
        """The pauses that are not over, the longest first."""
        now = self.clock()
        return sorted((pause for pause in self.pauses.values() if pause.until > now), key=lambda pause: -pause.until)


def _ratio(count: int, seconds: float) -> float | None:
    return count / seconds if count > 0 and seconds > 0 else None
