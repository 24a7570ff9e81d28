"""`attune-bench rejudge`: existing drafts judged by other or more judges, and what becomes of the scores by it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.arguments import (
    AllRowsOption,
    ClusterOption,
    CodebookOption,
    Format,
    FormatOption,
    RanConversationsOption,
    ResamplesOption,
    ResultsOption,
    SkipInvalidOption,
    TextOutputOption,
    by_participant,
    comma_list,
)
from attunebench.cli.asking import (
    CallTimeoutOption,
    ConcurrencyOption,
    DryRunOption,
    JudgePriceInOption,
    JudgePriceOutOption,
    JudgeScaleOption,
    MaxCostOption,
    MaxReasksOption,
    MaxTokensOption,
    OrderSeedOption,
    RpmOption,
    ServerSeedOption,
    StructuredOption,
    TemperatureOption,
    TpmOption,
)
from attunebench.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("rejudge", short_help="Judge existing drafts by other or more judges.")(rejudge)


def rejudge(
    results: ResultsOption = Path("results"),
    conversations: RanConversationsOption = None,
    judge_model: Annotated[
        list[str] | None,
        typer.Option(
            "--judge-model", "-M", metavar="MODEL", help="A model that judges the drafts; repeat or use commas."
        ),
    ] = None,
    judge_provider: Annotated[
        str | None,
        typer.Option(help="openrouter, openai, prime, azure, local or baseline.", show_default=False),
    ] = None,
    judge_base_url: Annotated[
        str | None,
        typer.Option(
            "--judge-base-url", "--base-url", help="Address of the judges' server, e.g. http://localhost:8000/v1."
        ),
    ] = None,
    judge_api_key: Annotated[
        str | None,
        typer.Option(
            "--judge-api-key", "--api-key", help="The judges' key; wins over the environment, where it is safer."
        ),
    ] = None,
    judge_scale: JudgeScaleOption = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Ask nobody; tell what the votes that are there say.")
    ] = False,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            metavar="MODEL",
            help="Only results of these models, by name or as provider/model; repeat or use commas.",
            show_default="all",
        ),
    ] = None,
    modes: Annotated[
        list[str] | None,
        typer.Option(
            "--modes", metavar="MODE…", help="Only results in these modes; words or a comma list.", show_default="all"
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Only the first N conversations with results, in the run's order.", show_default="all"
        ),
    ] = None,
    order_seed: OrderSeedOption = 0,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Ask for these judges' votes anew and replace those that are there."),
    ] = False,
    retry_unanswered: Annotated[
        bool, typer.Option("--retry-unanswered", help="Ask again for votes that lack something that was asked.")
    ] = False,
    concurrency: ConcurrencyOption = 16,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    max_cost: MaxCostOption = None,
    judge_price_in: JudgePriceInOption = None,
    judge_price_out: JudgePriceOutOption = None,
    call_timeout: CallTimeoutOption = 120.0,
    structured: StructuredOption = "auto",
    temperature: TemperatureOption = 0.0,
    max_tokens: MaxTokensOption = 4096,
    seed: ServerSeedOption = None,
    max_reasks: MaxReasksOption = 2,
    codebook: CodebookOption = None,
    dry_run: DryRunOption = False,
    skip_invalid: SkipInvalidOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors, closing lines and the report only.")] = False,
    cluster: ClusterOption = None,
    resamples: ResamplesOption = 10_000,
    format: FormatOption = Format.terminal,
    output: TextOutputOption = None,
    all_rows: AllRowsOption = False,
) -> None:
    """Have other or more judges rate the drafts of existing results, and add their votes to the files.

    No evaluated model is asked, votes that are there stay, and nothing but the votes changes in a file. The same
    command again goes on where it stopped. Then tells how judged scores move with who judges, and how far judges agree.
    """
    from attunebench.analyses.base import Settings
    from attunebench.cli import rejudging
    from attunebench.protocol.modes import parse_modes

    if conversations is None:
        raise UsageError("The conversations folder is missing; give it with --conversations.")
    if not results.is_dir():
        raise UsageError(f"There is no results folder {results}; give it with --results.")
    judges = comma_list(judge_model)
    wanted = rejudging.Wanted(
        results, conversations, comma_list(models), parse_modes(modes) if modes else (), judges, codebook, skip_invalid
    )
    shown = rejudging.Shown(
        Settings(resamples=resamples, by_participant=by_participant(cluster)), format, output, all_rows, quiet
    )
    if report_only:
        rejudging.report_only(wanted, shown)
        return
    settings = rejudging.settings(
        wanted,
        judge_provider,
        judge_base_url,
        judge_api_key,
        judge_scale=judge_scale,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        max_cost=max_cost,
        judge_price_in=judge_price_in,
        judge_price_out=judge_price_out,
        call_timeout=call_timeout,
        structured=structured,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        max_reasks=max_reasks,
        limit=limit,
        order_seed=order_seed,
        replace=replace,
        retry_unanswered=retry_unanswered,
    )
    rejudging.main(wanted, settings, shown, dry_run=dry_run)
