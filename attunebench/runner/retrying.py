"""The tries of one call against the line: how often, how long, and with which waits; the one layer that sends again.

Owns a call's patience. What the troubles mean for other calls is `pacing`'s business; what a reply says, `job`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from attunebench.backends.base import Reply
from attunebench.errors import BackendError, ConfigurationError, RejectedError, TransientError, Trouble
from attunebench.eventloop import naps
from attunebench.runner.pacing import FIRST_BACKOFF, LONGEST_BACKOFF, LONGEST_WAIT, RateLimiter, Slot

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call
    from attunebench.runner.events import Observer
    from attunebench.runner.settings import RunSettings

NOT_YET: frozenset[Trouble] = frozenset(("rate", "money", "starting"))
"""Answers that only say "later": they use up a call's time and none of its tries."""
SHARED: frozenset[Trouble] = frozenset(("rate", "money", "server", "starting"))
"""Troubles whose asked waits the line keeps for all of its calls."""
BY_SLEEP: frozenset[Trouble] = frozenset(("connect", "line", "timeout", "body"))
"""Troubles that a machine or process which slept meanwhile brings about by itself."""
GATEWAY_ALIKE = 0.15
"""Two gateways' times that differ by no more than this share are one limit."""
GATEWAY_SHORTEST = 5.0
"""Seconds: a gateway that gives up sooner has other troubles than a limit of time."""
_MOMENT = 0.001
"""Seconds that are not worth waiting for."""
_RNG = random.Random()


@dataclass(slots=True)
class Effort:
    """What one call has taken so far; make one for each call, and use it for its reasks as well.

    `requests` counts what was sent; `lost` those of them without a reply that the provider may bill all the same
    (under way when the run was cancelled, too). The total time of the call begins with its first request.
    """

    requests: int = 0
    lost: int = 0
    began: tuple[float, float] | None = None
    """The event loop's time and the line's clock at the first request."""


@dataclass(slots=True)
class Retrying:
    """The tries of one request over the line of its model: `send` sends it once. Make one for each request.

    Uses `max_tries`, `call_timeout` and `total_timeout` of the settings. Waits before each try until `cover` has its
    money, and then for a turn in the line: who waited for money with a slot in hand would keep it from those whose end
    makes room. The slot is given on only when `keep` is done with the reply, so that never more replies are unkept than
    calls may be under way. `tokens` is the estimate for the line's rates, `rng` spreads the waits (full jitter).
    """

    limiter: RateLimiter
    settings: RunSettings
    observer: Observer
    call: Call
    send: Callable[[], Awaitable[Reply]]
    effort: Effort
    cover: Callable[[], Awaitable[None]] | None = None
    keep: Callable[[Reply], Awaitable[None]] | None = None
    tokens: float = 0
    rng: random.Random = _RNG
    _used: int = 0
    _error: TransientError | None = None
    _gateway: float | None = None
    _hopeless: bool = False
    _asleep: bool = False
    """Whether the last try was lost to a time asleep."""
    _woken: bool = False
    """Whether any was: that is excused once."""

    async def reply(self) -> Reply:
        """The reply, however many tries the line needs.

        Raises TransientError with the number of requests in `tries` where the line did not heal in time, RejectedError
        (with `tries` too), ItemError and ConfigurationError at once.
        """
        retrying = AsyncRetrying(
            sleep=asyncio.sleep,
            retry=retry_if_exception_type(TransientError),
            wait=self._wait,
            stop=self._is_over,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            return await retrying(self._once)
        except TransientError as error:
            error.tries = self.effort.requests
            raise
        except RejectedError as error:
            error.tries = self.effort.requests + 1  # it was heard twice
            raise

    async def _once(self) -> Reply:
        """One try, in its turn."""
        self._asleep = False
        if self.cover is not None:
            await self.cover()
        with await self._turn() as slot:
            effort = self.effort
            effort.requests += 1
            effort.lost += 1
            slept = naps()
            try:
                reply = await self._in_time()
            except TransientError as error:
                effort.lost -= error.kind == "connect"
                self._asleep = naps() > slept and error.kind in BY_SLEEP and not self._woken
                if self._asleep:
                    self._woken = slot.excused = True
                    raise
                self._error = self._judged(error)
                if self._error is error:
                    raise
                raise self._error from error
            except (BackendError, ConfigurationError):
                effort.lost -= 1
                raise
            effort.lost -= 1
            usage = reply.usage
            if usage.prompt_tokens is not None and usage.completion_tokens is not None:
                slot.tokens = usage.prompt_tokens + usage.completion_tokens
            if self.keep is not None:
                await self.keep(reply)
            return reply

    def _wait(self, _: RetryCallState) -> float:
        """Seconds of this call's own until the next try; what the line holds back comes before its turn."""
        if self._asleep:
            return 0.0
        error = self._error
        assert error is not None
        if self.limiter.open or error.kind in ("rate", "money") or (error.kind in SHARED and error.retry_after):
            return 0.0
        ceiling = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(self._used - 1, 10))
        # What the server asks for is a lower bound; the jitter on top keeps the waiting calls from returning at once.
        return min(LONGEST_WAIT, (error.retry_after or 0.0) + self.rng.uniform(0.0, ceiling))

    def _is_over(self, state: RetryCallState) -> bool:
        """Whether this was the last try: there are enough of them, or no time is left for another one."""
        if self._asleep:
            return False
        held = 0.0 if self.limiter.open else self.limiter.paused_for
        return (
            self._hopeless
            or self._used >= self.settings.max_tries
            or max(state.upcoming_sleep, held) >= self._left() - _MOMENT
        )

    def _tell(self, state: RetryCallState) -> None:
        """The observer hears of the next try, unless that is nobody's fault."""
        if not self._asleep:
            wait = max(state.upcoming_sleep, self.limiter.paused_for)
            self.observer.retrying(self.call, str(self._error), wait)

    async def _turn(self) -> Slot:
        if self.effort.began is None:
            slot = await self.limiter.slot(self.tokens)
            self.effort.began = asyncio.get_running_loop().time(), self.limiter.clock()
            return slot
        while (left := self._left()) > _MOMENT:
            # The line may have been open in the meantime, and then there is time left.
            with contextlib.suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(self.limiter.slot(self.tokens, again=True), left)
        self._hopeless = True
        self._error = self._error or TransientError(f"no turn came within {self.settings.total_timeout:.0f} s in all")
        raise self._error

    async def _in_time(self) -> Reply:
        """The try under a total deadline: a server that drips a byte now and then ends here too."""
        seconds = max(_MOMENT, min(self.settings.call_timeout, self._left()))
        try:
            return await asyncio.wait_for(self.send(), seconds)
        except asyncio.TimeoutError as error:
            raise TransientError(
                f"{self.limiter.model} gave no complete answer within {seconds:.0f} s.",
                kind="timeout",
                elapsed=seconds,
            ) from error

    def _left(self) -> float:
        """Seconds of the call's time that are left. They stand still while the line is open, up to its `start_up`."""
        total = self.settings.total_timeout
        began, clock = self.effort.began or (0.0, 0.0)
        at_most = began + total + self.limiter.start_up - asyncio.get_running_loop().time()
        return min(clock + total - self.limiter.clock(), at_most)

    def _judged(self, error: TransientError) -> TransientError:
        """The error as it counts, or a better one in its slot."""
        self._used += error.kind not in NOT_YET
        if error.kind != "gateway" or error.elapsed is None or error.elapsed <= GATEWAY_SHORTEST:
            return error
        earlier, self._gateway = self._gateway, error.elapsed
        if earlier is None or abs(earlier - error.elapsed) > GATEWAY_ALIKE * max(earlier, error.elapsed):
            return error
        self._hopeless = True
        return TransientError(
            f"A gateway gave up waiting for {self.limiter.model} twice after about {error.elapsed:.0f} s: its limit "
            "is shorter than the answer takes. Ask for shorter answers (--max-tokens), or go round the gateway.",
            kind="gateway",
            elapsed=error.elapsed,
        )
