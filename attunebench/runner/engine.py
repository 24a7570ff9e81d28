"""The engine: many jobs, one limit on calls under way, every free call of a job at once, memory for a few jobs only.

Workers take ready calls in order; when none is ready the next job is opened. So the calls of one conversation leave
close together (prefix caches like that), all workers stay busy, and conversations stream through however many there
are. It knows no prompt and no metric, and leaves a job's outcome to whoever gave it the jobs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attunebench.errors import ConfigurationError, TransientError
from attunebench.protocol.plan import with_draft

if TYPE_CHECKING:
    from attunebench.conversations.schema import Conversation
    from attunebench.protocol.calls import Call, Mode, Record
    from attunebench.runner.asking import Asker
    from attunebench.runner.events import Observer

GRACE = 10.0
"""Seconds that calls under way get to finish after an interruption."""


@dataclass(slots=True, eq=False)
class Job:
    """One conversation in one mode: the calls to make, and what came of them.

    `earlier` is the result to which votes are added, and `drafts` its drafts by turn; `owed` maps the judge calls that
    got no answer to the reason; `failed` says why the conversation is skipped, after `tries` of the failing call.
    """

    conversation: Conversation
    mode: Mode
    calls: Sequence[Call]
    earlier: Mapping[str, Any] | None = None
    drafts: Mapping[int, str] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    owed: dict[str, str] = field(default_factory=dict)
    failed: str | None = None
    tries: int = 0
    pending: int = 0
    waiting: dict[str, list[Call]] = field(default_factory=dict)


class Engine:
    """Runs jobs until they end or are interrupted. `done(job)` is called once for each job that ended, however."""

    def __init__(
        self,
        jobs: Iterator[Job],
        model: Asker,
        judges: Sequence[Asker],
        *,
        concurrency: int,
        done: Callable[[Job], None],
        observer: Observer,
    ) -> None:
        self._jobs = jobs
        self._model = model
        self._judges = judges
        self._concurrency = concurrency
        self._done = done
        self._observer = observer
        self._ready: deque[tuple[Job, Call]] = deque()
        self._open = 0
        self._given_up: dict[int, str] = {}
        self._changed = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._stopped = False
        self.interrupted = False

    async def run(self) -> None:
        """All jobs. The first ConfigurationError of a call to the model (or a bug) ends the rest and is raised."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        try:
            finished, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in finished:
                if not worker.cancelled():
                    worker.result()
        finally:
            self._cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    def interrupt(self) -> None:
        """Send nothing more; calls under way get `GRACE` to finish, and none at the second call.

        To be called from the loop's own thread.
        """
        if self.interrupted:
            self._cancel()
        self.interrupted = True
        asyncio.get_running_loop().call_later(GRACE, self._cancel)
        self._wake()

    def _cancel(self) -> None:
        # Before Python 3.12 a cancellation is lost on a worker whose call has just ended; the flag ends that one.
        self._stopped = True
        for worker in self._workers:
            worker.cancel()

    async def _work(self) -> None:
        while (item := await self._next()) is not None:
            job, call = item
            if job.failed is None:
                await self._make(job, call)
            self._settle(job)
            self._wake()

    def _wake(self) -> None:
        """Let the idle workers look again: a judge's call may be ready, or nothing is left."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _next(self) -> tuple[Job, Call] | None:
        """The next call to make: ready ones first, then those of a new job; None when there is nothing left."""
        while not (self.interrupted or self._stopped):
            if self._ready:
                return self._ready.popleft()
            if (job := next(self._jobs, None)) is not None:
                self._begin(job)
            elif self._open:
                await self._changed.wait()
            else:
                return None
        return None

    def _begin(self, job: Job) -> None:
        self._open += 1
        job.pending = len(job.calls) + 1
        for call in job.calls:
            if call.needs is None:
                self._ready.append((job, call))
            elif (draft := job.drafts.get(call.turn)) is not None:
                self._ready.append((job, with_draft(call, draft)))
            else:
                job.waiting.setdefault(call.needs, []).append(call)
        self._settle(job)

    async def _make(self, job: Job, call: Call) -> None:
        if call.judge is not None:
            record = await self._vote(job, call, call.judge)
        else:
            record = await self._answer(job, call)
        if record is None:
            return
        job.records[call.id] = record
        self._observer.answered(call, record)
        self._release(job, call, record)

    async def _answer(self, job: Job, call: Call) -> Record | None:
        try:
            return await self._model.ask(call, job.conversation)
        except TransientError as error:
            job.failed = f"{call.kind} of turn {call.turn}: {error}" if call.turn else f"{call.kind}: {error}"
            job.tries = error.tries
            return None

    async def _vote(self, job: Job, call: Call, judge: int) -> Record | None:
        """A judge's record, or a vote that is owed: no trouble of a judge's costs the evaluated model its result."""
        if judge not in self._given_up:
            try:
                return await self._judges[judge].ask(call, job.conversation)
            except TransientError as error:
                job.owed[call.id] = str(error)
                return None
            except ConfigurationError as error:
                self._give_up(judge, str(error))
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
            else:
                self._ready.appendleft((job, with_draft(judge_call, draft)))

    def _settle(self, job: Job) -> None:
        """One of the job's calls (or its opening) is over; a failed job's waiting judges are not made any more."""
        job.pending -= 1
        if job.failed is not None:
            job.pending -= sum(len(calls) for calls in job.waiting.values())
            job.waiting.clear()
        if job.pending == 0:
            self._open -= 1
            self._done(job)
