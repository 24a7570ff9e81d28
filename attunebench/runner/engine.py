"""The engine: many jobs, every free call of a job at once, memory for a few jobs only.

Workers take ready calls in order; when none is ready the next job is opened. So the calls of one conversation leave
close together (prefix caches like that), all workers stay busy, and conversations stream through however many there
are. How many calls go over the wire at once is each model's `Pace`; workers only have to be enough. It knows no prompt
and no metric, and leaves a job's outcome to whoever gave it the jobs.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attunebench.errors import ConfigurationError, RejectedError, TransientError
from attunebench.protocol.plan import with_draft
from attunebench.runner.asking import Halted
from attunebench.runner.budget import BudgetSpent

if TYPE_CHECKING:
    from attunebench.conversations.schema import Conversation
    from attunebench.protocol.calls import Call, Mode, Record
    from attunebench.runner.asking import Asker
    from attunebench.runner.events import Observer, Stop

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


@dataclass(slots=True, eq=False)
class Job:
    """One conversation in one mode: the calls to make, and what came of them.

    `earlier` is the result to which votes are added, and `drafts` its drafts by turn; `before` is the result that is
    made anew, whose votes are kept; `owed` maps the judge calls that
    got no answer to the reason; `failed` says why the conversation is skipped, after `tries` of the failing call.
    """

    conversation: Conversation
    mode: Mode
    calls: Sequence[Call]
    earlier: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    drafts: Mapping[int, str] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    owed: dict[str, str] = field(default_factory=dict)
    failed: str | None = None
    tries: int = 0
    pending: int = 0
    waiting: dict[str, list[Call]] = field(default_factory=dict)


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
        model: Asker | None,
        judges: Sequence[Asker],
        *,
        workers: int,
        done: Callable[[Job], Awaitable[None]],
        observer: Observer,
        may_open: Callable[[int], bool] = lambda _: True,
        patience: float = float("inf"),
    ) -> None:
        self._jobs = jobs
        self._model = model
        self._judges = judges
        self._askers = (model, *judges) if model is not None else tuple(judges)
        self._size = workers
        self._done = done
        self._observer = observer
        self._may_open = may_open
        self._patience = patience
        self._ready: deque[tuple[Job, Call]] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self.open: set[Job] = set()
        self._left = 0
        self._given_up: dict[int, str] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._holding: dict[asyncio.Task[Any], tuple[Job, Call]] = {}
        self._ending: set[asyncio.Task[Any] | None] = set()
        self._cancelled = False
        self._answered: set[int | None] = set()
        self.stopped: Stop = ""

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

    @property
    def under_way(self) -> int:
        """Calls that are on the wire."""
        return len(self._on_wire())

    def waiting_for(self) -> str:
        """What the engine is waiting for at this moment, in words."""
        return "; ".join(filter(None, (asker.waiting_for() for asker in self._askers))) or "nothing"

    async def _mind_outages(self) -> None:
        while not self.stopped:
            await asyncio.sleep(OUTAGE_CHECK)
            if self._model is not None and self._is_down(self._model, answered=bool(self._answered)):
                self.stop("outage")
                return
            for judge, asker in enumerate(self._judges):
                if judge not in self._given_up and self._is_down(asker, answered=judge in self._answered):
                    self._give_up(judge, f"{asker.pace.model} is down ({asker.pace.trouble}).")
                    self._drop_votes(judge)

    def _is_down(self, asker: Asker, *, answered: bool) -> bool:
        never = asker.pace.open and not answered
        patience = self._patience * (NEVER_ANSWERED if never else 1.0)
        return asker.pace.outage >= patience or asker.pace.unreached >= NEVER_REACHED

    def _halt(self) -> None:
        """End what is not on the wire: workers without a call, and calls that wait for a turn, a pause or a retry."""
        for asker in self._askers:
            asker.halted = True
        on_wire = self._on_wire()
        for worker in self._workers:
            if worker not in on_wire and worker not in self._ending and worker is not asyncio.current_task():
                worker.cancel()

    @property
    def _halted(self) -> bool:
        """Whether nothing more is to be sent: known first to whoever is asked first."""
        return self._askers[0].halted

    def _on_wire(self) -> set[asyncio.Task[Any]]:
        return {task for asker in self._askers for task in asker.on_wire}

    def _cancel(self) -> None:
        # Before Python 3.12 a cancellation is lost on a worker whose call has just ended; the flag ends that one.
        self._cancelled = True
        for worker in self._workers:
            worker.cancel()

    async def _work(self) -> None:
        while (item := await self._next()) is not None:
            job, call = item
            self._left -= 1
            if job.failed is None:
                try:
                    await self._make_unless_failed(job, call)
                except BudgetSpent:
                    self.stop("max-cost")
                    return
                except Halted:
                    return
            await self._settle(job)

    async def _make_unless_failed(self, job: Job, call: Call) -> None:
        """Make the call; where its job fails or its judge is given up while it waits, it is not made any more."""
        worker = asyncio.current_task()
        assert worker is not None
        self._holding[worker] = job, call
        try:
            await self._make(job, call)
        except asyncio.CancelledError:
            given_up = self._given_up.get(call.judge) if call.judge is not None else None
            if (job.failed is None and given_up is None) or self._cancelled or self._halted:
                raise
            if given_up is not None:
                job.owed[call.id] = given_up
            if sys.version_info >= (3, 11):
                worker.uncancel()
        finally:
            del self._holding[worker]

    def _drop(self, meant: Callable[[Job, Call], bool]) -> None:
        """Nobody waits any more for a turn of the calls that are meant; what is under way ends as it may."""
        on_wire, current = self._on_wire(), asyncio.current_task()
        for worker, held in self._holding.items():
            if meant(*held) and worker not in on_wire and worker is not current:
                worker.cancel()

    def _drop_votes(self, judge: int) -> None:
        """Its waiting votes hold workers, and with all of them held the evaluated model is not asked either."""
        self._drop(lambda _, call: call.judge == judge)

    async def _next(self) -> tuple[Job, Call] | None:
        """The next call to make: ready ones first, then those of a new job; None when there is nothing left."""
        while not (self.stopped or self._cancelled or self._halted):
            ready = len(self._ready)
            if ready and not self._is_on_trust():
                return self._ready.popleft()
            affordable = self._may_open(self._left)
            if affordable and (job := next(self._jobs, None)) is not None:
                await self._begin(job)
                if ready < len(self._ready):  # its first call, though others may be ready
                    self._ready.rotate(-ready)
                    item = self._ready.popleft()
                    self._ready.rotate(ready)
                    return item
            elif ready:
                return self._ready.popleft()
            elif self.open:
                await self._sleep()
            else:
                if not affordable and next(self._jobs, None) is not None:
                    self.stop("max-cost")
                self._wake(len(self._idle))
                return None
        return None

    def _is_on_trust(self) -> bool:
        """Whether the few calls that go before anything was answered are still to be found: each of a conversation of
        its own, so that one that the server rejects is not the only one heard of."""
        pace = self._model.pace if self._model is not None else None
        return pace is not None and pace.cautious and len(self.open) < pace.limit

    async def _sleep(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle.append(turn)
        await turn

    def _wake(self, number: int) -> None:
        """Let so many idle workers look again."""
        while number > 0 and self._idle:
            turn = self._idle.popleft()
            if not turn.done():
                turn.set_result(None)
                number -= 1

    async def _begin(self, job: Job) -> None:
        self.open.add(job)
        self._left += len(job.calls)
        job.pending = len(job.calls) + 1
        # The longest chain is a draft and its judges, so drafts that are judged go first.
        judged = {call.needs for call in job.calls}
        for call in sorted(job.calls, key=lambda call: call.id not in judged):
            if call.needs is None:
                self._ready.append((job, call))
            elif (draft := job.drafts.get(call.turn)) is not None:
                self._ready.append((job, with_draft(call, draft)))
            else:
                job.waiting.setdefault(call.needs, []).append(call)
        self._wake(len(self._ready))
        await self._settle(job)

    async def _make(self, job: Job, call: Call) -> None:
        if call.judge is not None:
            record = await self._vote(job, call, call.judge)
        else:
            record = await self._answer(job, call)
        if record is None:
            return
        self._answered.add(call.judge)
        job.records[call.id] = record
        self._observer.answered(call, record)
        self._release(job, call, record)

    async def _answer(self, job: Job, call: Call) -> Record | None:
        assert self._model is not None, f"{call.id} is for the evaluated model, which is not asked"
        try:
            return await self._model.ask(call, job.conversation)
        except (TransientError, RejectedError) as error:
            job.failed = f"{call.kind} of turn {call.turn}: {error}" if call.turn else f"{call.kind}: {error}"
            job.tries = error.tries
            self._drop(lambda held, _: held is job)
            return None

    async def _vote(self, job: Job, call: Call, judge: int) -> Record | None:
        """A judge's record, or a vote that is owed: no trouble of a judge's costs the evaluated model its result."""
        if judge not in self._given_up:
            try:
                return await self._judges[judge].ask(call, job.conversation)
            except (TransientError, RejectedError) as error:
                job.owed[call.id] = str(error)
                return None
            except ConfigurationError as error:
                if self._model is None:
                    raise
                self._give_up(judge, str(error))
                self._drop_votes(judge)
        job.owed[call.id] = self._given_up[judge]
        return None

    def _give_up(self, judge: int, reason: str) -> None:
        """Say once that this judge cannot be asked; the next calls to it are owed unasked."""
        if judge not in self._given_up:
            self._given_up[judge] = reason
            self._observer.warned(f"A judge is not asked any more in this run, its votes are owed: {reason}")

    def _release(self, job: Job, call: Call, record: Record) -> None:
        """A draft frees its judges, first in the line so that a conversation ends soon; no draft, nothing to judge."""
        draft = record.answer.values.get("drafted_response") if call.kind == "draft" else None
        for judge_call in reversed(job.waiting.pop(call.id, [])):
            if draft is None:
                job.pending -= 1
                self._left -= 1
            else:
                self._ready.appendleft((job, with_draft(judge_call, draft)))
                self._wake(1)

    async def _settle(self, job: Job) -> None:
        """One of the job's calls (or its opening) is over; a failed job's waiting judges are not made any more."""
        job.pending -= 1
        if job.failed is not None:
            dropped = sum(len(calls) for calls in job.waiting.values())
            job.pending -= dropped
            self._left -= dropped
            job.waiting.clear()
        if job.pending == 0:
            worker = asyncio.current_task()
            self._ending.add(worker)
            try:
                await self._done(job)
            finally:
                self._ending.discard(worker)
            self.open.discard(job)
            self._wake(1 if self.open else len(self._idle))
