"""`attune-bench report`: scores to tables or to a page in a file, and what a metric means.

Parses, reads the scores, calls `attunebench.reports` and writes; decides nothing about what is shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from attunebench.cli.arguments import ScoresFilesOption, comma_list, scores_files
from attunebench.cli.emitting import coloured, emit, say, terminal_width, warn, working
from attunebench.cli.options import flag
from attunebench.errors import UsageError
from attunebench.text import printable

_DEFAULT_PAGE = Path("report.html")
_STDOUT = Path("-")
_HEAD_BYTES = 1000
_OURS = b'<meta name="generator" content="AttuneBench">'


def report(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Files that `score` or the released scorer wrote; several are shown in one table.",
            show_default="scores.json",
        ),
    ] = None,
    scores: ScoresFilesOption = None,
    format: Annotated[
        Literal["terminal", "markdown", "csv", "json", "html"], flag("Output format.", "--format", "-f")
    ] = "terminal",
    output: Annotated[
        Path | None,
        flag(
            "Write to this file instead of the terminal; for html `-` is the terminal.",
            "-o",
            "--output",
            shown="report.html for html",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        flag(
            "The results folder, for the models' own texts.",
            "--results",
            "-r",
            metavar="DIR",
            shown="the one that was scored",
            panel="HTML page",
        ),
    ] = None,
    conversations: Annotated[
        Path | None,
        flag(
            "The conversations folder, for the messages.",
            "--conversations",
            "-d",
            metavar="DIR",
            shown="the one that was scored",
            panel="HTML page",
        ),
    ] = None,
    no_texts: Annotated[
        bool, flag("Include labels and answers only, no texts.", "--no-texts", panel="HTML page")
    ] = False,
    by: Annotated[Literal["branch"] | None, flag("Group by the four branches of emotional intelligence.")] = None,
    show_all: Annotated[bool, flag("Also show scores of drafted replies and diagnostics.", "--all")] = False,
    explain: Annotated[str | None, flag("Explain a metric (or `all`) and exit.", metavar="METRIC")] = None,
    metric: Annotated[
        list[str] | None, flag("Only this metric, by its id; repeat or use commas.", metavar="METRIC")
    ] = None,
    skill_against: Annotated[
        str | None,
        flag(
            "Also show skill: 0 is this baseline, 1 the ceiling; `base-rate` or a built-in baseline in the scores.",
            metavar="BASELINE",
        ),
    ] = None,
    width: Annotated[int | None, flag("Columns of the terminal tables.", min=60)] = None,
) -> None:
    """Show scores with n, intervals and coverage: the Composite, its pillars, turn-by-turn and
    conversation-wide metrics."""
    from attunebench import api, reports

    if explain is not None:
        # Whoever pipes the list into grep wants a metric's meaning on the line of its name.
        piped = output is not None or not sys.stdout.isatty()
        emit(reports.explain(explain, width=width or (None if piped else terminal_width(output))), output)
        return
    sources = scores_files(files, scores)
    if format == "html":
        if by is not None or show_all or metric or width is not None or skill_against is not None:
            raise UsageError(
                "The page contains everything: --format html does not take --by, --all, --metric, --skill-against, "
                "--width."
            )
        if no_texts and (results is not None or conversations is not None):
            raise UsageError("--no-texts excludes the texts from --results and --conversations; give one or the other.")
        _page(sources, output or _DEFAULT_PAGE, results, conversations, texts=not no_texts)
        return
    if results is not None or conversations is not None or no_texts:
        raise UsageError("--results, --conversations and --no-texts apply only to --format html.")
    built = api.report(
        sources, metrics=comma_list(metric), show_all=show_all, by=by, skill_against=skill_against
    ).report
    colour = coloured(output)
    no_color = bool(os.environ.get("NO_COLOR"))
    text = reports.draw(built, format, width=width or terminal_width(output), colour=colour, no_color=no_color)
    emit(text, output, protect=sources)
    if format == "csv":
        for warning in built.warnings:
            warn(warning)


def _page(
    sources: Sequence[Path], output: Path, results: Path | None, conversations: Path | None, *, texts: bool
) -> None:
    """Write the HTML report, with the texts of the folders that are given or that the scores name."""
    from attunebench.study import page_of

    refuse_foreign(output)
    for folder in (results, conversations):
        if folder is not None and not folder.exists():
            raise UsageError(f"There is no folder {folder}; omit the option for a page without its texts.")
    page = page_of(sources, results, conversations, texts=texts)
    with working("writing the page"):
        text = page.html
    emit(text, None if output == _STDOUT else output, protect=sources)
    for remark in page.remarks:
        warn(printable(remark, 1000))
    if output != _STDOUT:
        say(f"Report written to {output}; open it in a browser.")


def refuse_foreign(output: Path) -> None:
    """Raise where the page would take the place of a file that is none of ours: nobody may have meant that name."""
    from attunebench.files import replaces_a_file

    if output == _STDOUT or not replaces_a_file(output):
        return
    with output.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and _OURS not in head:
        raise UsageError(
            f"{output} exists and was not written by `report`, so it was not overwritten; name another file with -o."
        )
