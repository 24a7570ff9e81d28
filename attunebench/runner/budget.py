"""What a run may still spend: prices, the worst case of everything under way, and the bound of --max-cost.

`Budget` only counts; `Purse` lets callers wait for it. A request is let out only if the run would stay within the bound
even if this one and all that are under way took all that they may.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attunebench.backends.prices import Prices
from attunebench.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.protocol.calls import Message
    from attunebench.runner.settings import RunSettings

USUAL_BYTES_PER_TOKEN = 4.0
"""A rule of thumb for English text. At worst each byte is a token: no tokenizer in use makes more of a text."""
MARGIN = 2.0
"""How much denser in tokens than the densest prompt so far the next one is taken to be. Servers count the answer schema
as prompt, which the messages do not show: at 0.26 tokens a byte for the first drafts, at up to 0.48 for a review."""
SEEN_ENOUGH = 20
"""Replies with token counts after which the prompts' real density is gone by."""
_MILLION = 1e6


class BudgetSpent(Exception):  # noqa: N818 (no error: the run is over)
    """The request might cost more than what is left."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request that is under way: to whom, how long its prompt is in bytes, and what it may cost at worst in USD."""

    who: int
    size: int
    worst: float


class Budget:
    """The money of one run.

    `max_cost` in USD, None for no bound; `prices` of those who are asked: the evaluated model (`who` 0), then the
    judges. Where a price is unknown a request is taken to cost nothing, so a bound needs all of them (`check_bound`).
    """

    def __init__(self, max_cost: float | None = None, prices: Sequence[Prices | None] = ()) -> None:
        self.max_cost = max_cost
        self.spent = 0.0
        self._prices = prices
        self._under_way = 0.0
        self._open = 0
        self._density: dict[int, tuple[int, float]] = {}
        self._replies = 0

    @property
    def under_way(self) -> bool:
        """Whether requests are under way, so that the bound may have room again when they end."""
        return self._open > 0

    def prompt_tokens(self, messages: Sequence[Message]) -> int:
        """About how many tokens a prompt has: for rates, not for money."""
        return round(_size(messages) / USUAL_BYTES_PER_TOKEN)

    def reserve(self, who: int, messages: Sequence[Message], max_tokens: int) -> Ticket:
        """Cover the worst case of one request. Raises BudgetSpent where that might exceed the bound."""
        size = _size(messages)
        worst = self._worst(who, size, max_tokens)
        if self.max_cost is not None and self.spent + self._under_way + worst > self.max_cost:
            raise BudgetSpent
        self._open += 1
        self._under_way += worst
        return Ticket(who, size, worst)

    def settle(self, ticket: Ticket, reply: Reply | None, *, maybe_billed: bool = True) -> float | None:
        """The request is over: its cost in USD, as the provider states it or by the prices; None where it is unknown.

        What is unknown, and what may be billed though there is no reply, counts at its worst case for the bound.
        """
        self._open -= 1
        self._under_way = self._under_way - ticket.worst if self._open else 0.0
        if reply is None:
            self.spent += ticket.worst if maybe_billed else 0.0
            return None
        cost = reply.cost
        if cost is None and (prices := self._price(ticket.who)) is not None:
            cost = prices.cost(reply.usage)
        self.spent += ticket.worst if cost is None else cost
        self._replies += 1
        self._learn(ticket, reply)
        return cost

    def may_open(self, calls_left: int) -> bool:
        """Whether a conversation may be begun beside those that have `calls_left` calls to make.

        A soft bound, by the mean cost so far: money is better spent on ending what is begun.
        """
        if self.max_cost is None or not self._replies:
            return True
        return self.spent + self.spent / self._replies * calls_left < self.max_cost

    def _price(self, who: int) -> Prices | None:
        return self._prices[who] if who < len(self._prices) else None

    def _worst(self, who: int, size: int, max_tokens: int) -> float:
        prices = self._price(who)
        if prices is None:
            return 0.0
        seen, densest = self._density.get(who, (0, 0.0))
        tokens = size * min(1.0, densest * MARGIN) if seen >= SEEN_ENOUGH else size
        return tokens * prices.prompt + max_tokens * prices.completion + prices.request

    def _learn(self, ticket: Ticket, reply: Reply) -> None:
        if reply.usage.prompt_tokens is not None and ticket.size:
            seen, densest = self._density.get(ticket.who, (0, 0.0))
            self._density[ticket.who] = (seen + 1, max(densest, reply.usage.prompt_tokens / ticket.size))


class Purse:
    """A budget that callers wait for: what does not fit now may fit when the requests under way have ended cheaper."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve(self, who: int, messages: Sequence[Message], max_tokens: int) -> Ticket:
        """As `Budget.reserve`, with the wait. Raises BudgetSpent when nothing is under way that could make room."""
        while True:
            try:
                return self.budget.reserve(who, messages, max_tokens)
            except BudgetSpent:
                if not self.budget.under_way:
                    raise
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def settle(self, ticket: Ticket, reply: Reply | None, *, maybe_billed: bool = True) -> float | None:
        """As `Budget.settle`; those who wait look again."""
        cost = self.budget.settle(ticket, reply, maybe_billed=maybe_billed)
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
        return cost


def prices_for(settings: RunSettings, listed: Prices | None, *, judge: bool) -> tuple[Prices | None, str]:
    """The prices of the evaluated model, or of the judges, and where they come from in words.

    What the user gives wins over what the provider lists. Raises UsageError where only one of the two is given.
    """
    option = "--judge-price" if judge else "--price"
    into = settings.judge_price_in if judge else settings.price_in
    out = settings.judge_price_out if judge else settings.price_out
    if into is None and out is None:
        return listed, "the provider's list" if listed is not None else ""
    if into is None or out is None:
        given, lacking = ("out", "in") if into is None else ("in", "out")
        raise UsageError(f"{option}-{given} without {option}-{lacking}: give both, in USD for a million tokens.")
    return Prices(into / _MILLION, out / _MILLION), f"{option}-in and {option}-out"


def check_bound(settings: RunSettings, prices: Sequence[Prices | None]) -> None:
    """Raises ConfigurationError where --max-cost has no prices to go by; `prices` of the model, then of the judges."""
    if settings.max_cost is not None and (lacking := options_for_prices(prices)):
        raise ConfigurationError(
            "--max-cost needs prices, and the provider lists none under this name (is it right?): "
            f"give {lacking} in USD for a million tokens."
        )


def options_for_prices(prices: Sequence[Prices | None]) -> str:
    """The options that would give the prices which are not known, of the model, then of the judges; "" for none."""
    lacking = ["--price-in and --price-out"] if prices[0] is None else []
    if None in prices[1:]:
        lacking.append("--judge-price-in and --judge-price-out")
    return " and ".join(lacking)


def _size(messages: Sequence[Message]) -> int:
    """Bytes of the prompt's texts."""
    return sum(len(m.content) if m.content.isascii() else len(m.content.encode("utf-8", "replace")) for m in messages)
