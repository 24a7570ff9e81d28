"""Ask one model one open ask until it is answered or cannot be: the order of things that makes money safe.

Have the worst case covered, send, keep the reply on disk, and only then hand it on. What the line does
(`TransientError`) never reaches an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Request
from attunebench.backends.waits import wait_in_words
from attunebench.errors import UNBILLED, ConfigurationError, DataError, ItemError, RejectedError, TransientError
from attunebench.journal import Hasher
from attunebench.runner.budget import USUAL_BYTES_PER_TOKEN, prompt_size
from attunebench.runner.exchange import entry_of
from attunebench.runner.pacing import TRUSTED
from attunebench.runner.retrying import Effort, Retrying

if TYPE_CHECKING:
    from attunebench.backends.base import Backend, Reply
    from attunebench.journal import Entry, Journal
    from attunebench.protocol.calls import Call
    from attunebench.runner.budget import Budget, Ticket
    from attunebench.runner.events import Observer
    from attunebench.runner.job import Open
    from attunebench.runner.pacing import RateLimiter
    from attunebench.runner.settings import RunSettings


EXPECTED_PART = 8
"""A reply is taken to need this part of its limit, for the rate of tokens, until it is there."""


class Halted(Exception):  # noqa: N818 (no error: the run is over)
    """Nothing more is to be sent; the call stays as the journal has it."""


class ModelClient:
    """Asks one model, the evaluated one or a judge.

    `on_wire` holds the tasks whose request is under way or whose reply is being kept, with their call and since when.
    Once `halted` is set nothing more is sent: a call that would have to be raises `Halted`. `journal` is None for what
    costs nothing to ask again. `who` is 0 for the evaluated model and counts the judges from 1. `touch` is called after
    each try.
    """

    def __init__(
        self,
        backend: Backend,
        settings: RunSettings,
        observer: Observer,
        *,
        limiter: RateLimiter,
        budget: Budget,
        journal: Journal | None = None,
        who: int = 0,
        touch: Callable[[], None] = lambda: None,
    ) -> None:
        self.backend = backend
        self.limiter = limiter
        self.halted = False
        self.on_wire: dict[asyncio.Task[Any], tuple[Call, float]] = {}
        self.settings = settings
        self.observer = observer
        self.budget = budget
        self.journal = journal
        self.who = who
        self.touch = touch
        self.hash = hasher(backend, settings, judge=who > 0)
        self._told: set[str] = set()
        self._remembered = backend.learned()

    async def ask(self, asked: Open, effort: Effort, context: Any = None) -> Entry:
        """The reply to an open ask, kept in the journal; or the error for which there can never be one.

        `effort` is that of the whole call, re-prompts included. Raises TransientError when the line did not heal in
        time, RejectedError and ConfigurationError at once, DataError where the journal cannot be written, BudgetSpent
        and Halted where nothing more may be sent.
        """
        worker, ask, settings = asyncio.current_task(), asked.ask, self.settings
        assert worker is not None
        request = Request(
            call=asked.call,
            messages=ask.messages,
            max_tokens=ask.max_tokens,
            temperature=settings.temperature,
            seed=settings.seed,
            timeout=settings.call_timeout,
            reask=ask.number,
            conversation=context,
        )
        return await _Fetch(self, asked, request, effort, worker).run()

    def tell_first(self, call: Call, error: ItemError) -> None:
        """Say why a call can never be answered: once for each outcome, since there may be many such calls."""
        if error.outcome not in self._told:
            self._told.add(error.outcome)
            self.observer.warned(f"Not answered: {call.id}. {error} More such calls are counted, not named.")

    def remember(self) -> None:
        """Keep what the server turned out not to take, as soon as that is known."""
        backend, learned = self.backend, self.backend.learned()
        if self.journal is not None and learned != self._remembered:
            self._remembered = learned
            self.journal.learn(backend.provider, backend.base_url, backend.model, learned)

    def waiting_for(self) -> str:
        """What is under way and what is held back, in words; "" where there is nothing."""
        parts = []
        if self.on_wire:
            call, since = min(self.on_wire.values(), key=lambda item: item[1])
            seconds = asyncio.get_running_loop().time() - since
            parts.append(
                f"{len(self.on_wire)} calls to {self.limiter.model}, the oldest ({call.id}) for {seconds:.0f} s"
            )
        if self.limiter.waiting:
            parts.append(f"{self.limiter.waiting} calls wait for a turn ({self.limiter.reason})")
        return ", ".join(parts)


@dataclass(slots=True)
class _Fetch:
    """One ask that is not in the journal: sent, however many tries it needs, and kept before anybody uses its reply."""

    client: ModelClient
    asked: Open
    request: Request
    effort: Effort
    worker: asyncio.Task[Any]
    covered: list[Ticket] = field(default_factory=list)
    entry: Entry | None = None
    sent_at: str = ""
    began: float = 0.0

    async def run(self) -> Entry:
        """The finished request. Raises what `ModelClient.ask` raises."""
        client, request, before = self.client, self.request, replace(self.effort)
        tokens = prompt_size(request.messages) / USUAL_BYTES_PER_TOKEN + request.max_tokens / EXPECTED_PART

        async def cover() -> None:
            """Have the worst case of the next try covered; one that never left keeps its cover."""
            if not self.covered:
                self.covered.append(await client.budget.reserve(client.who, request.messages, request.max_tokens))

        async def keep(reply: Reply) -> None:
            await self._keep(before, reply)
            client.remember()

        try:
            line = (client.limiter, client.settings, client.observer)
            await Retrying(*line, request.call, self._send, self.effort, cover=cover, keep=keep, tokens=tokens).reply()
        except ItemError as error:
            client.tell_first(request.call, error)
            await self._keep(before, error=error)
        finally:
            client.budget.lost += self.effort.lost - before.lost
            for ticket in self.covered:  # nothing was sent on it
                client.budget.settle(ticket, None, maybe_billed=False)
        assert self.entry is not None
        return self.entry

    async def _send(self) -> Reply:
        """One try, with its price counted."""
        client, reply, billed = self.client, None, True
        if client.halted:
            raise Halted
        ticket, now = self.covered.pop(), asyncio.get_running_loop().time()
        if not self.sent_at:  # of several tries the first
            self.sent_at, self.began = datetime.now(timezone.utc).isoformat(timespec="milliseconds"), now
        client.on_wire[self.worker] = (self.request.call, now)
        try:
            reply = await client.backend.complete(self.request)
        except TransientError as error:
            billed = error.kind not in UNBILLED
            if reason := self._hopeless(error):
                client.halted = client.halted or not client.who
                raise ConfigurationError(reason) from error
            raise
        except (ItemError, RejectedError):
            billed = False
            raise
        except ConfigurationError:
            billed = False
            # The run ends here: the call that gets this one's place must not be sent any more.
            client.halted = client.halted or not client.who
            raise
        finally:
            client.on_wire.pop(self.worker, None)
            cost = client.budget.settle(ticket, reply, maybe_billed=billed)
            client.touch()
        return replace(reply, cost=cost) if cost != reply.cost else reply

    def _hopeless(self, error: TransientError) -> str:
        """Why this run will not see the end of the trouble, in words; "" where it may."""
        client = self.client
        if error.retry_after is not None and error.retry_after > client.settings.total_timeout:
            return (
                f"{error} The server asks to wait until {wait_in_words(error.retry_after)}, longer than a call may "
                "take. Repeat the command then: finished calls are kept."
            )
        if error.kind == "body" and client.limiter.is_unreadable():
            return (
                f"{error} None of the first {TRUSTED} answers of this run could be read, and each may be billed, so "
                "nothing more is sent."
            )
        return ""

    async def _keep(self, before: Effort, reply: Reply | None = None, error: ItemError | None = None) -> None:
        """The entry on the disk. Until then its call counts as under way: it is paid for."""
        client, call, ask, now = self.client, self.request.call, self.asked.ask, asyncio.get_running_loop().time()
        entry = entry_of(
            call,
            ask,
            client.hash(call, ask.messages, ask.number),
            client.hash,
            sent_at=self.sent_at,
            seconds=now - self.began if self.sent_at else 0.0,
            reply=reply,
            error=error,
            tries=self.effort.requests - before.requests,
            lost=self.effort.lost - before.lost,
        )
        if client.journal is not None:
            client.on_wire[self.worker] = (call, now)
            try:
                await client.journal.keep(entry)
            except DataError:
                # What cannot be kept must not be paid for: the call that gets this one's place is not sent any more.
                client.halted = True
                raise
            finally:
                del client.on_wire[self.worker]
        self.entry = entry


def hasher(backend: Backend, settings: RunSettings, *, judge: bool) -> Hasher:
    """Hashes the requests of a run to one model, the evaluated one or a judge."""
    return Hasher(
        provider=backend.provider,
        base_url=backend.base_url,
        model=backend.model,
        parameters=settings.request_parameters(judge=judge),
    )
