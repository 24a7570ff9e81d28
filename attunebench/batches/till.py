"""The money of a run by batches: what a batch costs beside a live call, what may still be spent, what was.

Prices are those of live calls, less the discount. Knows no service and no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attunebench.protocol.calls import Usage
from attunebench.runner.budget import Budget, BudgetSpent, Ticket

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.backends.prices import Prices
    from attunebench.batches.rounds import ToAsk
    from attunebench.batches.table import Row
    from attunebench.runner.walk import Open

OPENAI_DISCOUNT = 0.5
"""The share of a live call's price that a batch saves. Source: OpenAI's help, article 9197833, on 28 November 2026."""


def usual_discount(provider: str) -> float:
    """The discount of a provider's batches, from 0 to 1, as far as it is known; of servers in general nothing is."""
    return OPENAI_DISCOUNT if provider == "openai" else 0.0


def discounted(prices: Sequence[Prices | None], discount: float) -> list[Prices | None]:
    """The prices less a share of them."""
    left = 1.0 - discount
    return [
        each
        and replace(
            each,
            prompt=each.prompt * left,
            completion=each.completion * left,
            cached=None if each.cached is None else each.cached * left,
            request=each.request * left,
        )
        for each in prices
    ]


class Till:
    """Covers requests before they are sent, and counts what answers cost. `prices`: a batch's, by who is asked."""

    def __init__(self, max_cost: float | None, prices: Sequence[Prices | None]) -> None:
        self.spending = Spending()
        self._prices = prices
        self._budget = Budget(max_cost, prices)
        self._tickets: dict[str, Ticket] = {}
        self._last: dict[str, tuple[Usage, float | None]] = {}

    def cover(self, asks: Sequence[ToAsk]) -> bool:
        """Whether all of these can be paid at worst, beside what is under way; then they are covered."""
        covered: dict[str, Ticket] = {}
        try:
            for each in asks:
                covered[each.hashed.request] = self._reserve(each.open)
        except BudgetSpent:
            for ticket in covered.values():
                self._budget.settle(ticket, None, maybe_billed=False)
            return False
        self._tickets |= covered
        for each in asks:
            self._count_waste(each.open)
        return True

    def cost(self, row: Row, reply: Reply) -> float | None:
        """What this answer costs in USD, None where that is unknown; it is counted."""
        ticket = self._tickets.pop(row.request_hash, None)
        who = 0 if row.judge is None else row.judge + 1
        if ticket is not None:
            cost = self._budget.settle(ticket, reply)
        else:  # sent by an earlier run, whose bound it was under
            prices = self._prices[who] if who < len(self._prices) else None
            cost = reply.cost if reply.cost is not None or prices is None else prices.cost(reply.usage)
        share = self.spending.judges if who else self.spending.model
        share.add(reply.usage, cost)
        self._last[row.call_id] = (reply.usage, cost)
        return cost

    def release(self, request_hash: str) -> None:
        """The request ended without an answer, and costs nothing."""
        if (ticket := self._tickets.pop(request_hash, None)) is not None:
            self._budget.settle(ticket, None, maybe_billed=False)

    @property
    def replies(self) -> int:
        """Answers that were counted."""
        return sum(share.replies for share in self._shares)

    @property
    def _shares(self) -> tuple[Share, Share]:
        return self.spending.model, self.spending.judges

    def _reserve(self, each: Open) -> Ticket:
        return self._budget.reserve(each.who, each.ask.messages, each.ask.max_tokens)

    def _count_waste(self, each: Open) -> None:
        """A call that is asked again has wasted its last answer."""
        if each.ask.number and (last := self._last.pop(each.call.id, None)) is not None:
            self.spending.wasted.add(*last)
