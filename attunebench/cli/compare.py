"""`attune-bench compare`: which models of one or more scores files differ, and how sure that is.

Parses, reads the scores, makes the comparison and writes; decides nothing about what it says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import (
    AllRowsOption,
    AlphaOption,
    BaselinesOption,
    ClusterOption,
    CorrectionOption,
    Format,
    FormatOption,
    PowerOption,
    ResamplesOption,
    ScoresFilesArgument,
    ScoresFilesOption,
    SeedOption,
    TextOutputOption,
    by_participant,
    comma_list,
    files_and_models,
    scores_files,
)
from attunebench.cli.emitting import emit_analyses, is_brief, working

if TYPE_CHECKING:
    from attunebench.analyses.table import Analysis
    from attunebench.comparison import Comparison

_LEAST_ROWS = 15
"""Rows of the pairs that a terminal shows: fifty-five would push the tiers out of sight."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("compare", short_help="Compare models pair by pair and rank them in tiers.")(compare)


def compare(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Compare in this metric; repeat or use commas.",
            show_default="composite,pairwise_accuracy",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="Only this mode.",
            show_default="each for itself, and all with the primary one",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--models", metavar="MODEL", help="Only these models; repeat or use commas."),
    ] = None,
    correction: CorrectionOption = None,
    cluster: ClusterOption = None,
    baselines: BaselinesOption = False,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Compare what is not comparable (other labels, other judges), and say so.")
    ] = False,
    format: FormatOption = Format.terminal,
    output: TextOutputOption = None,
    all_rows: AllRowsOption = False,
) -> None:
    """Compare models pair by pair over the conversations that both have: differences with intervals, corrected p,
    minimum detectable effects, tiers of models that do not differ significantly, and how firm the ranking is.

    Refuses scores on different labels. Needs no network and asks no model.
    """
    from attunebench.analyses.base import Settings
    from attunebench.comparison import compare as compared
    from attunebench.scores.loading import load_scores

    files, names = files_and_models(files or [], comma_list(models))
    sources = scores_files(files, scores)
    settings = Settings(
        mode=mode,
        metrics=comma_list(metric),
        seed=seed,
        resamples=resamples,
        alpha=alpha,
        power=power,
        correction=correction.value if correction else "holm",
        by_participant=by_participant(cluster),
        baselines=baselines,
    )
    with working("comparing"):
        study = load_scores(sources)
        found = compared(study, settings, models=names, force=force)
    brief = is_brief(format, output, all_rows)
    analyses = _without_pairs_of_other_modes(found) if brief else found.analyses
    whole = [len(table.rows) for analysis in analyses for table in analysis.tables if table.id != "pairs"]
    rows = max(_LEAST_ROWS, *whole)
    emit_analyses(analyses, format, output, all_rows=all_rows, rows=rows, rules=study.rules, protect=sources)


def _without_pairs_of_other_modes(found: Comparison) -> tuple[Analysis, ...]:
    """What a screen shows first: in modes beside the first one the tiers, and where their pairs are to be had."""
    first = next((mode for _, mode in found.rankings), None)
    mode_of = dict(
        zip((analysis.name for analysis in found.analyses[1:]), (m for _, m in found.rankings), strict=False)
    )
    shown = []
    for analysis in found.analyses:
        mode = mode_of.get(analysis.name, first)
        if mode != first and analysis.tables:
            note = f"The pairs: --mode {mode}, --all-rows or another --format."
            kept = tuple(table for table in analysis.tables if table.id != "pairs")
            analysis = replace(analysis, tables=kept, notes=(*analysis.notes, note))
        shown.append(analysis)
    return tuple(shown)
