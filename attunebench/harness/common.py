"""What every framework is given: conversations as walks, replies as entries, finished walks as results and scores.

Pure: the frameworks do the I/O. A result that is made here is the one that `run` would have written for these replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from attunebench.journal import Hasher
from attunebench.results.parsing import parse_result
from attunebench.runner.engine import Job
from attunebench.runner.replay import entry_of
from attunebench.runner.results import QuickScores, Results
from attunebench.runner.task import BENCHMARK, Task
from attunebench.runner.walk import Known, Open, Walk
from attunebench.runner.work import stamping
from attunebench.scorer.scoring import Cluster, score

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.errors import ItemError
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Mode
    from attunebench.runner.settings import RunSettings
    from attunebench.scores import Scores


class Session:
    """One model over `chosen` conversations (of `n_all`), asked by somebody else under a run's settings."""

    def __init__(
        self,
        settings: RunSettings,
        codebook: Codebook,
        chosen: Sequence[Conversation],
        *,
        n_all: int,
        task: Task = BENCHMARK,
    ) -> None:
        self.settings = settings
        self.codebook = codebook
        self._task = task
        self._chosen = chosen
        self._n_all = n_all
        self._stamping = stamping(settings, codebook, task)
        # Addresses are the framework's business; the hash tells asks of one session apart.
        models = (settings.em, *settings.judges)
        self._hashers = [
            Hasher(
                provider=each.provider,
                base_url=each.base_url or "",
                model=each.model,
                parameters=settings.request_parameters(judge=who > 0),
            )
            for who, each in enumerate(models)
        ]

    def walk(self, conversation: Conversation, mode: Mode, known: Known | None = None) -> Walk:
        """The conversation at its beginning, or behind the asks of which the reply is `known`."""
        settings = self.settings
        calls = self._task.plan(conversation, mode, self.codebook, settings)
        job = Job(conversation, mode, calls)
        return Walk(job, self.codebook, max_tokens=settings.max_tokens, max_reasks=settings.max_reasks, known=known)

    def entry(
        self,
        asked: Open,
        reply: Reply | None,
        *,
        error: ItemError | None = None,
        sent_at: str = "",
        seconds: float | None = None,
        tries: int = 1,
    ) -> Entry:
        """What came back for an open ask: a reply, or the error for which there can never be one."""
        hasher = self._hashers[asked.who]
        hashed = hasher(asked.call, asked.ask.messages, asked.ask.number)
        return entry_of(
            asked.call,
            asked.ask,
            hashed,
            hasher,
            reply=reply,
            error=error,
            sent_at=sent_at,
            seconds=seconds,
            tries=tries,
        )

    def result(
        self,
        walk: Walk,
        *,
        epoch: int | None = None,
        now: datetime | None = None,
        quick_scores: QuickScores | None = None,
    ) -> dict[str, Any]:
        """The result file's content of a walk whose `answered` is true. Raises ValueError otherwise."""
        job = walk.job
        results = Results(
            self.settings,
            self._chosen,
            n_all=self._n_all,
            task=self._task,
            quick_scores=quick_scores,
            epoch=epoch,
        )
        stamp = self._stamping(job.calls, job.conversation.source_sha256)
        moment = (now or datetime.now(timezone.utc)).isoformat(timespec="seconds")
        return results.make(job, stamp, now=moment)


def scores_of(
    conversations: Iterable[Conversation],
    results: Iterable[Mapping[str, Any]],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    cluster: Cluster | None = None,
) -> Scores:
    """What `attune-bench score` makes of results with this content."""
    parsed = (parse_result(dict(result), source_file="") for result in results)
    return score(conversations, parsed, resamples=resamples, seed=seed, cluster=cluster)
