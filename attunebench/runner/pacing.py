"""Rate limiting for one model, shared by all calls to it: which may send now, and what a failure means for the others.
It sends nothing; `clients` retry."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections import deque
from dataclasses import dataclass

from attunebench.errors import ItemError, RejectedError, TransientError, Trouble
from attunebench.runner.events import Observer

LONGEST_WAIT = 120.0  # seconds: a server that asks for a longer pause is asked again after this one
FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 30.0  # seconds: upper bound of random waits, doubling, if the server names none
RAMP = 1.0  # seconds at most over which waiting calls are spread after a pause
TIMEOUT_STORM = 3  # time-outs in a row after which fewer calls are sent at once
TRUSTED = 5  # calls in flight until one answer of the run could be read; as many unreadable answers end it
WORTH_TELLING = 1.0  # seconds: shorter pauses, and extensions of a pause by less, are not reported
SHRINK = 0.7  # what a refusal leaves of the calls that may be under way
RESTART = 2  # calls under way at once after an outage; they double with every round
_ROUNDING = 1e-9

OUTAGE: frozenset[Trouble] = frozenset(("server", "starting", "gateway", "connect", "line", "timeout"))
"""The troubles that say that nobody is there. A refusal or an unusable body comes from a server that is."""
STRIKES = 10  # failures in a row that open the line
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0  # seconds between probes: from, doubling, to
LOADING_PAUSE = 5.0  # seconds between probes of a server that is loading its model
START_UP = 300.0  # seconds that a server may take to load its model before that is an outage


_REASONS: dict[Trouble, str] = {
    "rate": "the server accepts no more requests for now",
    "money": "the server delays requests until earlier ones are settled",
    "starting": "the server is loading its model",
}


class RateLimiter:
    """Limits the calls to one model; make one for each (provider, base URL, model).

        with await limiter.slot(tokens) as slot:      # waits for a slot, which is released at the end
            reply = await backend.complete(request)
            slot.tokens = reply's tokens              # optional: corrects the estimate

    How the block ends is the outcome: no error, an `ItemError` or a `RejectedError` is a success (the server answered),
    a `TransientError` a failure, classified by its `kind` and `retry_after`; anything else (a cancellation) says
    nothing about the server.

    `ceiling`: calls in flight at most, and at first. `rpm`, `tpm`: requests and tokens a minute, None for no limit.
    `cautious`: until a reply was read no more than `TRUSTED` calls are under way, unreadable ones included."""

    def __init__(
        self,
        model: str,
        ceiling: int,
        *,
        observer: Observer,
        rpm: float | None = None,
        tpm: float | None = None,
        rng: random.Random | None = None,
        cautious: bool = False,
    ) -> None:
        self.model, self.cautious = model, cautious
        self.ceiling = self._shown = ceiling
        self.rng = rng or random.Random()
        self.under_way = 0
        self.probe: Slot | None = None  # the one call that is under way in an outage
        self.trouble = ""  # the last reason for holding calls back, in words
        self.reached = self.answered = False  # whether any connection was made, and whether any call was answered
        self._observer = observer
        self._limit = Adaptive(ceiling)
        self._breaker = Breaker(self.rng, ceiling)
        self._requests, self._tokens = Bucket(rpm), Bucket(tpm)
        self._fresh: deque[Slot] = deque()
        self._again: deque[Slot] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._unreadable = self._refusals = self._timeouts = 0
        self._resume_at = self._next_at = self._ramp = self._told_until = 0.0
        self._failing: tuple[float, float] | None = None
        self._warned = False

    async def slot(self, tokens: float = 0, *, again: bool = False, within: float | None = None) -> Slot:
        """Wait in order for a slot; use it in a `with` statement at once. `tokens`: prompt and reply, estimated.
        `again`: a retry goes before fresh calls, since its time is running; but a fresh one probes, so that a prompt
        that breaks the server does not prolong the outage. Raises asyncio.TimeoutError if none is free `within` so many
        seconds."""
        loop = asyncio.get_running_loop()
        slot = Slot(self, tokens, tokens, loop.create_future())
        queue = self._again if again else self._fresh
        queue.append(slot)
        self._release()
        # No `asyncio.wait_for`: before Python 3.12 it loses a cancellation that comes in the moment of the turn.
        timer = loop.call_later(within, _give_up, slot.turn) if within is not None else None
        try:
            await slot.turn
        except (asyncio.CancelledError, asyncio.TimeoutError):
            if slot.turn.cancelled() or slot.turn.exception() is not None:
                with contextlib.suppress(ValueError):
                    queue.remove(slot)
            else:  # it got its slot at the same moment, and sent nothing
                self._requests.take(-1.0, _now())
                self._tokens.take(-slot.estimate, _now())
                self._leave(slot)
            self._release()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return slot

    @property
    def limit(self) -> int:
        return max(1, min(self._limit.value, TRUSTED - self._unreadable)) if self.cautious else self._limit.value

    def count_unreadable(self) -> bool:
        """Count an unreadable answer; whether there were `TRUSTED` before any readable one."""
        self._unreadable += 1
        return self.cautious and self._unreadable >= TRUSTED

    @property
    def open(self) -> bool:
        """Whether only a probe may send: an outage, or a server that is loading its model."""
        return self._breaker.open

    @property
    def paused_for(self) -> float:
        return max(0.0, self._resume_at - _now(), self._breaker.probe_at - _now() if self.open else 0.0)

    @property
    def outage(self) -> float:
        """Seconds from the first failure after the last success to the latest one, or 0."""
        return self._failing[1] - self._failing[0] if self._failing else 0.0

    @property
    def unreached(self) -> float:
        """Seconds since the first failure where no connection was ever made, or 0."""
        return _now() - self._failing[0] if self._failing and not self.reached else 0.0

    def backoff(self, failures: int) -> float:
        return self.rng.uniform(0.0, min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(failures - 1, 10)))

    def clock(self) -> float:
        """The event loop's time without outages: a call's time limit is counted in it."""
        return _now() - self._breaker.held(_now())

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self.under_way < self.limit and self.probe is None:
            queue = (self._fresh or self._again) if self.open else (self._again or self._fresh)
            if not queue:
                return
            slot = queue[0]
            if not slot.turn.done():  # its wait was not cancelled a moment ago
                paused = max(self._next_at, self._breaker.probe_at if self.open else 0.0) - now
                wait = max(paused, self._requests.wait(1.0, now), self._tokens.wait(slot.estimate, now))
                if wait > 0.0:
                    self._timer = loop.call_at(now + wait, self._release)
                    return
                self._send(slot, now)
            queue.popleft()

    def _send(self, slot: Slot, now: float) -> None:
        self.under_way += 1
        slot.sent_at = now
        self.probe = slot if self.open else None
        self._requests.take(1.0, now)
        self._tokens.take(slot.estimate, now)
        if now < self._resume_at + self._ramp:
            gap = self.rng.uniform(0.0, 2.0 * self._ramp / self._limit.value)
            self._next_at = min(now + gap, self._resume_at + self._ramp)
        slot.turn.set_result(None)

    def _leave(self, slot: Slot) -> None:
        self.under_way -= 1
        self.probe = None if self.probe is slot else self.probe

    def _end(self, slot: Slot, error: BaseException | None) -> None:
        now, probe = _now(), self.probe is slot
        self._leave(slot)
        self._tokens.take(slot.tokens - slot.estimate, now)
        if error is None or isinstance(error, ItemError | RejectedError):
            self.cautious = self.cautious and error is not None
            self._refusals = self._timeouts = 0
            self._failing = None
            self.reached = self.answered = True
            if self._breaker.succeed(now):
                self.probe = None  # an older call may have been faster
                self._limit.restart(now)
            else:
                self._limit.grow()
        elif isinstance(error, TransientError):
            self._fail(slot, error, probe, now)
        if self._shown != self._limit.value:
            self._shown = self._limit.value
            self._observer.pacing(self.model, self.under_way, self._shown, self.ceiling)
        self._release()

    def _fail(self, slot: Slot, error: TransientError, probe: bool, now: float) -> None:
        self.reached = self.reached or error.kind != "connect"
        if not self._breaker.excuses(error.kind, now):
            self._failing = (self._failing[0] if self._failing else now, now)
        if error.kind in OUTAGE:
            if error.kind in ("timeout", "gateway"):
                # An overloaded server lets every call time out; sending fewer at once helps.
                self._timeouts += 1
                if self._timeouts >= TIMEOUT_STORM:
                    self._limit.shrink(slot.sent_at, now)
            asked = self._asked(error) if error.kind in ("server", "starting") else 0.0
            if self._breaker.fail(error.kind, now, sent_at=slot.sent_at, probe=probe, asked=asked):
                self.trouble = _REASONS.get(error.kind) or f"every request fails, last: {str(error).rstrip('.')}"
                self._tell(self._breaker.probe_at, now)
            else:
                self._pause(asked, f"the server asks for a pause ({str(error).rstrip('.')})", now)
            return
        if probe and self._breaker.close(now):  # the server is up
            self._limit.restart(now)
        if error.kind in ("rate", "money"):  # but wants fewer requests
            first, wait = probe or self._limit.shrink(slot.sent_at, now), self._asked(error)
            if first and not wait:
                self._refusals += 1
                wait = self.backoff(self._refusals)
            self._pause(wait, _REASONS[error.kind], now)

    def _asked(self, error: TransientError) -> float:
        asked = max(0.0, error.retry_after or 0.0)
        if asked > LONGEST_WAIT and not self._warned:
            self._warned = True
            self._observer.warned(
                f"The server of {self.model} asks for a pause of {asked:.0f} s; it is retried every "
                f"{LONGEST_WAIT:.0f} s. You can stop and rerun the command then: finished calls are kept."
            )
        return min(asked, LONGEST_WAIT)

    def _pause(self, seconds: float, why: str, now: float) -> None:
        """Send nothing for so long; the longest pause counts."""
        if now + seconds <= max(now, self._resume_at):
            return
        self._resume_at = now + seconds
        self._ramp = min(RAMP, seconds)
        self._next_at = self._resume_at + self.rng.uniform(0.0, self._ramp / self._limit.value)
        if not self.open:
            self.trouble = why
        self._tell(self._resume_at, now)

    def _tell(self, until: float, now: float) -> None:
        if until - max(now, self._told_until) >= WORTH_TELLING:
            self._told_until = until
            self._observer.pausing(self.model, self.trouble, until - now)


@dataclass(slots=True, eq=False)
class Slot:
    """One call's slot, from its `turn` to the end of the `with` block."""

    _limiter: RateLimiter
    estimate: float
    tokens: float
    turn: asyncio.Future[None]
    sent_at: float = 0.0

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._limiter._end(self, error)


def _give_up(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(asyncio.TimeoutError())


def _now() -> float:
    return asyncio.get_running_loop().time()


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
