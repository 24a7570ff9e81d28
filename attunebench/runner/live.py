"""The live executor: many jobs, every free ask of a job at once, memory for a few jobs only.

Workers take ready asks in order; when none is ready the next job is opened. So the calls of one conversation leave
close together (prefix caches like that), all workers stay busy, and jobs stream through however many there are. How
many calls go over the wire at once is each model's `RateLimiter`; workers only have to be enough.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from attunebench.errors import ConfigurationError, RejectedError, TransientError
from attunebench.eventloop import on_interruption
from attunebench.runner.budget import BudgetSpent
from attunebench.runner.clients import Clients
from attunebench.runner.model_client import Halted
from attunebench.runner.retrying import Effort
from attunebench.runner.watchdog import Watchdog

if TYPE_CHECKING:
    from attunebench.journal import Entry
    from attunebench.runner.events import Observer, Stop
    from attunebench.runner.job import Job, Open
    from attunebench.runner.model_client import ModelClient
    from attunebench.runner.run import Run
    from attunebench.runner.settings import RunSettings

GRACE = 10.0
"""Seconds that calls under way get to finish after an interruption."""
GRACE_AFTER_REFUSAL = 5.0
"""Seconds that the others get when one call finds that nothing can be had: their answers are paid for."""
OUTAGE_CHECK = 1.0
"""Seconds between two looks at how long nothing but failures has come."""
NEVER_ANSWERED = 0.2
"""The share of the patience that a server gets which is down from the start: most often it is not running at all."""
NEVER_REACHED = 8.0
"""Seconds after which a server counts as not running, if no connection to it was ever made."""


class Live(Clients):
    """Has a run's jobs done by its models over the network: a `runner.run.Executor`.

    `interruptible` takes Ctrl-C: once lets calls under way finish (as SIGTERM and SIGHUP do), twice stops them.
    """

    def __init__(
        self, settings: RunSettings, observer: Observer, *, judges_only: bool = False, interruptible: bool = False
    ) -> None:
        super().__init__(settings, observer, judges_only=judges_only)
        self._interruptible = interruptible

    async def execute(self, run: Run) -> Stop:
        """Do all jobs. Raises what `Engine.run` raises."""
        watchdog = Watchdog(run.observer, lambda: engine.waiting_for())
        model, *judges = self.model_clients(run.budget, watchdog.touch)
        engine = Engine(
            run.jobs(),
            model,
            [judge for judge in judges if judge is not None],
            workers=2 * self.settings.concurrency,
            done=run.finish,
            observer=run.observer,
            may_open=run.budget.may_open,
            patience=self.settings.total_timeout,
        )
        async with watchdog:
            with on_interruption(engine.interrupt) if self._interruptible else nullcontext():
                await engine.run()
        for job in engine.open:  # what was answered of jobs that a stop has left unfinished
            run.count(job)
        return engine.stopped


@dataclass(slots=True)
class _Progress:
    """How far an open job is: asks that workers hold, and records that the observer was told of."""

    held: int = 1
    told: int = 0


class Engine:
    """Runs jobs until they end or it is stopped. Without a `model` all calls are for judges, and a judge that cannot be
    asked ends the rest. `done(job)` is called once for each job that ended, however; `open` holds those that are begun
    and have not ended.

    `may_open(calls of the open jobs that are still to make)` is asked before a job is begun. `patience`: seconds of
    nothing but failures after which the run ends instead of skipping one conversation after another; a fifth of that
    where the server is down and has never answered. A judge is given up after the same time, and the run goes on.
    """

    def __init__(
        self,
        jobs: Iterator[Job],
        model: ModelClient | None,
        judges: Sequence[ModelClient],
        *,
        workers: int,
        done: Callable[[Job], Awaitable[None]],
        observer: Observer,
        may_open: Callable[[int], bool] = lambda _: True,
        patience: float = float("inf"),
    ) -> None:
        self.open: dict[Job, _Progress] = {}
        self.stopped: Stop = ""
        self._jobs = jobs
        self._model = model
        self._judges = judges
        self._clients = (model, *judges) if model is not None else tuple(judges)
        self._size = workers
        self._done = done
        self._observer = observer
        self._may_open = may_open
        self._patience = patience
        self._ready: deque[tuple[Job, Open]] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._given_up: dict[int, str] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._holding: dict[asyncio.Task[Any], tuple[Job, Open]] = {}
        self._ending: set[asyncio.Task[Any] | None] = set()
        self._cancelled = False
        self._answered: set[int] = set()

    async def run(self) -> None:
        """All jobs. The first ConfigurationError of a call to the model (of any call where there is none), or a bug,
        ends the rest and is raised."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._size)]
        minding = asyncio.create_task(self._mind_outages())
        try:
            finished, unfinished = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
            failures = [worker for worker in finished if not worker.cancelled() and worker.exception()]
            if failures and unfinished:
                self._halt()
                await asyncio.wait(unfinished, timeout=GRACE_AFTER_REFUSAL)
            for worker in failures:
                worker.result()
        finally:
            self._cancel()
            minding.cancel()
            await asyncio.gather(minding, *self._workers, return_exceptions=True)

    def interrupt(self) -> None:
        """Send nothing more; calls under way get `GRACE` to finish, and none at the second call.

        To be called from the loop's own thread.
        """
        if self.stopped == "interrupted":
            self._observer.interrupted(len(self._on_wire()), 0.0)
            self._cancel()
            return
        self.stopped = "interrupted"
        self._observer.interrupted(len(self._on_wire()), GRACE)
        asyncio.get_running_loop().call_later(GRACE, self._cancel)
        self._halt()

    def stop(self, reason: Stop) -> None:
        """Send nothing more, for this reason; calls under way finish in their own time."""
        if not self.stopped:
            self.stopped = reason
            self._halt()

    def waiting_for(self) -> str:
        """What the engine is waiting for at this moment, in words."""
        return "; ".join(filter(None, (client.waiting_for() for client in self._clients))) or "nothing"

    async def _mind_outages(self) -> None:
        while not self.stopped:
            await asyncio.sleep(OUTAGE_CHECK)
            if self._model is not None and self._is_down(self._model, answered=bool(self._answered)):
                self.stop("outage")
                return
            for who, client in enumerate(self._judges, start=1):
                if who not in self._given_up and self._is_down(client, answered=who in self._answered):
                    self._give_up(who, f"{client.limiter.model} is down ({client.limiter.trouble}).")

    def _is_down(self, client: ModelClient, *, answered: bool) -> bool:
        limiter = client.limiter
        patience = self._patience * (NEVER_ANSWERED if limiter.open and not answered else 1.0)
        return limiter.outage >= patience or limiter.unreached >= NEVER_REACHED

    def _halt(self) -> None:
        """End what is not on the wire: workers without a call, and calls that wait for a turn, a pause or a retry."""
        for client in self._clients:
            client.halted = True
        on_wire = self._on_wire()
        for worker in self._workers:
            if worker not in on_wire and worker not in self._ending and worker is not asyncio.current_task():
                worker.cancel()

    @property
    def _halted(self) -> bool:
        """Whether nothing more is to be sent: known first to whoever is asked first."""
        return self._clients[0].halted

    def _on_wire(self) -> set[asyncio.Task[Any]]:
        return {task for client in self._clients for task in client.on_wire}

    def _cancel(self) -> None:
        # Before Python 3.12 a cancellation is lost on a worker whose call has just ended; the flag ends that one.
        self._cancelled = True
        for worker in self._workers:
            worker.cancel()

    async def _work(self) -> None:
        while (item := await self._next()) is not None:
            job, asked = item
            self.open[job].held += 1
            try:
                await self._make_unless_failed(job, asked)
            except BudgetSpent:
                self.stop("max-cost")
                return
            except Halted:
                return
            await self._settle(job)

    async def _make_unless_failed(self, job: Job, asked: Open) -> None:
        """Make the call; where its job fails or its judge is given up while it waits, it is not made any more."""
        worker = asyncio.current_task()
        assert worker is not None
        self._holding[worker] = job, asked
        try:
            if job.failed is None:
                await self._make(job, asked)
        except asyncio.CancelledError:
            given_up = self._given_up.get(asked.who)
            if (job.failed is None and given_up is None) or self._cancelled or self._halted:
                raise
            if given_up is not None:
                job.owe(asked, given_up)
            if sys.version_info >= (3, 11):
                worker.uncancel()
        finally:
            del self._holding[worker]

    def _drop(self, meant: Callable[[Job, Open], bool]) -> None:
        """Nobody waits any more for a turn of the asks that are meant; what is under way ends as it may."""
        on_wire, current = self._on_wire(), asyncio.current_task()
        for worker, held in self._holding.items():
            if meant(*held) and worker not in on_wire and worker is not current:
                worker.cancel()

    async def _next(self) -> tuple[Job, Open] | None:
        """The next ask to make: ready ones first, then those of a new job; None when there is nothing left."""
        line = self._model.limiter if self._model is not None else None
        while not (self.stopped or self._cancelled or self._halted):
            ready = len(self._ready)
            # The few calls that go before anything was answered are each of a conversation of its own, so that one that
            # the server rejects is not the only one heard of.
            if ready and not (line is not None and line.cautious and len(self.open) < line.limit):
                return self._ready.popleft()
            affordable = self._may_open(sum(job.left for job in self.open))
            if affordable and (job := next(self._jobs, None)) is not None:
                self.open[job] = _Progress()
                self._tell(job)
                self._ready.extend((job, asked) for asked in job.open)
                self._wake(len(self._ready))
                await self._settle(job)
                if ready < len(self._ready):  # its first ask, though others may be ready
                    self._ready.rotate(-ready)
                    item = self._ready.popleft()
                    self._ready.rotate(ready)
                    return item
            elif ready:
                return self._ready.popleft()
            elif self.open:
                turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._idle.append(turn)
                await turn
            else:
                if not affordable and next(self._jobs, None) is not None:
                    self.stop("max-cost")
                self._wake(len(self._idle))
                return None
        return None

    def _wake(self, number: int) -> None:
        """Let so many idle workers look again."""
        while number > 0 and self._idle:
            turn = self._idle.popleft()
            if not turn.done():
                turn.set_result(None)
                number -= 1

    async def _make(self, job: Job, asked: Open) -> None:
        """Ask until the call is done; what that opens beside it (judges behind a draft) goes first in the line, so that
        a conversation ends soon."""
        effort, following = Effort(), asked
        while True:
            if following.ask.number:
                self._observer.reasking(following.call, following.missing)
            entry = await self._entry(job, following, effort)
            if entry is None or job.failed is not None:
                return
            opened = job.add(following, entry)
            again = [each for each in opened if each.call.id == asked.call.id]
            freed = [each for each in opened if each.call.id != asked.call.id]
            self._ready.extendleft((job, each) for each in reversed(freed))
            self._wake(len(freed))
            self._tell(job)
            if not again:
                return
            following = again[0]
            if entry.reply is not None and not following.extra:
                self._clients[0].budget.wasted.add(entry.reply.usage, entry.reply.cost)

    async def _entry(self, job: Job, asked: Open, effort: Effort) -> Entry | None:
        """What came back; None where the job or the vote is given up. No trouble of a judge's costs the evaluated model
        its result."""
        call, who = asked.call, asked.who
        try:
            if who in self._given_up:
                job.owe(asked, self._given_up[who])
                return None
            client = self._judges[who - 1] if who else self._model
            assert client is not None, f"{call.id} is for the evaluated model, which is not asked"
            return await client.ask(asked, effort, job.context)
        except (TransientError, RejectedError) as error:
            if who:
                job.owe(asked, str(error))
                return None
            job.fail(f"{call.kind} of turn {call.turn}: {error}" if call.turn else f"{call.kind}: {error}", error.tries)
            self._ready = deque(item for item in self._ready if item[0] is not job)
            self._drop(lambda held, _: held is job)
        except ConfigurationError as error:
            if not who or self._model is None:
                raise
            self._give_up(who, str(error))
            job.owe(asked, self._given_up[who])
        return None

    def _give_up(self, who: int, reason: str) -> None:
        """Say once that this judge cannot be asked; the next calls to it are owed unasked. Its waiting votes hold
        workers, and with all of them held the evaluated model is not asked either."""
        if who not in self._given_up:
            self._given_up[who] = reason
            self._observer.warned(f"A judge is not asked any more in this run, its votes are owed: {reason}")
        self._drop(lambda _, asked: asked.who == who)

    def _tell(self, job: Job) -> None:
        """The observer hears of calls that are done now."""
        progress = self.open[job]
        for record in islice(job.records.values(), progress.told, None):
            self._answered.add(record.call.who)
            self._observer.answered(record.call, record)
        progress.told = len(job.records)

    async def _settle(self, job: Job) -> None:
        """A worker is done with an ask of the job (or its opening)."""
        progress = self.open[job]
        progress.held -= 1
        if progress.held or job.left:
            return
        worker = asyncio.current_task()
        self._ending.add(worker)
        try:
            await self._done(job)
        finally:
            self._ending.discard(worker)
        del self.open[job]
        self._wake(1 if self.open else len(self._idle))
