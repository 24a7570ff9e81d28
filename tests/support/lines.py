"""A line to a model in virtual time: the observer that keeps what it is told, and calls that end as they are told."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from virtual_time import run_virtual

from attunebench.errors import BackendError, TransientError, Trouble
from attunebench.protocol.calls import Call
from attunebench.runner.events import Observer
from attunebench.runner.pacing import RateLimiter


class NoJitter(random.Random):
    """The middle of everything that is drawn."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


@dataclass
class Told(Observer):
    """Keeps what a user of the line is told."""

    pauses: list[tuple[str, float]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Of retries."""

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        self.pauses.append((reason, seconds))

    def pacing(self, model: str, under_way: int, limit: int, ceiling: int) -> None:
        self.limits.append(limit)

    def warned(self, message: str) -> None:
        self.warnings.append(message)

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        self.waits.append(wait)
        self.reasons.append(reason)


def trouble(kind: Trouble, retry_after: float | None = None, elapsed: float | None = None) -> TransientError:
    """A failed try."""
    return TransientError(f"some {kind} trouble.", kind=kind, retry_after=retry_after, elapsed=elapsed)


async def pass_through(
    pace: RateLimiter, error: Exception | None = None, seconds: float = 1.0, tokens: float = 0
) -> float:
    """One try that takes so long and ends so; when it was sent."""
    sent = -1.0
    with contextlib.suppress(BackendError), await pace.slot(tokens):
        sent = now()
        await asyncio.sleep(seconds)
        if error is not None:
            raise error
    return sent


async def all_at_once(pace: RateLimiter, *errors: Exception | None, seconds: float = 1.0) -> list[float]:
    """Tries begun together; when each was sent."""
    return await asyncio.gather(*(pass_through(pace, error, seconds) for error in errors))


def on_a_line(
    ceiling: int = 16, *, seed: int | None = None, **rates: Any
) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """A test in virtual time: its coroutine gets a line, and as `told` what the line tells; then its own parameters."""

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        names = inspect.signature(test).parameters

        @functools.wraps(test)
        def run(**given: Any) -> None:
            async def story() -> None:
                told, rng = Told(), NoJitter() if seed is None else random.Random(seed)
                line = RateLimiter("m", ceiling, observer=told, rng=rng, **rates)
                await test(line, **given, **({"told": told} if "told" in names else {}))

            run_virtual(story())

        run.__signature__ = inspect.Signature([each for n, each in names.items() if n not in ("pace", "told")])  # type: ignore[attr-defined]
        return run

    return decorate


def waiting(pace: RateLimiter) -> int:
    """Calls that wait for a slot."""
    return len(pace._fresh) + len(pace._again)


def now() -> float:
    return asyncio.get_running_loop().time()
