"""One call's tries: when they end, what they wait for, and what is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from lines import NoJitter, Told, now, pass_through, trouble, waiting
from model_clients import client_at, first_ask, settings_for
from talks import parsed, small_file
from virtual_time import run_virtual

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.errors import BackendError, ConfigurationError, ItemError, TransientError, Trouble
from attunebench.protocol.calls import Usage
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.pacing import START_UP, RateLimiter

ASK = first_ask(plan_conversation(parsed(small_file()), "default", default_codebook())[0])
REPLY = Reply("an answer")


@dataclass
class Server:
    """Answers one request after the other as it is told, the last behaviour for ever, after `seconds`."""

    behaviours: Iterable[Reply | Exception]
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._doings = list(self.behaviours)

    async def send(self) -> Reply:
        self.times.append(now())
        behaviour = self._doings.pop(0) if len(self._doings) > 1 else self._doings[0]
        await asyncio.sleep(self.seconds)
        if isinstance(behaviour, Exception):
            raise behaviour
        return behaviour


@dataclass
class Course:
    """What became of a call."""

    outcome: Reply | Exception | None
    times: list[float]
    lost: int
    told: Told
    ended: float


def ask(
    *behaviours: Reply | Exception,
    seconds: float = 0.0,
    ceiling: int = 16,
    before: Callable[[RateLimiter], Awaitable[Any]] | None = None,
    **settings: Any,
) -> Course:
    """One call to a server that does this; `before` happens on the line first."""

    async def story() -> Course:
        told, server = Told(), Server(behaviours, seconds)
        line = RateLimiter("m", ceiling, observer=told, rng=NoJitter())
        if before is not None:
            await before(line)
        client = client_at(line, server.send, settings_for(**settings), told)
        outcome: Reply | Exception | None
        try:
            outcome = (await client.ask(ASK)).reply
        except (BackendError, ConfigurationError) as error:
            outcome = error
        assert (0, 0) == (line.under_way, waiting(line))
        return Course(outcome, server.times, client.budget.lost, told, now())

    return run_virtual(story())


def test_a_reply_needs_one_request_and_no_wait() -> None:
    course = ask(REPLY)
    assert (REPLY, [0], 0) == (course.outcome, course.times, course.lost)


@pytest.mark.parametrize("kind", ["server", "line", "connect", "timeout", "body", "gateway"])
def test_waits_between_tries_double_from_half_a_second_to_half_a_minute(kind: Trouble) -> None:
    course = ask(*[trouble(kind)] * 8, REPLY, max_tries=9)
    assert REPLY == course.outcome
    assert [0.25, 0.5, 1, 2, 4, 8, 15, 15] == course.told.waits


def test_tries_are_bounded_and_the_error_says_how_many_were_sent() -> None:
    course = ask(trouble("server"), max_tries=3)
    assert isinstance(course.outcome, TransientError)
    assert (3, 3) == (course.outcome.tries, len(course.times))


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ItemError("too long"), None), (error := ConfigurationError("no such model"), error)],
)
def test_what_cannot_heal_is_not_tried_again(error: Exception, outcome: Exception | None) -> None:
    course = ask(error)
    assert outcome is course.outcome
    assert (1, 0) == (len(course.times), course.lost)


@pytest.mark.parametrize("kind", ["rate", "money", "starting"])
def test_a_server_that_says_later_takes_time_and_no_tries(kind: Trouble) -> None:
    assert REPLY == ask(*[trouble(kind, 2)] * 20, REPLY, max_tries=2).outcome


@pytest.mark.parametrize("kind", ["rate", "money", "server", "starting"])
def test_an_asked_wait_is_kept_once_and_by_the_line(kind: Trouble) -> None:
    course = ask(trouble(kind, 20), REPLY)
    assert [0, pytest.approx(20, abs=0.6)] == course.times
    assert [20] == course.told.waits


def test_an_asked_wait_that_concerns_this_call_alone_is_kept_by_it() -> None:
    course = ask(trouble("body", 20), REPLY)
    assert [0, 20.25] == course.times


@pytest.mark.parametrize(
    ("kinds", "lost"), [(("connect", "connect"), 0), (("line", "timeout"), 2), (("rate", "body"), 2)]
)
def test_every_request_may_be_billed_but_those_that_never_reached_the_server(
    kinds: tuple[Trouble, ...], lost: int
) -> None:
    course = ask(*(trouble(kind) for kind in kinds), REPLY)
    assert (3, lost) == (len(course.times), course.lost)


def test_a_request_that_is_under_way_when_the_run_is_cancelled_may_be_billed() -> None:
    async def story() -> int:
        line = RateLimiter("m", 1, observer=Told())
        client = client_at(line, Server([REPLY], 10).send, settings_for(), Told())
        task = asyncio.ensure_future(client.ask(ASK))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return client.budget.lost

    assert 1 == run_virtual(story())


def test_a_try_ends_at_its_timeout_whatever_the_server_drips() -> None:
    course = ask(REPLY, seconds=1000, call_timeout=30, max_tries=2)
    assert "no complete answer within 30 s" in str(course.outcome)
    assert isinstance(course.outcome, TransientError)
    assert "timeout" == course.outcome.kind
    assert [0, 30.25] == course.times


def test_a_call_takes_no_longer_than_its_total_time() -> None:
    course = ask(REPLY, seconds=1000, call_timeout=120, total_timeout=250)
    assert [0, 120.25, 240.75] == course.times
    assert 250 == course.ended


def test_a_wait_that_is_longer_than_what_is_left_ends_the_call_at_once() -> None:
    course = ask(trouble("rate", 3600), total_timeout=60)
    assert 0 == course.ended
    assert 1 == len(course.times)


def test_time_held_back_before_the_first_request_does_not_count() -> None:
    course = ask(trouble("line"), REPLY, before=lambda line: pass_through(line, trouble("rate", 100)), total_timeout=50)
    assert REPLY == course.outcome
    assert course.times[0] > 100


async def break_down(line: RateLimiter) -> None:
    while not line.open:
        await pass_through(line, trouble("connect"), seconds=0)


def test_waiting_for_a_line_that_is_open_takes_neither_tries_nor_time() -> None:
    async def story() -> tuple[int, int]:
        told = Told()
        line = RateLimiter("m", 16, observer=told, rng=NoJitter())
        settings, server = settings_for(max_tries=2, total_timeout=10), Server([trouble("line"), REPLY])
        call = asyncio.ensure_future(client_at(line, server.send, settings, told).ask(ASK))
        await asyncio.sleep(0.1)  # it has had its first try
        await break_down(line)
        for _ in range(4):  # fresh calls probe
            await pass_through(line, trouble("connect"), seconds=0)
        await pass_through(line)
        await call
        return len(server.times), round(now())

    assert (2, 123) == run_virtual(story())


def test_a_call_that_opens_the_line_waits_for_the_probe_and_no_longer_by_itself() -> None:
    course = ask(*[trouble("connect")] * 10, REPLY, max_tries=12)
    assert 4.5 == course.told.waits[-1]
    assert 4.5 == pytest.approx(course.times[-1] - course.times[-2])


def test_an_outage_prolongs_a_calls_time_by_the_start_up_allowance_at_most() -> None:
    course = ask(trouble("starting"), total_timeout=10)
    assert isinstance(course.outcome, TransientError)
    assert START_UP + 5 <= course.ended <= START_UP + 10


def test_an_outage_that_ends_within_the_allowance_costs_no_call() -> None:
    assert REPLY == ask(*[trouble("starting")] * 15, REPLY, total_timeout=10).outcome


def test_a_gateway_that_gives_up_twice_after_the_same_time_is_not_asked_a_third_time() -> None:
    course = ask(trouble("gateway", elapsed=60), trouble("server"), trouble("gateway", elapsed=55), REPLY)
    assert isinstance(course.outcome, TransientError)
    assert (3, 3) == (len(course.times), course.outcome.tries)
    assert "its limit is shorter than the answer takes" in str(course.outcome)
    assert "55 s" in str(course.outcome)


@pytest.mark.parametrize("times", [(60, 45), (2, 2), (None, None), (60, None)])
def test_other_failures_of_a_gateway_are_passing_trouble(times: tuple[float | None, float | None]) -> None:
    assert REPLY == ask(*(trouble("gateway", elapsed=elapsed) for elapsed in times), REPLY).outcome


def test_the_rates_learn_what_a_reply_really_took() -> None:
    async def story() -> float:
        told = Told()
        line = RateLimiter("m", 1, observer=told, tpm=60_000)
        reply = Reply("an answer", usage=Usage(prompt_tokens=4000, completion_tokens=1000))
        await client_at(line, Server([reply]).send, settings_for(), told).ask(ASK)
        return await pass_through(line, tokens=1000)

    assert pytest.approx(5) == run_virtual(story())


def test_a_pause_is_waited_for_outside_of_a_place() -> None:
    async def story() -> int:
        told = Told()
        line = RateLimiter("m", 1, observer=told, rng=NoJitter())
        server = Server([trouble("rate", 30), REPLY])
        call = asyncio.ensure_future(client_at(line, server.send, settings_for(), told).ask(ASK))
        await asyncio.sleep(10)
        under_way = line.under_way
        await call
        return under_way

    assert 0 == run_virtual(story())
