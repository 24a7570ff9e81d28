"""The live executor: sends all ready asks of a job at once, and starts the next job when none is ready, so that few
jobs are in memory and a conversation's calls go close together, which helps prefix caches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from attunebench.errors import ConfigurationError, RejectedError, TransientError
from attunebench.eventloop import on_interruption
from attunebench.runner.budget import BudgetSpent
from attunebench.runner.clients import Halted, RunExecutor
from attunebench.runner.events import Observer, Stop
from attunebench.runner.job import Ask, Job
from attunebench.runner.settings import RunSettings

if TYPE_CHECKING:
    from attunebench.runner.run import Run

GRACE = 10.0  # seconds for calls in flight to finish after an interruption
GRACE_AFTER_REFUSAL = 5.0  # the same after a fatal error of one call: answers to others are paid for
OUTAGE_CHECK = 1.0  # seconds between checks for an outage
NEVER_ANSWERED = 0.2  # share of `total_timeout` for a server that is down from the start, most often not running
NEVER_REACHED = 8.0  # seconds after which a server counts as not running, if no connection to it was ever made


class Live(RunExecutor):
    """Runs one run's jobs over the network. `interruptible`: the first Ctrl-C lets calls in
    flight finish, the second stops them. After `total_timeout` seconds of nothing but failures the run stops instead of
    skipping conversations one by one; a failing judge is dropped, but ends a run that has judges alone."""

    def __init__(self, settings: RunSettings, observer: Observer, *, interruptible: bool = False) -> None:
        super().__init__(settings, observer)
        self._interruptible = interruptible
        self._stopped: Stop = ""
        self._failure: BaseException | None = None
        self._begun: set[Job] = set()  # and not ended
        self._ready: deque[tuple[Job, Ask]] = deque()
        self._tasks: dict[asyncio.Task[Any], tuple[Job, Ask | None]] = {}
        """Running tasks: an ask, or (None) the end of a job."""
        self._ended: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()
        self._given_up: dict[int, str] = {}

    async def execute(self, run: Run) -> Stop:
        """Run all jobs. The first ConfigurationError, DataError or bug ends it."""
        if not run.work.todos:
            return ""
        self._run, self._jobs, self._clients = run, run.jobs(), self.model_clients(run.budget)
        minding = asyncio.create_task(self._mind())
        try:
            with on_interruption(self._interrupt) if self._interruptible else nullcontext():
                while self._fill():
                    self._take(await self._ended.get())
        finally:
            run.budget.closed = True  # a reply that comes in the moment of its cancellation is kept, and asks no more
            self._cancel()
            minding.cancel()
            await asyncio.gather(minding, *self._tasks, return_exceptions=True)
        if self._failure is not None:
            raise self._failure
        return self._stopped

    def _fill(self) -> bool:
        try:
            while len(self._tasks) < 2 * self.settings.concurrency and self._advance():
                pass
        except Exception as error:
            self._fail(error)
        return bool(self._tasks)

    def _advance(self) -> bool:
        """Start the next ask: a ready one, else the first of a new job; False if there is none now."""
        if self._stopped or self._failure or self._run.budget.closed:
            return False
        # Before the first answer, the few calls sent are each of another conversation, so that a single rejected one
        # does not decide.
        line = self._clients[0].limiter if 0 in self._clients else None
        spread = line is not None and line.cautious and len(self._begun) < line.limit
        if not self._ready or spread:
            affordable = self._run.budget.may_open(sum(job.left for job in self._begun))
            job = next(self._jobs, None) if affordable or not self._begun else None
            if job is not None and not affordable:
                self._stop("max-cost")
                return False
            if job is not None:
                self._begun.add(job)
                self._run.count(job)
                asks = [(job, asked) for asked in job.open]
                self._ready.extendleft(asks[:1])
                self._ready.extend(asks[1:])
                if not asks:
                    self._begin(job, None, self._run.finish(job))
                    return True
        if not self._ready:
            return False
        job, asked = self._ready.popleft()
        self._begin(job, asked, self._make(job, asked))
        return True

    def _begin(self, job: Job, asked: Ask | None, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = job, asked
        task.add_done_callback(self._ended.put_nowait)

    def _take(self, task: asyncio.Task[Any]) -> None:
        job, asked = self._tasks.pop(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, BudgetSpent):
            self._stop("max-cost")
        elif error is not None and not isinstance(error, Halted):
            self._fail(error)
        if asked is None:
            self._begun.remove(job)
            return
        if task.cancelled() and asked.who in self._given_up:
            job.owe(asked, self._given_up[asked.who])
        if not job.left and all(other is not job for other, _ in self._tasks.values()):
            self._begin(job, None, self._run.finish(job))

    async def _make(self, job: Job, asked: Ask) -> None:
        """Ask until the call is done, the job fails or the vote stays pending. What an answer opens (judges of a draft)
        goes to the front of the queue, so that a conversation ends soon."""
        call, who, following = asked.call, asked.who, asked
        try:
            while who not in self._given_up:
                if following.number:
                    self._observer.reasking(following.call, following.missing)
                entry = await self._clients[who].ask(following, job.context_of(call))
                if job.failed is not None:
                    return
                opened = job.add(following, entry)
                self._run.count(job)
                if not any(each.call.id == call.id for each in opened):
                    self._ready.extendleft((job, each) for each in reversed(opened))
                    return
                [following] = opened
                if entry.reply is not None:
                    self._run.budget.wasted.add(entry.reply.usage, entry.reply.cost)
            job.owe(asked, self._given_up[who])
        except (TransientError, RejectedError) as error:
            if who:
                job.owe(asked, str(error))
                return
            job.fail(f"{call.kind} of turn {call.turn}: {error}" if call.turn else f"{call.kind}: {error}", error.tries)
            self._ready = deque(item for item in self._ready if item[0] is not job)
            self._drop(lambda held, _: held is job)
        except ConfigurationError as error:
            if not who or 0 not in self._clients:
                raise
            job.owe(asked, str(error))
            self._give_up(who, str(error))

    def _give_up(self, who: int, reason: str) -> None:
        """Drop this judge with its waiting calls, which hold places that others need; its votes stay pending."""
        if who not in self._given_up:
            self._given_up[who] = reason
            self._observer.warned(f"A judge is no longer called in this run; its votes are pending: {reason}")
        self._drop(lambda _, asked: asked.who == who)

    async def _mind(self) -> None:
        while True:
            await asyncio.sleep(OUTAGE_CHECK)
            for who, client in self._clients.items():
                line, patience = client.limiter, self.settings.total_timeout
                patience *= NEVER_ANSWERED if line.open and not line.answered else 1.0
                is_down = line.outage >= patience or line.unreached >= NEVER_REACHED
                if is_down and not who:
                    self._stop("outage")
                elif is_down and who not in self._given_up and not self._stopped:
                    self._give_up(who, f"{line.model} is down ({line.trouble}).")

    def _stop(self, reason: Stop) -> None:
        if not self._stopped:
            self._stopped = reason
            self._halt()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
            self._halt()
            asyncio.get_running_loop().call_later(GRACE_AFTER_REFUSAL, self._cancel)

    def _interrupt(self) -> None:
        again = self._stopped == "interrupted"
        self._observer.interrupted(len(self._on_wire()), 0.0 if again else GRACE)
        if again:
            self._cancel()
            return
        self._stopped = "interrupted"
        asyncio.get_running_loop().call_later(GRACE, self._cancel)
        self._halt()

    def _halt(self) -> None:
        """Cancel calls that are not on the wire: those that wait for a slot, a pause or a retry."""
        self._run.budget.closed = True
        self._drop(lambda _job, _asked: True)

    def _drop(self, meant: Callable[[Job, Ask], bool]) -> None:
        """Cancel those of the `meant` asks that wait to be sent; requests in flight are left alone."""
        on_wire, current = self._on_wire(), asyncio.current_task()
        for task, (job, asked) in self._tasks.items():
            if asked is not None and meant(job, asked) and task not in on_wire and task is not current:
                task.cancel()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _on_wire(self) -> set[asyncio.Task[Any] | None]:
        return {task for client in self._clients.values() for task in client.on_wire}
