"""`attune-bench export`: scores as tidy tables for data frames and spreadsheets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from attunebench.cli.arguments import ScoresFilesArgument, ScoresFilesOption, scores_files
from attunebench.cli.options import flag


def export(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    output: Annotated[Path, flag("Output folder.", "--output", "-o", metavar="DIR")] = Path("export"),
    format: Annotated[
        Literal["csv", "jsonl", "parquet"], flag("File format; parquet keeps types and requires the extra `data`.")
    ] = "csv",
    overwrite: Annotated[bool, flag("Replace existing files.", "--overwrite")] = False,
) -> None:
    """Write scores as four tidy tables: models, conversations, turns and answers.

    docs/data-frames.md describes their columns.
    """
    from attunebench.scores.export import export_scores
    from attunebench.scores.loading import load_scores

    table = load_scores(scores_files(files, scores))
    for path in export_scores(table, output, format, overwrite=overwrite):
        typer.echo(path)
