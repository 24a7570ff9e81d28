"""Model clients over a backend that does as it is told, for runs in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from attunebench.backends.base import Reply, Request
from attunebench.backends.prices import Prices
from attunebench.journal import Hasher
from attunebench.protocol.calls import Call
from attunebench.runner import ModelSettings, Observer, RunSettings
from attunebench.runner.budget import Budget
from attunebench.runner.clients import ModelClient
from attunebench.runner.events import Stop
from attunebench.runner.job import Ask, Job
from attunebench.runner.live import Live
from attunebench.runner.pacing import RateLimiter
from attunebench.runner.run import Run


class Scripted:
    """A backend whose every request is answered by `send`."""

    provider, model, base_url, payer = "local", "m", "http://localhost/v1", ""

    def __init__(self, send: Callable[[Request], Awaitable[Reply]]) -> None:
        self._send = send

    async def complete(self, request: Request) -> Reply:
        return await self._send(request)

    async def prices(self) -> Prices | None:
        """None are known."""
        return None

    def learned(self) -> dict[str, Any]:
        """The server takes everything."""
        return {}

    async def aclose(self) -> None:
        """Nothing is held open."""


def settings_for(**values: Any) -> RunSettings:
    return RunSettings(em=ModelSettings(provider="local", model="m", base_url="http://localhost/v1"), **values)


def client_at(
    line: RateLimiter, send: Callable[[], Awaitable[Reply]], settings: RunSettings, observer: Observer
) -> ModelClient:
    """A client that keeps nothing."""
    hasher = Hasher(provider="local", base_url="http://localhost/v1", model="m", parameters={})
    return ModelClient(Scripted(lambda _: send()), settings, observer, line, Budget(), hasher)


def first_ask(call: Call, max_tokens: int = 100) -> Ask:
    """The call as it is asked first."""
    return Ask(call, 0, call.messages, max_tokens)


async def run_live(
    send: Callable[[Request], Awaitable[Reply]],
    *jobs: Job,
    settings: RunSettings,
    budget: Budget | None = None,
    observer: Observer | None = None,
) -> Stop:
    """Have jobs done by the live executor; why that ended before its time. Nothing is kept or written."""

    async def finish(_: Job) -> None:
        await asyncio.sleep(0)

    live = Live(settings, observer or Observer())
    live.backends = {0: Scripted(send)}
    run = SimpleNamespace(
        work=SimpleNamespace(todos=jobs),
        jobs=lambda: iter(jobs),
        finish=finish,
        count=lambda _: None,
        budget=budget or Budget(),
        observer=observer,
    )
    return await live.execute(cast(Run, run))
