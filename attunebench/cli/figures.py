"""`attune-bench figures`: scores to figures for print, with their captions, in a folder.

Parses, reads the scores, draws and writes; decides nothing about what a figure shows.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from attunebench.cli.arguments import (
    ScoresFilesArgument,
    ScoresFilesOption,
    analysis_options,
    analysis_values,
    comma_list,
    scores_files,
)
from attunebench.cli.emitting import listing, say, warn, working
from attunebench.cli.options import flag, with_options
from attunebench.errors import UsageError
from attunebench.text import clean


class _Format(str, Enum):
    svg = "svg"
    png = "png"
    pdf = "pdf"


@with_options(how=analysis_options("metric", "power"))
def figures(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    output: Annotated[
        Path, flag("Folder for the figures, captions.md and methods.md.", "-o", "--output", metavar="DIR")
    ] = Path("figures"),
    format: Annotated[
        list[_Format] | None, flag("File format; repeat it for several.", "--format", "-f", shown="svg")
    ] = None,
    only: Annotated[
        list[str] | None, flag("Only this figure; repeat or use commas. `list` names them.", metavar="NAME")
    ] = None,
    width: Annotated[Literal["single", "double"], flag("One journal column (89 mm) or two (183 mm).")] = "double",
    dpi: Annotated[int, flag("Resolution of PNG files.", min=50, max=1200)] = 300,
    force: Annotated[bool, flag("Draw even if labels differ; the captions say so.", "--force")] = False,
    *,
    how: dict[str, Any],
) -> None:
    """Draw figures for print from the numbers of `analyze` and `compare`, with one colour per model and captions in
    captions.md, details in methods.md.

    Figures that cannot be drawn are listed with the reason. Requires matplotlib: pip install ".[analyses]" in the
    checkout.
    """
    from attunebench import api

    names = comma_list(only)
    if "list" in names:
        typer.echo(_listing(), nl=False)
        return
    look: dict[str, Any] = {"width": width, "dpi": dpi, "force": force}
    with working("drawing"):
        found = api.figure(scores_files(files, scores), *names, **look, **analysis_values(how))
    written = found.save(output, [one.value for one in format or [_Format.svg]])
    for path in written:
        typer.echo(str(path))
    for warning in found.warnings:
        warn(warning)
    for one in found.skipped:
        say(f"{one.name} was not drawn: {clean(one.reason)}")
    if not found.pictures:
        raise UsageError("None of the requested figures can be drawn from these scores; see the reasons above.")


def _listing() -> str:
    """Name, title and need of each figure, a line each."""
    from attunebench.figures import FIGURES

    return listing({one.name: f"{one.title}; needs {one.needs}" for one in FIGURES.values()})
