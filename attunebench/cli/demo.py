"""`attune-bench demo`: the whole pipeline on the bundled conversations, offline."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.emitting import say
from attunebench.cli.options import flag

ABOUT = (
    "Twelve demonstration conversations that this project wrote itself (no human data, not comparable with published "
    "scores) and the built-in baselines (no language model, no network)."
)


def demo(
    output: Annotated[
        Path | None, flag("Keep results and scores.json in this folder.", "-o", "--output", shown="nothing kept")
    ] = None,
    show_all: Annotated[bool, flag("Also scores of the drafted replies, and diagnostics.", "--all")] = False,
) -> None:
    """Run, score and report the built-in baselines on the bundled conversations. Needs no key and no network."""
    from attunebench.demo import run_demo
    from attunebench.reports import render
    from attunebench.scores import write_scores

    say(ABOUT)
    with tempfile.TemporaryDirectory(prefix="attunebench-demo-") as temporary:
        folder = output or Path(temporary)
        scores = run_demo(folder)
        if output is not None:
            write_scores(folder / "scores.json", scores)
        width = shutil.get_terminal_size((80, 24)).columns
        typer.echo(render(scores, show_all=show_all, width=width, colour=sys.stdout.isatty()), nl=False)
    if output is None:
        say("Nothing was kept; `attune-bench demo -o DIR` keeps the result files and scores.json.")
    else:
        where = shlex.quote(str(output / "scores.json"))
        say(f"Results and scores.json are in {output}; next: attune-bench report -s {where} --all")
