"""How much one model is given at once: calls under way, requests and tokens a minute.

Pure counting with the time handed in: it waits for nothing, and knows neither calls nor what went wrong with them.
"""

from __future__ import annotations

import math

SHRINK = 0.7
"""What a refusal leaves of the calls that may be under way."""
RESTART = 2
"""Calls under way at once after an outage; they double with every round."""
BURST = 1.0
"""Seconds' worth of a rate that may go at once after a quiet time."""
_ROUNDING = 1e-9


class Adaptive:
    """The calls that may be under way at once, from 1 to `ceiling`.

    Starts at the ceiling. A refusal takes it to `SHRINK` times what it is, once a round: what was sent before the last
    shrinking says nothing about the new limit. A success adds 1/limit, so that a round of
    successes adds one. After an outage it starts at `RESTART` and doubles every round up to where it was.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = max(1, ceiling)
        self.round = 0
        self._exact = float(self.ceiling)
        self._doubling_to = self._exact
        self._held_until = -math.inf

    @property
    def value(self) -> int:
        """Whole calls, never under 1."""
        return int(self._exact + _ROUNDING)

    def grow(self, now: float) -> None:
        """A call succeeded."""
        if now >= self._held_until and self._exact < self.ceiling:
            step = 1.0 if self._exact < self._doubling_to else 1.0 / self._exact
            self._exact = min(float(self.ceiling), self._exact + step)

    def shrink(self, sent_in: int) -> bool:
        """A call sent in round `sent_in` was one too many. Whether it is the first of its round to say so."""
        if sent_in != self.round:
            return False
        self.round += 1
        self._exact = max(1.0, SHRINK * self._exact)
        self._doubling_to = self._exact
        return True

    def hold(self, until: float) -> None:
        """No growth before this time."""
        self._held_until = max(self._held_until, until)

    def restart(self) -> None:
        """An outage is over."""
        self.round += 1
        self._doubling_to = max(self._doubling_to, self._exact)
        self._exact = min(self._exact, float(RESTART))
        self._held_until = -math.inf


class Bucket:
    """A rate: `per_minute` units, of which `BURST` seconds' worth may go at once.

    What needs more than that goes when the bucket is full, and leaves a debt. None is no limit.
    """

    def __init__(self, per_minute: float, *, smallest: float = 0.0) -> None:
        self._rate = per_minute / 60.0
        self._capacity = max(smallest, self._rate * BURST)
        self._level = self._capacity
        self._at = -math.inf

    def wait(self, units: float, now: float) -> float:
        """Seconds until so many units may go, 0 for now."""
        self._fill(now)
        lacking = min(units, self._capacity) - self._level
        return lacking / self._rate if lacking > _ROUNDING * self._capacity else 0.0

    def take(self, units: float, now: float) -> None:
        """So many units went; a negative number gives back what was estimated too high."""
        self._fill(now)
        self._level = min(self._capacity, self._level - units)

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
            self._at = now
