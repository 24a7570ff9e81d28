"""A job: calls that belong together, what can be asked of them now, and what came of it. Pure, and the only place that
knows which ask is open, what waits for what, and when everything is done. A reply from the journal counts like one from
the wire: that is what makes resuming a run a matter of reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attunebench._version import __version__
from attunebench.backends.base import Reply, Request
from attunebench.backends.negotiation import lowered_limit
from attunebench.codebook import Codebook
from attunebench.errors import ItemError
from attunebench.journal import Entry, Hasher, RequestHash
from attunebench.protocol.calls import Answer, Call, Message, Record, Usage
from attunebench.protocol.plan import reask, with_draft
from attunebench.protocol.read import merge_answers, read_reply
from attunebench.runner.settings import RunSettings

Known = Callable[["Ask"], "Entry | None"]
"""The reply to an ask that is there already: `Journal.find` behind a hash, say."""
LENGTH_FACTOR = 4  # a reply that was cut at the token limit is asked for once more with so many times the limit


@dataclass(slots=True)
class Ask:
    """The `number`-th time (from 0) that a call is put to a model. `missing`: items that earlier asks left open.
    `hashed` is filled when it is first looked up, since hashing a prompt takes longer than all else here."""

    call: Call
    number: int
    messages: tuple[Message, ...]
    max_tokens: int
    missing: int = 0
    hashed: RequestHash | None = field(default=None, compare=False, repr=False)

    @property
    def who(self) -> int:
        return self.call.who

    def hash(self, hasher: Hasher) -> RequestHash:
        """`hasher` is that of the model that is asked."""
        if self.hashed is None:
            self.hashed = hasher(self.call, self.messages, self.number)
        return self.hashed

    def request(self, settings: RunSettings, context: Any = None) -> Request:
        return Request(
            call=self.call,
            messages=self.messages,
            max_tokens=self.max_tokens,
            temperature=settings.temperature,
            seed=settings.seed,
            timeout=settings.call_timeout,
            reask=self.number,
            conversation=context,
        )


def entry_of(
    ask: Ask,
    hasher: Hasher,
    outcome: Reply | ItemError | None = None,
    *,
    sent_at: str = "",
    seconds: float | None = None,
    tries: int = 1,
    lost: int = 0,
) -> Entry:
    """What the journal keeps of an ask: its reply, or the error for which there can never be one. `sent_at` (ISO 8601),
    `seconds`, `tries` and `lost` are those of `Entry`."""
    call, hashed, error = ask.call, ask.hash(hasher), outcome if isinstance(outcome, ItemError) else None
    return Entry(
        request_hash=hashed.request,
        call_id=call.identity,
        conversation_id=call.conversation_id,
        mode=call.mode,
        turn=call.turn,
        kind=call.kind,
        judge=call.judge,
        ask=ask.number,
        provider=hasher.provider,
        base_url=hasher.base_url,
        model=hasher.model,
        prompt_sha256=hashed.prompt,
        schema_sha256=hashed.schema,
        parameters=hasher.parameters,
        max_tokens=ask.max_tokens,
        sent_at=sent_at,
        seconds=seconds,
        tries=tries,
        lost=lost,
        attunebench_version=__version__,
        reply=outcome if isinstance(outcome, Reply) else None,
        error=str(error) if error else None,
        error_outcome=error.outcome if error else None,
    )


@dataclass(frozen=True, slots=True)
class Rules:
    """By which replies are read and a call is done. `max_tokens`: the limit of a first ask. `max_reasks`: how often a
    call is asked again for what is missing. `again`: how many further asks a call gets whose known answer is incomplete
    (`--retry-unanswered`)."""

    codebook: Codebook
    max_tokens: int
    max_reasks: int
    again: int = 0


class Exchange:
    """The replies to one call. The first valid answer of each item stands; the call is done where all is answered, at a
    refusal or a request that can never be taken, where the larger limit was too small as well, or after
    `max_reasks`."""

    def __init__(self, call: Call, rules: Rules) -> None:
        self.call, self._rules, self._most = call, rules, rules.max_reasks
        self._entries: list[Entry] = []
        self._answer: Answer | None = None
        self._messages = call.messages
        self._longer = False
        self._ended = False

    @property
    def complete(self) -> bool:
        return self._answer is not None and not self._answer.missing

    def next(self) -> Ask | None:
        over = self._ended or len(self._entries) > self._most
        return None if self._answer is not None and (over or not self._answer.missing) else self.once_more()

    def once_more(self) -> Ask:
        limit = self._rules.max_tokens * (LENGTH_FACTOR if self._longer else 1)
        missing = len(self._answer.missing) if self._answer is not None else 0
        return Ask(self.call, len(self._entries), self._messages, limit, missing)

    def extend(self, asks: int) -> None:
        """Allow so many further asks, where the call is done and incomplete."""
        if asks and not self.complete and self.next() is None:
            self._ended, self._most = False, len(self._entries) + asks - 1

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)
        if entry.reply is None:
            refusal = entry.error if entry.error_outcome == "refused" else None
            nothing = read_reply(self.call.asked, Reply(text=None, refusal=refusal), self._rules.codebook)
            self._answer = self._answer or nothing
            self._messages = reask(self.call, self._answer.missing)
            self._ended = True
            return
        limit = min(entry.max_tokens, lowered_limit(entry.reply.notes) or entry.max_tokens)
        read = read_reply(self.call.asked, entry.reply, self._rules.codebook, limit=limit)
        self._answer = read if self._answer is None else merge_answers(self.call.asked, self._answer, read)
        truncated = read.outcome == "truncated"
        # A refusal is final, and so is a reply that the larger limit cut as well.
        self._ended = read.outcome == "refused" or (truncated and self._longer)
        if self._answer.missing and (self._longer or not truncated):
            # Where only the limit was at fault the prompt stays as it is.
            self._messages = reask(self.call, self._answer.missing)
        self._longer = self._longer or truncated

    def record(self) -> Record:
        """The call with its answer. Only after the first `add`."""
        assert self._answer is not None, "nothing was requested"
        replies = [entry.reply for entry in self._entries if entry.reply is not None]
        costs = [reply.cost for reply in replies if reply.cost is not None]
        times = [entry.seconds for entry in self._entries if entry.seconds is not None]
        return Record(
            call=self.call,
            answer=self._answer,
            requests=sum(entry.tries for entry in self._entries),
            reasks=len(self._entries) - 1,
            usage=sum((reply.usage for reply in replies), Usage()),
            cost=sum(costs, 0.0) if costs and len(costs) == len(replies) else None,
            seconds=sum(times, 0.0) if times else None,
            models=tuple(dict.fromkeys(reply.model for reply in replies if reply.model)),
            providers=tuple(dict.fromkeys(reply.provider for reply in replies if reply.provider)),
            structured=next((reply.structured for reply in reversed(replies) if reply.structured), None),
            adapted={name: how for reply in replies for name, how in reply.notes.items()},
        )


def record_of(call: Call, entries: Iterable[Entry], rules: Rules) -> Record:
    """The call with what these replies to it come to, of which there is one at least."""
    exchange = Exchange(call, rules)
    for entry in entries:
        exchange.add(entry)
    return exchange.record()


class Job:
    """The calls under one `key`: (conversation, mode), say.

    `known` looks up each ask in turn. `drafts`: turn → text that is there before any call. `assemble` makes of the
    finished job what is written, None for nothing. `context` goes to the backend: one for all calls, or a dict with one
    for the identity of each. `records` has each call that is done,
    `owed` calls that nobody could answer with the reason; `failed` says why the job is given up, after `tries`."""

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
        self.key, self.calls, self.assemble, self.context = key, calls, assemble, context
        self.records: dict[str, Record] = {}
        self.owed: dict[str, str] = {}
        self.failed: str | None = None
        self.tries = 0
        self.fetched: set[str] = set()  # calls of which something was asked here, and not only known
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

    def context_of(self, call: Call) -> Any:
        return self.context.get(call.identity) if isinstance(self.context, dict) else self.context

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
        call, ask = exchange.call, exchange.next()
        while self._known is not None and not exchange.complete:
            entry = self._known(ask or exchange.once_more())
            if entry is None:
                break
            exchange.add(entry)
            ask = exchange.next()
        if ask is None and call.id not in self.fetched:  # further asks are for calls that were done before
            exchange.extend(self._rules.again)
            ask = exchange.next()
        if ask is not None:
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
