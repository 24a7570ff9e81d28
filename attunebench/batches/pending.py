"""What is known of a run's requests beside their answers: which are under way, what they cost, which are given up.

By their hashes. Sends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attunebench.errors import RejectedError
from attunebench.runner.budget import BudgetSpent
from attunebench.runner.pricing import KnownPrices

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.batches.requests import Row
    from attunebench.errors import AttuneBenchError
    from attunebench.journal import RequestHash
    from attunebench.protocol.calls import Usage
    from attunebench.runner.budget import Budget, Ticket
    from attunebench.runner.job import Open

OPENAI_DISCOUNT = 0.5
"""The share of a live call's price that a batch saves. Source: OpenAI's help, article 9197833, on 28 November 2026."""
MOST_BATCHES = 3
"""How many batches may bring no answer to one request before it is given up."""
MOST_REJECTIONS = 2
"""How many of them may reject it, where the model answers others."""


class Pending:
    """The requests of one run; `budget` pays for them."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._under_way: set[str] = set()
        self._tickets: dict[str, Ticket] = {}
        self._last: dict[tuple[int | None, str], tuple[Usage, float | None]] = {}
        self._batches = Counter[str]()
        self._given_up: dict[str, tuple[str, int]] = {}

    def add(self, hashes: Iterable[str]) -> None:
        """These are under way: an earlier process has sent them."""
        self._under_way.update(hashes)

    def has(self, hashed: RequestHash) -> bool:
        """Whether it is planned or under way, so not to be planned again."""
        return not self._under_way.isdisjoint(hashed.all)

    def given_up(self, hashed: RequestHash) -> tuple[str, int] | None:
        """Why a request is not asked any more, and how many batches brought no answer; None where it is."""
        return next((self._given_up[each] for each in hashed.all if each in self._given_up), None)

    def cover(self, asks: Sequence[tuple[Open, RequestHash]]) -> bool:
        """Whether all of these can be paid at worst, beside what is under way; then they are under way too."""
        covered: dict[str, Ticket] = {}
        try:
            for asked, hashed in asks:
                covered[hashed.request] = self._budget.cover(asked.who, asked.ask.messages, asked.ask.max_tokens)
        except BudgetSpent:
            for ticket in covered.values():
                self._budget.settle(ticket, None, maybe_billed=False)
            return False
        self._tickets |= covered
        self._under_way.update(covered)
        for asked, _ in asks:
            # A call that is asked again has wasted its last answer.
            if asked.ask.number and (last := self._last.pop((asked.call.judge, asked.call.identity), None)):
                self._budget.wasted.add(*last)
        return True

    def cost(self, row: Row, reply: Reply) -> float | None:
        """What an answer costs in USD, None where that is unknown; it is counted."""
        entry = row.entry
        ticket = self._tickets.pop(entry.request_hash, None)
        if ticket is not None:
            cost = self._budget.settle(ticket, reply)
        else:  # sent by an earlier run, whose bound it was under
            cost = self._budget.take(0 if entry.judge is None else entry.judge + 1, reply)
        self._last[entry.judge, entry.call_id] = (reply.usage, cost)
        return cost

    def end(self, hashes: Iterable[str]) -> None:
        """Their batch has ended: what is open of them may be planned, and costs nothing."""
        for each in hashes:
            self._under_way.discard(each)
            if (ticket := self._tickets.pop(each, None)) is not None:
                self._budget.settle(ticket, None, maybe_billed=False)

    def miss(self, request_hash: str, why: str | AttuneBenchError) -> None:
        """A batch has brought no answer to it; it is given up when that was so too often."""
        self._batches[request_hash] += 1
        most = MOST_REJECTIONS if isinstance(why, RejectedError) else MOST_BATCHES
        if self._batches[request_hash] >= most:
            self._given_up[request_hash] = str(why), most


def discount_of(provider: str, discount: float | None) -> float:
    """From 0 to 1: the given discount, else what is known of the provider's batches; of servers in general nothing."""
    return discount if discount is not None else OPENAI_DISCOUNT if provider == "openai" else 0.0


def batch_prices(live: KnownPrices, provider: str, discount: float | None) -> KnownPrices:
    """What batches cost where live calls cost that; `discount` from 0 to 1, None for what is known of the provider."""
    share = discount_of(provider, discount)
    left = 1.0 - share
    prices = [
        each
        and replace(
            each,
            prompt=each.prompt * left,
            completion=each.completion * left,
            cached=None if each.cached is None else each.cached * left,
            request=each.request * left,
        )
        for each in live.prices
    ]
    source = f"{live.source}, {share:.0%} less for batches" if share and live.source else live.source
    return KnownPrices(prices, source, live.unasked)
