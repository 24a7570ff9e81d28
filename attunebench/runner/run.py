"""One run: work → executor → assemble, whoever makes the calls; the only place where a result is assembled and written.
Prints nothing: an observer receives all events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from typing import Any, TypeVar, cast

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.backends.providers import provider_named
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.journal import Entry, Hasher, Journal, RequestHash, is_shared
from attunebench.protocol.calls import Mode
from attunebench.results.schema import Stamp, now
from attunebench.results.votes import kept_votes
from attunebench.runner.budget import Budget
from attunebench.runner.clients import RunExecutor
from attunebench.runner.events import Observer, RunPlan, RunSummary
from attunebench.runner.fingerprint import CacheReport, settled
from attunebench.runner.job import Ask, Job, Rules
from attunebench.runner.live import Live
from attunebench.runner.pricing import Estimate, KnownPrices, check_bound
from attunebench.runner.settings import RunSettings
from attunebench.runner.work import BENCHMARK, ConversationWork, Task, Work, with_scores

E = TypeVar("E", bound=RunExecutor)


def run_conversations(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    task: Task = BENCHMARK,
    observer: Observer | None = None,
    run_again: str = "",
    interruptible: bool = False,
) -> RunSummary:
    """Run `settings.em` (and judges) over the conversations and write one result file for each and mode.

    `task` says what is asked and how a result is made of it. Finished work is not repeated; what cannot be finished is
    listed in `_skipped_<model>.json` with `run_again`, the command to resume. `interruptible` handles Ctrl-C: the first
    lets calls in flight finish, the second stops them. Raises UsageError, DataError (results of other settings) and
    ConfigurationError; what is written by then stays."""
    provider_named(settings.em.provider)
    live = partial(Live, interruptible=interruptible)
    return run_by(live, conversations, settings, codebook, task=task, observer=observer, run_again=run_again)[0]


def run_by(
    opened: Callable[[RunSettings, Observer], E],
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    task: Task = BENCHMARK,
    observer: Observer | None = None,
    run_again: str = "",
) -> tuple[RunSummary, E]:
    """As `run_conversations`, by another executor; how it ended, and the executor that `opened` made."""
    observer = observer or Observer()
    settings = settled(settings, observer.warned)
    executor = opened(settings, observer)  # raises for missing keys
    work = ConversationWork(conversations, settings, codebook, task, assembled if executor.keeps else None)
    run = Run(work, settings, codebook, observer, run_again=run_again)
    return eventloop.run(run.by(executor), owner=settings.em.client), executor


class Run:
    """One run of some work, by one call of `by`."""

    def __init__(
        self, work: Work, settings: RunSettings, codebook: Codebook, observer: Observer, *, run_again: str = ""
    ) -> None:
        self.work, self.settings, self.codebook, self.observer = work, settings, codebook, observer
        self.run_again = run_again
        self.budget = Budget(settings.max_cost)
        self.summary = RunSummary(settings.output, self.budget, shard=str(settings.shard or ""))
        self.journal: Journal | None = None
        self.hashers: Mapping[int, Hasher] = {}  # by `who`, of those whose replies are kept
        self.owed: dict[tuple[str, ...], int] = {}  # pending votes, by job
        self._counted: dict[tuple[str, ...], set[str]] = {}

    async def by(self, executor: RunExecutor) -> RunSummary:
        started, summary = time.monotonic(), self.summary
        async with AsyncExitStack() as stack:
            part = self.work.enter(stack.enter_context(ExitStack()))
            self.hashers = executor.hashers()
            if self.hashers:
                folder = self.settings.output
                journal = Journal.open(folder, shard=part) if executor.keeps else Journal.read(folder, copies=True)
                self.journal = stack.enter_context(journal)
            for path in self.journal.unread if self.journal is not None else ():
                if not is_shared(path):
                    self.observer.warned(
                        f"Another process is writing to {path}, so it cannot be read, and replies of this run in it "
                        "would be requested again."
                    )
            await executor.enter(stack, self.journal)
            plan = await self._plan(executor)
            for warning in self.work.warnings:
                self.observer.warned(warning)
            self.observer.started(plan)
            summary.stopped = await executor.execute(self)
        summary.seconds = time.monotonic() - started
        summary.written, summary.votes_owed = len(self.work.made), sum(self.owed.values())
        self.work.end(summary)
        return summary

    def jobs(self, *, again: int | None = None) -> Iterator[Job]:
        """Every job that is not done yet, planned when it is yielded, with what the journal has of it. `again`: how
        many further asks a done and incomplete call gets with `retry_unanswered`; by default as many as a call has in
        all."""
        settings = self.settings
        further = (settings.max_reasks + 1 if again is None else again) if settings.retry_unanswered else 0
        rules = Rules(self.codebook, settings.max_tokens, settings.max_reasks, further)
        return self.work.jobs(rules, self._known if self.journal is not None else None)

    def hashed(self, ask: Ask) -> RequestHash:
        return ask.hash(self.hashers[ask.who])

    async def finish(self, job: Job) -> None:
        """Write the result of a job, or note that it failed. A job with calls left (votes) stays in `jobs`. Raises
        DataError."""
        self.count(job)
        name, mode = job.key[:2]
        if job.failed is not None:
            self.summary.skipped[f"{name} ({mode})"] = job.failed
            self.work.skip(job, self.run_again)
            self.observer.skipped(name, mode, job.failed)
            return
        self.owed[job.key] = len(job.owed) + job.left
        content = job.assemble(job)
        if content is not None:
            path = self.work.place(job)
            await asyncio.to_thread(self.work.write, path, content)  # the flush to disk would block all other calls
            self.work.made.add(job.key)
            self.observer.written(name, mode, path)
        self.work.written(job)
        if job.key not in self.work.todos:
            del self._counted[job.key]

    def count(self, job: Job) -> None:
        """Count and report the answered calls of a job, each once."""
        counted = self._counted.setdefault(job.key, set())
        for record in [record for call_id, record in job.records.items() if call_id not in counted]:
            self.summary.add(record, self.settings.asked(record.call.who).model)
            self.observer.answered(record.call, record)
        counted.update(job.records)

    def _known(self, ask: Ask) -> Entry | None:
        entry = None
        if self.journal is not None and ask.who in self.hashers:
            entry = self.journal.find(*self.hashed(ask).all)
        self.budget.replayed += entry is not None
        return entry

    async def _plan(self, executor: RunExecutor) -> RunPlan:
        """What there is to do and what it takes. Raises DataError where results of other settings are in the way."""
        settings, work, known = self.settings, self.work, KnownPrices()
        expected, refused = Estimate(), Estimate()
        cached = CacheReport(self.journal, self.hashers)
        for calls, allowed in work.survey():
            unknown = cached.unknown(calls)
            (expected if allowed else refused).add(calls if allowed else unknown)
        reasons = cached.sentences()
        if work.differing:
            known = await executor.prices(to_show=True)
            work.check(" ".join(filter(None, (refused.in_words(known.prices, settings.max_tokens), *reasons))))
        if work.todos:
            known = await executor.prices()
            check_bound(settings, known.prices)
            self.budget.prices = known.prices
        costs = bool(self.hashers and work.todos)
        self.summary.jobs, self.summary.complete_before = len(work.todos) + work.complete, work.complete
        return RunPlan(
            jobs=self.summary.jobs,
            complete=work.complete,
            calls=expected.calls,
            order=work.order,
            spending=self.budget,
            prompt_tokens=expected.prompt_tokens if costs else None,
            price=expected.price(known.prices, settings.max_tokens) if costs else None,
            price_source=known.source,
            journalled=cached.journalled,
            notes=[*reasons, *work.notes, *executor.notes],
            headline=work.headline,
        )


def assembled(
    job: Job,
    conversation: Conversation,
    settings: RunSettings,
    stamp: Stamp,
    place: tuple[int, int],
    *,
    task: Task = BENCHMARK,
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of the result file of a job, whoever made its calls. `place`: of the conversation in the run's order,
    and out of how many. `before`: the result that is replaced, whose votes are kept. Raises ValueError where
    a call to the evaluated model has no record."""
    facts = {
        "provider": settings.em.provider,
        "em_model": settings.em.model,
        "run_timestamp": now(),
        "attunebench_version": __version__,
        "parameters": settings.parameters,
        "judge_models": [judge.model for judge in settings.judges],
        "epoch": None,
        "run_order": {"seed": settings.order_seed, "position": place[0], "of": place[1]},
        **stamp.as_keys,
    }
    result = task.assemble(conversation, cast("Mode", job.key[1]), job.records, facts)
    result = result if before is None else kept_votes(before, result)
    return with_scores(result, conversation)
