"""A job: calls that belong together, what can be asked of them now, and what came of it. Pure, and the only place that
knows which ask is open, what waits for what, and when everything is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attunebench.journal import Entry
from attunebench.protocol.calls import Call, Record
from attunebench.protocol.plan import with_draft
from attunebench.runner.exchange import Ask, Exchange, Rules

Known = Callable[[Ask], "Entry | None"]
"""The reply to an ask that is there already: `Journal.find` behind a hash, say."""


class Job:
    """The calls under one `key`: (conversation, mode), say. `known` looks up each ask in turn. `drafts`: turn → text
    that is there before any call. `assemble` makes of the finished job what is written, None for nothing. `context`
    goes to the backend. `records` has each call that is done, `owed` calls that nobody could answer with the reason;
    `failed` says why the job is given up, after `tries` of a call."""

    def __init__(
        self,
        key: tuple[str, ...],
        calls: Sequence[Call],
        rules: Rules,
        *,
        known: Known | None = None,
        drafts: Mapping[int, str] | None = None,
        assemble: Callable[[Job], Mapping[str, Any] | None] = lambda _: None,
        context: Any = None,
    ) -> None:
        self.key = key
        self.calls = calls
        self.assemble = assemble
        self.context = context
        self.records: dict[str, Record] = {}
        self.owed: dict[str, str] = {}
        self.failed: str | None = None
        self.tries = 0
        self.fetched: set[str] = set()
        """Calls of which something was asked here, and not only known."""
        self._rules = rules
        self._known = known
        self._exchanges: dict[str, Exchange] = {}
        self._open: dict[str, Ask] = {}
        self._waiting: dict[str, list[Call]] = {}
        ready: list[Call] = []
        for call in calls:
            if call.needs is None:
                ready.append(call)
            elif drafts is not None and (draft := drafts.get(call.turn)) is not None:
                ready.append(with_draft(call, draft))
            else:
                self._waiting.setdefault(call.needs, []).append(call)
        # The longest chain is a draft and its judges, so drafts that are judged go first.
        for call in sorted(ready, key=lambda call: call.id not in self._waiting):
            self._begin(call)

    @property
    def open(self) -> tuple[Ask, ...]:
        """What can be asked now, drafts with judges first."""
        return tuple(self._open.values())

    @property
    def waiting(self) -> tuple[Call, ...]:
        """Judges' calls whose draft is not there yet."""
        return tuple(call for calls in self._waiting.values() for call in calls)

    @property
    def left(self) -> int:
        return len(self._open) + sum(map(len, self._waiting.values()))

    @property
    def answered(self) -> bool:
        """Whether a result can be made, whatever judges still owe."""
        return self.failed is None and not any(each.who == 0 for each in self._open.values())

    def add(self, asked: Ask, entry: Entry) -> list[Ask]:
        """Take what came back for an open ask (else KeyError); the asks that are open now and were not before."""
        del self._open[asked.call.id]
        self.fetched.add(asked.call.id)
        before = set(self._open)
        exchange = self._exchanges[asked.call.id]
        exchange.add(entry)
        self._go_on(exchange)
        return [each for name, each in self._open.items() if name not in before]

    def owe(self, asked: Ask, reason: str) -> None:
        self._open.pop(asked.call.id, None)
        self.owed[asked.call.id] = reason

    def fail(self, reason: str, tries: int = 0) -> None:
        """Give up the job; the first reason stands."""
        if self.failed is None:
            self.failed, self.tries = reason, tries
        self._open.clear()
        self._waiting.clear()

    def _begin(self, call: Call) -> None:
        exchange = self._exchanges[call.id] = Exchange(call, self._rules)
        self._go_on(exchange)

    def _go_on(self, exchange: Exchange) -> None:
        call = exchange.call
        while self._known is not None and (self._rules.max_reasks is None or not exchange.complete):
            entry = self._known(exchange.next() or exchange.once_more())
            if entry is None:
                break
            exchange.add(entry)
        if call.id not in self.fetched:  # further asks are for calls that were done before
            exchange.extend(self._rules.again)
        if (ask := exchange.next()) is not None:
            self._open[call.id] = ask
        else:
            self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        """The call is done. A draft frees its judges; no draft, nothing to judge."""
        call = exchange.call
        self.records[call.id] = record = exchange.record()
        del self._exchanges[call.id]
        judges = self._waiting.pop(call.id, ())
        draft = record.answer.values.get("drafted_response") if judges else None
        if draft is not None:
            for judge_call in judges:
                self._begin(with_draft(judge_call, draft))
