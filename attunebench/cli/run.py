"""`attune-bench run`: ask a model (or a built-in baseline) and write one result file for each conversation and mode."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.arguments import (
    CodebookOption,
    ConversationsOption,
    ModesOption,
    SkipInvalidOption,
    comma_list,
    one_folder,
)
from attunebench.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("run", short_help="Ask a model, write its results.", context_settings={"allow_extra_args": True})(run)


def run(
    context: typer.Context,
    provider: Annotated[str, typer.Argument(help="openrouter, openai, prime, local or baseline.")],
    model: Annotated[
        str,
        typer.Argument(
            help="The model's name at the provider; of baselines random, majority, no-change, lexicon or oracle."
        ),
    ],
    conversations: Annotated[
        Path | None, typer.Argument(help="Folder of the conversation files, here or by -d.")
    ] = None,
    folder: ConversationsOption = None,
    modes: ModesOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the result files.")] = Path("results"),
    judge_model: Annotated[
        list[str] | None,
        typer.Option("--judge-model", "-M", metavar="MODEL", help="A model that rates the drafts; may be repeated."),
    ] = None,
    judge_provider: Annotated[str | None, typer.Option(help="The judges' provider.", show_default="the run's")] = None,
    judge_base_url: Annotated[str | None, typer.Option(help="The judges' address.", show_default="the run's")] = None,
    judge_api_key: Annotated[str | None, typer.Option(help="The judges' key.", show_default="the run's")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the server, e.g. http://localhost:8000/v1.")] = None,
    api_key: Annotated[str | None, typer.Option(help="The key; wins over the environment, where it is safer.")] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Calls under way at once to one model, at most; fewer where the server wants it.")
    ] = 16,
    rpm: Annotated[
        float | None, typer.Option(help="Requests a minute to one model, if you know its limit.", show_default="none")
    ] = None,
    tpm: Annotated[
        float | None, typer.Option(help="Tokens a minute to one model, prompts and replies.", show_default="none")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="USD",
            help="What this run may spend at worst, judges included; it stops before (exit status 3).",
            show_default="no bound",
        ),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(
            metavar="USD",
            help="Price of a million prompt tokens; wins over the provider's list.",
            show_default="listed",
        ),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Price of a million completion tokens.", show_default="listed"),
    ] = None,
    judge_price_in: Annotated[
        float | None, typer.Option(metavar="USD", help="The judges' price of prompts.", show_default="listed")
    ] = None,
    judge_price_out: Annotated[
        float | None, typer.Option(metavar="USD", help="The judges' price of completions.", show_default="listed")
    ] = None,
    call_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one try of a call.")] = 120.0,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N conversations of the run's order: a fair sample of all.")
    ] = None,
    order_seed: Annotated[
        int, typer.Option(help="Seed of the order, which is random and stratified by topic and diagnosis.")
    ] = 0,
    structured: Annotated[
        str,
        typer.Option(
            help="How answers are held to their format: schema (strictly), object (any JSON), text (by the prompt "
            "alone), or auto (the strictest of these that the server accepts)."
        ),
    ] = "auto",
    panas_strategy: Annotated[
        str,
        typer.Option(
            help="The mood question. absolute: foresee the mood after the talk; delta: foresee its change; "
            "blind_delta: its change, without being shown the mood before."
        ),
    ] = "absolute",
    temperature: Annotated[float, typer.Option(min=0.0, help="Sampling temperature.")] = 0.0,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens of one reply; four times that after a cut one.")
    ] = 4096,
    seed: Annotated[int | None, typer.Option(help="Passed to the server; few honour it.", show_default="none")] = None,
    max_reasks: Annotated[int, typer.Option(min=0, help="How often an unusable reply is asked for again.")] = 2,
    retry_unanswered: Annotated[
        bool, typer.Option("--retry-unanswered", help="Ask again what a model has left unanswered for good.")
    ] = False,
    codebook: CodebookOption = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Count calls, tokens and money; ask nobody but the provider for its prices."),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Make results anew that were made with other settings.")
    ] = False,
    skip_invalid: SkipInvalidOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and the closing lines only.")] = False,
) -> None:
    """Ask a model what the participants felt, saw and preferred; write one result file per conversation and mode.

    The same command again goes on where it stopped. `attune-bench score` comes next.
    """
    from attunebench.cli import running
    from attunebench.protocol.modes import parse_modes

    if context.args:
        # A word too many is most often a mode that is misspelt: parse_modes names it.
        parse_modes(context.args)
        raise UsageError(f"{' '.join(context.args)} is left over; modes are given with --modes.")
    judges = comma_list(judge_model)
    em = running.model_settings(provider, model, base_url, api_key)
    settings = running.run_settings(
        em=em,
        judges=[running.judge_settings(em, judge, judge_provider, judge_base_url, judge_api_key) for judge in judges],
        modes=parse_modes(modes or ["default"]),
        output=output,
        concurrency=concurrency,
        call_timeout=call_timeout,
        rpm=rpm,
        tpm=tpm,
        max_cost=max_cost,
        price_in=price_in,
        price_out=price_out,
        judge_price_in=judge_price_in,
        judge_price_out=judge_price_out,
        limit=limit,
        order_seed=order_seed,
        retry_unanswered=retry_unanswered,
        structured=structured,
        panas_strategy=panas_strategy,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        max_reasks=max_reasks,
        replace=replace,
    )
    where = one_folder(conversations, folder)
    running.main(settings, where, codebook=codebook, dry_run=dry_run, skip_invalid=skip_invalid, quiet=quiet)
