"""`attune-bench plan`: the calls of a run as files of requests, for an engine or service of the user's own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import (
    CodebookOption,
    ConversationsArgument,
    ConversationsOption,
    DryRunOption,
    ModesOption,
    QuietOption,
    SkipInvalidOption,
    one_folder,
)
from attunebench.cli.asking import JUDGES, MODEL, model_settings, modes_of, run_settings
from attunebench.cli.emitting import say
from attunebench.cli.options import flag, options_of, with_options
from attunebench.runner.settings import RunSettings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.batches.files import PlanSummary

_KEYS = ("api_key", "judge_api_key")
_OF_A_SERVER = ("concurrency", "rpm", "tpm", "max_cost", "call_timeout", "shard")
"""Fields that say how a server is asked, which a plan does not."""


@with_options(
    em=[one for one in MODEL if one.name not in _KEYS],
    judges=[one for one in JUDGES if one.name not in _KEYS],
    values=options_of(RunSettings, without=_OF_A_SERVER),
)
def plan(
    context: typer.Context,
    provider: Annotated[
        str, typer.Argument(help="openai, openrouter, prime, azure, or local for an engine of your own; as for `run`.")
    ],
    model: Annotated[str, typer.Argument(help="The engine's name for the model.")],
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    modes: ModesOption = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    new_only: Annotated[
        bool,
        flag("Leave out unanswered requests of earlier plans.", "--new-only", panel="Resuming"),
    ] = False,
    output: Annotated[
        Path, flag("The request file; further files are numbered.", "-o", "--output", panel="Output")
    ] = Path("requests.jsonl"),
    results: Annotated[
        Path, flag("Folder of the result files and the journal; `run`'s -o.", "--results", "-r", panel="Output")
    ] = Path("results"),
    max_lines: Annotated[int, flag("Maximum requests per file.", panel="Output", min=1)] = 50_000,
    max_bytes: Annotated[int, flag("Maximum bytes per file.", panel="Output", min=1)] = 200_000_000,
    quiet: QuietOption = False,
    *,
    em: dict[str, Any],
    judges: dict[str, Any],
    values: dict[str, Any],
) -> None:
    """Write the calls of a run as request files in OpenAI's batch format, for batch services, vLLM and other engines.
    Requires no key and sends nothing; `attune-bench collect` reads the responses.

    Judge calls and re-prompts follow in later rounds: plan again after collecting responses.
    """
    from attunebench import api, eventloop
    from attunebench.backends.providers import unsent
    from attunebench.batches.requests import Limits, Origin
    from attunebench.cli import running
    from attunebench.runner.pricing import estimate_run, prices_of

    asked = model_settings(provider, model, em["base_url"], None)
    settings = run_settings(asked, judges, modes=modes_of(context, modes), output=results, **values)
    where, limits = one_folder(conversations, folder), Limits(lines=max_lines, bytes=max_bytes)
    if dry_run:
        for each in (settings.em, *settings.judges):
            unsent(each)
    loaded, book = running.load(where, codebook, skip_invalid=skip_invalid, quiet=quiet)
    if dry_run:
        # Nobody is asked, for a price neither.
        known = eventloop.run(prices_of(settings, {}))
        running.show_estimate(estimate_run(loaded.conversations, settings, book), settings, known)
        return
    # What is missing when the command is repeated was asked before.
    command = running.run_again([word for word in sys.argv if word != "--new-only"])
    origin = Origin(where, codebook, skip_invalid, command)
    summary = api.plan(loaded, settings, output, codebook=book, limits=limits, new_only=new_only, origin=origin)
    for line in () if quiet else _lines(summary, settings, new_only):
        say(line)
    if loaded.skipped:
        raise typer.Exit(1)


def _lines(summary: PlanSummary, settings: RunSettings, new_only: bool) -> Iterator[str]:
    """What was written, what waits, what to do next."""
    planned, results = summary.planned, printable(str(settings.output))
    for each in planned.files:
        path, model = printable(str(each.path)), printable(each.model)
        yield f"{path}: {counted(each.lines, 'request')} to {model}, {each.bytes:,} B."
    if not planned.files:
        yield "There is nothing to request." if not summary.asked_before else "There is nothing new to request."
    for (tag, when), count in summary.asked_before.items():
        done = "left out" if new_only else "included here"
        yield f"{counted(count, 'request')} of the plan {tag} ({when}) not answered yet: {done}."
    if summary.asked_before and not new_only:
        yield "Have each request answered only once: --new-only leaves out those that an engine is still working on."
    yield from (f"Attention: {printable(problem, 2000)}" for problem in summary.problems)
    yield from map(printable, summary.notes)
    if summary.waiting:
        yield f"{counted(summary.waiting, 'judge call')} will be planned when the drafts are collected."
    if summary.written or summary.complete or not planned.files:
        written = f"{counted(summary.written, 'result')} written to {results} from its journal"
        yield f"{written}; {summary.complete} complete before."
    if planned.files:
        words = shlex.join(["attune-bench", "collect", "RESPONSES", "--results", str(settings.output)])
        yield f"Next: have the requests answered, then: {printable(words)}"
