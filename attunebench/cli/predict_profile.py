"""`attune-bench predict-profile`: let a model guess what people stated of themselves, beside base rates.

Parses, lets the engine ask, lets `profiles` score, and writes; decides nothing about what is said of anybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import (
    ConversationsOption,
    Format,
    FormatOption,
    ResamplesOption,
    SkipInvalidOption,
    one_folder,
)
from attunebench.cli.asking import (
    ApiKeyOption,
    BaseUrlOption,
    CallTimeoutOption,
    ConcurrencyOption,
    DryRunOption,
    LimitOption,
    MaxCostOption,
    MaxReasksOption,
    MaxTokensOption,
    OrderSeedOption,
    PriceInOption,
    PriceOutOption,
    ProviderArgument,
    RetryUnansweredOption,
    RpmOption,
    ServerSeedOption,
    StructuredOption,
    TemperatureOption,
    TpmOption,
)

if TYPE_CHECKING:
    from attunebench.conversations import ConversationSet
    from attunebench.profiles import ProfileScores
    from attunebench.runner import RunSettings


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("predict-profile", short_help="Experimental: what can a model infer of people?")(predict_profile)


def predict_profile(
    provider: ProviderArgument,
    model: Annotated[
        str,
        typer.Argument(
            help="The model's name at the provider; of baselines random, majority or oracle (the others answer as "
            "majority does)."
        ),
    ],
    conversations: Annotated[
        Path | None, typer.Argument(help="Folder of the conversation files, here or by -d.")
    ] = None,
    folder: ConversationsOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the predictions.")] = Path("profiles"),
    score_only: Annotated[
        bool, typer.Option("--score-only", help="Ask nobody; score the predictions that are in the folder.")
    ] = False,
    format: FormatOption = Format.terminal,
    output_scores: Annotated[
        Path | None,
        typer.Option("--output-scores", metavar="FILE", help="Write the scores to this file, not to the terminal."),
    ] = None,
    resamples: ResamplesOption = 10_000,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    concurrency: ConcurrencyOption = 16,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    max_cost: MaxCostOption = None,
    price_in: PriceInOption = None,
    price_out: PriceOutOption = None,
    call_timeout: CallTimeoutOption = 120.0,
    limit: LimitOption = None,
    order_seed: OrderSeedOption = 0,
    structured: StructuredOption = "auto",
    temperature: TemperatureOption = 0.0,
    max_tokens: MaxTokensOption = 4096,
    seed: ServerSeedOption = None,
    max_reasks: MaxReasksOption = 2,
    retry_unanswered: RetryUnansweredOption = False,
    dry_run: DryRunOption = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Make predictions anew that were made with other settings.")
    ] = False,
    skip_invalid: SkipInvalidOption = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Errors, the closing lines and the scores only.")
    ] = False,
) -> None:
    """EXPERIMENTAL. Let a model predict each participant's profile (diagnosis groups, screeners, personality, age,
    gender, education, English) from the conversation alone, and score it beside base rates.

    PRIVACY: this guesses at health and traits from how people talk, and wrong guesses harm. It is for research on what
    models can infer: not for people who did not agree, and for no decision about anybody. Diagnoses are self-reported,
    scales are screeners. Nothing of it enters the Composite.

    The same command again goes on where it stopped; --score-only shows the scores again.
    """
    from attunebench.cli import running
    from attunebench.cli.loading import load

    settings = running.run_settings(
        em=running.model_settings(provider, model, base_url, api_key),
        output=output,
        concurrency=concurrency,
        call_timeout=call_timeout,
        rpm=rpm,
        tpm=tpm,
        max_cost=max_cost,
        price_in=price_in,
        price_out=price_out,
        limit=limit,
        order_seed=order_seed,
        retry_unanswered=retry_unanswered,
        structured=structured,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        max_reasks=max_reasks,
        replace=replace,
    )
    where = one_folder(conversations, folder)
    loaded, book = load(where, None, skip_invalid=skip_invalid, quiet=quiet)
    if dry_run:
        from attunebench.profiles import ProfileTask
        from attunebench.runner import estimate_run

        estimate = estimate_run(loaded.conversations, settings, book, ProfileTask())
        running.show_estimate(estimate, settings, jobs="conversations")
        return
    if score_only:
        if _show(loaded, settings, format, output_scores, resamples).not_scored or loaded.skipped:
            raise typer.Exit(1)
        return
    from attunebench.profiles import predict_profiles

    summary = running.ask(predict_profiles, loaded, settings, book, quiet=quiet)
    if summary.stopped != "interrupted" and summary.written + summary.complete_before:
        _show(loaded, settings, format, output_scores, resamples)
    running.leave(summary, loaded)


def _show(
    loaded: ConversationSet, settings: RunSettings, format: Format, output: Path | None, resamples: int
) -> ProfileScores:
    """Score what the folder holds and write it where it is wanted."""
    from attunebench.analyses.base import Settings
    from attunebench.cli.emitting import emit_analyses, working
    from attunebench.profiles import score_profiles

    em = settings.em
    with working("scoring"):
        scores = score_profiles(
            settings.output, list(loaded), em.provider, em.model, Settings(resamples=resamples, by_participant=True)
        )
    emit_analyses([scores.analysis], format, output)
    return scores
