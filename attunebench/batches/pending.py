"""A run's pending requests: files that wait to be sent, and by hash what is under way, what it costs and what is
abandoned. Sends nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING

from attunebench.batches.requests import RequestFile
from attunebench.errors import ConfigurationError, RejectedError
from attunebench.runner.budget import BudgetSpent
from attunebench.runner.pricing import KnownPrices

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.batches.requests import Row
    from attunebench.journal import RequestHash
    from attunebench.protocol.calls import Usage
    from attunebench.runner.budget import Budget, Ticket
    from attunebench.runner.job import Open

OPENAI_DISCOUNT = 0.5
"""The share of a live call's price that a batch saves. Source: OpenAI's help, article 9197833, on 28 November 2026."""
MOST_BATCHES = 3
"""How many batches may bring no answer to one request before it is abandoned."""
MOST_REJECTIONS = 2
"""How many of them may reject it, where the model answers others."""
SMALLEST = 10
"""Requests: batches are not split below that, since each may take hours."""
MOST_REFUSALS = 5
"""How often a service may refuse the smallest batch before the run ends."""


class Queue:
    """`files` in the order of sending. Once a service has refused a model's file for its size, the model gets one at a
    time."""

    def __init__(self) -> None:
        self.files: list[RequestFile] = []
        self._most: dict[str, int | None] = {}
        """Of models that get one batch at a time: how many requests it may have, None for all."""
        self._refusals = Counter[str]()

    def take(self, under_way: Collection[str]) -> RequestFile | None:
        """The next file, while models have batches `under_way`; None where there is none now."""
        for number, file in enumerate(self.files):
            if file.model not in self._most or file.model not in under_way:
                first, *rest = _cut(file, self._most.get(file.model) or file.lines)
                self.files[number : number + 1] = rest
                return first
        return None

    def too_much(self, file: RequestFile, *, alone: bool) -> str:
        """The service refuses a file for its size, `alone` where no other batch of ours is under way to this model.

        It waits for those that are, or is split; returns which. Raises ConfigurationError where it cannot be smaller.
        """
        model = file.model
        self._most.setdefault(model, None)
        self.files.insert(0, file)
        if not alone:
            return "its requests wait until earlier batches have ended"
        if file.lines > SMALLEST:
            self._most[model] = half = max(SMALLEST, -(-file.lines // 2))
            return f"they continue in batches of {half:,}, one after the other"
        self._refusals[model] += 1
        if self._refusals[model] >= MOST_REFUSALS:
            raise ConfigurationError(
                f"The batch service does not accept even {file.lines} requests to {model} at a time: other batches of "
                "your account may fill its queue, or its limit is too small. Repeat the command later, or run without "
                "--batch."
            )
        return "the batch has the minimum size and is retried later"


def _cut(file: RequestFile, most: int) -> list[RequestFile]:
    """The file, or files beside it of so many requests each."""
    if file.lines <= most:
        return [file]
    pieces = []
    with file.path.open("rb") as whole:
        for first in range(0, file.lines, most):
            piece = replace(file, path=file.path.with_name(f"{file.path.name}.{first}"), start=file.start + first)
            content = list(islice(whole, most))
            piece.path.write_bytes(b"".join(content))
            piece.lines, piece.bytes = len(content), sum(map(len, content))
            pieces.append(piece)
    return pieces


class Pending:
    """The requests of one run; `budget` pays for them."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._tickets: dict[str, Ticket | None] = {}
        """Of each request that is planned or under way, what covers it: None for one that an earlier process sent."""
        self._last: dict[tuple[int, str], tuple[Usage, float | None]] = {}
        self.misses: dict[str, list[str | Exception]] = defaultdict(list)
        """Why batches have brought no answer to a request."""

    def add(self, hashes: Iterable[str]) -> None:
        """An earlier process has sent these."""
        self._tickets.update(dict.fromkeys(hashes))

    def has(self, hashed: RequestHash) -> bool:
        """Whether it is planned or under way, so not to be planned again."""
        return any(each in self._tickets for each in hashed.all)

    def given_up(self, hashed: RequestHash) -> tuple[str, int] | None:
        """Why a request is no longer sent, and how many batches brought no answer; None where it still is."""
        for misses in (self.misses[each] for each in hashed.all if each in self.misses):
            rejections = sum(isinstance(why, RejectedError) for why in misses)
            if len(misses) >= MOST_BATCHES or rejections >= MOST_REJECTIONS:
                return str(misses[-1]), len(misses)
        return None

    def cover(self, asks: Sequence[tuple[Open, RequestHash]]) -> bool:
        """Whether the budget covers the worst case of all these; then they are under way too."""
        covered: dict[str, Ticket] = {}
        try:
            for asked, hashed in asks:
                covered[hashed.request] = self._budget.cover(asked.who, asked.ask.messages, asked.ask.max_tokens)
        except BudgetSpent:
            for ticket in covered.values():
                self._budget.settle(ticket, None, maybe_billed=False)
            return False
        self._tickets |= covered
        for asked, _ in asks:
            # A re-prompt means that the last answer was wasted.
            if asked.ask.number and (last := self._last.pop((asked.who, asked.call.identity), None)):
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
        """Their batch has ended: those still open may be planned again, and cost nothing."""
        for each in hashes:
            if (ticket := self._tickets.pop(each, None)) is not None:
                self._budget.settle(ticket, None, maybe_billed=False)


def discount_of(provider: str, discount: float | None) -> float:
    """From 0 to 1: the given discount, else the provider's known one, else 0."""
    return discount if discount is not None else OPENAI_DISCOUNT if provider == "openai" else 0.0


def batch_prices(live: KnownPrices, provider: str, discount: float | None) -> KnownPrices:
    """Batch prices from live prices; `discount` as in `discount_of`."""
    share = discount_of(provider, discount)
    prices = [
        each and replace(each, **{name: price * (1.0 - share) for name, price in asdict(each).items() if price})
        for each in live.prices
    ]
    source = f"{live.source}, {share:.0%} less for batches" if share and live.source else live.source
    return KnownPrices(prices, source, live.unasked)
