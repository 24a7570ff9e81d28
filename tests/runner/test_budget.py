"""What a run may spend: it never exceeds its bound, and does not stop while a request would fit."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.backends.prices import Prices
from attunebench.errors import ConfigurationError, UsageError
from attunebench.protocol.calls import Message, Usage
from attunebench.runner import ModelSettings, RunSettings
from attunebench.runner.budget import Budget, BudgetSpent, Ticket
from attunebench.runner.pricing import check_bound, prices_for

DOLLAR = Prices(prompt=1.0, completion=1.0)
"""USD a token, so that sums can be read."""


def prompt(size: int) -> tuple[Message, ...]:
    return (Message("user", "x" * size),)


def used(tokens: int, completion: int = 0, cost: float | None = None) -> Reply:
    return Reply("{}", usage=Usage(prompt_tokens=tokens, completion_tokens=completion), cost=cost)


def test_what_turns_out_cheaper_makes_room() -> None:
    budget = Budget(20.0, [DOLLAR])
    ticket = budget.cover(0, prompt(5), 10)
    assert 3.0 == budget.settle(ticket, used(2, 1))
    assert 3.0 == budget.spent
    budget.cover(0, prompt(5), 10)


def test_the_cost_that_the_provider_states_wins_over_the_prices() -> None:
    budget = Budget(None, [DOLLAR])
    assert 0.5 == budget.settle(budget.cover(0, prompt(5), 10), used(2, 1, cost=0.5))


def test_an_unknown_cost_is_unknown_and_counts_at_its_worst() -> None:
    budget = Budget(100.0, [DOLLAR])
    assert budget.settle(budget.cover(0, prompt(5), 10), Reply("{}")) is None
    assert 15.0 == budget.spent


def test_a_lost_request_counts_at_its_worst_where_it_may_be_billed() -> None:
    budget = Budget(100.0, [DOLLAR])
    budget.settle(budget.cover(0, prompt(5), 10), None, maybe_billed=False)
    assert 0.0 == budget.spent
    budget.settle(budget.cover(0, prompt(5), 10), None, maybe_billed=True)
    assert 15.0 == budget.spent


def test_text_beyond_ascii_is_taken_by_its_bytes() -> None:
    budget = Budget(10.0, [DOLLAR])
    with pytest.raises(BudgetSpent):
        budget.cover(0, (Message("user", "愛愛愛愛"),), 0)


def test_no_conversation_is_begun_that_is_unlikely_to_be_paid_to_its_end() -> None:
    budget = Budget(10.0, [DOLLAR])
    assert budget.may_open(1000)
    budget.settle(budget.cover(0, prompt(1), 1), used(1, 1))
    assert budget.may_open(3)
    assert not budget.may_open(4)


requests = st.lists(
    st.tuples(
        st.integers(0, 2),  # who
        st.integers(1, 200),  # bytes
        st.integers(1, 100),  # limit of the reply
        st.floats(0, 1),  # share of the worst case that it really costs
        st.sampled_from(["stated", "counted", "unknown", "lost", "refused"]),
        st.integers(0, 8),  # under way for so many further requests
    ),
    max_size=80,
)


@given(requests, st.floats(0.01, 500), st.lists(st.floats(0, 2), min_size=6, max_size=6))
def test_whatever_happens_no_more_than_the_bound_is_spent(
    asked: list[tuple[int, int, int, float, str, int]], bound: float, rates: list[float]
) -> None:
    prices = [Prices(rates[2 * who], rates[2 * who + 1]) for who in range(3)]
    budget, billed, open_ = Budget(bound, prices), 0.0, []
    for who, size, limit, share, how, ends in asked:
        worst = size * prices[who].prompt + limit * prices[who].completion
        fits = budget.spent + sum(item[0][1] for item in open_) + worst <= bound
        try:
            ticket = budget.cover(who, prompt(size), limit)
        except BudgetSpent:
            assert not fits
        else:
            open_.append((ticket, share, how, ends, size, limit))
        for item in [item for item in open_ if item[3] <= 0]:
            billed += settle(budget, prices, *item)
        open_ = [(*item[:3], item[3] - 1, *item[4:]) for item in open_ if item[3] > 0]
    for item in open_:
        billed += settle(budget, prices, *item)
    assert billed <= bound + 1e-6


def settle(
    budget: Budget, prices: list[Prices], ticket: Ticket, share: float, how: str, ends: int, size: int, limit: int
) -> float:
    """Ends a request as told; the USD that it is really billed, which is never more than its worst case."""
    price = prices[ticket[0]]
    tokens, replied = int(size * share), int(limit * share)
    real = tokens * price.prompt + replied * price.completion
    reply = {
        "stated": used(tokens, replied, cost=real),
        "counted": used(tokens, replied),
        "unknown": Reply("{}"),
    }.get(how)
    budget.settle(ticket, reply, maybe_billed=how != "refused")
    return 0.0 if how == "refused" else real


def test_who_does_not_fit_waits_for_what_is_under_way_and_goes_when_there_is_room() -> None:
    async def scene() -> list[str]:
        budget, told = Budget(20.0, [DOLLAR]), []
        first = await budget.reserve(0, prompt(5), 10)

        async def second() -> None:
            await budget.reserve(0, prompt(5), 10)
            told.append("second")

        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)
        told.append("first ends")
        budget.settle(first, used(1, 1))
        await waiting
        return told

    assert ["first ends", "second"] == asyncio.run(scene())


def test_who_can_never_fit_is_told_once_nothing_is_under_way() -> None:
    async def scene() -> None:
        budget = Budget(20.0, [DOLLAR])
        first = await budget.reserve(0, prompt(5), 10)
        waiting = asyncio.create_task(budget.reserve(0, prompt(5), 10))
        await asyncio.sleep(0)
        budget.settle(first, used(5, 10))
        with pytest.raises(BudgetSpent):
            await waiting

    asyncio.run(scene())


def told(**settings: float) -> RunSettings:
    judge = ModelSettings(provider="local", model="j", base_url="http://localhost/v1")
    return RunSettings(em=judge.model_copy(update={"model": "m"}), judges=(judge,), **settings)


def test_given_prices_win_and_are_for_a_million_tokens() -> None:
    prices, source = prices_for(told(price_in=3.0, price_out=15.0), DOLLAR, judge=False)
    assert prices == Prices(3 / 1e6, 15 / 1e6)
    assert "--price-in and --price-out" == source


@pytest.mark.parametrize("given", ["price_in", "price_out", "judge_price_in", "judge_price_out"])
def test_one_price_alone_is_refused(given: str) -> None:
    lacking = given.replace("_in", "_OUT").replace("_out", "_in").lower().replace("_", "-")
    with pytest.raises(UsageError, match=f"without --{lacking}"):
        prices_for(told(**{given: 1.0}), None, judge=given.startswith("judge"))


def test_a_bound_without_prices_names_the_options_that_give_them() -> None:
    with pytest.raises(ConfigurationError, match="--price-in and --price-out and --judge-price-in"):
        check_bound(told(max_cost=1.0), [None, None])
    check_bound(told(), [None, None])
