"""`run --batch` as a function, and which runs a batch service supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attunebench import eventloop
from attunebench.backends.providers import unsent
from attunebench.batches.executor import BatchExecutor
from attunebench.batches.ledger import Submission
from attunebench.batches.requests import Origin
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import UsageError
from attunebench.runner.events import Observer, RunSummary
from attunebench.runner.fingerprint import settled
from attunebench.runner.run import Run, assembled
from attunebench.runner.settings import RunSettings
from attunebench.runner.work import BENCHMARK, ConversationWork

PROVIDERS_WITH_BATCHES = ("openai", "local")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of a run by batches beside a run's settings.

    `interval`: seconds between two checks of what is under way. `discount` is the share of a live call's price that a
    batch saves, None for what is known of the provider. `cancel`: cancel what is under way, collect what is done of it,
    and send nothing new. `origin` is noted for whoever plans again.
    """

    interval: float = 60.0
    discount: float | None = None
    cancel: bool = False
    origin: Origin = field(default_factory=Origin)


class Watcher(Observer):
    """An observer that also receives batch events. Does nothing by default."""

    def looked(self, batches: Sequence[Submission], seconds: float) -> None:
        """The batches under way were checked; the next check is in so many seconds."""


@dataclass(frozen=True, slots=True)
class BatchRun:
    """How a run by batches ended, and what continues at the service after it."""

    summary: RunSummary
    under_way: Sequence[Submission] = ()


def run_batches(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    options: BatchOptions,
    *,
    watcher: Watcher | None = None,
    run_again: str = "",
    interruptible: bool = False,
) -> BatchRun:
    """As `run_conversations`, by batches. Batches of an earlier process are waited for and never sent twice.

    `interruptible` handles Ctrl-C: batches continue, and the same command resumes. Raises UsageError,
    DataError and ConfigurationError; what was answered by then is kept.
    """
    refuse_what_does_not_fit(settings)
    watcher = watcher or Watcher()
    settings = settled(settings, watcher.warned)
    executor = BatchExecutor(settings, options, watcher, interruptible=interruptible)
    work = ConversationWork(conversations, settings, codebook, BENCHMARK, assembled)
    summary = eventloop.run(Run(work, settings, codebook, watcher, run_again=run_again).by(executor))
    return BatchRun(summary, tuple(executor.under_way))


def refuse_what_does_not_fit(settings: RunSettings) -> None:
    """Raises UsageError for settings that no batch service supports."""
    em = settings.em
    if settings.shard is not None:
        raise UsageError(
            "--batch does not work with --shard: one process submits all requests, and a service distributes them."
        )
    if em.provider not in PROVIDERS_WITH_BATCHES:
        raise UsageError(
            f"--batch: no batch service is known at {em.provider}; {' and '.join(PROVIDERS_WITH_BATCHES)} (with "
            "--base-url) may have one. `attune-bench plan` writes the requests into files for other engines."
        )
    here = unsent(em)
    for there in map(unsent, settings.judges):
        if (there.provider, there.base_url) != (here.provider, here.base_url):
            raise UsageError(
                f"--batch: the judge {there.model} is at {there.provider} ({there.base_url}), not where the batches "
                "go. Run without this judge, and add its votes later with `attune-bench rejudge`."
            )
