"""What becomes of a conversation whose calls are made: the content of its result file, written or only made.

`Results` is pure, and the same whoever made the calls: the engine, a batch service, another framework. `Writing` puts
results and the list of what was skipped into a folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from attunebench._version import __version__
from attunebench.protocol.assemble import RunFacts, add_votes, with_votes_of
from attunebench.runner.files import Identity, ResultFolder, write_json
from attunebench.runner.skipped import SkipList
from attunebench.runner.stamps import Stamp, stamped
from attunebench.runner.task import BENCHMARK, Task
from attunebench.runner.totals import Totals

if TYPE_CHECKING:
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.engine import Job
    from attunebench.runner.events import Observer
    from attunebench.runner.settings import RunSettings

QuickScores = Callable[["Conversation", Mapping[str, Any]], Mapping[str, "float | None"]]
"""(conversation, result) → metric id → value, for the `scores` block of a result file."""


class Results:
    """Makes the results of one run.

    `chosen` are its conversations in its order, out of `n_all`. `epoch`: which repetition of the same run this is.
    """

    def __init__(
        self,
        settings: RunSettings,
        chosen: Sequence[Conversation],
        *,
        n_all: int,
        task: Task = BENCHMARK,
        quick_scores: QuickScores | None = None,
        epoch: int | None = None,
    ) -> None:
        self._settings = settings
        self._task = task
        self._quick_scores = quick_scores
        self._epoch = epoch
        self._positions = {conversation.conversation_id: i for i, conversation in enumerate(chosen)}
        self._n_all = n_all

    def make(self, job: Job, stamp: Stamp, *, now: str) -> dict[str, Any]:
        """The content of the job's result file: what `stamp` says was asked, with `now` (ISO 8601) as its time.

        Every call to the evaluated model has its record in `job.records`. Raises ValueError otherwise.
        """
        judges = tuple(judge.model for judge in self._settings.judges)
        if job.earlier is not None:
            result = add_votes(job.earlier, job.records.values(), judges)
        else:
            result = self._task.assemble(job.conversation, job.mode, job.records, self._facts(stamp, judges, now))
            position = self._positions[job.conversation.conversation_id]
            result["run_order"] = {"seed": self._settings.order_seed, "position": position, "of": self._n_all}
            if job.before is not None:
                result = with_votes_of(job.before, result)
        result = stamped(result, stamp)
        if self._quick_scores is not None:
            result["scores"] = dict(self._quick_scores(job.conversation, result))
        return result

    def _facts(self, stamp: Stamp, judges: tuple[str, ...], now: str) -> RunFacts:
        return RunFacts(
            provider=self._settings.em.provider,
            em_model=self._settings.em.model,
            run_timestamp=now,
            attunebench_version=__version__,
            prompt_set_sha256=stamp.prompt_set_sha256,
            codebook_sha256=stamp.codebook_sha256,
            parameters=self._settings.parameters,
            judge_models=judges,
            epoch=self._epoch,
        )


class Writing:
    """Writes what comes of the jobs of a run, and counts it in `totals`."""

    def __init__(
        self,
        results: Results,
        settings: RunSettings,
        folder: ResultFolder,
        skipped: SkipList,
        observer: Observer,
        *,
        run_again: str = "",
    ) -> None:
        self.totals = Totals()
        self._results = results
        self._settings = settings
        self._folder = folder
        self._skipped = skipped
        self._observer = observer
        self._run_again = run_again

    async def done(self, job: Job, stamp: Stamp) -> None:
        """A job ended: its result is written, or the conversation is noted as skipped."""
        name = job.conversation.conversation_id
        self.count(job)
        if job.failed is not None:
            self.totals.skipped[f"{name} ({job.mode})"] = job.failed
            self._skipped.add(name, job.mode, reason=job.failed, tries=job.tries, when=now(), again=self._run_again)
            self._observer.skipped(name, job.mode, job.failed)
            return
        self.totals.votes_owed += len(job.owed)
        path, result = self._folder.place(self._identity(job)), self._results.make(job, stamp, now=now())
        await asyncio.to_thread(write_json, path, result)  # the flush to disk would hold up all other calls
        self.totals.written += 1
        self._skipped.remove(name, job.mode)
        self._observer.written(name, job.mode, path)

    def count(self, job: Job, totals: Totals | None = None) -> None:
        """Count the calls of a job that have their answers, in other `totals` than those of the whole run if given."""
        totals = totals or self.totals
        for record in job.records.values():
            judge = record.call.judge
            asked = self._settings.em if judge is None else self._settings.judges[judge]
            totals.add(record, asked.model)

    def _identity(self, job: Job) -> Identity:
        return (job.conversation.conversation_id, self._settings.em.provider, self._settings.em.model, job.mode)


def now() -> str:
    """This moment as results and lists state it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
