"""The line to one model: what one call's trouble means for the others, and who goes when."""

from __future__ import annotations

import asyncio

import pytest
from lines import Told, all_at_once, now, on_a_line, pass_through, trouble, waiting

from attunebench.errors import ItemError, Trouble
from attunebench.runner.pacing import LONGEST_WAIT, RAMP, START_UP, RateLimiter

# -- places ------------------------------------------------------------------------------------------------------------


@on_a_line(3)
async def test_no_more_than_the_ceiling_are_under_way_and_turns_come_in_order(pace: RateLimiter) -> None:
    assert [0, 0, 0, 1, 1, 1, 2] == await all_at_once(pace, *[None] * 7)


@on_a_line(1)
async def test_a_call_that_was_sent_before_goes_before_fresh_ones(pace: RateLimiter) -> None:
    order: list[str] = []

    async def call(name: str, again: bool) -> None:
        with await pace.slot(again=again):
            order.append(name)
            await asyncio.sleep(1)

    await asyncio.gather(call("a", False), call("b", False), call("c", False), call("retry", True))
    assert ["a", "retry", "b", "c"] == order


@pytest.mark.parametrize("freed_first", [True, False])
@on_a_line(1)
async def test_a_turn_that_comes_together_with_the_cancellation_is_passed_on(
    pace: RateLimiter, freed_first: bool
) -> None:
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
    assert (0, 0) == (pace.under_way, waiting(pace))


# -- rates -------------------------------------------------------------------------------------------------------------


@on_a_line(rpm=20)
async def test_requests_a_minute_are_kept_without_bursts(pace: RateLimiter) -> None:
    assert [0, 3, 6, 9] == pytest.approx(await all_at_once(pace, *[None] * 4, seconds=0.0))


@on_a_line(tpm=60_000)
async def test_tokens_a_minute_count_as_estimated_and_are_corrected_by_what_was_used(pace: RateLimiter) -> None:
    sent = []
    for used in (1000, 4000, 100):
        with await pace.slot(1000) as slot:
            sent.append(now())
            slot.tokens = used
    # 1,000 a second: the second call took 4 s worth of tokens, the third gave 900 back.
    assert [0, 1, 5, 5.1] == pytest.approx([*sent, await pass_through(pace, tokens=1000)])


@on_a_line(tpm=60_000)
async def test_a_request_that_exceeds_a_seconds_worth_of_tokens_goes_all_the_same(pace: RateLimiter) -> None:
    assert [0, 5] == pytest.approx([await pass_through(pace, seconds=0, tokens=5000) for _ in range(2)])


@on_a_line(tpm=60_000)
async def test_small_requests_do_not_overtake_one_that_waits_for_its_tokens_unless_it_is_cancelled(
    pace: RateLimiter,
) -> None:
    await pass_through(pace, seconds=0, tokens=1000)
    large = asyncio.ensure_future(pass_through(pace, seconds=0, tokens=1000))
    await asyncio.sleep(0.25)
    small = asyncio.ensure_future(pass_through(pace, seconds=0, tokens=100))
    await asyncio.sleep(0.25)
    held = waiting(pace)
    large.cancel()
    assert [2, 0.5] == [held, await small]


@on_a_line(rpm=20)
async def test_a_turn_that_was_not_used_costs_nothing_of_the_rates(pace: RateLimiter) -> None:
    await pass_through(pace, seconds=0)
    second, third = (asyncio.ensure_future(pass_through(pace, seconds=0)) for _ in range(2))
    asyncio.get_running_loop().call_at(3, lambda: asyncio.get_running_loop().call_soon(second.cancel))
    assert pytest.approx(3) == await third


# -- refusals ----------------------------------------------------------------------------------------------------------


@on_a_line(10)
async def test_refusals_of_calls_sent_together_shrink_the_limit_once(pace: RateLimiter, told: Told) -> None:
    await all_at_once(pace, *[trouble("rate", 5)] * 10)
    assert [7] == told.limits


@pytest.mark.parametrize("kind", ["rate", "money"])
@on_a_line(10)
async def test_every_round_of_refusals_shrinks_the_limit_but_never_under_one(
    pace: RateLimiter, told: Told, kind: Trouble
) -> None:
    for _ in range(9):
        await all_at_once(pace, trouble(kind, 1), trouble(kind, 1))
    assert [7, 4, 3, 2, 1] == told.limits


@on_a_line(10)
async def test_a_round_of_successes_adds_one(pace: RateLimiter) -> None:
    await all_at_once(pace, *[trouble("rate", 1)] * 10)
    await all_at_once(pace, *[None] * 6)
    before = pace.limit
    await all_at_once(pace, *[None] * 2)
    assert [7, 8] == [before, pace.limit]


@pytest.mark.parametrize("kind", ["rate", "money", "server", "starting"])
@on_a_line()
async def test_an_asked_wait_holds_back_all_calls(pace: RateLimiter, kind: Trouble) -> None:
    await pass_through(pace, trouble(kind, 20))
    assert 20 == pace.paused_for
    assert min(await all_at_once(pace, *[None] * 8)) >= 21


@on_a_line()
async def test_the_longest_asked_wait_counts(pace: RateLimiter) -> None:
    await all_at_once(pace, trouble("rate", 20), trouble("rate", 50), trouble("rate", 3))
    assert 50 == pace.paused_for


@on_a_line()
async def test_a_longer_wait_than_two_minutes_is_capped_and_told_once(pace: RateLimiter, told: Told) -> None:
    await all_at_once(pace, trouble("rate", 3600), trouble("rate", 3600))
    assert LONGEST_WAIT == pace.paused_for
    assert ["3600 s" in warning for warning in told.warnings] == [True]


@on_a_line(seed=1)
async def test_after_a_pause_calls_go_out_over_a_short_time_and_not_all_at_once(pace: RateLimiter) -> None:
    await pass_through(pace, trouble("rate", 10))
    sent = await all_at_once(pace, *[None] * 8)
    assert 8 == len(set(sent))
    assert min(sent) >= 11
    assert max(sent) <= 11 + RAMP


@on_a_line()
async def test_refusals_without_a_wait_are_answered_by_growing_pauses_up_to_half_a_minute(pace: RateLimiter) -> None:
    waits = []
    for _ in range(9):
        await pass_through(pace, trouble("rate"), seconds=0)
        waits.append(pace.paused_for)
        await asyncio.sleep(60)
    assert [0.25, 0.5, 1, 2, 4, 8, 15, 15, 15] == waits


@on_a_line()
async def test_a_success_ends_the_growth_of_the_pauses(pace: RateLimiter) -> None:
    for error in (trouble("rate"), trouble("rate"), None, trouble("rate")):
        await pass_through(pace, error)
    assert 0.25 == pace.paused_for


# -- failures and outages ----------------------------------------------------------------------------------------------


async def fail_until_open(pace: RateLimiter, kind: Trouble = "connect") -> int:
    """Tries that it took, one after the other."""
    tries = 0
    while not pace.open:
        await pass_through(pace, trouble(kind), seconds=0)
        tries += 1
    return tries


@pytest.mark.parametrize("kind", ["server", "gateway", "connect", "line", "timeout"])
@on_a_line()
async def test_failures_in_a_row_open_the_line(pace: RateLimiter, kind: Trouble) -> None:
    assert 10 == await fail_until_open(pace, kind)


@on_a_line(1)
async def test_a_line_of_one_place_opens_before_a_call_has_used_up_its_tries(pace: RateLimiter) -> None:
    assert 4 == await fail_until_open(pace)


@pytest.mark.parametrize("kind", ["rate", "money", "body"])
@on_a_line()
async def test_what_a_living_server_says_never_opens_the_line(pace: RateLimiter, kind: Trouble) -> None:
    for _ in range(30):
        await pass_through(pace, trouble(kind))
    assert not pace.open


@on_a_line(100)
async def test_a_hiccup_that_fails_all_that_is_under_way_opens_nothing(pace: RateLimiter) -> None:
    await all_at_once(pace, *[trouble("line")] * 100)
    assert (False, 100) == (pace.open, pace.limit)


@on_a_line(100)
async def test_an_outage_with_a_hundred_under_way_needs_ten_more_to_be_seen(pace: RateLimiter) -> None:
    await all_at_once(pace, *[trouble("line")] * 100)
    await all_at_once(pace, *[trouble("line")] * 9)
    assert pace.open


@on_a_line()
async def test_a_success_among_failures_keeps_the_line_closed(pace: RateLimiter) -> None:
    for _ in range(5):
        for error in [trouble("server")] * 9 + [None]:
            await pass_through(pace, error)
    assert not pace.open


@on_a_line()
async def test_probes_go_one_at_a_time_with_growing_pauses(pace: RateLimiter) -> None:
    await fail_until_open(pace)
    down = [all_at_once(pace, trouble("connect"), seconds=0) for _ in range(7)]
    sent = [sent for (sent,) in await asyncio.gather(*down)]
    assert [4.5, 9, 18, 36, 54, 54, 54] == pytest.approx([b - a for a, b in zip([0, *sent], sent, strict=False)])


@on_a_line(16)
async def test_a_probe_that_is_answered_lets_few_go_and_twice_as_many_every_round(pace: RateLimiter) -> None:
    await fail_until_open(pace)
    sent = await all_at_once(pace, *[None] * 15)
    assert {4.5: 1, 5.5: 2, 6.5: 4, 7.5: 8} == {time: sent.count(time) for time in sent}


@on_a_line()
async def test_a_probe_that_is_cancelled_makes_room_for_the_next(pace: RateLimiter) -> None:
    await fail_until_open(pace)
    probe, following = (asyncio.ensure_future(pass_through(pace)) for _ in range(2))
    await asyncio.sleep(5)
    under_way = pace.probe is not None
    probe.cancel()
    await following
    assert (True, False) == (under_way, pace.open)


@on_a_line()
async def test_a_probe_that_is_refused_closes_the_line_and_the_next_failure_opens_it_again(pace: RateLimiter) -> None:
    await fail_until_open(pace)
    await pass_through(pace, trouble("rate", 3))
    refused = pace.open
    await pass_through(pace, trouble("connect"))
    assert [False, True] == [refused, pace.open]


@on_a_line()
async def test_an_older_call_that_succeeds_closes_the_line_and_the_probe_no_longer_counts(pace: RateLimiter) -> None:
    older = asyncio.ensure_future(pass_through(pace, seconds=6))
    await asyncio.sleep(0)
    await fail_until_open(pace)
    await pass_through(pace, trouble("timeout"), seconds=30)
    await older
    assert (False, 0) == (pace.open, pace.under_way)


@on_a_line()
async def test_older_calls_that_fail_while_the_line_is_open_do_not_lengthen_the_pause(pace: RateLimiter) -> None:
    older = [asyncio.ensure_future(pass_through(pace, trouble("line"), seconds=2)) for _ in range(5)]
    await asyncio.sleep(0)
    await fail_until_open(pace)
    await asyncio.gather(*older)
    assert 4.5 == await pass_through(pace)


@on_a_line()
async def test_a_new_outage_after_a_success_begins_with_a_short_pause(pace: RateLimiter, told: Told) -> None:
    for error in (trouble("connect"), None):
        await fail_until_open(pace)
        await pass_through(pace, error, seconds=0)
    await pass_through(pace, seconds=0)
    await fail_until_open(pace)
    assert [4.5, 9, 4.5] == [seconds for _, seconds in told.pauses]


@on_a_line()
async def test_a_fresh_call_probes_before_one_that_has_failed(pace: RateLimiter) -> None:
    order: list[str] = []

    async def call(name: str, again: bool) -> None:
        with await pace.slot(again=again):
            order.append(name)

    await fail_until_open(pace)
    await asyncio.gather(call("failed before", True), call("fresh", False))
    assert ["fresh", "failed before"] == order


@on_a_line()
async def test_a_server_that_loads_its_model_is_probed_every_five_seconds_and_is_no_outage_at_first(
    pace: RateLimiter,
) -> None:
    sent, outages = [], []
    while now() < 330:
        sent.append(await pass_through(pace, trouble("starting"), seconds=0))
        outages.append(pace.outage)
    allowed = int(START_UP // 5)
    assert [5.0 * i for i in range(allowed + 1)] == sent[: allowed + 1]
    assert sent[allowed + 2] - sent[allowed + 1] > 5
    assert {0} == set(outages[: allowed + 1])
    assert outages[-1] > 0


@on_a_line()
async def test_an_outage_lasts_from_its_first_failure_until_a_success(pace: RateLimiter) -> None:
    await pass_through(pace, trouble("connect"))
    await asyncio.sleep(49)
    await pass_through(pace, trouble("connect"))
    before = pace.outage
    await pass_through(pace)
    assert [50, 0] == [before, pace.outage]


@on_a_line()
async def test_the_clock_of_patience_stands_still_while_the_line_is_open(pace: RateLimiter) -> None:
    await fail_until_open(pace)
    await pass_through(pace)  # a pause of 4.5 s, and 1 s for the answer
    await asyncio.sleep(3)
    assert 3 == pace.clock()


@on_a_line(10)
async def test_time_outs_in_a_row_shrink_the_limit_and_other_failures_do_not(pace: RateLimiter) -> None:
    await all_at_once(pace, *[trouble("server")] * 10)
    before = pace.limit
    await all_at_once(pace, *[trouble("timeout")] * 10)
    assert [10, 7] == [before, pace.limit]


@on_a_line(10)
async def test_two_time_outs_are_no_storm(pace: RateLimiter) -> None:
    for _ in range(5):
        await all_at_once(pace, trouble("timeout"), trouble("gateway"))
        await pass_through(pace)
    assert 10 == pace.limit


@on_a_line()
async def test_a_call_that_the_server_can_never_take_is_an_answer(pace: RateLimiter) -> None:
    await fail_until_open(pace)
    await pass_through(pace, ItemError("too long"))
    assert not pace.open


# -- what is told ------------------------------------------------------------------------------------------------------


@on_a_line()
async def test_a_pause_is_told_once_for_all_that_ask_for_it(pace: RateLimiter, told: Told) -> None:
    await all_at_once(pace, *[trouble("rate", 30 + 0.01 * i) for i in range(10)])
    ((reason, seconds),) = told.pauses
    assert "no more requests" in reason
    assert 30 == seconds


@on_a_line()
async def test_every_opening_is_told_with_the_last_failure(pace: RateLimiter, told: Told) -> None:
    await fail_until_open(pace)
    await pass_through(pace, trouble("connect"), seconds=0)
    assert [4.5, 9] == [seconds for _, seconds in told.pauses]
    assert all("some connect trouble" in reason for reason, _ in told.pauses)


@on_a_line(100)
async def test_a_thousand_waiting_calls_all_get_their_turn(pace: RateLimiter) -> None:
    await all_at_once(pace, *[None] * 1000)
    assert (10, 0, 0) == (now(), pace.under_way, waiting(pace))
