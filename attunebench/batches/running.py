"""A run by a batch service: rounds of requests, handed over, waited for and collected until nothing is open.

First what needs no reply, then judges and reasks, each as batches of their own. Owns the order of things; what is asked
is `rounds`' business, what may be under way `desk`'s, money `till`'s, answers `collecting`'s.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench import eventloop
from attunebench.backends import open_backend
from attunebench.backends.providers import resolve
from attunebench.batches.desk import Clock, Desk, InterruptedRunError, OutageError, SilentWatcher, UnderWay, Watcher
from attunebench.batches.gathering import Gathering
from attunebench.batches.ledger import Ledger, Submission
from attunebench.batches.parts import SMALLEST, Queue, parts_of
from attunebench.batches.planning import write_plan
from attunebench.batches.rounds import Round, ToAsk, targets_of
from attunebench.batches.service import RefusedError, Service, TooMuchError
from attunebench.batches.summing import Sums
from attunebench.batches.table import judges_asked
from attunebench.batches.till import Till, discounted, usual_discount
from attunebench.errors import ConfigurationError, UsageError
from attunebench.eventloop import on_interruption
from attunebench.journal import Journal, claim
from attunebench.runner.budget import check_bound
from attunebench.runner.files import prepare_folder
from attunebench.runner.pricing import KnownPrices, prices_of
from attunebench.runner.run import choose
from attunebench.runner.scales import settled
from attunebench.runner.task import BENCHMARK, Task
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.backends.prices import Prices
    from attunebench.batches.parts import Part
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.events import RunSummary, Stop
    from attunebench.runner.results import QuickScores
    from attunebench.runner.settings import RunSettings

INTERVAL = 60.0
"""Seconds between two looks at what is under way."""
PROVIDERS_WITH_BATCHES = ("openai", "local")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What a run by batches is told beside a run's settings.

    `discount` is the share of a live call's price that a batch saves, None for what is known of the provider. `cancel`:
    what is under way is cancelled, what is done of it collected, and nothing new is sent. `conversations`, `codebook`
    and `skip_invalid` are noted for whoever plans again, as `Head` has them.
    """

    interval: float = INTERVAL
    discount: float | None = None
    cancel: bool = False
    conversations: str = ""
    codebook: str | None = None
    skip_invalid: bool = False


@dataclass(frozen=True, slots=True)
class BatchRun:
    """How a run by batches ended, and what goes on at the service without it."""

    summary: RunSummary
    under_way: Sequence[UnderWay] = ()


def run_batches(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    options: BatchOptions,
    *,
    task: Task = BENCHMARK,
    watcher: Watcher | None = None,
    quick_scores: QuickScores | None = None,
    run_again: str = "",
    interruptible: bool = False,
    clock: Clock | None = None,
) -> BatchRun:
    """As `run_conversations`, by batches. What an earlier process has under way is waited for and never sent twice.

    `interruptible` takes Ctrl-C: the batches go on, and the same command comes back to them. Raises UsageError,
    DataError and ConfigurationError; what was answered by then is kept.
    """
    refuse_what_does_not_fit(settings)
    watcher = watcher or SilentWatcher()
    settings = settled(settings, watcher.warned, under_way=judges_asked(settings.output))
    run = _Run(settings, codebook, options, task, watcher, quick_scores, run_again)
    return eventloop.run(run.run(conversations, clock, interruptible))


def refuse_what_does_not_fit(settings: RunSettings) -> None:
    """Raises UsageError for settings that no batch service can do."""
    em = settings.em
    if settings.shard is not None:
        raise UsageError(
            "--batch takes no --shard: one process hands over all requests, and a service shares them out."
        )
    if em.provider not in PROVIDERS_WITH_BATCHES:
        raise UsageError(
            f"--batch: no batch service is known at {em.provider}; {' and '.join(PROVIDERS_WITH_BATCHES)} (with "
            "--base-url) may have one. `attune-bench plan` writes the requests into files for other engines."
        )
    first, *judges = targets_of(settings)
    for judge in judges:
        there, here = judge.endpoint, first.endpoint
        if (there.provider, there.base_url) != (here.provider, here.base_url):
            raise UsageError(
                f"--batch: the judge {there.model} is at {there.provider} ({there.base_url}), not where the batches "
                "go. Run without it, and then let it vote with `attune-bench rejudge`."
            )


class _Run:
    """The state of one run; lives for one call of `run_batches`."""

    def __init__(
        self,
        settings: RunSettings,
        codebook: Codebook,
        options: BatchOptions,
        task: Task,
        watcher: Watcher,
        quick_scores: QuickScores | None,
        run_again: str,
    ) -> None:
        self._settings = settings
        self._codebook = codebook
        self._options = options
        self._task = task
        self._watcher = watcher
        self._quick_scores = quick_scores
        self._run_again = run_again
        self._queue = Queue()
        self._planned = self._deferred = self._leaving = False

    async def run(self, conversations: Sequence[Conversation], clock: Clock | None, interruptible: bool) -> BatchRun:
        settings, em, started = self._settings, self._settings.em, time.monotonic()
        self._conversations = conversations
        services = _services(settings)  # tells of keys that are missing
        prepare_folder(settings.output)
        clock = clock or Clock()
        async with AsyncExitStack() as stack:
            stack.enter_context(claim(settings.output, em.provider, em.model, settings.modes, task=self._task.name))
            for service in dict.fromkeys(services.values()):
                await stack.enter_async_context(service)
            # Only its owner may look into it, and it goes when the run ends: prompts lie about no longer than that.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="attunebench-batch-"))
            self._folder = Path(folder)
            await self._open(services, clock)
            try:
                with _interrupts(clock) if interruptible else nullcontext():
                    stopped = await self._until_stopped()
            except InterruptedRunError:
                stopped = "interrupted"
            self._sums.skip(self._gathering.given_up, self._run_again)
        summary = self._sums.summary(stopped, time.monotonic() - started)
        self._watcher.finished(summary)
        return BatchRun(summary, self._desk.shown())

    async def _open(self, services: Mapping[str, Service], clock: Clock) -> None:
        """Learn the prices, and what earlier processes have under way; say what is about to be done."""
        settings, em, options, watcher = self._settings, self._settings.em, self._options, self._watcher
        live, known = await self._prices()
        ledger = Ledger(settings.output)
        self._before = ledger.open_for(em.provider, em.model, settings.modes)
        _refuse_what_is_elsewhere(self._before, services[em.model])
        till = self._till = Till(settings.max_cost, known.prices)
        self._desk = Desk(services, ledger, clock, watcher, interval=options.interval, giving_up=options.cancel)
        self._gathering = Gathering(settings.output, self._desk, till, self._queue, watcher)
        self._sums = Sums(settings, self._conversations, till, watcher, self._task)
        sent = sum(each.requests for each in self._before)
        notes = [f"{sent:,} requests were handed over earlier; they are not sent again."] if sent else []
        watcher.started(self._sums.plan(self._codebook, known, live, notes))
        for warning in self._task.warnings(choose(self._conversations, settings), self._codebook):
            watcher.warned(warning)

    async def _prices(self) -> tuple[Sequence[Prices | None], KnownPrices]:
        """What live calls cost, and what batches do. Raises what `check_bound` and `prices_of` raise."""
        settings = self._settings
        backends = [open_backend(each) for each in (settings.em, *settings.judges)]
        try:
            live = await prices_of(settings, backends)
        finally:
            for backend in backends:
                await backend.aclose()
        check_bound(settings, live.prices)
        return live.prices, batch_prices(live, settings.em.provider, self._options.discount)

    async def _until_stopped(self) -> Stop:
        """All rounds; why they ended before their time."""
        try:
            await self._desk.resume(self._before)
            self._gathering.take_over()
            await self._rounds()
        except InterruptedRunError:
            return "interrupted"
        except OutageError as error:
            self._watcher.warned(str(error))
            self._leaving = True
            await self._plan()  # for the results of what has come in
            return "outage"
        except ConfigurationError as error:
            if not self._desk.under_way:
                raise
            ids = ", ".join(printable(each.batch or each.mark) for each in self._desk.under_way)
            raise ConfigurationError(
                f"{error} What is under way goes on, and the command comes back to it: {ids}."
            ) from error
        if self._gathering.stop is not None:
            raise self._gathering.stop
        return "cancelled" if self._gathering.cancelled else "max-cost" if self._deferred else ""

    async def _rounds(self) -> None:
        """Until nothing is under way and nothing more can be sent."""
        if self._options.cancel:
            await self._gathering.cancel_all()
        while True:
            ended = await self._gathering.look()
            if ended or not self._planned:
                await self._plan()
            await self._send()
            if not self._desk.under_way and not len(self._queue):
                return
            await self._desk.pause()

    async def _plan(self) -> None:
        """Write the results of what is done, and put what is open and not under way into the queue."""
        settings, options = self._settings, self._options
        again = settings.retry_unanswered and not self._planned
        with Journal.open(settings.output) as journal:
            round_ = Round(
                settings,
                self._codebook,
                self._conversations,
                journal,
                self._sums,
                task=self._task,
                quick_scores=self._quick_scores,
                run_again=self._run_again,
            )
            planned = await write_plan(
                round_,
                Path(tempfile.mkdtemp(dir=self._folder)) / "requests.jsonl",
                conversations=options.conversations,
                codebook=options.codebook,
                command=self._run_again,
                skip_invalid=options.skip_invalid,
                asks=self._to_send(round_.asks(again=again, changed_only=True)),
            )
            self._sums.end(round_)
        self._planned = True
        self._queue.put(parts_of(planned))

    async def _to_send(self, asks: AsyncIterator[ToAsk]) -> AsyncIterator[ToAsk]:
        """Of the open asks those that are to be sent now: whole conversations, as many as can be paid."""
        gathering, self._deferred = self._gathering, False
        self._sums.begin()
        async for group in _by_conversation(asks):
            self._sums.open(group)
            new = [each for each in group if gathering.wants(each.hashed.request)]
            if not new or self._deferred or self._leaving or gathering.halted or self._options.cancel:
                continue
            if not self._till.cover(new):
                self._deferred = True
                continue
            gathering.busy.update(each.hashed.request for each in new)
            for each in new:
                yield each

    async def _send(self) -> None:
        """Hand over what the services take now."""
        while (part := self._queue.take(self._desk.models)) is not None:
            if not await self._hand_over(part):
                return

    async def _hand_over(self, part: Part) -> bool:
        """Whether the services may take more now."""
        try:
            if not await self._desk.submit(part, em_model=self._settings.em.model, modes=self._settings.modes):
                self._queue.put_back(part)
        except TooMuchError as error:
            self._gathering.too_much(part, str(error))
            return part.requests > SMALLEST
        except RefusedError as error:
            self._gathering.halt(error)
        return True


def batch_prices(live: KnownPrices, provider: str, discount: float | None) -> KnownPrices:
    """What batches cost where live calls cost that; `discount` from 0 to 1, None for what is known of the provider."""
    share = usual_discount(provider) if discount is None else discount
    source = f"{live.source}, {share:.0%} less for batches" if share and live.source else live.source
    return KnownPrices(discounted(live.prices, share), source, live.unasked)


def _refuse_what_is_elsewhere(before: Sequence[Submission], service: Service) -> None:
    """Raises UsageError where earlier batches went to another address: nothing can be learned of them at this one."""
    here = service.endpoint.base_url
    if elsewhere := [each for each in before if each.base_url != here]:
        ids = ", ".join(printable(each.batch or each.mark) for each in elsewhere)
        there = printable(elsewhere[0].base_url)
        raise UsageError(
            f"Batches of an earlier run ({ids}) are under way at {there}, and this one goes to {here}: end them first, "
            f"with --base-url {there}, or use another results folder."
        )


def _services(settings: RunSettings) -> dict[str, Service]:
    """Model → the service with its key. Raises ConfigurationError where there is none."""
    services: dict[tuple[str, str], Service] = {}
    by_model: dict[str, Service] = {}
    for model in (settings.em, *settings.judges):
        endpoint = resolve(model)
        place = (endpoint.base_url, endpoint.key.get_secret_value())
        by_model.setdefault(model.model, services.setdefault(place, Service(endpoint)))
    return by_model


async def _by_conversation(asks: AsyncIterator[ToAsk]) -> AsyncIterator[list[ToAsk]]:
    """The asks of one conversation at a time, in all of its modes."""
    group: list[ToAsk] = []
    async for each in asks:
        if group and group[0].open.call.conversation_id != each.open.call.conversation_id:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


@contextmanager
def _interrupts(clock: Clock) -> Iterator[None]:
    """Ctrl-C ends the waiting; twice it ends at once. Raises InterruptedRunError then."""
    task = asyncio.current_task()
    times = 0

    def interrupt() -> None:
        nonlocal times
        times += 1
        clock.interrupt()
        if times > 1 and task is not None:
            task.cancel()

    try:
        with on_interruption(interrupt):
            yield
    except asyncio.CancelledError:
        if times < 2:
            raise
        if sys.version_info >= (3, 11) and task is not None:
            task.uncancel()
        raise InterruptedRunError from None
