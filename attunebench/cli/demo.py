"""`attune-bench demo`: the whole pipeline on the bundled conversations, offline."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.emitting import emit, look, say, working
from attunebench.cli.options import flag


def demo(
    output: Annotated[Path, flag("Folder of the results, scores.json and report.html.", "-o", "--output")] = Path(
        "attunebench-demo"
    ),
    full: Annotated[bool, flag("Print every table of the report.", "--full", "--all")] = False,
) -> None:
    """Run, score and report the built-in baselines on the bundled conversations. Requires no key and no network.

    Overwrites only folders that it created.
    """
    from attunebench.conversations import demo_folder
    from attunebench.demo import claim_folder, demo_analysis, run_demo
    from attunebench.reports import analyses, render
    from attunebench.reports.html import render_html
    from attunebench.scores import write_scores
    from attunebench.transcripts import FolderTranscripts

    results, page = output / "results", output / "report.html"
    claim_folder(output)
    with working("running and scoring the baselines"):
        scores = run_demo(results)
        write_scores(output / "scores.json", scores)
    with working("writing the page"), FolderTranscripts(demo_folder(), results) as evidence:
        emit(render_html(scores, evidence=evidence), page)
    style = look(None)
    if full:
        typer.echo(render(scores, show_all=True, width=style["width"], colour=style["colour"]), nl=False)
    else:
        emit(analyses.render([demo_analysis(scores, results)], **style), None)
    where, again = shlex.quote(str(output / "scores.json")), f"attune-bench demo --full -o {shlex.quote(str(output))}"
    say(f"\nThe page: {page}; open it in a browser.")
    say(f"All tables: {again}")
    say(f"Analyses of the scores: attune-bench analyze all -s {where}")
    say("Evaluate a model: attune-bench run PROVIDER MODEL CONVERSATIONS")
