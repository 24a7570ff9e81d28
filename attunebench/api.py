"""The public functions of the package: what the commands do, without printing."""

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

# Modules that call models are imported where they are used; scoring does not need them.
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
    """List the calls that a run needs, at most (4 + judges)·turns + 1 per conversation and mode.

    Calls come conversation by conversation. A judge's call lacks its draft until
    `attunebench.protocol.plan.with_draft` adds it. Raises UsageError for a blind strategy with an omniscient mode,
    DataError for a codebook that cannot be read.
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
    """Run a model on conversations (or a folder of them) and write one result file per conversation and mode.

    Raises UsageError (invalid settings), DataError (invalid conversations, or results with other settings in the
    folder) and ConfigurationError (key, address, budget). `codebook` defaults to the one in the checkout of the
    conversations folder, then to the one of this package. See `attunebench.runner.run_conversations` for the other
    arguments.

    Works inside a running event loop, as in a notebook, and blocks it until the run ends; `run_async` does not block
    it. Interrupting the kernel raises KeyboardInterrupt; call `run` again to resume.

    `progress` shows the progress below the notebook cell, or on stderr outside a notebook. Pass an `observer` instead
    to receive every event.

    `client` sends the calls to the evaluated model: an AsyncOpenAI or AsyncAzureOpenAI (provider azure) with its own
    address, credentials, headers and transport, never used in another event loop (such as the notebook's). Retries,
    rate limits, journal and errors work as in any run; no key is required, and the client is not closed.

    `executor` replaces `run_conversations`, for example
    `functools.partial(attunebench.runner.on_ray.run_on_ray, workers=4)`.
    """
    from attunebench.runner import run_conversations

    if progress and observer is not None:
        raise UsageError("Pass `progress` or `observer`, not both.")
    if client is not None:
        if executor is not None:
            raise UsageError("A `client` serves one process: omit `executor`, or omit `client` and provide a key.")
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
    """Like `run`, but without blocking the event loop.

    The run has its own thread and event loop; the `observer` is called in that thread. `interruptible` has no effect.

    Cancelling the awaiting task (a timeout, an interrupted cell) cancels the calls in flight, releases the results
    folder and raises CancelledError. Finished calls are kept; call it again to resume. Several runs can be in progress
    at the same time, each with its own `client`.
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
    """Write the pending calls of a run into request files in OpenAI's batch format, for any engine.

    Requires no key and sends nothing. `settings.output` is the results folder, which stores the plan; results whose
    calls are all answered in the journal are written. `limits` apply to each file; `new_only` omits requests of earlier
    plans. `origin` tells `collect` where conversations passed as objects are stored. The default of `codebook` is that
    of `run`. Raises UsageError, ConfigurationError (invalid address) and DataError.
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
    """Read the response files of any engine (or folders of them) and write the results that they complete.

    Calls no model. Responses may be in any order, partial or repeated; the first reply to a request counts.
    `conversations` and `codebook` default to those of the plan. Raises UsageError (no plan in the folder) and DataError
    (unreadable files, unusable journal); `problems` lists replies that were stored but could not be used.
    """
    from attunebench.batches.files import collect_responses

    where = Path(conversations) if conversations is not None else None
    return collect_responses([*map(Path, responses)], Path(results), conversations=where, codebook=codebook)


def reparse(
    results: str | Path, conversations: Conversations, *, codebook: Codebook | Path | None = None
) -> ReparseSummary:
    """Parse the journalled replies of a results folder with the current parser and rewrite the results that change.

    Calls no model. Results with missing replies or older prompts are left unchanged and listed in `left`. The default
    of `codebook` is that of `run`. Raises DataError if the journal is missing or unusable.
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
    """Let judges rate the drafts in existing results and add their votes to the result files.

    `settings` come from `attunebench.runner.rejudge.rejudge_settings(results, judges, …)`; the evaluated models are not
    called. Existing votes are kept unless `settings.replace` is set. `models` and `modes` select results. Raises
    UsageError, DataError and ConfigurationError as `run` does. `attunebench.judges` reports on the votes.
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
        raise UsageError("`client` must be an AsyncOpenAI or AsyncAzureOpenAI, and the model must not be a baseline.")
    if settings.shard is not None:
        raise UsageError("A `client` serves one process and cannot be combined with `shard`.")
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
