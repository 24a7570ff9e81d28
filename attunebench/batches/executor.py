"""The batch executor: submits rounds of requests to a service, waits and collects until nothing is open.

First what needs no reply, then judges and re-prompts, each as batches of their own. A batch ends with answers and
errors line by line, is refused as a whole, is cancelled, or is lost by the service. A request is retried a few times
and then abandoned, so that every run ends.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench.backends.providers import resolve
from attunebench.batches.collecting import Collector, Tables
from attunebench.batches.desk import Desk, OutageError, TooLongError
from attunebench.batches.ledger import Ledger
from attunebench.batches.pending import SMALLEST, Pending, Queue, batch_prices
from attunebench.batches.records import lines_of
from attunebench.batches.requests import Table, table_path, writing_plan
from attunebench.batches.service import NoSuchBatchError, RefusedError, Service, TooMuchError
from attunebench.errors import ConfigurationError, DataError, UsageError
from attunebench.eventloop import on_interruption
from attunebench.runner.clients import Clients
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.batches.desk import BatchOptions, UnderWay, Watcher
    from attunebench.batches.ledger import Submission
    from attunebench.batches.requests import RequestFile
    from attunebench.batches.service import Batch
    from attunebench.journal import Journal, RequestHash
    from attunebench.runner.events import Stop
    from attunebench.runner.job import Job, Open
    from attunebench.runner.pricing import KnownPrices
    from attunebench.runner.run import Run
    from attunebench.runner.settings import RunSettings

PATIENCE = 10
"""Checks of a batch that has ended but does not show all of its lines yet."""


class BatchExecutor(Clients):
    """Runs a run's jobs on a batch service: a `runner.run.Executor`. Lives for one run.

    The constructor raises for missing keys. `under_way` is what continues at the service after the run.
    """

    def __init__(
        self,
        settings: RunSettings,
        options: BatchOptions,
        watcher: Watcher,
        *,
        interruptible: bool = False,
    ) -> None:
        super().__init__(settings, watcher)
        self._options = options
        self._watcher = watcher
        self._interruptible = interruptible
        self._services = {each.model: Service(each) for each in map(resolve, (*settings.judges, settings.em))}
        self._desk = Desk(self._services, settings, options, watcher)
        self.under_way: Sequence[UnderWay] = self._desk.under_way
        self._queue = Queue()
        self._sends = not options.cancel
        """Whether anything more may be sent."""
        self._stop: Stop = ""
        self._problem = ""
        """Why nothing more is sent, raised when the rest is collected."""
        self._written: dict[tuple[str, ...], tuple[object, ...]] = {}
        """Job → its state when it was last written."""

    @property
    def notes(self) -> list[str]:
        """What an earlier process has submitted, and who pays."""
        sent = sum(each.requests for each in self._before)
        notes = [f"{sent:,} requests were submitted earlier; they are not sent again."] if sent else []
        return [*notes, *super().notes]

    async def enter(self, stack: AsyncExitStack, journal: Journal | None) -> None:
        """Open the services. Raises UsageError where batches of an earlier run are under way at another address."""
        settings, em = self.settings, self.settings.em
        await super().enter(stack, journal)
        self._before = Ledger(settings.output).open_for(em.provider, em.model, settings.modes)
        here = self._services[em.model].endpoint.base_url
        if elsewhere := [each for each in self._before if each.base_url != here]:
            ids = ", ".join(each.name for each in elsewhere)
            there = printable(elsewhere[0].base_url)
            raise UsageError(
                f"Batches of an earlier run ({ids}) are under way at {there}, but this run uses {here}: finish them "
                f"first with --base-url {there}, or use another results folder."
            )
        for service in self._services.values():
            await stack.enter_async_context(service)
        # Only its owner can read it, and it is deleted when the run ends: prompts stay no longer.
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attunebench-batch-")))

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        """What batches cost. Raises what `prices_of` raises."""
        live = await super().prices(to_show=to_show)
        return batch_prices(live, self.settings.em.provider, self._options.discount)

    async def execute(self, run: Run) -> Stop:
        """Run all jobs. Raises ConfigurationError for what no retry can fix."""
        assert run.journal is not None, "what a service answers is kept"
        self._run, self._kept, self._pending = run, run.journal, Pending(run.budget)
        work = asyncio.ensure_future(self._until_stopped())

        def interrupt() -> None:
            work.cancel()  # whatever was sent is in the ledger

        try:
            with on_interruption(interrupt) if self._interruptible else nullcontext():
                return await work
        except asyncio.CancelledError:
            if not self._interruptible:
                raise
            return "interrupted"
        finally:
            taken = run.budget.model.replies + run.budget.judges.replies
            run.budget.replayed = max(0, run.summary.calls + run.summary.reasks - taken)

    async def _until_stopped(self) -> Stop:
        desk = self._desk
        try:
            await desk.resume(self._before)
            for each in desk.under_way:
                self._pending.add(self._hashes(each.submission))
            await self._rounds()
        except OutageError as error:
            self._watcher.warned(str(error))
            self._sends = False
            await self._plan()  # writes the results of collected answers
            return "outage"
        except ConfigurationError as error:
            if not desk.under_way:
                raise
            ids = ", ".join(each.submission.name for each in desk.under_way)
            raise ConfigurationError(
                f"{error} Batches under way continue; rerun the command to collect them: {ids}."
            ) from error
        if self._problem:
            raise ConfigurationError(self._problem)
        return self._stop

    async def _rounds(self) -> None:
        """Until nothing is under way and nothing more can be sent."""
        desk, first = self._desk, True
        for each in tuple(desk.under_way) if self._options.cancel else ():
            await desk.cancel(each)
        while True:
            ended = [await self._look(each) for each in tuple(desk.under_way)]
            if any(ended) or first:
                await self._plan(again=int(first))
                first = False
            await self._send()
            if not desk.under_way and not self._queue.files:
                return
            await desk.pause()

    async def _plan(self, *, again: int = 0) -> None:
        """Write the results of finished jobs, and queue open asks that are not under way: whole conversations, as many
        as the budget covers."""
        target = Path(tempfile.mkdtemp(dir=self._folder)) / "requests.jsonl"
        affordable = True
        with writing_plan(target, self._run, self._options.origin) as plan:
            for _, jobs in groupby(self._run.jobs(again=again), key=lambda job: job.key[0]):
                asks = [ask for job in jobs for ask in await self._asks(job)]
                if asks and self._sends and affordable:
                    affordable = self._pending.cover(asks)
                    for ask in asks if affordable else ():
                        plan.add(*ask)
        self._queue.files += plan.files
        if self._sends:
            self._stop = "" if affordable else "max-cost"

    async def _asks(self, job: Job) -> list[tuple[Open, RequestHash]]:
        """The asks of a job that may be sent; its result is written first, where the answers suffice."""
        run, asks = self._run, list[tuple["Open", "RequestHash"]]()
        for asked in job.open:
            hashed = run.hashed(asked.call, asked.ask)
            assert hashed is not None, "its replies are kept"
            given_up = self._pending.given_up(hashed)
            if given_up is None:
                asks += [(asked, hashed)] if not self._pending.has(hashed) else []
            elif asked.who:
                job.owe(asked, given_up[0])
            else:
                job.fail(*given_up)
        there = (job.failed, {**job.owed, **{name: record.reasks for name, record in job.records.items()}})
        news = job.failed is not None or (job.answered and run.work.is_news(job))
        if news and there != self._written.get(job.key):
            self._written[job.key] = there
            await run.finish(job)
        else:
            run.count(job)
        return asks if job.failed is None else []

    async def _send(self) -> None:
        """Submit what the services accept now."""
        while (file := self._queue.take(self._desk.models)) is not None:
            try:
                if not await self._desk.submit(file):
                    self._queue.files.insert(0, file)
            except TooMuchError as error:  # noqa: PERF203
                self._too_much(file, str(error))
                if file.lines <= SMALLEST:
                    return
            except RefusedError as error:
                self._halt(str(error))

    def _too_much(self, file: RequestFile, said: str) -> None:
        """A file was refused for its size: submit it in parts or later."""
        try:
            then = self._queue.too_much(file, alone=file.model not in self._desk.models)
        except ConfigurationError as error:
            self._halt(str(error))
        else:
            self._watcher.warned(f"{printable(said).rstrip('.')}; {then} ({file.lines:,} requests).")

    def _halt(self, problem: str) -> None:
        """Send nothing more; the first problem is the one that is raised in the end."""
        if not self._problem and len(self._desk.under_way) > 1:
            self._watcher.warned(f"{problem} Nothing more is sent; what is under way is waited for.")
        self._problem = self._problem or problem
        self._sends = False
        self._queue.files.clear()

    async def _look(self, sent: UnderWay) -> bool:
        """Whether it has ended, so that there may be more to ask."""
        batch, hashes, missing = sent.batch, list[str](), ""
        endpoint = replace(sent.service.endpoint, model=sent.submission.model)
        collector = Collector(Tables(self.settings.output), self._kept, self._pending.cost, endpoint)
        sent.looks += 1
        try:
            batch = await self._desk.look(sent)
            if not batch.ended:
                sent.looks = 0
                return False
            if batch.full:
                return await self._shrink(sent, batch)
            if batch.failed and not batch.files and batch.status != "failed" and sent.looks < PATIENCE:
                return False
            hashes = self._hashes(sent.submission)
            await self._collect(sent, batch, collector)
            missing = self._missing(batch, hashes, collector)
        except NoSuchBatchError as error:
            missing = (
                f"{error} It was submitted at {sent.submission.at}: check that the account and project are the same."
            )
        except TooLongError as error:
            missing, sent.looks = f"{error}, too much for {len(hashes):,} requests: check the address.", PATIENCE
        if missing and sent.batch is not None and sent.looks < PATIENCE:  # a new batch may not be visible yet
            return False
        if missing and not self._options.cancel:
            self._set_aside(sent, missing)
            return True
        if missing:
            self._watcher.warned(f"{missing} Batch {sent.submission.name} is abandoned.")
        if batch is not None and batch.ended:
            self._draw_conclusions(sent, batch, collector, hashes)
        await self._end(sent, batch.status if batch is not None else "gone", hashes)
        return True

    def _set_aside(self, sent: UnderWay, missing: str) -> None:
        """Stop checking it in this process: answers that may still come, and be charged, are not bought again."""
        self._desk.under_way.remove(sent)
        self._halt(
            f"{missing} Nothing is sent again while batch {sent.submission.name} may have answers: rerun the command "
            "later. If they are lost for good, the same command with --cancel abandons the batch."
        )

    def _missing(self, batch: Batch, hashes: Sequence[str], collector: Collector) -> str:
        """How many of the counted answers its files hold, in words; "" where none is missing."""
        there = sum(each in collector.unanswered or self._kept.state(each) is not None for each in hashes)
        if there >= min(batch.completed, len(hashes)):
            return ""
        return (
            f"The service counts {batch.completed:,} requests of batch {printable(batch.id)} as answered, but its "
            f"files have lines for {there:,}; these are kept."
        )

    async def _shrink(self, sent: UnderWay, batch: Batch) -> bool:
        """A batch failed for its size: submit its file in parts, or plan its requests again."""
        if sent.file is None:  # an earlier process sent it
            await self._end(sent, "too much")
            return True
        await self._desk.end(sent, "too much")
        if self._sends:
            self._too_much(sent.file, "; ".join(batch.problems))
        return False

    async def _collect(self, sent: UnderWay, batch: Batch, collector: Collector) -> None:
        """Keep every line of the batch's files in the journal. Raises NoSuchBatchError, TooLongError, and DataError
        where there is no room for the files."""
        try:
            with tempfile.TemporaryFile(dir=self.settings.output, prefix=".attunebench-") as file:
                await self._desk.fetch(sent, batch, file)
                file.seek(0)
                await collector.take(lines_of(file))
        except OSError as error:  # also from closing it, where the disk has filled up
            raise DataError(
                f"The answers of a batch cannot be written into the results folder ({error.strerror or error}); make "
                "room and repeat the command: the service keeps them, and nothing is paid twice."
            ) from error
        await collector.finish()

    def _draw_conclusions(self, sent: UnderWay, batch: Batch, collector: Collector, hashes: Sequence[str]) -> None:
        """Stop, abandon requests or continue, by how the batch ended and what its lines say."""
        name = f"Batch {printable(batch.id)} ({printable(sent.submission.model)})"
        if batch.status == "failed":
            problems = "; ".join(batch.problems[:5]) or "the service gives no reason"
            self._halt(f"{name} failed: {problems.rstrip('.')}. Nothing of it was answered or charged.")
            return
        left = [each for each in hashes if self._kept.state(each) is None]
        if batch.status == "cancelled" and not self._options.cancel:
            self._sends, self._stop = False, "cancelled"
            self._queue.files.clear()
        if batch.status != "completed":
            answered = f"{len(hashes) - len(left):,} of {len(hashes):,} requests answered"
            self._watcher.warned(f"{name} {batch.status}: {answered}.")
        if stopped := collector.collected.stopped:
            reason, count = stopped.most_common(1)[0]
            self._halt(f"{reason.rstrip('.')}, in {count:,} lines of {name[0].lower()}{name[1:]}.")
        reasons = Counter[str]()
        for each in left if batch.status != "cancelled" else ():
            said = collector.unanswered.get(each, "the service has no line for it")
            if isinstance(said, str | Exception):  # else it is sent in another form from now on
                reasons[str(said)] += 1
                self._pending.misses[each].append(said)
        for reason, count in reasons.most_common(3):
            self._watcher.warned(f"{name}: {count:,} requests without an answer: {printable(reason)}")

    async def _end(self, sent: UnderWay, how: str, hashes: Sequence[str] = ()) -> None:
        """`hashes` of its requests, where they have been read."""
        self._pending.end(hashes or self._hashes(sent.submission))
        await self._desk.end(sent, how)

    def _hashes(self, submission: Submission) -> list[str]:
        """Of the requests that were submitted, in their order. Raises DataError where their table is damaged."""
        rows = (row.entry for row in Table(table_path(self.settings.output, submission.tag)).rows())
        mine = (entry.request_hash for entry in rows if entry.model == submission.model)
        return list(islice(mine, submission.start, submission.stop))
