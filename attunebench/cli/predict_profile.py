"""`attune-bench predict-profile`: let a model guess what people stated of themselves, beside base rates.

Parses, lets the engine ask, lets `profiles` score, and writes; decides nothing about what is said of anybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import (
    ConversationsArgument,
    ConversationsOption,
    DryRunOption,
    Format,
    FormatOption,
    QuietOption,
    ResamplesOption,
    SkipInvalidOption,
    one_folder,
)
from attunebench.cli.asking import MODEL, ProviderArgument, model_settings, run_settings
from attunebench.cli.options import flag, options_of, with_options
from attunebench.runner.settings import RunSettings

if TYPE_CHECKING:
    from attunebench.conversations import ConversationSet

_OF_A_BENCHMARK = ("judge_scale", "judge_price_in", "judge_price_out", "panas_strategy", "shard")


@with_options(em=MODEL, values=options_of(RunSettings, without=_OF_A_BENCHMARK))
def predict_profile(
    provider: ProviderArgument,
    model: Annotated[
        str,
        typer.Argument(
            help="The provider's name for the model; baselines: random, majority, oracle (others answer like majority)."
        ),
    ],
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    score_only: Annotated[bool, flag("Call no model; score the predictions in the folder.", "--score-only")] = False,
    output: Annotated[Path, flag("Folder of the predictions.", "-o", "--output", panel="Output")] = Path("profiles"),
    quiet: QuietOption = False,
    format: FormatOption = "terminal",
    output_scores: Annotated[
        Path | None, flag("Write the scores to this file instead of the terminal.", metavar="FILE", panel="Output")
    ] = None,
    resamples: ResamplesOption = 10_000,
    *,
    em: dict[str, Any],
    values: dict[str, Any],
) -> None:
    """EXPERIMENTAL: have a model predict each participant's profile (diagnosis groups, screeners, personality, age,
    gender, education, English) from the conversation alone, and score it against base rates.

    PRIVACY: this infers health and traits from what people write, and wrong inferences harm. Use it only for research
    on what models can infer, with data of people who consented, and never for decisions about anyone. Diagnoses are
    self-reported and scales are screeners. Not part of the Composite.

    Rerun the same command to resume; --score-only shows the scores again.
    """
    from attunebench.cli import running

    settings = run_settings(model_settings(provider, model, **em), {}, output=output, **values)
    where = one_folder(conversations, folder)
    loaded, book = running.load(where, None, skip_invalid=skip_invalid, quiet=quiet)
    if dry_run:
        from attunebench.profiles import ProfileTask
        from attunebench.runner.pricing import estimate_run, known_prices

        estimate = estimate_run(loaded.conversations, settings, book, ProfileTask())
        running.show_estimate(estimate, settings, known_prices(settings), jobs="conversations")
        return
    if score_only:
        if _show(loaded, settings, format, output_scores, resamples) or loaded.skipped:
            raise typer.Exit(1)
        return
    from attunebench.profiles import predict_profiles

    [summary] = running.ask_all(predict_profiles, loaded, [settings], book, quiet=quiet)
    if summary.stopped != "interrupted" and summary.written + summary.complete_before:
        _show(loaded, settings, format, output_scores, resamples)
    running.leave(summary, loaded)


def _show(
    loaded: ConversationSet, settings: RunSettings, format: Format, output: Path | None, resamples: int
) -> tuple[str, ...]:
    """Score what the folder holds and write it where it is wanted; sentences on what could not be scored."""
    from attunebench.analyses.base import Settings
    from attunebench.cli.emitting import emit_analyses, working
    from attunebench.profiles import score_profiles

    em = settings.em
    with working("scoring"):
        analysis, not_scored = score_profiles(
            settings.output, list(loaded), em.provider, em.model, Settings(resamples=resamples, by_participant=True)
        )
    emit_analyses([analysis], format, output)
    return not_scored
