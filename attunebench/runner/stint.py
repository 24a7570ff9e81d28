"""A part of a run in a process of its own: jobs come one by one from somebody who has them all, and go back as news.

Owns what such a process does with its models, its journal file and the results folder. Who hands out the jobs, how the
process was started and where the news goes is the business of whoever spreads the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from attunebench.runner.crew import Crew
from attunebench.runner.files import ResultFolder
from attunebench.runner.results import QuickScores, Results, Writing
from attunebench.runner.spending import Spending
from attunebench.runner.task import BENCHMARK
from attunebench.runner.totals import Totals
from attunebench.runner.work import Planner, Todo

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.results.schema import Stamp
    from attunebench.runner.engine import Engine, Job
    from attunebench.runner.events import Observer, Stop
    from attunebench.runner.settings import RunSettings
    from attunebench.runner.skipped import SkipList


@dataclass(frozen=True, slots=True)
class Handed:
    """What every process of a run has to know: all that is picked up once. `whole` are the conversations of the run in
    its order, out of `n_all`."""

    settings: RunSettings
    codebook: Codebook
    whole: Sequence[Conversation]
    n_all: int
    run_again: str = ""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Where the news of all processes comes together: the same things that a run in one process fills."""

    observer: Observer
    totals: Totals
    spending: Spending
    skipped: SkipList


class Spread(Protocol):
    """Has a run's jobs done by several processes, and tells `gathered` of it; returns why it ended before its time.

    The caller holds the claim on the run. Raises ConfigurationError as a run does.
    """

    def __call__(self, handed: Handed, todos: Sequence[Todo], gathered: Gathered, *, interruptible: bool) -> Stop: ...


@dataclass(frozen=True, slots=True)
class Done:
    """How a stint ended. `spent`: USD for the bound of --max-cost, the unknown at its worst case; `begun` counts the
    calls of jobs that were begun and have not ended."""

    stopped: Stop
    spending: Spending
    spent: float
    begun: Totals = field(default_factory=Totals)


class Stint:
    """One process's work. `part` names its journal file, `patience` are the seconds that it waits for that one's lock.

    `ended(number, totals)` is called for each job that ended, in the loop's thread; what the totals count has not been
    told before.
    """

    def __init__(
        self,
        handed: Handed,
        part: str,
        observer: Observer,
        skipped: SkipList,
        *,
        ended: Callable[[int, Totals], None],
        quick_scores: QuickScores | None = None,
        patience: float = 1.0,
    ) -> None:
        self.spending = Spending()
        self._handed = handed
        self._part = part
        self._observer = observer
        self._skipped = skipped
        self._ended = ended
        self._quick_scores = quick_scores
        self._patience = patience
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interruptions = 0
        self._taken: dict[tuple[str, str], tuple[int, Stamp]] = {}

    async def run(self, todos: Iterator[tuple[int, Todo]]) -> Done:
        """Do the jobs, each taken when there is room for it. Raises what a run raises."""
        handed, settings = self._handed, self._handed.settings
        crew = Crew(settings, handed.codebook, self._observer)
        self.spending = crew.spending
        async with AsyncExitStack() as stack:
            await crew.settle_in(stack, settings.output, self._part, patience=self._patience)
            folder = ResultFolder(settings.output)
            folder.reserve(
                (each.conversation_id, settings.em.provider, settings.em.model, mode)
                for each in handed.whole
                for mode in settings.modes
            )
            results = Results(settings, handed.whole, n_all=handed.n_all, quick_scores=self._quick_scores)
            self._writing = Writing(
                results, settings, folder, self._skipped, self._observer, run_again=handed.run_again
            )
            await crew.set_prices()
            jobs = Planner(settings, handed.codebook, folder, BENCHMARK).jobs(self._noted(todos))
            engine = crew.engine(jobs, self._done)
            self._loop, self._engine = asyncio.get_running_loop(), engine
            for _ in range(self._interruptions):
                engine.interrupt()
            await crew.work(engine, interruptible=False)
        self._writing.totals = Totals()
        for job in engine.open:
            self._writing.count(job)
        return Done(engine.stopped, crew.spending, crew.spent, self._writing.totals)

    def interrupt(self) -> int:
        """As Ctrl-C, from any thread: the first one lets calls under way finish. Returns how many these are, about."""
        self._interruptions += 1
        if self._loop is None or self._engine is None:
            return 0  # it is heeded as soon as there is an engine
        engine, told = self._engine, Future[int]()

        def interrupt() -> None:
            told.set_result(engine.under_way)
            engine.interrupt()

        try:
            self._loop.call_soon_threadsafe(interrupt)
            return told.result(timeout=5.0)
        except (RuntimeError, OutOfTime):  # the stint has just ended
            return 0

    def _noted(self, todos: Iterator[tuple[int, Todo]]) -> Iterator[Todo]:
        for number, todo in todos:
            self._taken[(todo.conversation.conversation_id, todo.mode)] = number, todo.stamp
            yield todo

    async def _done(self, job: Job) -> None:
        number, stamp = self._taken.pop((job.conversation.conversation_id, job.mode))
        await self._writing.done(job, stamp)
        totals, self._writing.totals = self._writing.totals, Totals()
        self._ended(number, totals)
