"""The batch executor: submits rounds of requests to a service, waits and collects until nothing is open.

Whatever may cost money is in the ledger before it is sent. If it is unknown whether a submission became a batch, the
service is searched before anything like it is sent again. Requests are retried a few times, so that every run ends."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path

from attunebench.backends.providers import resolve
from attunebench.batches.collecting import Collector
from attunebench.batches.ledger import Ledger, Submission
from attunebench.batches.pending import Pending, batch_prices
from attunebench.batches.records import lines_of
from attunebench.batches.requests import Origin, RequestFile, Table, table_path, writing_plan
from attunebench.batches.service import (
    Batch,
    NoSuchBatchError,
    RefusedError,
    Service,
    TooMuchError,
    refuse_what_does_not_fit,
)
from attunebench.errors import UNBILLED, ConfigurationError, DataError, TransientError, UsageError
from attunebench.eventloop import on_interruption
from attunebench.journal import Journal
from attunebench.results.schema import now
from attunebench.runner.clients import RunExecutor
from attunebench.runner.events import Observer, Stop
from attunebench.runner.pricing import KnownPrices
from attunebench.runner.run import Run
from attunebench.runner.settings import RunSettings
from attunebench.text import printable

PATIENCE = 10  # checks of a batch that has ended but does not show all of its lines yet
LOOKS = 3  # times that a submission is looked for before it counts as never made: lists may lag behind
MOST_LOST = 5  # submissions in a row without a batch, after which the service counts as broken
SMALLEST = 10  # requests: batches are not made smaller than that, since each may take hours


class BatchExecutor(RunExecutor):
    """Runs a run's jobs on a batch service. `under_way` is what continues at the service after
    the run, in the order in which it was sent; batches of an earlier process are waited for and never sent twice.
    Raises for missing keys, and UsageError for settings that no batch service supports.

    `interval`: seconds between two checks of what is under way. `discount` is the share of a live call's price that a
    batch saves, None for what is known of the provider. `cancel`: cancel what is under way, collect what is done of it,
    and send nothing new. `origin` is noted for whoever plans again. `interruptible` handles Ctrl-C: batches continue,
    and the same command resumes."""

    def __init__(
        self,
        settings: RunSettings,
        observer: Observer,
        *,
        interval: float = 60.0,
        discount: float | None = None,
        cancel: bool = False,
        origin: Origin | None = None,
        interruptible: bool = False,
    ) -> None:
        refuse_what_does_not_fit(settings)
        super().__init__(settings, observer)
        self._interval, self._discount, self._cancel = interval, discount, cancel
        self._origin, self._interruptible = origin or Origin(), interruptible
        self._first = next(iter(settings.models.values()))  # a judge, where the evaluated model is not asked
        pausing = partial(observer.pausing, self._first.model)
        places = map(resolve, (*settings.judges, self._first))
        self._services = {place.model: Service(place, interval, pausing) for place in places}
        self._ledger = Ledger(settings.output)
        self.under_way: list[Submission] = []
        self._queue: list[RequestFile] = []  # planned and not submitted yet
        # Of models that get one batch at a time, once one was too much: how many requests, None for all.
        self._most: dict[str, int | None] = {}
        self._numbers, self._lost = count(1), 0
        self._sends = not cancel  # whether anything more may be sent
        self._changed = True  # whether there may be more to ask than is planned
        self._stop: Stop = ""
        self._problem = ""  # why nothing more is sent, raised when the rest is collected

    async def enter(self, stack: AsyncExitStack, journal: Journal | None) -> None:
        """Open the services. Raises UsageError where batches of an earlier run are under way at another address."""
        settings = self.settings
        await super().enter(stack, journal)
        before = self._ledger.open_for(self._first.provider, settings.em.model, settings.modes)
        here = self._services[self._first.model].endpoint.base_url
        if elsewhere := [each for each in before if each.base_url != here]:
            ids = ", ".join(each.name for each in elsewhere)
            there = printable(elsewhere[0].base_url)
            raise UsageError(
                f"Batches of an earlier run ({ids}) are in progress at {there}, but this run uses {here}: finish those "
                f"first with --base-url {there}, or use another results folder."
            )
        self.under_way += before
        for service in self._services.values():
            await stack.enter_async_context(service)
        # Only its owner can read it, and it is deleted when the run ends: prompts stay no longer.
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attunebench-batch-")))

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        live = await super().prices(to_show=to_show)
        return batch_prices(live, self._first.provider, self._discount)

    async def execute(self, run: Run) -> Stop:
        """Run all jobs. Raises ConfigurationError for what no retry can fix."""
        assert run.journal is not None, "replies of the service are kept"
        self._run, self._kept, self._pending = run, run.journal, Pending(run)
        work = asyncio.ensure_future(self._until_stopped())
        try:
            # An interruption may cancel it at any point: whatever was sent is in the ledger.
            with on_interruption(work.cancel) if self._interruptible else nullcontext():
                return await work
        except asyncio.CancelledError:
            if not self._interruptible:
                raise
            return "interrupted"
        except ConfigurationError as error:
            if not self.under_way:
                raise
            ids = ", ".join(each.name for each in self.under_way)
            says = f"{error} Batches in progress continue; rerun the command to collect them: {ids}."
            raise ConfigurationError(says) from error
        except OSError as error:
            room = "free some space and rerun the command: sent batches are recorded, and nothing is paid for twice"
            raise DataError(f"{self.settings.output} cannot be written ({error.strerror or error}); {room}.") from error
        finally:
            taken = run.budget.model.replies + run.budget.judges.replies
            run.budget.replayed = max(0, run.summary.calls + run.summary.reasks - taken)

    async def _until_stopped(self) -> Stop:
        try:
            for each in [each for each in self.under_way if each.id is None]:
                await self._find(each)
            for each in self.under_way:
                self._pending.add(self._hashes(each))
            await self._rounds()
        except TransientError as error:
            self._observer.warned(str(error))
            self._sends = False
            await self._plan()  # writes the results of collected answers
            return "outage"
        if self._problem:
            raise ConfigurationError(self._problem)
        return self._stop

    async def _rounds(self) -> None:
        """Until nothing is under way and nothing more can be sent."""
        for each in self.under_way if self._cancel else ():
            with suppress(ConfigurationError):  # it has ended by itself, or is not there; the next check shows it
                await self._service(each).cancel(each.id or "")
        again = 1
        while True:
            for each in tuple(self.under_way):
                await self._look(each)
            if self._changed:
                await self._plan(again=again)
                again = 0
            await self._send()
            if not (self.under_way or self._queue or self._changed):
                return
            self._observer.looked(tuple(self.under_way), self._interval)
            await asyncio.sleep(self._interval)

    async def _plan(self, *, again: int = 0) -> None:
        """Write the results of finished jobs, and queue open asks of whole conversations that the budget covers."""
        target = Path(tempfile.mkdtemp(dir=self._folder)) / "requests.jsonl"
        affordable, pending = True, self._pending
        with writing_plan(target, self.settings, self._kept, self._origin, most=self._most) as plan:
            async for asks, _ in pending.open_asks(again=again):
                if asks and self._sends and affordable:
                    affordable = pending.cover(asks)
                    for asked in asks if affordable else ():
                        plan.add(asked, self._hashers[asked.who])
        self._queue += plan.files
        self._changed = False
        if self._sends:
            self._stop = "" if affordable else "max-cost"

    async def _send(self) -> None:
        while True:
            busy = {each.model for each in self.under_way} & self._most.keys()
            number = next((number for number, file in enumerate(self._queue) if file.model not in busy), None)
            if number is None:
                return
            file = self._queue.pop(number)
            try:
                if not await self._submit(file):
                    self._queue.insert(0, file)
            except TooMuchError as error:
                self._pending.end(self._hashes(file))
                self._too_much(file.model, file.lines, str(error))
            except RefusedError as error:
                self._halt(str(error))

    async def _submit(self, file: RequestFile) -> bool:
        """Submit a file to its service; False where certainly no batch was made, as after RefusedError."""
        service, number = self._services[file.model], next(self._numbers)
        sent = Submission(
            **{name: getattr(file, name) for name in ("tag", "model", "start", "stop")},
            part=number,
            provider=service.endpoint.provider,
            base_url=service.endpoint.base_url,
            em_model=self.settings.em.model,
            modes=self.settings.modes,
            file=await service.upload(file.path, f"attunebench-{file.tag}.{number}.jsonl"),
            at=now(),
        )
        self._ledger.note("submitting", sent)  # on disk before it is sent
        self.under_way.append(sent)
        try:
            self._identify(sent, await service.create(sent.file, sent.mark))
        except RefusedError:
            await self._forget(sent, "refused")
            raise
        except TransientError as error:
            if error.kind in UNBILLED:
                raise
            self._observer.warned(
                f"{error} The service is searched for batch {sent.mark} before anything is sent again."
            )
            await self._find(sent)
            self._lost += 1
            if sent.id is None and self._lost == MOST_LOST:
                raise TransientError(f"{error} The service created none of {MOST_LOST} batches in a row.") from error
        self._lost = self._lost if sent.id is None else 0
        return sent.id is not None

    async def _find(self, sent: Submission) -> None:
        """Find the batch of a submission without an id; where the service has made none, the submission is ended."""
        for number in range(LOOKS):
            if number:
                await asyncio.sleep(self._interval)
            try:
                batches = await self._service(sent).batches()
            except ConfigurationError as error:
                if self._cancel:  # do not wait for what cannot be found
                    break
                raise ConfigurationError(
                    f"It is unknown whether the service created batch {sent.mark}: {error} Until this is known, "
                    f"nothing is sent again. Look for a batch with the metadata attunebench: {sent.mark} at the "
                    "provider; if there is none, use --cancel to continue without it."
                ) from error
            found = [each for each in batches if each.mark == sent.mark or each.input_file == sent.file]
            if found:  # this program never requested a second one
                self._identify(sent, min(found, key=lambda batch: (batch.status == "failed", batch.created or 0)))
                return
        await self._forget(sent, "never made")

    def _identify(self, sent: Submission, batch: Batch) -> None:
        """Record the batch's id on disk before anything else is done."""
        sent.id, sent.batch = batch.id, batch
        self._ledger.note("submitted", sent, batch=sent.id)

    async def _forget(self, sent: Submission, how: str) -> None:
        """It has ended, or there never was a batch: record that, and delete the uploaded file."""
        self._ledger.note("ended", sent, how=how)
        self.under_way.remove(sent)
        with suppress(TransientError, ConfigurationError):  # the file costs nothing, and the service deletes it in time
            await self._service(sent).delete(sent.file)

    def _too_much(self, model: str, requests: int, said: str) -> None:
        """A batch was refused for its size: the model gets one at a time, of fewer requests where there was no other
        one. All that is not submitted is planned again."""
        self._most.setdefault(model, None)
        then = "its requests wait until earlier batches have ended"
        if not any(each.model == model for each in self.under_way):
            if requests <= SMALLEST:
                self._halt(
                    f"The batch service does not accept even {requests} requests to {model} at a time "
                    f"({printable(said).rstrip('.')}): other batches of your account may fill its queue, or its limit "
                    "is too small. Rerun the command later, or run without --batch."
                )
                return
            self._most[model] = half = max(SMALLEST, -(-requests // 2))
            then = f"they continue in batches of {half:,}, one after the other"
        for file in [file for file in self._queue if file.model == model]:
            self._queue.remove(file)
            self._pending.end(self._hashes(file))
        self._changed = True
        self._observer.warned(f"{printable(said).rstrip('.')}; {then} ({requests:,} requests).")

    def _halt(self, problem: str) -> None:
        """Send nothing more; the first problem is the one that is raised in the end."""
        if not self._problem and self.under_way:
            self._observer.warned(f"{problem} Nothing more is sent; batches in progress are still collected.")
        self._problem = self._problem or problem
        self._sends = False
        self._queue.clear()

    async def _look(self, sent: Submission) -> None:
        missing, collector = "", None
        sent.looks += 1
        try:
            batch = sent.batch = await self._service(sent).look(sent.id or "")
            if not batch.ended:
                sent.looks = 0
                return
            if batch.failed and not batch.files and batch.status != "failed" and sent.looks < PATIENCE:
                return
            collector = await self._collect(sent, batch)
        except NoSuchBatchError as error:
            missing = f"{error} It was submitted at {sent.at}: check that the account and project are the same."
        keys = self._hashes(sent)
        if collector is not None:
            there = sum(key in collector.unanswered or self._kept.state(key) is not None for key in keys)
            if there < min(batch.completed, len(keys)):
                missing = (
                    f"The service counts {batch.completed:,} requests of batch {sent.name} as answered, but its files "
                    f"have lines for {there:,}; these are kept."
                )
        if missing and sent.batch is not None and sent.looks < PATIENCE:  # a new batch may not be visible yet
            return
        self._changed = True
        if missing and not self._cancel:
            # Answers that may still come, and be charged, are not bought again. This process stops checking it.
            self.under_way.remove(sent)
            self._halt(
                f"{missing} Nothing is sent again while batch {sent.name} may have answers: rerun the command later. "
                "If they are permanently lost, abandon the batch with --cancel."
            )
            return
        if missing:
            self._observer.warned(f"{missing} Batch {sent.name} is abandoned.")
        self._pending.end(keys)
        await self._forget(sent, sent.batch.status if sent.batch is not None else "gone")
        if collector is not None:
            self._draw_conclusions(sent, collector, keys)

    async def _collect(self, sent: Submission, batch: Batch) -> Collector:
        """Keep every line of the batch's files in the journal. Raises NoSuchBatchError, and OSError where there is no
        room for the files: the service keeps them."""
        service, table = self._service(sent), Table(table_path(self.settings.output, sent.tag))
        endpoint = replace(service.endpoint, model=sent.model)
        collector = Collector({sent.tag: table}, self._kept, self._pending.cost, endpoint)
        with tempfile.TemporaryFile(dir=self.settings.output, prefix=".attunebench-") as file:
            for each in batch.files:
                await service.download(each, file)
            file.seek(0)
            await collector.take(lines_of(file))
        await collector.finish()
        return collector

    def _draw_conclusions(self, sent: Submission, collector: Collector, keys: Sequence[str]) -> None:
        """Stop, count misses or continue, by how the batch ended and what its lines say."""
        batch, name = sent.batch, f"Batch {sent.name} ({printable(sent.model)})"
        assert batch is not None, "it was listed"
        if batch.status == "failed":
            problems = "; ".join(batch.problems[:5]) or "the service gives no reason"
            if not batch.full:
                self._halt(f"{name} failed: {problems.rstrip('.')}. Nothing of it was answered or charged.")
            elif self._sends:
                self._too_much(sent.model, sent.requests, problems)
            return
        left = [key for key in keys if self._kept.state(key) is None]
        if batch.status == "cancelled" and not self._cancel:
            self._sends, self._stop = False, "cancelled"
            self._queue.clear()
        if batch.status != "completed":
            answered = f"{len(keys) - len(left):,} of {len(keys):,} requests answered"
            self._observer.warned(f"{name} {batch.status}: {answered}.")
        if stopped := collector.collected.stopped:
            reason, lines = stopped.most_common(1)[0]
            self._halt(f"{reason.rstrip('.')}, in {lines:,} lines of {name[0].lower()}{name[1:]}.")
        reasons = Counter[str]()
        for key in left if batch.status != "cancelled" else ():
            said = collector.unanswered.get(key, "the service has no line for it")
            if isinstance(said, str | Exception):  # else it is sent in another form from now on
                reasons[str(said)] += 1
                self._pending.misses[key].append(said)
        for reason, lines in reasons.most_common(3):
            self._observer.warned(f"{name}: {lines:,} requests without an answer: {printable(reason)}")

    def _service(self, sent: Submission) -> Service:
        # An earlier run may have had judges that this one has not.
        return self._services.get(sent.model) or self._services[self._first.model]

    def _hashes(self, sent: Submission | RequestFile) -> list[str]:
        """Of these requests, in their order. Raises DataError where their table is damaged."""
        rows = (row.entry for row in Table(table_path(self.settings.output, sent.tag)).rows())
        mine = (entry.request_hash for entry in rows if entry.model == sent.model)
        return list(islice(mine, sent.start, sent.stop))
