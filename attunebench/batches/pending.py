"""A run's open asks: which may be asked, what covers those that are under way, and what batches cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from attunebench.backends.base import Reply
from attunebench.batches.requests import Row
from attunebench.errors import RejectedError
from attunebench.protocol.calls import Usage
from attunebench.runner.budget import BudgetSpent, Ticket
from attunebench.runner.job import Ask, Job
from attunebench.runner.pricing import KnownPrices
from attunebench.runner.run import Run

OPENAI_DISCOUNT = 0.5
"""The share of a live call's price that a batch saves. Source: OpenAI's help, article 9197833, on 28 November 2026."""
MOST_BATCHES = 3  # how many batches may bring no answer to one request before it is abandoned
MOST_REJECTIONS = 2  # how many of them may reject it, where the model answers others


class Pending:
    """The requests of one run that are planned or under way, which its budget pays for. `misses`: by the hash of a
    request, why batches have brought no answer to it."""

    def __init__(self, run: Run) -> None:
        self.misses: defaultdict[str, list[str | Exception]] = defaultdict(list)
        self._run, self._budget = run, run.budget
        self._written: dict[tuple[str, ...], tuple[Any, ...]] = {}  # job → its state when it was last written
        # By hash, what covers a request: None for one that an earlier process sent.
        self._tickets: dict[str, Ticket | None] = {}
        self._last: dict[tuple[int, str], tuple[Usage, float | None]] = {}

    def add(self, hashes: Iterable[str]) -> None:
        """An earlier process has sent these."""
        self._tickets.update(dict.fromkeys(hashes))

    async def open_asks(self, *, again: int = 0) -> AsyncIterator[tuple[list[Ask], int]]:
        """What is to be asked of each conversation, and how many judges' calls have no draft yet; results are written
        first, where the answers suffice. `again`: how many further asks incomplete calls get on demand."""
        run = self._run
        for _, jobs in groupby(run.jobs(again=again), key=lambda job: job.key[0]):
            asks, waiting = list[Ask](), 0
            for job in jobs:
                asks += self._to_ask(job)
                waiting += len(job.waiting)
                state = (job.failed, {**job.owed, **{name: record.reasks for name, record in job.records.items()}})
                is_news = job.failed is not None or (job.answered and run.work.is_news(job))
                if is_news and state != self._written.get(job.key):
                    self._written[job.key] = state
                    await run.finish(job)
                else:
                    run.count(job)
            yield asks, waiting

    def _to_ask(self, job: Job) -> list[Ask]:
        """The open asks of a job that are not under way. What too many batches have missed is abandoned."""
        asks = []
        for asked in job.open:
            hashes = self._run.hashed(asked).all
            missed = next((self.misses[each] for each in hashes if each in self.misses), [])
            if len(missed) >= MOST_BATCHES or sum(isinstance(why, RejectedError) for why in missed) >= MOST_REJECTIONS:
                if asked.who:
                    job.owe(asked, str(missed[-1]))
                else:
                    job.fail(str(missed[-1]), len(missed))
            elif not any(each in self._tickets for each in hashes):
                asks.append(asked)
        return asks if job.failed is None else []

    def cover(self, asks: Sequence[Ask]) -> bool:
        """Whether the budget covers the worst case of all these; then they are under way too."""
        hashes = [self._run.hashed(asked).request for asked in asks]
        try:
            for asked, each in zip(asks, hashes, strict=True):
                self._tickets[each] = self._budget.cover(asked.who, asked.messages, asked.max_tokens)
        except BudgetSpent:
            self.end(hashes)
            return False
        for asked in asks:
            # A re-prompt means that the last answer was wasted.
            if asked.number and (last := self._last.pop((asked.who, asked.call.identity), None)):
                self._budget.wasted.add(*last)
        return True

    def cost(self, row: Row, reply: Reply) -> float | None:
        """What an answer costs in USD, None where that is unknown; it is counted."""
        entry, who = row.entry, row.entry.who
        if (ticket := self._tickets.get(entry.request_hash)) is not None:
            self._tickets[entry.request_hash] = None
            cost = self._budget.settle(ticket, reply)
        else:  # sent by an earlier run, whose bound it was under
            cost = self._budget.take(who, reply)
        self._last[who, entry.call_id] = (reply.usage, cost)
        return cost

    def end(self, hashes: Iterable[str]) -> None:
        """Their batch has ended or was never made: those still open may be planned again, and cost nothing."""
        for each in hashes:
            if (ticket := self._tickets.pop(each, None)) is not None:
                self._budget.settle(ticket, None, maybe_billed=False)


def discount_of(provider: str, discount: float | None) -> float:
    """From 0 to 1: the given discount, else the provider's known one, else 0."""
    return discount if discount is not None else OPENAI_DISCOUNT if provider == "openai" else 0.0


def batch_prices(live: KnownPrices, provider: str, discount: float | None) -> KnownPrices:
    share = discount_of(provider, discount)
    prices = [
        each and replace(each, **{name: price * (1.0 - share) for name, price in asdict(each).items() if price})
        for each in live.prices
    ]
    source = f"{live.source}, {share:.0%} less for batches" if share and live.source else live.source
    return KnownPrices(prices, source, live.unasked)
