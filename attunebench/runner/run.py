"""One run from conversations to result files: open the models, see what is to do, let the engine do it, write.

Prints nothing: an observer hears of everything. What a result is worth is the scorer's; it comes in as a function.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from attunebench import eventloop
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import UsageError
from attunebench.journal import claim
from attunebench.runner.crew import Crew
from attunebench.runner.engine import Job
from attunebench.runner.estimate import Counted
from attunebench.runner.events import Observer, RunPlan, RunSummary, Silent, Stop
from attunebench.runner.files import Identity, ResultFolder, prepare_folder
from attunebench.runner.novelty import Novelty
from attunebench.runner.order import order_words, sample_words, stratified_order
from attunebench.runner.results import QuickScores, Results, Writing
from attunebench.runner.scales import settled
from attunebench.runner.settings import RunSettings
from attunebench.runner.shards import journal_name, part_of
from attunebench.runner.skipped import SkippedFile
from attunebench.runner.stamps import Stamp
from attunebench.runner.stint import Gathered, Handed, Spread
from attunebench.runner.task import BENCHMARK, Task
from attunebench.runner.totals import counted
from attunebench.runner.work import Planner, Work

if TYPE_CHECKING:
    from attunebench.journal import Hasher, Journal
    from attunebench.protocol.calls import Call


def run_conversations(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    task: Task = BENCHMARK,
    observer: Observer | None = None,
    quick_scores: QuickScores | None = None,
    run_again: str = "",
    interruptible: bool = False,
    spread: Spread | None = None,
) -> RunSummary:
    """Run `settings.em` (and judges) over the conversations and write one result file for each and mode.

    `task` says what is asked and how a result is made of it: the benchmark, unless something else is given.

    What is complete is passed over; what cannot be had from the line is skipped and listed in `_skipped_<model>.json`
    with `run_again`, the command to go on with. `interruptible` takes Ctrl-C: once lets calls under way finish, twice
    stops them. `spread` has the jobs (the benchmark's) done by other processes than this one. Raises UsageError,
    DataError (results of other settings) and ConfigurationError; what is written by then stays.
    """
    return eventloop.run(
        _Run(settings, codebook, task, observer or Silent(), quick_scores, run_again, spread).run(
            conversations, interruptible
        )
    )


def choose(conversations: Sequence[Conversation], settings: RunSettings) -> Sequence[Conversation]:
    """The conversations of a whole run in its order: seeded and stratified, so that each beginning is a fair sample of
    all; cut at `limit`. What a shard has of them is told by `shards.part_of`."""
    return stratified_order(conversations, settings.order_seed)[: settings.limit]


class _Seen:
    """What the survey's calls come to: how much they are, and which of them are new; those to make apart from those
    that results of other settings would take."""

    def __init__(self, journal: Journal | None, hash_: Hasher) -> None:
        self.counted = Counted()
        self.refused = Counted()
        self.novelty = Novelty(journal, hash_) if journal is not None else None

    def add(self, calls: Sequence[Call]) -> None:
        self.counted.add(calls)
        if self.novelty is not None:
            self.novelty.add(calls)

    def refuse(self, calls: Sequence[Call]) -> None:
        self.refused.add(calls if self.novelty is None else self.novelty.add(calls))


class _Run:
    """The state of one run; lives for one call of `run_conversations`."""

    def __init__(
        self,
        settings: RunSettings,
        codebook: Codebook,
        task: Task,
        observer: Observer,
        quick_scores: QuickScores | None,
        run_again: str,
        spread: Spread | None,
    ) -> None:
        self._settings = settings
        self._codebook = codebook
        self._task = task
        self._observer = observer
        self._quick_scores = quick_scores
        self._run_again = run_again
        self._spread = spread
        self._parted = settings.shard is not None or spread is not None
        self._stamps: dict[tuple[str, str], Stamp] = {}
        self._n_all = 0

    async def run(self, conversations: Sequence[Conversation], interruptible: bool) -> RunSummary:
        self._settings = settings = settled(self._settings, self._observer.warned)
        task, started = self._task, time.monotonic()
        judges = [judge.model for judge in settings.judges]
        if len(set(judges)) < len(judges):
            raise UsageError("A judge model is given twice; votes are kept by model name, so name each once.")
        self._whole = choose(conversations, settings)
        self._n_all = len(conversations)
        self._crew = crew = Crew(settings, self._codebook, self._observer)  # tells of keys that are missing
        prepare_folder(settings.output)
        async with AsyncExitStack() as stack:
            em, shard = settings.em, settings.shard.name if settings.shard else None
            stack.enter_context(claim(settings.output, em.provider, em.model, settings.modes, shard, task=task.name))
            self._chosen = part_of(self._whole, settings.shard, settings.output) if settings.shard else self._whole
            part = shard and journal_name(settings, shard, task.name)
            await crew.settle_in(stack, settings.output, part, asking=self._spread is None)
            self._folder = ResultFolder(settings.output, task.identity_of, task.result_name)
            self._folder.reserve(self._identities())
            self._writing = self._writing_into(self._folder)
            planner = Planner(settings, self._codebook, self._folder, task)
            seen = _Seen(crew.journal, crew.hasher())
            work = planner.survey(self._chosen, seen.add, seen.refuse)
            if work.differing:
                planner.check(work, await self._news_of(seen))
            stopped = await self._have_done(planner, work, seen, interruptible)
        summary = self._summary(work, stopped, time.monotonic() - started)
        self._observer.finished(summary)
        return summary

    async def _news_of(self, seen: _Seen) -> str:
        """What making results anew would ask and cost, and why, in sentences."""
        known = await self._crew.listed_prices()
        said = seen.refused.in_words(known.prices, self._settings.max_tokens)
        return " ".join(filter(None, (said, *(seen.novelty.sentences() if seen.novelty else ()))))

    def _identities(self) -> list[Identity]:
        """The results of all parts of a run in its order; none where there is one process for all of it."""
        em, modes = self._settings.em, self._settings.modes
        names = [each.conversation_id for each in self._whole] if self._parted else []
        return [(name, em.provider, em.model, mode) for name in names for mode in modes]

    def _writing_into(self, folder: ResultFolder) -> Writing:
        settings, task, em = self._settings, self._task, self._settings.em
        results = Results(settings, self._whole, n_all=self._n_all, task=task, quick_scores=self._quick_scores)
        shard = settings.shard.name if settings.shard else ""
        self._skipped = SkippedFile(settings.output, em.provider, em.model, task.name, shard=shard)
        return Writing(results, settings, folder, self._skipped, self._observer, run_again=self._run_again)

    async def _have_done(self, planner: Planner, work: Work, seen: _Seen, interruptible: bool) -> Stop:
        """Why it ended before its time. What was answered of jobs that are not whole by then is counted too."""
        crew = self._crew
        if work.todos:
            await crew.set_prices()
        for warning in self._task.warnings(self._chosen, self._codebook):
            self._observer.warned(warning)
        if self._spread is not None:
            self._observer.started(self._plan(work, seen))
            handed = Handed(self._settings, self._codebook, self._whole, self._n_all, self._run_again)
            gathered = Gathered(self._observer, self._writing.totals, crew.spending, self._skipped)
            return self._spread(handed, work.todos, gathered, interruptible=interruptible) if work.todos else ""
        engine = crew.engine(planner.jobs(work.todos), self._done)
        self._stamps = {(todo.conversation.conversation_id, todo.mode): todo.stamp for todo in work.todos}
        self._observer.started(self._plan(work, seen))
        await crew.work(engine, interruptible=interruptible)
        for job in engine.open:
            self._writing.count(job)
        return engine.stopped

    def _plan(self, work: Work, seen: _Seen) -> RunPlan:
        settings, crew = self._settings, self._crew
        costs = crew.costs and bool(work.todos)
        return RunPlan(
            jobs=len(work.todos) + work.complete,
            complete=work.complete,
            calls=sum(todo.n_calls for todo in work.todos),
            order=order_words(len(self._whole), self._n_all, settings.order_seed, self._part_words()),
            spending=crew.spending,
            prompt_tokens=seen.counted.prompt_tokens if costs else None,
            price=seen.counted.price(crew.prices.prices, settings.max_tokens) if costs else None,
            price_source=crew.prices.source,
            journalled=seen.novelty.journalled if seen.novelty else 0,
            notes=[*(seen.novelty.sentences() if seen.novelty else ()), *crew.payers],
        )

    def _part_words(self) -> str:
        shard = self._settings.shard
        return f"shard {shard.number} of {shard.of}, {len(self._chosen)} conversations of" if shard else ""

    async def _done(self, job: Job) -> None:
        await self._writing.done(job, self._stamps[(job.conversation.conversation_id, job.mode)])

    def _summary(self, work: Work, stopped: Stop, seconds: float) -> RunSummary:
        totals, spending, modes = self._writing.totals, self._crew.spending, len(self._settings.modes)
        jobs, identities = len(work.todos) + work.complete, self._identities()
        unreached = len(work.todos) - totals.written - len(totals.skipped)
        reached = (jobs - unreached - len(totals.skipped)) // modes
        return RunSummary(
            **counted(totals, spending),
            jobs=jobs,
            written=totals.written,
            complete_before=work.complete,
            skipped=totals.skipped,
            votes_owed=totals.votes_owed,
            seconds=seconds,
            interrupted=stopped == "interrupted",
            output=self._settings.output,
            stopped=stopped,
            unreached=unreached,
            sample=sample_words(reached, self._n_all, self._settings.order_seed) if stopped and reached else "",
            shard=str(self._settings.shard or ""),
            whole=(sum(self._folder.place(each).exists() for each in identities), len(identities)),
        )
