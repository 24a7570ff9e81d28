"""Judge the drafts of results that are there, with more judges or with the same ones again, and add their votes.

The evaluated model is not asked. It is a run like any other, whose work is `VoteWork`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench import eventloop
from attunebench.errors import UsageError
from attunebench.runner.estimate import Estimate
from attunebench.runner.events import Observer
from attunebench.runner.live import Live
from attunebench.runner.run import Run
from attunebench.runner.scales import settled
from attunebench.runner.settings import ModelSettings, RunSettings, check_judges
from attunebench.runner.votes import RejudgeSummary, VoteWork

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.run import QuickScores

__all__ = ["RejudgeSummary", "estimate_rejudge", "rejudge_results", "rejudge_settings"]


def rejudge_settings(results: str | Path, judges: Sequence[ModelSettings], **values: Any) -> RunSettings:
    """The settings of a run into `results` of which the judges alone are asked; `values` as `RunSettings` takes them.

    Raises pydantic's ValidationError for values that fit no run.
    """
    # Whoever asks what it costs gets to hear nothing where nobody costs anything.
    free = all(judge.provider == "baseline" for judge in judges)
    drafts = ModelSettings(provider="baseline" if free else "results", model="drafts")
    return RunSettings(em=drafts, judges=tuple(judges), output=Path(results), **values)


def rejudge_results(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
    observer: Observer | None = None,
    quick_scores: QuickScores | None = None,
    interruptible: bool = False,
) -> RejudgeSummary:
    """Have the judges of `rejudge_settings` rate the drafts of the results under `settings.output`; add their votes.

    Votes that are there stay; with `settings.replace` a judge of these votes again, and its older vote goes when the
    new one is there. `models` (by name or provider/model) and `modes` narrow. Raises UsageError, DataError (no
    results, or somebody else is at work on them) and ConfigurationError (a judge that cannot be asked); what is written
    by then stays, and the journal keeps what was answered.
    """
    observer = observer or Observer()
    if not settings.judges:
        raise UsageError("No judge is named; give at least one with --judge-model.")
    check_judges(settings)
    settings = settled(settings, observer.warned, within=True)
    live = Live(settings, observer, judges_only=True, interruptible=interruptible)
    work = VoteWork(conversations, settings, codebook, models, modes, quick_scores)
    work.summary.run = eventloop.run(Run(work, settings, codebook, observer).by(live))
    return work.summary


def estimate_rejudge(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
) -> Estimate:
    """The votes that would be asked; what the journal has is counted too. Opens, sends and writes nothing."""
    notes: list[str] = []
    settings = settled(settings, notes.append, within=True)
    work, estimate = VoteWork(conversations, settings, codebook, models, modes), Estimate(notes=notes)
    work.survey(estimate.add, lambda _: None)
    estimate.jobs, estimate.complete = len(work.todos), work.complete
    return estimate
