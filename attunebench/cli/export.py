"""`attune-bench export`: scores as tidy tables for data frames and spreadsheets."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.arguments import ScoresFilesArgument, ScoresFilesOption, scores_files


class ExportFormat(str, Enum):
    """The kinds of files."""

    parquet = "parquet"
    csv = "csv"
    jsonl = "jsonl"


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("export", short_help="Write scores as Parquet, CSV or JSON lines.")(export)


def export(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Output folder.")] = Path("export"),
    format: Annotated[ExportFormat, typer.Option("--format", help="File format.")] = ExportFormat.parquet,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
) -> None:
    """Write scores as four tidy tables: models, conversations, turns and answers.

    docs/data-frames.md describes their columns. Parquet requires the extra `data`.
    """
    from attunebench.scores.export import export_scores
    from attunebench.scores.loading import load_scores

    table = load_scores(scores_files(files, scores))
    for path in export_scores(table, output, format.value, overwrite=overwrite):
        typer.echo(path)
