"""`attune-bench demo`: the whole pipeline on the bundled conversations, offline."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

ABOUT = (
    "Twelve demonstration conversations that this project wrote itself (no human data, not comparable with published "
    "scores) and the built-in baselines (no language model, no network)."
)


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Keep results and scores.json in this folder.", show_default="nothing kept"
        ),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also scores of the drafted replies, and diagnostics.")
    ] = False,
) -> None:
    """Run, score and report the built-in baselines on the bundled conversations. Needs no key and no network."""
    from attunebench.demo import run_demo
    from attunebench.reports import render
    from attunebench.scores import write_scores

    typer.echo(ABOUT, err=True)
    with tempfile.TemporaryDirectory(prefix="attunebench-demo-") as temporary:
        folder = output or Path(temporary)
        scores = run_demo(folder)
        if output is not None:
            write_scores(folder / "scores.json", scores)
        width = shutil.get_terminal_size((80, 24)).columns
        typer.echo(render(scores, show_all=show_all, width=width, colour=sys.stdout.isatty()), nl=False)
    if output is None:
        typer.echo("Nothing was kept; `attune-bench demo -o DIR` keeps the result files and scores.json.", err=True)
    else:
        where = shlex.quote(str(output / "scores.json"))
        typer.echo(f"Results and scores.json are in {output}; next: attune-bench report -s {where} --all", err=True)
