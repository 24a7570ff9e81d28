"""A call that nobody waits for any more sends nothing more, and holds up the end of nothing."""

from __future__ import annotations

import asyncio

from lines import NoJitter, Told, now, pass_through, trouble, waiting
from model_clients import run_live, settings_for
from talks import parsed, small_file
from virtual_time import run_virtual

from attunebench.backends.base import Reply, Request
from attunebench.codebook import default_codebook
from attunebench.protocol.calls import Message
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.budget import Budget, BudgetSpent, Ticket
from attunebench.runner.job import Job, Rules
from attunebench.runner.pacing import RateLimiter, Slot

CALLS = plan_conversation(parsed(small_file()), "default", default_codebook())


def job(calls: int) -> Job:
    return Job(("talk", "default"), CALLS[:calls], Rules(default_codebook(), 100, 0))


def test_a_call_whose_turn_comes_as_its_conversation_fails_is_not_sent() -> None:
    """The failing call gives its place on in the same moment."""
    sent: list[str] = []

    async def send(request: Request) -> Reply:
        sent.append(request.call.id)
        await asyncio.sleep(1.0)
        raise trouble("line")

    settings = settings_for(concurrency=1, max_reasks=0, max_tries=2, total_timeout=10_000)
    assert run_virtual(run_live(send, job(2), settings=settings)) == ""
    assert [CALLS[0].id, CALLS[1].id, CALLS[0].id] == sent


def test_a_run_that_sends_nothing_more_waits_for_no_retry() -> None:
    """The first call fails after the second one has found that the money is spent."""
    ends: list[float] = []

    class SpentSoon(Budget):
        asked = 0

        async def reserve(self, who: int, messages: tuple[Message, ...], max_tokens: int) -> Ticket:  # type: ignore[override]
            self.asked += 1
            if self.asked == 2:
                await asyncio.sleep(1.0)
                raise BudgetSpent
            return await super().reserve(who, messages, max_tokens)

    async def send(_: Request) -> Reply:
        await asyncio.sleep(5.0)
        raise trouble("rate", retry_after=100.0)

    async def story() -> str:
        stopped = await run_live(send, job(2), settings=settings_for(concurrency=2), budget=SpentSoon(), observer=told)
        ends.append(now())
        return stopped

    told = Told()
    assert "max-cost" == run_virtual(story())
    assert ([5.0], []) == (ends, told.waits)


def test_who_is_cancelled_as_its_turn_comes_gives_the_place_back() -> None:
    async def story() -> list[float]:
        pace = RateLimiter("m", 1, observer=Told(), rng=NoJitter())
        first: Slot = await pace.slot()
        waiting = [asyncio.create_task(pace.slot(again=True, within=10.0)) for _ in range(2)]
        await asyncio.sleep(1.0)
        with first:
            pass
        waiting[0].cancel()  # its turn has come, and it does not know yet
        with await waiting[1]:
            assert waiting[0].cancelled()
        return [await pass_through(pace)]

    assert [1.0] == run_virtual(story())


def test_who_gets_no_turn_in_time_leaves_the_line() -> None:
    async def story() -> tuple[float, int]:
        pace = RateLimiter("m", 1, observer=Told(), rng=NoJitter())
        with await pace.slot():
            try:
                await pace.slot(again=True, within=3.0)
            except asyncio.TimeoutError:
                return now(), waiting(pace)
        raise AssertionError

    assert (3.0, 0) == run_virtual(story())
