"""`attune-bench predict-profile`: let a model guess who is talking, and hold its guesses against base rates.

Parses, lets the engine ask, lets `profiles` score, and writes; decides nothing about what is said of anybody.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import ConversationsOption, ResamplesOption, SkipInvalidOption, one_folder

if TYPE_CHECKING:
    from attunebench.conversations import ConversationSet
    from attunebench.profiles import ProfileScores
    from attunebench.runner import RunSettings


class _Format(str, Enum):
    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"
    json = "json"


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("predict-profile", short_help="Experimental: let a model guess who is talking.")(predict_profile)


def predict_profile(
    provider: Annotated[str, typer.Argument(help="openrouter, openai, prime, local or baseline.")],
    model: Annotated[
        str, typer.Argument(help="The model's name at the provider; of baselines random, majority or oracle.")
    ],
    conversations: Annotated[
        Path | None, typer.Argument(help="Folder of the conversation files, here or by -d.")
    ] = None,
    folder: ConversationsOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the predictions.")] = Path("profiles"),
    score_only: Annotated[
        bool, typer.Option("--score-only", help="Ask nobody; score the predictions that are in the folder.")
    ] = False,
    format: Annotated[
        _Format, typer.Option("--format", "-f", help="How the scores are written, for people or for programs.")
    ] = _Format.terminal,
    output_scores: Annotated[
        Path | None,
        typer.Option("--output-scores", metavar="FILE", help="Write the scores to this file, not to the terminal."),
    ] = None,
    resamples: ResamplesOption = 10_000,
    base_url: Annotated[str | None, typer.Option(help="Address of the server, e.g. http://localhost:8000/v1.")] = None,
    api_key: Annotated[str | None, typer.Option(help="The key; wins over the environment, where it is safer.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls under way at once, at most.")] = 16,
    rpm: Annotated[float | None, typer.Option(help="Requests a minute, if you know the limit.")] = None,
    tpm: Annotated[float | None, typer.Option(help="Tokens a minute, prompts and replies.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(metavar="USD", help="What this may spend at worst; it stops before (exit status 3)."),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Price of a million prompt tokens; wins over the provider's list."),
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(metavar="USD", help="Price of a million completion tokens.")
    ] = None,
    call_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one try of a call.")] = 120.0,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N conversations of the run's order: a fair sample of all.")
    ] = None,
    order_seed: Annotated[int, typer.Option(help="Seed of that order.")] = 0,
    structured: Annotated[
        str, typer.Option(help="How answers are held to their format, as for `run`: auto, schema, object or text.")
    ] = "auto",
    temperature: Annotated[float, typer.Option(min=0.0, help="Sampling temperature.")] = 0.0,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens of one reply; four times that after a cut one.")
    ] = 4096,
    seed: Annotated[int | None, typer.Option(help="Passed to the server; few honour it.", show_default="none")] = None,
    max_reasks: Annotated[int, typer.Option(min=0, help="How often an unusable reply is asked for again.")] = 2,
    retry_unanswered: Annotated[
        bool, typer.Option("--retry-unanswered", help="Ask again what a model has left unanswered for good.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count calls, tokens and money; ask nobody.")] = False,
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
    if not summary.interrupted and summary.written + summary.complete_before:
        _show(loaded, settings, format, output_scores, resamples)
    running.leave(summary, loaded)


def _show(
    loaded: ConversationSet, settings: RunSettings, format: _Format, output: Path | None, resamples: int
) -> ProfileScores:
    """Score what the folder holds and write it where it is wanted."""
    from attunebench.analyses.model import Settings
    from attunebench.cli.emitting import coloured, emit, terminal_width, working
    from attunebench.profiles import score_profiles
    from attunebench.reports.analyses import render

    em = settings.em
    with working("scoring"):
        scores = score_profiles(
            settings.output, list(loaded), em.provider, em.model, Settings(resamples=resamples, by_participant=True)
        )
    text = render(
        [scores.analysis],
        format.value,
        width=terminal_width(output),
        colour=coloured(output),
        no_color=bool(os.environ.get("NO_COLOR")),
    )
    emit(text, output)
    return scores
