"""The patience of one call: whether it is sent once more, after which wait of its own, and how much time it has left.

The one layer that tries again. What the troubles mean for other calls is `pacing`'s business; what a reply says,
`job`'s.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attunebench.errors import TransientError, Trouble
from attunebench.runner.limits import START_UP
from attunebench.runner.pacing import LONGEST_WAIT

if TYPE_CHECKING:
    from attunebench.runner.pacing import RateLimiter
    from attunebench.runner.settings import RunSettings

NOT_YET: frozenset[Trouble] = frozenset(("rate", "money", "starting"))
"""Answers that only say "later": they use up a call's time and none of its tries."""
GATEWAY_ALIKE = 0.15  # two gateways' times that differ by no more than this share are one limit
GATEWAY_SHORTEST = 5.0  # seconds: a gateway that gives up sooner has other troubles than a limit of time
MOMENT = 0.001  # seconds that are not worth waiting for


@dataclass(slots=True)
class Effort:
    """What one call has taken so far, re-prompts included, and how much longer it is tried.

    `requests` counts what was sent; `lost` those of them without a reply that the provider may bill all the same
    (under way when the run was cancelled, too). The total time of the call begins with its first request.
    """

    limiter: RateLimiter
    settings: RunSettings
    requests: int = 0
    lost: int = 0
    began: tuple[float, float] | None = None  # the event loop's time and the line's clock at the first request
    tries: int = 0  # failed ones of the request that is tried now
    gateway: float | None = None  # seconds after which a gateway gave one of them up

    @property
    def left(self) -> float:
        """Seconds of the call's time that are left. They stand still while the line is open, for a while."""
        now, total = asyncio.get_running_loop().time(), self.settings.total_timeout
        began, clock = self.began or (now, self.limiter.clock())
        return min(clock + total - self.limiter.clock(), began + total + START_UP - now)

    def wait(self, error: TransientError) -> float:
        """Seconds of this call's own until its next try; what the line holds back comes before its turn.

        Raises the error, or one that says more, where there is no next try.
        """
        self.tries += error.kind not in NOT_YET
        self._check_gateway(error)
        limiter, wait, asked = self.limiter, 0.0, error.retry_after or 0.0
        shared = error.kind in ("rate", "money") or (error.kind in ("server", "starting") and asked)
        if not limiter.open and not shared:
            # What the server asks for is a lower bound; the jitter on top keeps waiting calls from returning at once.
            wait = min(LONGEST_WAIT, asked + limiter.backoff(self.tries))
        held = 0.0 if limiter.open else limiter.paused_for
        if self.tries >= self.settings.max_tries or max(wait, held) >= self.left - MOMENT:
            raise error
        return wait

    def _check_gateway(self, error: TransientError) -> None:
        if error.kind != "gateway" or error.elapsed is None or error.elapsed <= GATEWAY_SHORTEST:
            return
        earlier, self.gateway = self.gateway, error.elapsed
        if earlier is not None and abs(earlier - error.elapsed) <= GATEWAY_ALIKE * max(earlier, error.elapsed):
            raise TransientError(
                f"A gateway gave up waiting for {self.limiter.model} twice after about {error.elapsed:.0f} s: its "
                "limit is shorter than the answer takes. Ask for shorter answers (--max-tokens), or go round the "
                "gateway.",
                kind="gateway",
                elapsed=error.elapsed,
            ) from error
