"""`attune-bench analyze`: one question asked of scores, or all of them; tables to stdout, a file or a folder.

Parses, reads the scores, makes the analyses and writes; decides nothing about what they say.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from attunebench.cli.arguments import (
    OUTPUT,
    ScoresFilesOption,
    analysis_options,
    analysis_values,
    comma_list,
    scores_files,
)
from attunebench.cli.emitting import emit, emit_analyses, emit_folder, is_brief, listing, look, say, working
from attunebench.cli.options import flag, with_options
from attunebench.errors import UsageError


@with_options(how=analysis_options("power"), shown=OUTPUT)
def analyze(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="Analyses by name, `all`, or `list` to see them.", show_default="list"),
    ] = None,
    scores: ScoresFilesOption = None,
    other_labels: Annotated[
        list[Path] | None, flag("The same results scored on other labels, for `label-sets`; repeat.", metavar="FILE")
    ] = None,
    arena: Annotated[
        Path | None,
        flag("A file that `arena score` wrote, for `independence`: adds the ratings of models.", metavar="FILE"),
    ] = None,
    save: Annotated[
        Path | None,
        flag("Also write each analysis as JSON and each table as CSV into this folder.", metavar="DIR", panel="Output"),
    ] = None,
    *,
    how: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    """Analyse scores. Each analysis answers one question with n and intervals, and states what it cannot show.

    Works offline and calls no model.
    """
    from attunebench import api
    from attunebench.reports.analyses import files, render_findings

    asked = comma_list(names)
    if not asked or asked == ("list",):
        emit(_listing(), shown["output"])
        say("Next: attune-bench analyze NAME -s scores.json, or `all` for NAME.")
        return
    if "list" in asked:
        raise UsageError("`list` lists the analyses and cannot be combined with names.")
    sources = scores_files(None, scores)
    found = api.analyze(
        sources,
        *(() if "all" in asked else asked),
        other_labels=other_labels or (),
        arena=arena,
        progress=_working_through,
        **analysis_values(how),
    )
    if save is not None:
        emit_folder(files(found.analyses, found.rules), save)
    if is_brief(**shown) and found.brief:
        where = " ".join(f"-s {shlex.quote(str(source))}" for source in sources)
        below = (
            f"Tables of one analysis: attune-bench analyze NAME {where}. Of all: --full, another --format, --save DIR."
        )
        emit(render_findings(found.analyses, **look(None), rules=found.rules, below=(below,)), None)
    else:
        emit_analyses(found.analyses, **shown, rules=found.rules, protect=[*sources, *([arena] if arena else ())])


def _working_through(names: Sequence[str]) -> Iterator[str]:
    for place, name in enumerate(names, 1):
        with working(f"{name} ({place} of {len(names)})"):
            yield name


def _listing() -> str:
    """Name and question of each analysis, a line each."""
    from attunebench.analyses import ANALYSES

    return listing({entry.name: entry.question for entry in ANALYSES.values()})
