"""`attune-bench figures`: scores to figures for print, with their captions, in a folder.

Parses, reads the scores, draws and writes; decides nothing about what a figure shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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

if TYPE_CHECKING:
    from attunebench.views import FigureResult


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
    arena: Annotated[
        Path | None,
        flag("Draw the scores of an arena instead; a file that `arena score` wrote.", "--arena", metavar="FILE"),
    ] = None,
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
    if arena is not None and (files or scores or force):
        raise UsageError("--arena draws the scores of an arena alone; it takes no other scores and no --force.")
    if "list" in names:
        typer.echo(_listing(arena), nl=False)
        return
    look: dict[str, Any] = {"width": width, "dpi": dpi}
    with working("drawing"):
        if arena is not None:
            found = _of_arena(arena, names, **look)
        else:
            found = api.figure(scores_files(files, scores), *names, **look, force=force, **analysis_values(how))
    written = found.save(output, [one.value for one in format or [_Format.svg]])
    for path in written:
        typer.echo(str(path))
    for warning in found.warnings:
        warn(warning)
    for one in found.skipped:
        say(f"{one.name} was not drawn: {clean(one.reason)}")
    if not found.pictures:
        raise UsageError("None of the requested figures can be drawn from these scores; see the reasons above.")


def _of_arena(file: Path, names: Sequence[str], width: Literal["single", "double"], dpi: int) -> FigureResult:
    """The figures of an arena's scores."""
    from attunebench.arena.scores import read_arena_scores
    from attunebench.figures import Look
    from attunebench.figures.arena import draw_arena
    from attunebench.views import FigureResult

    scores, look = read_arena_scores(file), Look(width, dpi)
    level = f"{scores.intervals}."
    pictures, skipped = draw_arena(scores.analyses, scores.groups, level, look, names)
    warnings = scores.analyses[0].warnings if scores.analyses else ()  # of the arena as a whole
    return FigureResult(tuple(pictures), tuple(skipped), look, warnings=warnings, rules="", intervals=scores.intervals)


def _listing(arena: Path | None) -> str:
    """Name, title and need of each figure, a line each."""
    from attunebench.figures import FIGURES
    from attunebench.figures.arena import figures_of

    if arena is not None:
        from attunebench.arena.scores import read_arena_scores

        return listing(
            {name: table.title for name, (_, table) in figures_of(read_arena_scores(arena).analyses).items()}
        )
    return listing({one.name: f"{one.title}; needs {one.needs}" for one in FIGURES.values()})
