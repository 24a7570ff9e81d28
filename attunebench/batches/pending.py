"""A run's open asks: which may be asked, what covers those that are under way, and what batches cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from attunebench.backends.base import Reply
from attunebench.batches.requests import Row
from attunebench.errors import RejectedError
from attunebench.journal import RequestHash
from attunebench.protocol.calls import Usage
from attunebench.runner.budget import Budget, BudgetSpent, Ticket
from attunebench.runner.job import Ask, Job
from attunebench.runner.pricing import KnownPrices
from attunebench.runner.run import Run

Hashed = list[tuple[Ask, RequestHash]]
OPENAI_DISCOUNT = 0.5
"""The share of a live call's price that a batch saves. Source: OpenAI's help, article 9197833, on 28 November 2026."""
MOST_BATCHES = 3  # how many batches may bring no answer to one request before it is abandoned
MOST_REJECTIONS = 2  # how many of them may reject it, where the model answers others


class Pending:
    """The requests of one run that are planned or under way; `budget` pays for them.

    `misses`: by the hash of a request, why batches have brought no answer to it.
    """

    def __init__(self, budget: Budget) -> None:
        self.misses: defaultdict[str, list[str | Exception]] = defaultdict(list)
        self.written: dict[tuple[str, ...], tuple[Any, ...]] = {}  # job → its state when it was last written
        self._budget = budget
        # By hash, what covers a request: None for one that an earlier process sent.
        self._tickets: dict[str, Ticket | None] = {}
        self._last: dict[tuple[int, str], tuple[Usage, float | None]] = {}

    def add(self, hashes: Iterable[str]) -> None:
        """An earlier process has sent these."""
        self._tickets.update(dict.fromkeys(hashes))

    def to_ask(self, job: Job, run: Run) -> Hashed:
        """The open asks of a job that are not under way. What too many batches have missed is abandoned."""
        asks = []
        for asked in job.open:
            hashed = run.hashed(asked)
            missed = next((self.misses[each] for each in hashed.all if each in self.misses), [])
            if len(missed) >= MOST_BATCHES or sum(isinstance(why, RejectedError) for why in missed) >= MOST_REJECTIONS:
                if asked.who:
                    job.owe(asked, str(missed[-1]))
                else:
                    job.fail(str(missed[-1]), len(missed))
            elif not any(each in self._tickets for each in hashed.all):
                asks.append((asked, hashed))
        return asks if job.failed is None else []

    def cover(self, asks: Hashed) -> bool:
        """Whether the budget covers the worst case of all these; then they are under way too."""
        try:
            for asked, hashed in asks:
                self._tickets[hashed.request] = self._budget.cover(asked.who, asked.messages, asked.max_tokens)
        except BudgetSpent:
            self.end(hashed.request for _, hashed in asks)
            return False
        for asked, _ in asks:
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


async def open_asks(run: Run, pending: Pending, *, again: int = 0) -> AsyncIterator[tuple[Hashed, int]]:
    """What is to be asked of each conversation of a run, and how many judges' calls have no draft yet; results are
    written first, where the answers suffice. `again`: how many further asks incomplete calls get on demand."""
    for _, jobs in groupby(run.jobs(again=again), key=lambda job: job.key[0]):
        asks, waiting = Hashed(), 0
        for job in jobs:
            asks += pending.to_ask(job, run)
            waiting += len(job.waiting)
            state = (job.failed, {**job.owed, **{name: record.reasks for name, record in job.records.items()}})
            is_news = job.failed is not None or (job.answered and run.work.is_news(job))
            if is_news and state != pending.written.get(job.key):
                pending.written[job.key] = state
                await run.finish(job)
            else:
                run.count(job)
        yield asks, waiting


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
