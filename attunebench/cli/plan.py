"""`attune-bench plan`: the calls of a run as files of requests, for an engine or service of the user's own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import (
    CodebookOption,
    ConversationsOption,
    ModesOption,
    SkipInvalidOption,
    comma_list,
    one_folder,
)
from attunebench.cli.asking import (
    BaseUrlOption,
    JudgePriceInOption,
    JudgePriceOutOption,
    JudgeScaleOption,
    LimitOption,
    MaxReasksOption,
    MaxTokensOption,
    OrderSeedOption,
    PriceInOption,
    PriceOutOption,
    RetryUnansweredOption,
    ServerSeedOption,
    StructuredOption,
    TemperatureOption,
)
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.batches.files import PlanSummary
    from attunebench.batches.requests import Limits
    from attunebench.runner.settings import RunSettings

_ONCE = ("--new-only",)
"""Options that are left out of the command that goes on: what is missing then was asked before."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    settings = {"allow_extra_args": True}
    app.command("plan", short_help="Write a run's requests for other engines.", context_settings=settings)(plan)


def plan(
    context: typer.Context,
    provider: Annotated[
        str, typer.Argument(help="openai, openrouter, prime, azure, or local for an engine of your own; as for `run`.")
    ],
    model: Annotated[str, typer.Argument(help="The model's name where the requests will be answered.")],
    conversations: Annotated[
        Path | None, typer.Argument(help="Folder of the conversation files, here or by -d.")
    ] = None,
    folder: ConversationsOption = None,
    modes: ModesOption = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The file of requests; further ones get a number.")
    ] = Path("requests.jsonl"),
    results: Annotated[
        Path, typer.Option("--results", "-r", help="Folder of the result files and the journal; `run`'s -o.")
    ] = Path("results"),
    new_only: Annotated[
        bool, typer.Option("--new-only", help="Leave out requests that an earlier plan holds and nobody has answered.")
    ] = False,
    max_lines: Annotated[int, typer.Option("--max-lines", min=1, help="Requests in one file.")] = 50_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Bytes of one file.")] = 200_000_000,
    judge_model: Annotated[
        list[str] | None,
        typer.Option("--judge-model", "-M", metavar="MODEL", help="A model that rates the drafts; may be repeated."),
    ] = None,
    judge_provider: Annotated[str | None, typer.Option(help="The judges' provider.", show_default="the run's")] = None,
    judge_base_url: Annotated[str | None, typer.Option(help="The judges' address.", show_default="the run's")] = None,
    judge_scale: JudgeScaleOption = None,
    base_url: BaseUrlOption = None,
    price_in: PriceInOption = None,
    price_out: PriceOutOption = None,
    judge_price_in: JudgePriceInOption = None,
    judge_price_out: JudgePriceOutOption = None,
    limit: LimitOption = None,
    order_seed: OrderSeedOption = 0,
    structured: StructuredOption = "auto",
    panas_strategy: Annotated[
        str, typer.Option(help="The mood question: absolute, blind, delta or blind_delta, as for `run`.")
    ] = "absolute",
    temperature: TemperatureOption = 0.0,
    max_tokens: MaxTokensOption = 4096,
    seed: ServerSeedOption = None,
    max_reasks: MaxReasksOption = 2,
    retry_unanswered: RetryUnansweredOption = False,
    codebook: CodebookOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count calls and tokens; write nothing.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Make results anew that were made with other settings.")
    ] = False,
    skip_invalid: SkipInvalidOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors only.")] = False,
) -> None:
    """Write what `run` would ask now into files of requests in OpenAI's batch format, which batch services, vLLM and
    others answer. Needs no key and sends nothing; `attune-bench collect` takes the answers.

    Judges and reasks come in later rounds: plan again when answers are collected.
    """
    from attunebench.batches.requests import Limits
    from attunebench.cli import running
    from attunebench.protocol.modes import parse_modes

    if context.args:
        parse_modes(context.args)
        raise UsageError(f"{' '.join(context.args)} is left over; modes are given with --modes.")
    em = running.model_settings(provider, model, base_url, None)
    judges = comma_list(judge_model)
    settings = running.run_settings(
        em=em,
        judges=[running.judge_settings(em, judge, judge_provider, judge_base_url, None) for judge in judges],
        modes=parse_modes(modes or ["default"]),
        output=results,
        price_in=price_in,
        price_out=price_out,
        judge_price_in=judge_price_in,
        judge_price_out=judge_price_out,
        limit=limit,
        order_seed=order_seed,
        retry_unanswered=retry_unanswered,
        structured=structured,
        panas_strategy=panas_strategy,
        judge_scale=judge_scale,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        max_reasks=max_reasks,
        replace=replace,
    )
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
    command = run_again([word for word in sys.argv if word not in _ONCE])
    origin = Origin(folder, codebook, skip_invalid, command)
    summary = api.plan(loaded, settings, output, codebook=book, limits=limits, new_only=new_only, origin=origin)
    if not quiet:
        for line in _lines(summary, settings, new_only):
            _say(line)
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
    known = eventloop.run(prices_of(settings, {}))
    show_estimate(estimate_run(loaded.conversations, settings, book), settings, known=known)


def _lines(summary: PlanSummary, settings: RunSettings, new_only: bool) -> Sequence[str]:
    """What was written, what waits, what to do next."""
    from attunebench.cli.collect import plural
    from attunebench.text import printable

    planned, results = summary.planned, printable(str(settings.output))
    written = f"{plural(summary.written, 'result')} written to {results} from its journal"
    lines = [
        f"{printable(str(each.path))}: {plural(each.lines, 'request')} to {printable(each.model)}, {each.bytes:,} B."
        for each in planned.files
    ]
    if not planned.files:
        lines.append("There is nothing to ask." if not summary.asked_before else "There is nothing new to ask.")
    for (tag, when), count in summary.asked_before.items():
        done = "left out" if new_only else "asked here too"
        lines.append(f"{plural(count, 'request')} of the plan {tag} ({when}) not answered yet: {done}.")
    if summary.asked_before and not new_only:
        lines.append("Have these answered once only: --new-only leaves out what an engine is still working on.")
    lines += [f"Attention: {printable(problem, 2000)}" for problem in summary.problems]
    lines += map(printable, summary.notes)
    if summary.waiting:
        lines.append(f"{plural(summary.waiting, 'judge call')} will be planned when the drafts are collected.")
    if summary.written or summary.complete or not planned.files:
        lines.append(f"{written}; {summary.complete} complete before.")
    if planned.files:
        words = shlex.join(["attune-bench", "collect", "RESPONSES", "--results", str(settings.output)])
        lines.append(f"Next: have the requests answered, then: {printable(words)}")
    return lines


def _say(text: str) -> None:
    typer.echo(text, err=True)
