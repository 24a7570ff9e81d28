"""One run from conversations to result files: open the models, see what is to do, let the engine do it, write.

Prints nothing: an observer hears of everything. What a result is worth is the scorer's; it comes in as a function.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from attunebench._version import __version__
from attunebench.backends import open_backend
from attunebench.backends.base import Backend
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import UsageError
from attunebench.protocol.assemble import RunFacts, add_votes, assemble
from attunebench.protocol.calls import Usage
from attunebench.protocol.plan import plan_warnings
from attunebench.protocol.read import expected_items
from attunebench.runner.asking import Asker
from attunebench.runner.engine import Engine, Job
from attunebench.runner.events import Observer, RunPlan, RunSummary, Silent
from attunebench.runner.files import Identity, ResultFolder, prepare_folder
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.skipped import SkippedFile
from attunebench.runner.stamps import Stamp, stamped
from attunebench.runner.work import Planner, Work

if TYPE_CHECKING:
    from attunebench.protocol.calls import Record

QuickScores = Callable[[Conversation, Mapping[str, Any]], Mapping[str, "float | None"]]
"""(conversation, result) → metric id → value, for the `scores` block of a result file."""


def run_conversations(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    observer: Observer | None = None,
    quick_scores: QuickScores | None = None,
    run_again: str = "",
    interruptible: bool = False,
) -> RunSummary:
    """Run `settings.em` (and judges) over the conversations and write one result file for each and mode.

    What is complete is passed over; what cannot be had from the line is skipped and listed in `_skipped_<model>.json`
    with `run_again`, the command to go on with. `interruptible` takes Ctrl-C: once lets calls under way finish, twice
    stops them. Raises UsageError, DataError (results of other settings) and ConfigurationError; what is written by
    then stays.
    """
    return asyncio.run(
        _Run(settings, codebook, observer or Silent(), quick_scores, run_again).run(conversations, interruptible)
    )


def choose(conversations: Sequence[Conversation], settings: RunSettings) -> Sequence[Conversation]:
    """The conversations of a run in its order: the data's own, cut at `limit`."""
    return conversations[: settings.limit]


@dataclass(slots=True)
class _Totals:
    """What the run has done so far."""

    written: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    votes_owed: int = 0
    calls: int = 0
    reasks: int = 0
    retries: int = 0
    answered_items: int = 0
    expected_items: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: bool = False

    def add(self, record: Record) -> None:
        self.calls += 1
        self.reasks += record.reasks
        self.retries += max(0, record.requests - 1 - record.reasks)
        self.usage += record.usage
        self.cost += record.cost or 0.0
        self.unpriced = self.unpriced or record.cost is None
        if record.call.judge is None:
            expected = len(expected_items(record.call.asked))
            self.expected_items += expected
            self.answered_items += expected - len(record.answer.missing)


class _Run:
    """The state of one run; lives for one call of `run_conversations`."""

    def __init__(
        self,
        settings: RunSettings,
        codebook: Codebook,
        observer: Observer,
        quick_scores: QuickScores | None,
        run_again: str,
    ) -> None:
        self._settings = settings
        self._codebook = codebook
        self._observer = observer
        self._quick_scores = quick_scores
        self._run_again = run_again
        self._totals = _Totals()
        self._stamps: dict[tuple[str, str], Stamp] = {}

    async def run(self, conversations: Sequence[Conversation], interruptible: bool) -> RunSummary:
        settings, started = self._settings, time.monotonic()
        judges = [judge.model for judge in settings.judges]
        if len(set(judges)) < len(judges):
            raise UsageError("A judge model is given twice; votes are kept by model name, so name each once.")
        chosen = choose(conversations, settings)
        model, *judging = [self._open(each) for each in (settings.em, *settings.judges)]
        try:
            prepare_folder(settings.output)
            self._folder = ResultFolder(settings.output)
            self._skipped = SkippedFile(settings.output, settings.em.provider, settings.em.model)
            planner = Planner(settings, self._codebook, self._folder)
            work = planner.survey(chosen)
            self._begin(work, chosen, len(conversations))
            engine = Engine(
                planner.jobs(work.todos),
                self._asker(model),
                [self._asker(judge) for judge in judging],
                concurrency=settings.concurrency,
                done=self._done,
                observer=self._observer,
            )
            with _interrupts(engine, interruptible):
                await engine.run()
        finally:
            for backend in (model, *judging):
                await backend.aclose()
        summary = self._summary(work, engine.interrupted, time.monotonic() - started)
        self._observer.finished(summary)
        return summary

    def _open(self, model: ModelSettings) -> Backend:
        return open_backend(model, structured=self._settings.structured, concurrency=self._settings.concurrency)

    def _asker(self, backend: Backend) -> Asker:
        return Asker(backend, self._settings, self._codebook, self._observer)

    def _begin(self, work: Work, chosen: Sequence[Conversation], n_all: int) -> None:
        for warning in plan_warnings(chosen, self._codebook):
            self._observer.warned(warning)
        self._stamps = {(todo.conversation.conversation_id, todo.mode): todo.stamp for todo in work.todos}
        order = "conversations in file order"
        if len(chosen) < n_all:
            order = f"the first {len(chosen)} of {n_all} {order}"
        jobs = len(work.todos) + work.complete
        self._observer.started(RunPlan(jobs, work.complete, sum(todo.n_calls for todo in work.todos), order))

    def _done(self, job: Job) -> None:
        """A job ended: its result is written, or the conversation is noted as skipped."""
        name = job.conversation.conversation_id
        for record in job.records.values():
            self._totals.add(record)
        if job.failed is not None:
            self._totals.skipped[f"{name} ({job.mode})"] = job.failed
            self._skipped.add(name, job.mode, reason=job.failed, tries=job.tries, when=_now(), again=self._run_again)
            self._observer.skipped(name, job.mode, job.failed)
            return
        self._totals.votes_owed += len(job.owed)
        path = self._folder.write(self._identity(job), self._result(job))
        self._totals.written += 1
        self._skipped.remove(name, job.mode)
        self._observer.written(name, job.mode, path)

    def _identity(self, job: Job) -> Identity:
        return (job.conversation.conversation_id, self._settings.em.provider, self._settings.em.model, job.mode)

    def _result(self, job: Job) -> dict[str, Any]:
        judges = tuple(judge.model for judge in self._settings.judges)
        if job.earlier is not None:
            result = add_votes(job.earlier, job.records.values(), judges)
        else:
            result = assemble(job.conversation, job.mode, job.records, self._facts(judges))
        result = stamped(result, self._stamps[(job.conversation.conversation_id, job.mode)])
        if self._quick_scores is not None:
            result["scores"] = dict(self._quick_scores(job.conversation, result))
        return result

    def _facts(self, judges: tuple[str, ...]) -> RunFacts:
        stamp = next(iter(self._stamps.values()))  # its prompt set and codebook are the whole run's
        return RunFacts(
            provider=self._settings.em.provider,
            em_model=self._settings.em.model,
            run_timestamp=_now(),
            attunebench_version=__version__,
            prompt_set_sha256=stamp.prompt_set_sha256,
            codebook_sha256=stamp.codebook_sha256,
            parameters=self._settings.parameters,
            judge_models=judges,
        )

    def _summary(self, work: Work, interrupted: bool, seconds: float) -> RunSummary:
        totals = self._totals
        return RunSummary(
            jobs=len(work.todos) + work.complete,
            written=totals.written,
            complete_before=work.complete,
            skipped=totals.skipped,
            votes_owed=totals.votes_owed,
            calls=totals.calls,
            reasks=totals.reasks,
            retries=totals.retries,
            answered_items=totals.answered_items,
            expected_items=totals.expected_items,
            prompt_tokens=totals.usage.prompt_tokens,
            completion_tokens=totals.usage.completion_tokens,
            cost=None if totals.unpriced or not totals.calls else totals.cost,
            seconds=seconds,
            interrupted=interrupted,
            output=self._settings.output,
        )


@contextmanager
def _interrupts(engine: Engine, wanted: bool) -> Iterator[None]:
    """Ctrl-C once: send nothing more. Twice: stop what is under way."""
    if not wanted:
        yield
        return
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, engine.interrupt)
    except (NotImplementedError, RuntimeError):  # Windows' loops, or not the main thread: Ctrl-C stops at once there.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
