"""The budget of a run: a request is sent only if the run stays within --max-cost even if it and all requests in flight
cost their worst case."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from attunebench.backends.base import Reply
from attunebench.backends.prices import Prices
from attunebench.protocol.calls import Message, Usage

USUAL_BYTES_PER_TOKEN = 4.0
"""A rule of thumb for English text. At worst each byte is a token: no tokenizer in use makes more of a text, and that
leaves room for the answer schema, which servers count as prompt (messages and schema: up to 0.48 tokens a byte)."""


Ticket = tuple[int, float]  # of a request in flight: who is asked, and its worst-case cost in USD


class BudgetSpent(Exception):  # noqa: N818 (no error: the run is over)
    """The request might cost more than what is left."""


@dataclass(slots=True)
class Cost:
    """One part of what was spent. `cost`: USD, the known part; `unpriced` counts the replies whose cost is unknown."""

    replies: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage, cost: float | None) -> None:
        self.replies += 1
        self.usage += usage
        self.unpriced += cost is None
        self.cost += cost or 0.0

    def __add__(self, other: Cost) -> Cost:
        replies, usage = self.replies + other.replies, self.usage + other.usage
        return Cost(replies, usage, self.cost + other.cost, self.unpriced + other.unpriced)

    @property
    def total(self) -> float | None:
        """USD, or None where a part is unknown: a partial sum would look like a total."""
        return None if self.unpriced or not self.replies else self.cost


class Budget:
    """A run's budget. `prices`: of the evaluated model (`who` 0), then of the judges; an unknown one counts as zero, so
    a bound requires all of them (`check_bound`). `model` and `judges` sum up the replies of this run, `wasted` those
    that were asked for again. `lost` counts requests without a usable reply that may be billed, `replayed` replies from
    the journal, `spent` is what counts against the bound, in USD. Once it is `closed` nothing more is sent."""

    def __init__(self, max_cost: float | None = None, prices: Sequence[Prices | None] = ()) -> None:
        self.model, self.judges, self.wasted = Cost(), Cost(), Cost()
        self.lost = self.replayed = 0
        self.spent = 0.0
        self.closed = False
        self.max_cost = max_cost
        self.prices = prices
        self._under_way = 0.0
        self._open = 0
        self._room = asyncio.Event()

    @property
    def cost(self) -> float | None:
        """USD of model and judges, or None where a part of it is unknown or nothing was requested."""
        return (self.model + self.judges).total

    @property
    def usage(self) -> Usage:
        return self.model.usage + self.judges.usage

    def cover(self, who: int, messages: Sequence[Message], max_tokens: int) -> Ticket:
        """Cover the worst case of one request. Raises BudgetSpent where that might exceed the bound."""
        prices, worst = self._price(who), 0.0
        if prices is not None:
            worst = prompt_size(messages) * prices.prompt + max_tokens * prices.completion + prices.request
        if self.max_cost is not None and self.spent + self._under_way + worst > self.max_cost:
            raise BudgetSpent
        self._open += 1
        self._under_way += worst
        return who, worst

    async def reserve(self, who: int, messages: Sequence[Message], max_tokens: int) -> Ticket:
        """As `cover`, but waits for requests in flight that may end cheaper; raises BudgetSpent if there are none."""
        while True:
            try:
                return self.cover(who, messages, max_tokens)
            except BudgetSpent:
                if not self._open:
                    raise
            self._room.clear()
            await self._room.wait()

    def settle(self, ticket: Ticket, reply: Reply | None, *, maybe_billed: bool = True) -> float | None:
        """The request is over: its cost in USD, None where it is unknown. Unknown costs, and requests that may be
        billed without a reply, count against the bound at their worst case."""
        who, worst = ticket
        self._open -= 1
        self._under_way = self._under_way - worst if self._open else 0.0
        cost = None
        if reply is None:
            self.spent += worst if maybe_billed else 0.0
        else:
            cost = self.take(who, reply)
            self.spent += worst if cost is None else cost
        self._room.set()
        return cost

    def take(self, who: int, reply: Reply) -> float | None:
        """Count a reply; its cost in USD."""
        cost = reply.cost
        if cost is None and (prices := self._price(who)) is not None:
            cost = prices.cost(reply.usage)
        (self.judges if who else self.model).add(reply.usage, cost)
        return cost

    def may_open(self, calls_left: int) -> bool:
        """Whether another job is affordable beside the `calls_left` calls of started ones, at the mean cost so far."""
        replies = self.model.replies + self.judges.replies
        if self.max_cost is None or not replies:
            return True
        return self.spent + self.spent / replies * calls_left < self.max_cost

    def _price(self, who: int) -> Prices | None:
        return self.prices[who] if who < len(self.prices) else None


def prompt_size(messages: Sequence[Message]) -> int:
    return sum(len(m.content) if m.content.isascii() else len(m.content.encode("utf-8", "replace")) for m in messages)
