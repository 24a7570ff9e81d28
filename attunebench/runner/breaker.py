"""Whether a model's server is there at all: opens the line after failures in a row, and says when one may probe.

Pure counting with the time handed in; who waits, and who is the probe, is `pacing`'s business.
"""

from __future__ import annotations

import random

from attunebench.errors import Trouble

OUTAGE: frozenset[Trouble] = frozenset(("server", "starting", "gateway", "connect", "line", "timeout"))
"""The troubles that say that nobody is there. A refusal or an unusable body comes from a server that is."""
STRIKES = 10
"""Failures in a row that open the line."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
"""Seconds between probes: from, doubling, to."""
LOADING_PAUSE = 5.0
"""Seconds between probes of a server that is loading its model."""


class Breaker:
    """Closed while calls succeed now and then; open while nobody but a probe may ask.

    Calls that were under way when the first of a row failed are one strike together: a hiccup fails all of them at
    once. A line with few places opens after fewer strikes, before a call has used up its tries.
    A server that loads its model opens the line at once, and is no outage for `start_up` seconds.
    """

    def __init__(self, rng: random.Random, places: int, start_up: float) -> None:
        self.open = False
        self.probe_at = 0.0
        self._rng = rng
        self._start_up = start_up
        self._enough = min(STRIKES, 2 + 2 * places)
        self._strikes = 0
        self._openings = 0
        self._first_sent = 0
        self._loading_since: float | None = None
        self._opened_at = 0.0
        self._held = 0.0

    def held(self, now: float) -> float:
        """Seconds that the line has been open, in all."""
        return self._held + (now - self._opened_at if self.open else 0.0)

    def excuses(self, kind: Trouble, now: float) -> bool:
        """Whether this trouble is a server's loading its model within its allowance, and no outage."""
        since = now if self._loading_since is None else self._loading_since
        return kind == "starting" and now - since < self._start_up

    def succeeded(self, now: float) -> bool:
        """A call was answered. Whether that ends an outage."""
        self._strikes = self._openings = 0
        self._loading_since = None
        return self._close(now)

    def answered(self, now: float) -> bool:
        """The probe was refused by a server that is there: others may ask, but the next failure opens again."""
        return self._close(now)

    def failed(self, kind: Trouble, now: float, *, number: int, sent: int, probe: bool, asked: float) -> bool:
        """Call `number` of the `sent` so far failed. Whether the line is opened by it, or stays open until a later
        `probe_at`.

        `asked`: the seconds that the server asked to wait, 0 for none.
        """
        if self.open and not probe:
            return False
        if self.excuses(kind, now):
            self._loading_since = now if self._loading_since is None else self._loading_since
            return self._hold(now, max(LOADING_PAUSE, asked))
        self._strike(number, sent)
        if not probe and self._strikes < self._enough:
            return False
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._openings, 10)) * self._rng.uniform(0.8, 1.0)
        self._openings += 1
        return self._hold(now, max(pause, asked))

    def _strike(self, number: int, sent: int) -> None:
        if not self._strikes:
            self._strikes, self._first_sent = 1, sent
        elif number > self._first_sent:
            self._strikes += 1

    def _hold(self, now: float, seconds: float) -> bool:
        if not self.open:
            self.open, self._opened_at = True, now
        self.probe_at = now + seconds
        return True

    def _close(self, now: float) -> bool:
        if not self.open:
            return False
        self._held = self.held(now)
        self.open = False
        return True
