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
    ConversationsOption,
    DryRunOption,
    ModesOption,
    QuietOption,
    SkipInvalidOption,
    one_folder,
)
from attunebench.cli.asking import JUDGES, MODEL, ConversationsArgument, model_settings, modes_of, run_settings
from attunebench.cli.collect import plural
from attunebench.cli.emitting import say
from attunebench.cli.options import options_of, with_options
from attunebench.runner.settings import RunSettings
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.batches.files import PlanSummary
    from attunebench.batches.requests import Limits

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
    model: Annotated[str, typer.Argument(help="The model's name where the requests will be answered.")],
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    modes: ModesOption = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    new_only: Annotated[
        bool,
        typer.Option(
            "--new-only",
            help="Leave out requests that an earlier plan holds and nobody has answered.",
            rich_help_panel="Resuming",
        ),
    ] = False,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="The file of requests; further ones get a number.", rich_help_panel="Output"
        ),
    ] = Path("requests.jsonl"),
    results: Annotated[
        Path,
        typer.Option(
            "--results",
            "-r",
            help="Folder of the result files and the journal; `run`'s -o.",
            rich_help_panel="Output",
        ),
    ] = Path("results"),
    max_lines: Annotated[
        int, typer.Option("--max-lines", min=1, help="Requests in one file.", rich_help_panel="Output")
    ] = 50_000,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", min=1, help="Bytes of one file.", rich_help_panel="Output")
    ] = 200_000_000,
    quiet: QuietOption = False,
    *,
    em: dict[str, Any],
    judges: dict[str, Any],
    values: dict[str, Any],
) -> None:
    """Write what `run` would ask now into files of requests in OpenAI's batch format, which batch services, vLLM and
    others answer. Needs no key and sends nothing; `attune-bench collect` takes the answers.

    Judges and reasks come in later rounds: plan again when answers are collected.
    """
    from attunebench.batches.requests import Limits

    asked = model_settings(provider, model, em["base_url"], em.get("api_key"))
    settings = run_settings(asked, judges, modes=modes_of(context, modes), output=results, **values)
    where, limits = one_folder(conversations, folder), Limits(lines=max_lines, bytes=max_bytes)
    if dry_run:
        _count(settings, where, codebook, skip_invalid)
    else:
        _write(settings, where, codebook, output, limits, new_only, skip_invalid, quiet)


def _write(
    settings: RunSettings,
    folder: Path,
    codebook: Path | None,
    output: Path,
    limits: Limits,
    new_only: bool,
    skip_invalid: bool,
    quiet: bool,
) -> None:
    from attunebench import api
    from attunebench.batches.requests import Origin
    from attunebench.cli.loading import load
    from attunebench.cli.running import run_again

    loaded, book = load(folder, codebook, skip_invalid=skip_invalid, quiet=quiet)
    # What is missing when the command is repeated was asked before.
    command = run_again([word for word in sys.argv if word != "--new-only"])
    origin = Origin(folder, codebook, skip_invalid, command)
    summary = api.plan(loaded, settings, output, codebook=book, limits=limits, new_only=new_only, origin=origin)
    if not quiet:
        for line in _lines(summary, settings, new_only):
            say(line)
    if loaded.skipped:
        raise typer.Exit(1)


def _count(settings: RunSettings, folder: Path, codebook: Path | None, skip_invalid: bool) -> None:
    """`--dry-run`: nobody is asked, for a price neither."""
    from attunebench import eventloop
    from attunebench.backends.providers import unsent
    from attunebench.cli.loading import load
    from attunebench.cli.running import show_estimate
    from attunebench.runner import estimate_run
    from attunebench.runner.pricing import prices_of

    for model in (settings.em, *settings.judges):
        unsent(model)
    loaded, book = load(folder, codebook, skip_invalid=skip_invalid)
    known = eventloop.run(prices_of(settings, [None] * (1 + len(settings.judges))))
    show_estimate(estimate_run(loaded.conversations, settings, book), settings, known)


def _lines(summary: PlanSummary, settings: RunSettings, new_only: bool) -> Iterator[str]:
    """What was written, what waits, what to do next."""
    planned, results = summary.planned, printable(str(settings.output))
    for each in planned.files:
        path, model = printable(str(each.path)), printable(each.model)
        yield f"{path}: {plural(each.lines, 'request')} to {model}, {each.bytes:,} B."
    if not planned.files:
        yield "There is nothing to ask." if not summary.asked_before else "There is nothing new to ask."
    for (tag, when), count in summary.asked_before.items():
        done = "left out" if new_only else "asked here too"
        yield f"{plural(count, 'request')} of the plan {tag} ({when}) not answered yet: {done}."
    if summary.asked_before and not new_only:
        yield "Have these answered once only: --new-only leaves out what an engine is still working on."
    yield from (f"Attention: {printable(problem, 2000)}" for problem in summary.problems)
    yield from map(printable, summary.notes)
    if summary.waiting:
        yield f"{plural(summary.waiting, 'judge call')} will be planned when the drafts are collected."
    if summary.written or summary.complete or not planned.files:
        written = f"{plural(summary.written, 'result')} written to {results} from its journal"
        yield f"{written}; {summary.complete} complete before."
    if planned.files:
        words = shlex.join(["attune-bench", "collect", "RESPONSES", "--results", str(settings.output)])
        yield f"Next: have the requests answered, then: {printable(words)}"
