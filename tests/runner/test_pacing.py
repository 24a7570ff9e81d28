"""The line to one model: what one call's trouble means for the others, and who goes when."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lines import NoJitter, Told, all_at_once, now, pass_through, trouble, waiting
from virtual_time import run_virtual

from attunebench.errors import ItemError, Trouble
from attunebench.runner.pacing import LONGEST_WAIT, RAMP, START_UP, RateLimiter


def on_a_line(
    story: Callable[[RateLimiter, Told], Awaitable[Any]], ceiling: int = 16, *, seed: int | None = None, **kwargs: Any
) -> Any:
    """What the story says of a new line."""

    async def begin() -> Any:
        told = Told()
        rng = NoJitter() if seed is None else random.Random(seed)
        return await story(RateLimiter("m", ceiling, observer=told, rng=rng, **kwargs), told)

    return run_virtual(begin())


# -- places ------------------------------------------------------------------------------------------------------------


def test_no_more_than_the_ceiling_are_under_way_and_turns_come_in_order() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        return await all_at_once(pace, *[None] * 7)

    assert [0, 0, 0, 1, 1, 1, 2] == on_a_line(story, 3)


def test_a_call_that_was_sent_before_goes_before_fresh_ones() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[str]:
        order: list[str] = []

        async def call(name: str, again: bool) -> None:
            with await pace.slot(again=again):
                order.append(name)
                await asyncio.sleep(1)

        await asyncio.gather(call("a", False), call("b", False), call("c", False), call("retry", True))
        return order

    assert ["a", "retry", "b", "c"] == on_a_line(story, 1)


@pytest.mark.parametrize("freed_first", [True, False])
def test_a_turn_that_comes_together_with_the_cancellation_is_passed_on(freed_first: bool) -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[int, int]:
        first = await pace.slot()
        second, third = (asyncio.ensure_future(pass_through(pace)) for _ in range(2))
        await asyncio.sleep(0)
        if freed_first:
            first.__exit__(None, None, None)
            second.cancel()
        else:
            second.cancel()
            first.__exit__(None, None, None)
        await third
        return pace.under_way, waiting(pace)

    assert (0, 0) == on_a_line(story, 1)


# -- rates -------------------------------------------------------------------------------------------------------------


def test_requests_a_minute_are_kept_without_bursts() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        return await all_at_once(pace, *[None] * 4, seconds=0.0)

    assert [0, 3, 6, 9] == pytest.approx(on_a_line(story, rpm=20))


def test_tokens_a_minute_count_as_estimated_and_are_corrected_by_what_was_used() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        sent = []
        for used in (1000, 4000, 100):
            with await pace.slot(1000) as slot:
                sent.append(now())
                slot.tokens = used
        return [*sent, await pass_through(pace, tokens=1000)]

    # 1,000 a second: the second call took 4 s worth of tokens, the third gave 900 back.
    assert [0, 1, 5, 5.1] == pytest.approx(on_a_line(story, tpm=60_000))


def test_a_request_that_exceeds_a_seconds_worth_of_tokens_goes_all_the_same() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        return [await pass_through(pace, seconds=0, tokens=5000) for _ in range(2)]

    assert [0, 5] == pytest.approx(on_a_line(story, tpm=60_000))


def test_small_requests_do_not_overtake_one_that_waits_for_its_tokens_unless_it_is_cancelled() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        await pass_through(pace, seconds=0, tokens=1000)
        large = asyncio.ensure_future(pass_through(pace, seconds=0, tokens=1000))
        await asyncio.sleep(0.25)
        small = asyncio.ensure_future(pass_through(pace, seconds=0, tokens=100))
        await asyncio.sleep(0.25)
        held = waiting(pace)
        large.cancel()
        return [held, await small]

    assert [2, 0.5] == on_a_line(story, tpm=60_000)


def test_a_turn_that_was_not_used_costs_nothing_of_the_rates() -> None:
    async def story(pace: RateLimiter, told: Told) -> float:
        await pass_through(pace, seconds=0)
        second, third = (asyncio.ensure_future(pass_through(pace, seconds=0)) for _ in range(2))
        asyncio.get_running_loop().call_at(3, lambda: asyncio.get_running_loop().call_soon(second.cancel))
        return await third

    assert pytest.approx(3) == on_a_line(story, rpm=20)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_refusals_of_calls_sent_together_shrink_the_limit_once() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[int]:
        await all_at_once(pace, *[trouble("rate", 5)] * 10)
        return told.limits

    assert [7] == on_a_line(story, 10)


@pytest.mark.parametrize("kind", ["rate", "money"])
def test_every_round_of_refusals_shrinks_the_limit_but_never_under_one(kind: Trouble) -> None:
    async def story(pace: RateLimiter, told: Told) -> list[int]:
        for _ in range(9):
            await all_at_once(pace, trouble(kind, 1), trouble(kind, 1))
        return told.limits

    assert [7, 4, 3, 2, 1] == on_a_line(story, 10)


def test_a_round_of_successes_adds_one() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[int]:
        await all_at_once(pace, *[trouble("rate", 1)] * 10)
        await all_at_once(pace, *[None] * 6)
        before = pace.limit
        await all_at_once(pace, *[None] * 2)
        return [before, pace.limit]

    assert [7, 8] == on_a_line(story, 10)


@pytest.mark.parametrize("kind", ["rate", "money", "server", "starting"])
def test_an_asked_wait_holds_back_all_calls(kind: Trouble) -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        await pass_through(pace, trouble(kind, 20))
        return [pace.paused_for, *await all_at_once(pace, *[None] * 8)]

    wait, *sent = on_a_line(story)
    assert 20 == wait
    assert min(sent) >= 21


def test_the_longest_asked_wait_counts() -> None:
    async def story(pace: RateLimiter, told: Told) -> float:
        await all_at_once(pace, trouble("rate", 20), trouble("rate", 50), trouble("rate", 3))
        return pace.paused_for

    assert 50 == on_a_line(story)


def test_a_longer_wait_than_two_minutes_is_capped_and_told_once() -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[float, list[str]]:
        await all_at_once(pace, trouble("rate", 3600), trouble("rate", 3600))
        return pace.paused_for, told.warnings

    wait, warnings = on_a_line(story)
    assert wait == LONGEST_WAIT
    assert 1 == len(warnings)
    assert "3600 s" in warnings[0]


def test_after_a_pause_calls_go_out_over_a_short_time_and_not_all_at_once() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        await pass_through(pace, trouble("rate", 10))
        return await all_at_once(pace, *[None] * 8)

    sent = on_a_line(story, seed=1)
    assert 8 == len(set(sent))
    assert min(sent) >= 11
    assert max(sent) <= 11 + RAMP


def test_refusals_without_a_wait_are_answered_by_growing_pauses_up_to_half_a_minute() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        waits = []
        for _ in range(9):
            await pass_through(pace, trouble("rate"), seconds=0)
            waits.append(pace.paused_for)
            await asyncio.sleep(60)
        return waits

    assert [0.25, 0.5, 1, 2, 4, 8, 15, 15, 15] == on_a_line(story)


def test_a_success_ends_the_growth_of_the_pauses() -> None:
    async def story(pace: RateLimiter, told: Told) -> float:
        for error in (trouble("rate"), trouble("rate"), None, trouble("rate")):
            await pass_through(pace, error)
        return pace.paused_for

    assert 0.25 == on_a_line(story)


# -- failures and outages ----------------------------------------------------------------------------------------------


async def fail_until_open(pace: RateLimiter, kind: Trouble = "connect") -> int:
    """Tries that it took, one after the other."""
    tries = 0
    while not pace.open:
        await pass_through(pace, trouble(kind), seconds=0)
        tries += 1
    return tries


@pytest.mark.parametrize("kind", ["server", "gateway", "connect", "line", "timeout"])
def test_failures_in_a_row_open_the_line(kind: Trouble) -> None:
    async def story(pace: RateLimiter, told: Told) -> int:
        return await fail_until_open(pace, kind)

    assert 10 == on_a_line(story)


def test_a_line_of_one_place_opens_before_a_call_has_used_up_its_tries() -> None:
    async def story(pace: RateLimiter, told: Told) -> int:
        return await fail_until_open(pace)

    assert 4 == on_a_line(story, 1)


@pytest.mark.parametrize("kind", ["rate", "money", "body"])
def test_what_a_living_server_says_never_opens_the_line(kind: Trouble) -> None:
    async def story(pace: RateLimiter, told: Told) -> bool:
        for _ in range(30):
            await pass_through(pace, trouble(kind))
        return pace.open

    assert not on_a_line(story)


def test_a_hiccup_that_fails_all_that_is_under_way_opens_nothing() -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[bool, int]:
        await all_at_once(pace, *[trouble("line")] * 100)
        return pace.open, pace.limit

    assert (False, 100) == on_a_line(story, 100)


def test_an_outage_with_a_hundred_under_way_needs_ten_more_to_be_seen() -> None:
    async def story(pace: RateLimiter, told: Told) -> bool:
        await all_at_once(pace, *[trouble("line")] * 100)
        await all_at_once(pace, *[trouble("line")] * 9)
        return pace.open

    assert on_a_line(story, 100)


def test_a_success_among_failures_keeps_the_line_closed() -> None:
    async def story(pace: RateLimiter, told: Told) -> bool:
        for _ in range(5):
            for error in [trouble("server")] * 9 + [None]:
                await pass_through(pace, error)
        return pace.open

    assert not on_a_line(story)


def test_probes_go_one_at_a_time_with_growing_pauses() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        await fail_until_open(pace)
        down = [all_at_once(pace, trouble("connect"), seconds=0) for _ in range(7)]
        return [sent for (sent,) in await asyncio.gather(*down)]

    sent = on_a_line(story)
    assert [4.5, 9, 18, 36, 54, 54, 54] == pytest.approx([b - a for a, b in zip([0, *sent], sent, strict=False)])


def test_a_probe_that_is_answered_lets_few_go_and_twice_as_many_every_round() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        await fail_until_open(pace)
        return await all_at_once(pace, *[None] * 15)

    sent = on_a_line(story, 16)
    assert {4.5: 1, 5.5: 2, 6.5: 4, 7.5: 8} == {time: sent.count(time) for time in sent}


def test_a_probe_that_is_cancelled_makes_room_for_the_next() -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[bool, bool]:
        await fail_until_open(pace)
        probe, following = (asyncio.ensure_future(pass_through(pace)) for _ in range(2))
        await asyncio.sleep(5)
        under_way = pace.probe is not None
        probe.cancel()
        await following
        return under_way, pace.open

    assert (True, False) == on_a_line(story)


def test_a_probe_that_is_refused_closes_the_line_and_the_next_failure_opens_it_again() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[bool]:
        await fail_until_open(pace)
        await pass_through(pace, trouble("rate", 3))
        refused = pace.open
        await pass_through(pace, trouble("connect"))
        return [refused, pace.open]

    assert [False, True] == on_a_line(story)


def test_an_older_call_that_succeeds_closes_the_line_and_the_probe_no_longer_counts() -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[bool, int]:
        older = asyncio.ensure_future(pass_through(pace, seconds=6))
        await asyncio.sleep(0)
        await fail_until_open(pace)
        await pass_through(pace, trouble("timeout"), seconds=30)
        await older
        return pace.open, pace.under_way

    assert (False, 0) == on_a_line(story)


def test_older_calls_that_fail_while_the_line_is_open_do_not_lengthen_the_pause() -> None:
    async def story(pace: RateLimiter, told: Told) -> float:
        older = [asyncio.ensure_future(pass_through(pace, trouble("line"), seconds=2)) for _ in range(5)]
        await asyncio.sleep(0)
        await fail_until_open(pace)
        await asyncio.gather(*older)
        return await pass_through(pace)

    assert 4.5 == on_a_line(story)


def test_a_new_outage_after_a_success_begins_with_a_short_pause() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        for error in (trouble("connect"), None):
            await fail_until_open(pace)
            await pass_through(pace, error, seconds=0)
        await pass_through(pace, seconds=0)
        await fail_until_open(pace)
        return [seconds for _, seconds in told.pauses]

    assert [4.5, 9, 4.5] == on_a_line(story)


def test_a_fresh_call_probes_before_one_that_has_failed() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[str]:
        order: list[str] = []

        async def call(name: str, again: bool) -> None:
            with await pace.slot(again=again):
                order.append(name)

        await fail_until_open(pace)
        await asyncio.gather(call("failed before", True), call("fresh", False))
        return order

    assert ["fresh", "failed before"] == on_a_line(story)


def test_a_server_that_loads_its_model_is_probed_every_five_seconds_and_is_no_outage_at_first() -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[list[float], list[float]]:
        sent, outages = [], []
        while now() < 330:
            sent.append(await pass_through(pace, trouble("starting"), seconds=0))
            outages.append(pace.outage)
        return sent, outages

    sent, outages = on_a_line(story)
    allowed = int(START_UP // 5)
    assert [5.0 * i for i in range(allowed + 1)] == sent[: allowed + 1]
    assert sent[allowed + 2] - sent[allowed + 1] > 5
    assert {0} == set(outages[: allowed + 1])
    assert outages[-1] > 0


def test_an_outage_lasts_from_its_first_failure_until_a_success() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[float]:
        await pass_through(pace, trouble("connect"))
        await asyncio.sleep(49)
        await pass_through(pace, trouble("connect"))
        before = pace.outage
        await pass_through(pace)
        return [before, pace.outage]

    assert [50, 0] == on_a_line(story)


def test_the_clock_of_patience_stands_still_while_the_line_is_open() -> None:
    async def story(pace: RateLimiter, told: Told) -> float:
        await fail_until_open(pace)
        await pass_through(pace)  # a pause of 4.5 s, and 1 s for the answer
        await asyncio.sleep(3)
        return pace.clock()

    assert 3 == on_a_line(story)


def test_time_outs_in_a_row_shrink_the_limit_and_other_failures_do_not() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[int]:
        await all_at_once(pace, *[trouble("server")] * 10)
        before = pace.limit
        await all_at_once(pace, *[trouble("timeout")] * 10)
        return [before, pace.limit]

    assert [10, 7] == on_a_line(story, 10)


def test_two_time_outs_are_no_storm() -> None:
    async def story(pace: RateLimiter, told: Told) -> int:
        for _ in range(5):
            await all_at_once(pace, trouble("timeout"), trouble("gateway"))
            await pass_through(pace)
        return pace.limit

    assert 10 == on_a_line(story, 10)


def test_a_call_that_the_server_can_never_take_is_an_answer() -> None:
    async def story(pace: RateLimiter, told: Told) -> bool:
        await fail_until_open(pace)
        await pass_through(pace, ItemError("too long"))
        return pace.open

    assert not on_a_line(story)


# -- what is told ------------------------------------------------------------------------------------------------------


def test_a_pause_is_told_once_for_all_that_ask_for_it() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[tuple[str, float]]:
        await all_at_once(pace, *[trouble("rate", 30 + 0.01 * i) for i in range(10)])
        return told.pauses

    ((reason, seconds),) = on_a_line(story)
    assert "no more requests" in reason
    assert 30 == seconds


def test_every_opening_is_told_with_the_last_failure() -> None:
    async def story(pace: RateLimiter, told: Told) -> list[tuple[str, float]]:
        await fail_until_open(pace)
        await pass_through(pace, trouble("connect"), seconds=0)
        return told.pauses

    pauses = on_a_line(story)
    assert [4.5, 9] == [seconds for _, seconds in pauses]
    assert all("some connect trouble" in reason for reason, _ in pauses)


def test_a_thousand_waiting_calls_all_get_their_turn() -> None:
    async def story(pace: RateLimiter, told: Told) -> tuple[float, int, int]:
        await all_at_once(pace, *[None] * 1000)
        return now(), pace.under_way, waiting(pace)

    assert (10, 0, 0) == on_a_line(story, 100)
