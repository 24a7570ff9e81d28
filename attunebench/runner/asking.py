"""Ask one model one call until it is done: out of the journal as far as that goes, over the line from there on.

Owns the order of things that makes money safe: look the request up, have its worst case covered, send it, keep its
reply on disk, and only then read it. What the line does (`TransientError`) never reaches the answer; what the model
does is read, asked again within bounds (`replay`), and then stands as not answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from attunebench._version import __version__
from attunebench.backends.base import Request
from attunebench.errors import ConfigurationError, ItemError, TransientError
from attunebench.journal import Entry, Hasher
from attunebench.runner.replay import Fold
from attunebench.runner.retrying import Effort, Retrying

if TYPE_CHECKING:
    from attunebench.backends.base import Backend, Reply
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.journal import Journal, RequestHash
    from attunebench.protocol.calls import Call, Record
    from attunebench.runner.budget import Purse, Ticket
    from attunebench.runner.events import Observer
    from attunebench.runner.pacing import Pace
    from attunebench.runner.replay import Ask
    from attunebench.runner.settings import RunSettings
    from attunebench.runner.spending import Spending


class Halted(Exception):  # noqa: N818 (no error: the run is over)
    """Nothing more is to be sent; the call stays as the journal has it."""


class Asker:
    """Asks one model, the evaluated one or a judge.

    `on_wire` holds the tasks whose request is under way, with their call and the loop's time at which it left. Once
    `halted` is set nothing more is sent: a call that would have to raises `Halted`. `journal` is None for what costs
    nothing to ask again. `who` is 0 for the evaluated model and counts the judges from 1. `touch` is called after each
    try.
    """

    def __init__(
        self,
        backend: Backend,
        settings: RunSettings,
        codebook: Codebook,
        observer: Observer,
        *,
        pace: Pace,
        purse: Purse,
        spending: Spending,
        journal: Journal | None = None,
        who: int = 0,
        touch: Callable[[], None] = lambda: None,
    ) -> None:
        self.backend = backend
        self.pace = pace
        self.halted = False
        self.on_wire: dict[asyncio.Task[Any], tuple[Call, float]] = {}
        self._settings = settings
        self._codebook = codebook
        self._observer = observer
        self._purse = purse
        self._spending = spending
        self._journal = journal
        self._who = who
        self._touch = touch
        self._retrying = Retrying(pace, settings, observer)
        self._hash = hasher(backend, settings)

    async def ask(self, call: Call, conversation: Conversation) -> Record:
        """The call's final answer.

        Raises TransientError when the line did not heal in time, ConfigurationError at once, DataError where the
        journal cannot be written, BudgetSpent and Halted where nothing more may be sent. A request that the server can
        never take is answered by nothing.
        """
        settings, effort = self._settings, Effort()
        fold = Fold(call, self._codebook, max_tokens=settings.max_tokens, max_reasks=settings.max_reasks)
        extra: int | None = None
        while True:
            ask = fold.next()
            if ask is None and fold.complete:
                return fold.record()
            done, ask = ask is None, ask or fold.once_more()
            hashed = self._hash(call, ask.messages, ask.number)
            entry = self._journal.find(hashed.request) if self._journal is not None else None
            if entry is not None:
                self._spending.replayed += 1
                fold.add(entry)
                continue
            if done:
                if extra is None:  # asks beyond the usual ones are for calls that were done before this run
                    extra = settings.max_reasks + 1 if settings.retry_unanswered and not effort.requests else 0
                if extra == 0:
                    return fold.record()
                extra -= 1
            if ask.number:
                self._observer.reasking(call, fold.missing)
            entry = await self._fetch(call, ask, hashed, conversation, effort)
            fold.add(entry)
            if entry.reply is not None and fold.next() is not None:
                self._spending.wasted.add(entry.reply.usage, entry.reply.cost)

    def waiting_for(self) -> str:
        """What is under way and what is held back, in words; "" where there is nothing."""
        parts = []
        if self.on_wire:
            call, since = min(self.on_wire.values(), key=lambda item: item[1])
            seconds = asyncio.get_running_loop().time() - since
            parts.append(f"{len(self.on_wire)} calls to {self.pace.model}, the oldest ({call.id}) for {seconds:.0f} s")
        if self.pace.waiting:
            parts.append(f"{self.pace.waiting} calls wait for a turn ({self.pace.reason})")
        return ", ".join(parts)

    async def _fetch(
        self, call: Call, ask: Ask, hashed: RequestHash, conversation: Conversation, effort: Effort
    ) -> Entry:
        """Send one request, however many tries it needs, and keep what came back before anybody uses it."""
        request = Request(
            call=call,
            messages=ask.messages,
            max_tokens=ask.max_tokens,
            temperature=self._settings.temperature,
            seed=self._settings.seed,
            timeout=self._settings.call_timeout,
            reask=ask.number,
            conversation=conversation,
        )
        began, before = _Clock(), replace(effort)
        tokens = self._purse.budget.prompt_tokens(ask.messages) + ask.max_tokens // 8
        reply, error = None, None
        covered = [await self._purse.reserve(self._who, ask.messages, ask.max_tokens)]
        try:
            reply = await self._retrying.reply(call, self._sender(request, began, covered), effort, tokens=tokens)
        except ItemError as refused:
            error = refused
        finally:
            self._spending.lost += effort.lost - before.lost
            for ticket in covered:  # nothing was sent on it
                self._purse.settle(ticket, None, maybe_billed=False)
        entry = Entry(
            request_hash=hashed.request,
            call_id=call.id,
            conversation_id=call.conversation_id,
            mode=call.mode,
            turn=call.turn,
            kind=call.kind,
            judge=call.judge,
            ask=ask.number,
            provider=self.backend.provider,
            base_url=self.backend.base_url,
            model=self.backend.model,
            prompt_sha256=hashed.prompt,
            schema_sha256=hashed.schema,
            parameters=self._hash.parameters,
            max_tokens=ask.max_tokens,
            sent_at=began.at,
            seconds=began.seconds,
            tries=effort.requests - before.requests,
            lost=effort.lost - before.lost,
            attunebench_version=__version__,
            reply=reply,
            error=str(error) if error else None,
            error_outcome=error.outcome if error else None,
        )
        if self._journal is not None:
            await self._journal.keep(entry)
        return entry

    def _sender(self, request: Request, began: _Clock, covered: list[Ticket]) -> Callable[[], Awaitable[Reply]]:
        """One try of this request, with its worst case covered (the first is by now) and its price counted."""
        worker = asyncio.current_task()
        assert worker is not None

        async def send() -> Reply:
            if self.halted:
                raise Halted
            if not covered:
                covered.append(await self._purse.reserve(self._who, request.messages, request.max_tokens))
            ticket = covered.pop()
            reply, billed = None, True
            began.start()
            self.on_wire[worker] = (request.call, asyncio.get_running_loop().time())
            try:
                reply = await self.backend.complete(request)
            except TransientError as error:
                billed = error.kind != "connect"
                raise
            except (ItemError, ConfigurationError):
                billed = False
                raise
            finally:
                self.on_wire.pop(worker, None)
                cost = self._purse.settle(ticket, reply, maybe_billed=billed)
                self._touch()
            reply = replace(reply, cost=cost) if cost != reply.cost else reply
            (self._spending.judges if self._who else self._spending.model).add(reply.usage, cost)
            return reply

        return send


class _Clock:
    """When a request first left, and how long it is since."""

    def __init__(self) -> None:
        self.at = ""
        self._began: float | None = None

    def start(self) -> None:
        if self._began is None:
            self._began = time.perf_counter()
            self.at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began if self._began is not None else 0.0


def hasher(backend: Backend, settings: RunSettings) -> Hasher:
    """Hashes the requests of a run to one model."""
    return Hasher(
        provider=backend.provider,
        base_url=backend.base_url,
        model=backend.model,
        parameters=settings.request_parameters,
    )
