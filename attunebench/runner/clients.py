"""The models that a run calls, and how one open ask is put to one of them: reserve its worst-case cost, send, keep the
reply on disk, and only then hand it on. Network errors (`TransientError`) never become an answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench import errors
from attunebench.backends import endpoint_of, open_backend
from attunebench.backends.base import Backend, Reply, Request
from attunebench.backends.faults import wait_in_words
from attunebench.backends.providers import Endpoint
from attunebench.errors import ConfigurationError, DataError, ItemError, RejectedError, TransientError, Trouble
from attunebench.eventloop import naps
from attunebench.journal import Entry, Hasher, Journal
from attunebench.runner.budget import USUAL_BYTES_PER_TOKEN, Budget, Ticket, prompt_size
from attunebench.runner.events import Observer, Stop
from attunebench.runner.job import Ask, entry_of
from attunebench.runner.pacing import LONGEST_WAIT, START_UP, TRUSTED, RateLimiter, Slot
from attunebench.runner.pricing import KnownPrices, prices_of
from attunebench.runner.settings import ModelSettings, RunSettings

if TYPE_CHECKING:
    from attunebench.runner.run import Run

Place = tuple[str, str, str]  # provider, address, model
Whom = Endpoint | Backend
_RESERVE = 64  # descriptors for anything but connections: files being written, name look-ups, second tries to connect
EXPECTED_PART = 8  # for the token rate, a reply counts as limit / 8 until it arrives
# Answers that only say "later": they use up a call's time and none of its tries.
NOT_YET: frozenset[Trouble] = frozenset(("rate", "money", "starting"))
# Errors that may only mean that this machine or process was asleep.
BY_SLEEP: frozenset[Trouble] = frozenset(("connect", "line", "timeout", "body"))
GATEWAY_ALIKE = 0.15  # two gateway time-outs that differ by at most this share count as one limit
GATEWAY_SHORTEST = 5.0  # seconds: a gateway that fails sooner did not reach a time limit
_MOMENT = 0.001  # seconds that are not worth waiting for


class Halted(Exception):  # noqa: N818 (no error: the run is over)
    """Nothing more is to be sent."""


class _Asleep(Exception):  # noqa: N818 (no error: the try is repeated)
    """A try was lost because the machine or process was asleep."""


@dataclass(eq=False)
class ModelClient:
    """Asks one model, until its budget is closed. `journal`: None where asking again is free. `on_wire`: the tasks
    whose request is in flight or whose reply is being kept."""

    backend: Backend
    settings: RunSettings
    observer: Observer
    limiter: RateLimiter
    budget: Budget
    hasher: Hasher
    journal: Journal | None = None
    who: int = 0
    on_wire: set[asyncio.Task[Any] | None] = field(default_factory=set)
    told: set[str] = field(default_factory=set)  # outcomes of unanswered calls already reported to the user

    def __post_init__(self) -> None:
        self.remembered = self.backend.learned()

    async def ask(self, asked: Ask, context: Any = None) -> Entry:
        """The reply, kept in the journal, or the error for which there can never be one. Raises TransientError if the
        network did not recover in time, RejectedError and ConfigurationError at once, DataError where the journal
        cannot be written, BudgetSpent and Halted where nothing more may be sent."""
        return await _Fetch(self, asked, asked.request(self.settings, context)).entry()


@dataclass(slots=True)
class _Fetch:
    """One ask: sent with as many tries as it needs, and kept before its reply is used."""

    client: ModelClient
    asked: Ask
    request: Request
    requests: int = 0  # sent
    lost: int = 0  # of these, without a reply that may still be billed, including one in flight when it is cancelled
    ticket: Ticket | None = None  # covers the next try
    sent_at: str = ""
    began: tuple[float, float] | None = None  # the event loop's time and the limiter's clock at the first request
    woken: bool = False  # whether a try was lost to sleep, which is excused once
    failures: int = 0  # that count against `max_tries`
    gateway: float | None = None  # seconds after which a gateway last timed out

    async def entry(self) -> Entry:
        client = self.client
        try:
            return await self._tried()
        except TransientError as error:
            error.tries = self.requests
            raise
        except RejectedError as error:
            error.tries = self.requests + 1  # it was heard twice
            raise
        except (ConfigurationError, DataError) as error:
            # The run ends here, and replies that cannot be kept must not be bought: the call that gets this one's slot
            # must not be sent.
            client.budget.closed |= not client.who or isinstance(error, DataError)
            raise
        finally:
            client.budget.lost += self.lost
            if self.ticket is not None:  # nothing was sent on it
                client.budget.settle(self.ticket, None, maybe_billed=False)

    async def _tried(self) -> Entry:
        """Each try reserves its cost before it waits for a slot, since waiting for budget inside a slot would block the
        calls whose end frees budget. The slot is held until the reply is kept, so that no more are unkept than in
        flight."""
        client, request = self.client, self.request
        while True:
            if self.ticket is None:  # a try that never left keeps its cover
                self.ticket = await client.budget.reserve(client.who, request.messages, request.max_tokens)
            try:
                with await self._turn() as slot:
                    entry = await self._keep(await self._send(slot))
                    learned = client.backend.learned()
                    if client.journal is not None and learned != client.remembered:
                        client.remembered = learned
                        client.journal.learn(entry.provider, entry.base_url, entry.model, learned)
                    return entry
            except ItemError as error:
                if error.outcome not in client.told:  # there may be many such calls
                    client.told.add(error.outcome)
                    sentence = f"Not answered: {request.call.id}. {error} More such calls are counted, not listed."
                    client.observer.warned(sentence)
                return await self._keep(error)
            except _Asleep:
                continue
            except TransientError as error:
                if client.budget.closed:
                    raise Halted from error
                wait = self._wait(error)
                client.observer.retrying(request.call, str(error), max(wait, client.limiter.paused_for))
            await asyncio.sleep(wait)

    async def _turn(self) -> Slot:
        limiter, request = self.client.limiter, self.request
        tokens = prompt_size(request.messages) / USUAL_BYTES_PER_TOKEN + request.max_tokens / EXPECTED_PART
        if self.began is None:
            slot = await limiter.slot(tokens)
            self.began = asyncio.get_running_loop().time(), limiter.clock()
            return slot
        while (left := self._left) > _MOMENT:
            # Time in an outage does not count, so there may be time left.
            with contextlib.suppress(asyncio.TimeoutError):
                return await limiter.slot(tokens, again=True, within=left)
        raise TransientError(f"no slot was free within {self.client.settings.total_timeout:.0f} s in all")

    @property
    def _left(self) -> float:
        """Seconds left for this ask. The clock stops during an outage, for a while."""
        assert self.began is not None
        now, clock = asyncio.get_running_loop().time(), self.client.limiter.clock()
        began, clock_then = self.began
        return self.client.settings.total_timeout - max(clock - clock_then, now - began - START_UP)

    def _wait(self, error: TransientError) -> float:
        """Seconds until the next try, apart from the limiter's pauses. Raises the error if there is none."""
        limiter, wait, asked = self.client.limiter, 0.0, error.retry_after or 0.0
        self.failures += error.kind not in NOT_YET
        if error.kind == "gateway" and error.elapsed is not None and error.elapsed > GATEWAY_SHORTEST:
            earlier, self.gateway = self.gateway, error.elapsed
            if earlier is not None and abs(earlier - error.elapsed) <= GATEWAY_ALIKE * max(earlier, error.elapsed):
                message = (
                    f"A gateway gave up waiting for {limiter.model} twice after about {error.elapsed:.0f} s: its limit "
                    "is shorter than the answer takes. Limit the answers (--max-tokens) or bypass the gateway."
                )
                raise TransientError(message, kind="gateway", elapsed=error.elapsed) from error
        shared = error.kind in ("rate", "money") or (error.kind in ("server", "starting") and asked)
        if not limiter.open and not shared:
            # What the server asks for is a lower bound; the jitter on top keeps waiting calls from returning at once.
            wait = min(LONGEST_WAIT, asked + limiter.backoff(self.failures))
        held = 0.0 if limiter.open else limiter.paused_for
        if self.failures >= self.client.settings.max_tries or max(wait, held) >= self._left - _MOMENT:
            raise error
        return wait

    async def _send(self, slot: Slot) -> Reply:
        client, worker = self.client, asyncio.current_task()
        if client.budget.closed:
            raise Halted
        reply, billed, slept = None, True, naps()
        ticket, self.ticket = self.ticket, None
        assert ticket is not None
        self.sent_at = self.sent_at or datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        client.on_wire.add(worker)
        self.requests += 1
        self.lost += 1
        try:
            reply = await self._reply_in_time()
            self.lost -= 1
        except TransientError as error:
            billed = error.kind not in errors.UNBILLED
            self.lost -= error.kind == "connect"
            if naps() > slept and error.kind in BY_SLEEP and not self.woken:
                self.woken = True
                raise _Asleep from error
            self._check_hopeless(error)
            raise
        except (errors.BackendError, ConfigurationError):
            billed = False
            self.lost -= 1
            raise
        finally:
            client.on_wire.remove(worker)
            cost = client.budget.settle(ticket, reply, maybe_billed=billed)
        usage = reply.usage
        if usage.prompt_tokens is not None and usage.completion_tokens is not None:
            slot.tokens = usage.prompt_tokens + usage.completion_tokens
        return replace(reply, cost=cost) if cost != reply.cost else reply

    async def _reply_in_time(self) -> Reply:
        """The reply under a total deadline: it also stops a server that sends a byte now and then."""
        client = self.client
        seconds = max(_MOMENT, min(client.settings.call_timeout, self._left))
        try:
            return await asyncio.wait_for(client.backend.complete(self.request), seconds)
        except asyncio.TimeoutError as error:
            message = f"{client.limiter.model} gave no complete answer within {seconds:.0f} s."
            raise TransientError(message, kind="timeout", elapsed=seconds) from error

    def _check_hopeless(self, error: TransientError) -> None:
        """Raises ConfigurationError for trouble that will outlast this run."""
        client, reason = self.client, ""
        if error.retry_after is not None and error.retry_after > client.settings.total_timeout:
            reason = (
                f"The server asks to wait until {wait_in_words(error.retry_after)}, longer than the call timeout. "
                "Rerun the command then; finished calls are kept."
            )
        elif error.kind == "body" and client.limiter.count_unreadable():
            reason = (
                f"None of the first {TRUSTED} answers of this run could be read, and each may be billed, so nothing "
                "more is sent."
            )
        if reason:
            raise ConfigurationError(f"{error} {reason}") from error

    async def _keep(self, outcome: Reply | ItemError) -> Entry:
        """The entry, once it is on disk. Until then its call counts as in flight, since it is paid for."""
        client, asked, worker = self.client, self.asked, asyncio.current_task()
        now = asyncio.get_running_loop().time()
        seconds = now - self.began[0] if self.began else None
        entry = entry_of(
            asked, client.hasher, outcome, sent_at=self.sent_at, seconds=seconds, tries=self.requests, lost=self.lost
        )
        if client.journal is not None:
            client.on_wire.add(worker)
            try:
                await client.journal.keep(entry)
            finally:
                client.on_wire.remove(worker)
        return entry


class RunExecutor:
    """Makes the calls of a run's jobs, to the models of `settings`; the base of all that do. `Run.by` calls its methods
    in the order in which they stand here. Raises ConfigurationError for missing keys and addresses."""

    keeps = True  # whether this process, not others, keeps replies and writes results

    def __init__(
        self, settings: RunSettings, observer: Observer, endpoint: Callable[[ModelSettings], Whom] = endpoint_of
    ) -> None:
        self.settings, self._observer = settings, observer
        self._journal: Journal | None = None
        self._endpoints = {who: endpoint(model) for who, model in settings.models.items()}
        self._hashers = {
            who: hasher_of(place_of(each), settings, judge=who > 0) for who, each in self._endpoints.items()
        }

    def hashers(self) -> dict[int, Hasher]:
        """By `who`, of requests whose replies are kept."""
        return {who: hasher for who, hasher in self._hashers.items() if hasher.provider != "baseline"}

    async def enter(self, stack: contextlib.AsyncExitStack, journal: Journal | None) -> None:
        """`stack` closes what is opened."""
        self._stack, self._journal = stack, journal

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        """What the models cost; `to_show`: only for display, so a local server, which is free, is not asked."""
        asked = {who: each for who, each in self.backends.items() if not (to_show and each.provider == "local")}
        return await prices_of(self.settings, asked)

    @property
    def notes(self) -> list[str]:
        """What a user should know before anything is sent."""
        return list({f"At {each.provider} {each.payer}.": None for each in self._endpoints.values() if each.payer})

    async def execute(self, run: Run) -> Stop:
        """Pass each of `run.jobs()` to `run.finish` when it ends; why it stopped early."""
        raise NotImplementedError

    @cached_property
    def backends(self) -> dict[int, Backend]:
        """Opened for the first price or client, with what the journal knows of their servers: it takes half a second to
        load the SDK, which a run with nothing to send need not. Raises as `open_backend`."""
        if self._journal is not None:
            self._fit_descriptors()
        backends, settings = dict[int, Backend](), self.settings
        for who, model in settings.models.items():
            known, place = dict[str, Any](), place_of(self._endpoints[who])
            if self._journal is not None:
                known = {"memory": self._journal.terms(*place), "taken": self._journal.constraints_taken(*place)}
            backends[who] = backend = open_backend(
                model, structured=settings.structured, concurrency=settings.concurrency, **known
            )
            self._stack.push_async_callback(backend.aclose)
        return backends

    def model_clients(self, budget: Budget) -> dict[int, ModelClient]:
        """By `who`; entries for the same model at the same address share one rate limiter."""
        backends, settings, observer, clients = self.backends, self.settings, self._observer, dict[int, ModelClient]()
        limiters: dict[Place, RateLimiter] = {}
        for who, backend in backends.items():
            kept, place = backend.provider != "baseline", place_of(backend)
            if place not in limiters:
                rpm, tpm = settings.rpm, settings.tpm
                limiters[place] = RateLimiter(
                    backend.model, settings.concurrency, observer=observer, rpm=rpm, tpm=tpm, cautious=kept
                )
            journal, hasher = self._journal if kept else None, self._hashers[who]
            clients[who] = ModelClient(backend, settings, observer, limiters[place], budget, hasher, journal, who)
        return clients

    def _fit_descriptors(self) -> None:
        """Lower the concurrency until file descriptors are left for keeping replies: paid replies must be written."""
        try:
            import resource
        except ImportError:  # Windows has no such limit
            return
        wanted = self.settings.concurrency
        models = max(1, len(self.hashers()))
        limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = _RESERVE + 32  # where the system does not say how many are open
        with contextlib.suppress(OSError):
            taken = _RESERVE + sum(1 for _ in Path("/dev/fd").iterdir())
        needed = taken + wanted * models
        if limit == resource.RLIM_INFINITY or limit >= needed:
            return
        raised = needed if ceiling == resource.RLIM_INFINITY else min(needed, ceiling)
        with contextlib.suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, ceiling))
            limit = raised
        fitting = max(1, (limit - taken) // models)
        if fitting < wanted:
            self.settings = self.settings.model_copy(update={"concurrency": fitting})
            self._observer.warned(
                f"This process may open {limit:,} files (`ulimit -n`), so at most {fitting:,} calls to a model are in "
                f"flight at once, not {wanted:,}."
            )


def place_of(each: Whom) -> Place:
    return each.provider, each.base_url, each.model


def hasher_of(place: Place, settings: RunSettings, *, judge: bool) -> Hasher:
    provider, base_url, model = place
    parameters = settings.request_parameters(judge=judge)
    return Hasher(provider=provider, base_url=base_url, model=model, parameters=parameters)
