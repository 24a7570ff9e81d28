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
from attunebench.cli.asking import (
    ApiKeyOption,
    BaseUrlOption,
    BatchDiscountOption,
    BatchOption,
    CallTimeoutOption,
    CancelOption,
    ConcurrencyOption,
    DryRunOption,
    Executor,
    ExecutorOption,
    JudgePriceInOption,
    JudgePriceOutOption,
    JudgeScaleOption,
    LimitOption,
    MaxCostOption,
    MaxReasksOption,
    MaxTokensOption,
    OrderSeedOption,
    PollIntervalOption,
    PriceInOption,
    PriceOutOption,
    ProviderArgument,
    RayAddressOption,
    RetryUnansweredOption,
    RpmOption,
    ServerSeedOption,
    ShardOption,
    StructuredOption,
    TemperatureOption,
    TpmOption,
    WorkersOption,
)
from attunebench.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("run", short_help="Ask a model, write its results.", context_settings={"allow_extra_args": True})(run)


def run(
    context: typer.Context,
    provider: ProviderArgument,
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
    judge_scale: JudgeScaleOption = None,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    concurrency: ConcurrencyOption = 16,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    max_cost: MaxCostOption = None,
    price_in: PriceInOption = None,
    price_out: PriceOutOption = None,
    judge_price_in: JudgePriceInOption = None,
    judge_price_out: JudgePriceOutOption = None,
    call_timeout: CallTimeoutOption = 120.0,
    limit: LimitOption = None,
    shard: ShardOption = None,
    executor: ExecutorOption = Executor.here,
    ray_address: RayAddressOption = None,
    workers: WorkersOption = None,
    order_seed: OrderSeedOption = 0,
    structured: StructuredOption = "auto",
    panas_strategy: Annotated[
        str,
        typer.Option(
            help="The mood question. absolute: predict the mood after the conversation; delta: predict its change; "
            "blind and blind_delta: the same without being shown the mood before."
        ),
    ] = "absolute",
    temperature: TemperatureOption = 0.0,
    max_tokens: MaxTokensOption = 4096,
    seed: ServerSeedOption = None,
    max_reasks: MaxReasksOption = 2,
    retry_unanswered: RetryUnansweredOption = False,
    codebook: CodebookOption = None,
    dry_run: DryRunOption = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Make results anew that were made with other settings.")
    ] = False,
    skip_invalid: SkipInvalidOption = False,
    batch: BatchOption = False,
    poll_interval: PollIntervalOption = 60.0,
    batch_discount: BatchDiscountOption = None,
    cancel: CancelOption = False,
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
        shard=running.part(shard),
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
    where = one_folder(conversations, folder)
    run_it = running.runner(executor is Executor.ray, ray_address, workers)
    if batch and (shard or executor is Executor.ray):
        raise UsageError("--batch hands the whole run to the provider: --shard and --executor do not go with it.")
    if not batch:
        if cancel or batch_discount is not None:
            raise UsageError("--cancel and --batch-discount belong to --batch.")
        running.main(
            settings, where, run_it, codebook=codebook, dry_run=dry_run, skip_invalid=skip_invalid, quiet=quiet
        )
        return
    from attunebench.cli import batching

    batching.main(
        settings,
        where,
        interval=poll_interval,
        discount=batch_discount,
        cancel=cancel,
        codebook=codebook,
        dry_run=dry_run,
        skip_invalid=skip_invalid,
        quiet=quiet,
    )
