"""The library's front door: what the commands do, as typed functions that print nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench import eventloop
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, ConversationSet, load_conversations
from attunebench.errors import UsageError
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.protocol.calls import Call, Mode, PanasStrategy
from attunebench.protocol.plan import plan_calls as _plan_calls
from attunebench.scorer import score_to_file
from attunebench.study import analyze, compare, figure, load_scores, report, score

# What asks models is imported where it is used: who only scores does without it.
if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from attunebench.batches.files import CollectSummary, PlanSummary
    from attunebench.batches.requests import Limits, Origin
    from attunebench.runner import Observer, RunSettings, RunSummary
    from attunebench.runner.rejudge import RejudgeSummary
    from attunebench.runner.reparse import ReparseSummary

__all__ = [
    "analyze",
    "collect",
    "compare",
    "figure",
    "load_conversations",
    "load_scores",
    "plan",
    "plan_calls",
    "rejudge",
    "reparse",
    "report",
    "run",
    "run_async",
    "score",
    "score_to_file",
]

Conversations = Sequence[Conversation] | ConversationSet | str | Path
"""Conversations, or the folder that they are in."""


def plan_calls(
    conversations: Conversations,
    modes: Sequence[Mode] = ("default",),
    *,
    judges: int = 0,
    panas_strategy: PanasStrategy = "absolute",
    judge_scale: JudgeScale = JUDGE_SCALE,
    codebook: Codebook | Path | None = None,
) -> Iterator[Call]:
    """Every call of these conversations, conversation by conversation: (4 + judges)·turns + 1 each and mode at most.

    A judge's call lacks its draft until `attunebench.protocol.plan.with_draft` has put it in. Raises UsageError for
    a blind strategy with an omniscient mode, DataError for a codebook that cannot be read.
    """
    talks, book = _loaded(conversations, codebook)
    return _plan_calls(talks, modes, book, judges=judges, panas_strategy=panas_strategy, judge_scale=judge_scale)


def run(
    conversations: Conversations,
    settings: RunSettings,
    *,
    codebook: Codebook | Path | None = None,
    observer: Observer | None = None,
    progress: bool = False,
    run_again: str = "",
    interruptible: bool = False,
    client: AsyncOpenAI | None = None,
    executor: Callable[..., RunSummary] | None = None,
) -> RunSummary:
    """Run a model over conversations (or a folder of them) and write one result file for each and mode.

    Raises UsageError (settings that fit no run), DataError (conversations, or results of other settings in the folder)
    and ConfigurationError (key, address, money). The codebook is the given one; for a folder, else the one of its
    checkout; else this package's. See `attunebench.runner.run_conversations` for the other arguments.

    Works where an event loop is running already, as in a notebook, and blocks it until the run ends; `run_async` does
    not. Interrupting the kernel raises KeyboardInterrupt, and calling it again resumes the run.

    `progress` shows how far the run is: in a notebook below its cell, elsewhere on stderr. An `observer` is told of
    everything instead.

    `client` asks the evaluated model in place of this package's own: an AsyncOpenAI or AsyncAzureOpenAI (whose provider
    is azure) with its address, credentials, headers and transport, not used in another event loop before (that of a
    notebook, say). Tries, pace, journal and errors are a run's as ever; no key is looked for, and the client stays
    open.

    `executor` does the run in place of `run_conversations`:
    `functools.partial(attunebench.runner.on_ray.run_on_ray, workers=4)`, say.
    """
    from attunebench.runner import run_conversations

    if progress and observer is not None:
        raise UsageError("Give `progress` or an `observer`, not both.")
    if client is not None:
        if executor is not None:
            raise UsageError("A `client` serves one process: leave out `executor`, or have it find keys by itself.")
        settings = _with_client(settings, client)
    talks, book = _loaded(conversations, codebook)
    by = executor or run_conversations
    with ExitStack() as stack:
        if progress:
            from attunebench.progress import shown

            observer = stack.enter_context(shown(settings))
        return by(talks, settings, book, observer=observer, run_again=run_again, interruptible=interruptible)


async def run_async(
    conversations: Conversations,
    settings: RunSettings,
    *,
    codebook: Codebook | Path | None = None,
    observer: Observer | None = None,
    progress: bool = False,
    run_again: str = "",
    interruptible: bool = False,
    client: AsyncOpenAI | None = None,
    executor: Callable[..., RunSummary] | None = None,
) -> RunSummary:
    """As `run`, without blocking the event loop: the run has a thread and a loop of its own, where the `observer` is
    called. `interruptible` has no effect in a thread.

    Cancelling the task that awaits it (a time limit, an interrupted cell) cancels the calls in flight, lets go of the
    results folder and then raises CancelledError; finished calls are kept, and calling it again resumes the run.
    Several runs may go on at the same time, each with a `client` of its own.
    """
    options: dict[str, Any] = {"codebook": codebook, "observer": observer, "progress": progress, "client": client}
    options |= {"run_again": run_again, "interruptible": interruptible, "executor": executor}
    return await eventloop.in_thread(partial(run, conversations, settings, **options))


def plan(
    conversations: Conversations,
    settings: RunSettings,
    output: str | Path = "requests.jsonl",
    *,
    codebook: Codebook | Path | None = None,
    limits: Limits | None = None,
    new_only: bool = False,
    origin: Origin | None = None,
) -> PlanSummary:
    """Write what a run would ask now into request files in OpenAI's batch format, for somebody else's engine.

    Needs no key and sends nothing. `settings.output` is the results folder, which keeps what belongs to the requests;
    results of what its journal has all answers for are written. `limits` are those of one file, `new_only` leaves out
    what an earlier plan asks. `origin` tells `collect` where conversations are that are given as objects. The codebook
    is found as by `run`. Raises UsageError, ConfigurationError (an address that is none) and DataError.
    """
    from attunebench.batches.files import plan_requests
    from attunebench.batches.requests import SERVICE, Origin

    if origin is None:
        folder = Path(conversations) if isinstance(conversations, (str, Path)) else None
        origin = Origin(folder, codebook if isinstance(codebook, Path) else None)
    talks, book = _loaded(conversations, codebook)
    limits = limits or SERVICE
    return plan_requests(talks, settings, book, Path(output), origin=origin, limits=limits, new_only=new_only)


def collect(
    responses: Sequence[str | Path],
    results: str | Path = "results",
    *,
    conversations: str | Path | None = None,
    codebook: Path | None = None,
) -> CollectSummary:
    """Keep the answers that stand in response files (and folders of them) of any engine, then write the results that
    they complete. Asks nobody.

    Any order, any part, and again: the first reply to a request counts. Conversations and codebook are those of the
    plan where nothing is given. Raises UsageError (no plan in the folder) and DataError (files that cannot be read, a
    journal that cannot be used); what could not be done with answers that are kept is told in `problems`.
    """
    from attunebench.batches.files import collect_responses

    where = Path(conversations) if conversations is not None else None
    return collect_responses([*map(Path, responses)], Path(results), conversations=where, codebook=codebook)


def reparse(
    results: str | Path, conversations: Conversations, *, codebook: Codebook | Path | None = None
) -> ReparseSummary:
    """Read the journalled replies of a results folder again with today's reader, and rewrite what comes out otherwise.

    Asks no model. Results whose replies the journal lacks, or whose prompts are not today's, stay and are named in
    `left`. The codebook is found as by `run`. Raises DataError: no journal, or one that cannot be used.
    """
    from attunebench.runner.reparse import reparse_results

    talks, book = _loaded(conversations, codebook)
    return reparse_results(Path(results), talks, book)


def rejudge(
    conversations: Conversations,
    settings: RunSettings,
    *,
    models: Sequence[str] = (),
    modes: Sequence[Mode] = (),
    codebook: Codebook | Path | None = None,
    observer: Observer | None = None,
    interruptible: bool = False,
) -> RejudgeSummary:
    """Have judges rate the drafts of results that are there, and add their votes to the result files.

    `settings` come from `attunebench.runner.rejudge.rejudge_settings(results, judges, …)`; the evaluated models are not
    asked. Votes that are there stay, unless `settings.replace`. `models` and `modes` narrow. Raises UsageError,
    DataError and ConfigurationError as `run` does. What the votes say is told by `attunebench.judges`.
    """
    from attunebench.runner.rejudge import rejudge_results

    talks, book = _loaded(conversations, codebook)
    return rejudge_results(
        talks, settings, book, models=models, modes=modes, observer=observer, interruptible=interruptible
    )


def _with_client(settings: RunSettings, client: AsyncOpenAI) -> RunSettings:
    """The settings with this client for the evaluated model."""
    from openai import AsyncAzureOpenAI, AsyncOpenAI

    if not isinstance(client, AsyncOpenAI) or settings.em.provider == "baseline":
        raise UsageError("`client` takes an AsyncOpenAI or AsyncAzureOpenAI, for a model that is no baseline.")
    if settings.shard is not None:
        raise UsageError("A `client` serves one process: a run with one takes no shard.")
    changes = {"client": client, **({"provider": "azure"} if isinstance(client, AsyncAzureOpenAI) else {})}
    return settings.model_copy(update={"em": settings.em.model_copy(update=changes)})


def _loaded(conversations: Conversations, codebook: Codebook | Path | None) -> tuple[list[Conversation], Codebook]:
    """The conversations, and the codebook: the given one, else the one beside a folder, else this package's."""
    if isinstance(conversations, (str, Path)):
        codebook = codebook or codebook_for(Path(conversations))
        conversations = load_conversations(conversations)
    if codebook is None or isinstance(codebook, Codebook):
        return list(conversations), codebook or default_codebook()
    return list(conversations), load_codebook(codebook)
