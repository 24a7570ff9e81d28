"""The batch executor: rounds of requests, handed over to a service, waited for and collected until nothing is open.

First what needs no reply, then judges and re-prompts, each as batches of their own. Every end of a batch is one of few:
answers and errors line by line, a refusal as a whole, a batch that somebody cancelled or the service lost. A request is
asked again a few times and then given up; nothing here goes round in circles.
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
"""Looks at a batch that has ended and does not show all of its lines yet."""


class BatchExecutor(Clients):
    """Has a run's jobs done by a batch service: a `runner.run.Executor`. Lives for one run.

    Opening tells of keys that are missing. `under_way` is what goes on at the service when the run has ended.
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
        """Why nothing more is sent, raised when the rest is in."""
        self._written: dict[tuple[str, ...], tuple[object, ...]] = {}
        """Job → what there was of it when it was written last."""

    @property
    def notes(self) -> list[str]:
        """What an earlier process has handed over, and who pays."""
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
                f"Batches of an earlier run ({ids}) are under way at {there}, and this one goes to {here}: end them "
                f"first, with --base-url {there}, or use another results folder."
            )
        for service in self._services.values():
            await stack.enter_async_context(service)
        # Only its owner may read it, and it goes when the run ends: prompts stay no longer than that.
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attunebench-batch-")))

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        """What batches cost. Raises what `prices_of` raises."""
        live = await super().prices(to_show=to_show)
        return batch_prices(live, self.settings.em.provider, self._options.discount)

    async def execute(self, run: Run) -> Stop:
        """Do all jobs. Raises ConfigurationError for what no retry can repair."""
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
            await self._plan()  # for the results of what has come in
            return "outage"
        except ConfigurationError as error:
            if not desk.under_way:
                raise
            ids = ", ".join(each.submission.name for each in desk.under_way)
            raise ConfigurationError(
                f"{error} What is under way goes on, and the command comes back to it: {ids}."
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
        """Write the results of what is done, and put what is open and not under way into the queue: whole
        conversations, as many as can be paid."""
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
        """The asks of a job that may be sent; its result is written first, where answers make one."""
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
        """Hand over what the services take now."""
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
        """A file was refused for its size: it goes on smaller or later."""
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
                f"{error} It was sent at {sent.submission.at}: is the key of the same account and project as then?"
            )
        except TooLongError as error:
            missing, sent.looks = f"{error}, too much for {len(hashes):,} requests: check the address.", PATIENCE
        if missing and sent.batch is not None and sent.looks < PATIENCE:  # what is new is not known everywhere at once
            return False
        if missing and not self._options.cancel:
            self._set_aside(sent, missing)
            return True
        if missing:
            self._watcher.warned(f"{missing} Batch {sent.submission.name} is given up.")
        if batch is not None and batch.ended:
            self._draw_conclusions(sent, batch, collector, hashes)
        await self._end(sent, batch.status if batch is not None else "gone")
        return True

    def _set_aside(self, sent: UnderWay, missing: str) -> None:
        """Look no more for it in this process: answers that may come, and may be charged, are not bought anew."""
        self._desk.under_way.remove(sent)
        self._halt(
            f"{missing} Nothing is sent again while batch {sent.submission.name} may have answers: repeat the command "
            "later. If they are lost for good, the same command with --cancel gives it up."
        )

    def _missing(self, batch: Batch, hashes: Sequence[str], collector: Collector) -> str:
        """What its files lack of what it counts as answered, in words; "" where there is nothing."""
        there = sum(each in collector.unanswered or self._kept.state(each) is not None for each in hashes)
        if there >= min(batch.completed, len(hashes)):
            return ""
        return (
            f"The service counts {batch.completed:,} requests of batch {printable(batch.id)} as answered, and its "
            f"files have lines for {there:,}; these are kept."
        )

    async def _shrink(self, sent: UnderWay, batch: Batch) -> bool:
        """A batch failed for being too much: its file goes on smaller, or its requests are planned anew."""
        if sent.file is None:  # an earlier process sent it
            await self._end(sent, "too much")
            return True
        await self._desk.end(sent, "too much")
        if self._sends:
            self._too_much(sent.file, "; ".join(batch.problems))
        return False

    async def _collect(self, sent: UnderWay, batch: Batch, collector: Collector) -> None:
        """Every line of the batch's files into the journal. Raises NoSuchBatchError, TooLongError, and DataError where
        there is no room for the files."""
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
        """Stop, give up or go on, by how the batch ended and what its lines said."""
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
            self._halt(f"{reason.rstrip('.')}. So said {count:,} lines of {name[0].lower()}{name[1:]}.")
        reasons = Counter[str]()
        for each in left if batch.status != "cancelled" else ():
            said = collector.unanswered.get(each, "the service has no line for it")
            if isinstance(said, str | Exception):  # otherwise it is asked otherwise from now on
                reasons[str(said)] += 1
                self._pending.misses[each].append(said)
        for reason, count in reasons.most_common(3):
            self._watcher.warned(f"{name}: {count:,} requests without an answer: {printable(reason)}")

    async def _end(self, sent: UnderWay, how: str) -> None:
        self._pending.end(self._hashes(sent.submission))
        await self._desk.end(sent, how)

    def _hashes(self, submission: Submission) -> list[str]:
        """Of the requests that were submitted, in their order. Raises DataError where their table is damaged."""
        rows = (row.entry for row in Table(table_path(self.settings.output, submission.tag)).rows())
        mine = (entry.request_hash for entry in rows if entry.model == submission.model)
        return list(islice(mine, submission.start, submission.stop))
