"""Counting for `pacing`, with the time handed in: how many calls may be in flight, and whether a server is there."""

from __future__ import annotations

import math
import random

from attunebench.errors import Trouble

SHRINK = 0.7  # what a refusal leaves of the calls that may be under way
RESTART = 2  # calls under way at once after an outage; they double with every round
_ROUNDING = 1e-9

OUTAGE: frozenset[Trouble] = frozenset(("server", "starting", "gateway", "connect", "line", "timeout"))
"""The troubles that say that nobody is there. A refusal or an unusable body comes from a server that is."""
STRIKES = 10  # failures in a row that open the line
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0  # seconds between probes: from, doubling, to
LOADING_PAUSE = 5.0  # seconds between probes of a server that is loading its model
START_UP = 300.0  # seconds that a server may take to load its model before that is an outage


class Adaptive:
    """The calls that may be in flight, from 1 to `ceiling`. A refusal leaves `SHRINK` of them, unless its call was sent
    before the last such change; a round of successes adds one. After an outage it starts at `RESTART` and doubles every
    round up to where it was."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self._changed_at = -math.inf
        self._exact = self._doubling_to = float(ceiling)

    @property
    def value(self) -> int:
        return int(self._exact + _ROUNDING)

    def grow(self) -> None:
        step = 1.0 if self._exact < self._doubling_to else 1.0 / self._exact
        self._exact = min(float(self.ceiling), self._exact + step)

    def shrink(self, sent_at: float, now: float) -> bool:
        """A call that was sent then was one too many; whether it is the first to say so."""
        if sent_at < self._changed_at:
            return False
        self._changed_at = now
        self._exact = self._doubling_to = max(1.0, SHRINK * self._exact)
        return True

    def restart(self, now: float) -> None:
        self._changed_at = now
        self._doubling_to = max(self._doubling_to, self._exact)
        self._exact = min(self._exact, float(RESTART))


class Bucket:
    """A rate: `per_minute` units, of which a second's worth, and at least one, may go at once. What needs more goes
    when the bucket is full, and leaves a debt."""

    def __init__(self, per_minute: float | None) -> None:
        self._rate = (per_minute or math.inf) / 60.0
        self._level = self._capacity = max(1.0, self._rate)
        self._at = 0.0

    def wait(self, units: float, now: float) -> float:
        self.take(0.0, now)
        lacking = min(units, self._capacity) - self._level
        return lacking / self._rate if lacking > _ROUNDING * self._capacity else 0.0

    def take(self, units: float, now: float) -> None:
        """So many units went; a negative number gives back what was estimated too high."""
        if now > self._at:
            self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
            self._at = now
        self._level = min(self._capacity, self._level - units)


class Breaker:
    """Closed while calls succeed now and then; open while nobody but a probe may ask. Calls that were in flight when
    the first of a row failed are one strike together. With few `places` it opens before a call has used up its tries. A
    server that loads its model opens it at once, and is no outage for `START_UP` seconds."""

    def __init__(self, rng: random.Random, places: int) -> None:
        self.open = False
        self.probe_at = 0.0
        self._rng = rng
        self._enough = min(STRIKES, 2 + 2 * places)
        self._strikes = self._openings = 0
        self._loading_since: float | None = None
        self._struck_at = self._opened_at = self._held = 0.0

    def held(self, now: float) -> float:
        return self._held + (now - self._opened_at if self.open else 0.0)

    def excuses(self, kind: Trouble, now: float) -> bool:
        """Whether this is a server's loading its model within its allowance, and no outage."""
        if kind != "starting":
            return False
        self._loading_since = now if self._loading_since is None else self._loading_since
        return now - self._loading_since < START_UP

    def succeed(self, now: float) -> bool:
        """A call was answered; whether that ends an outage."""
        self._strikes = self._openings = 0
        self._loading_since = None
        return self.close(now)

    def close(self, now: float) -> bool:
        """Let others than the probe ask; whether it was open."""
        was_open, self._held, self.open = self.open, self.held(now), False
        return was_open

    def fail(self, kind: Trouble, now: float, *, sent_at: float, probe: bool, asked: float) -> bool:
        """A call failed, and the server `asked` to wait. Whether that opens it, or keeps it open until `probe_at`."""
        if self.open and not probe:
            return False
        pause = LOADING_PAUSE
        if not self.excuses(kind, now):
            if not self._strikes:
                self._strikes, self._struck_at = 1, now
            elif sent_at >= self._struck_at:
                self._strikes += 1
            if not probe and self._strikes < self._enough:
                return False
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._openings, 10)) * self._rng.uniform(0.8, 1.0)
            self._openings += 1
        if not self.open:
            self.open, self._opened_at = True, now
        self.probe_at = now + max(pause, asked)
        return True
