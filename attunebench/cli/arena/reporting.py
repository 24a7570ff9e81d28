"""`attune-bench arena report`: the numbers of `arena score` as tables, or as a page that leads to every verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attunebench.cli.arguments import FullOption
from attunebench.cli.emitting import emit, emit_analyses, is_brief, say, warn, working
from attunebench.cli.options import flag
from attunebench.cli.report import refuse_foreign
from attunebench.errors import UsageError
from attunebench.text import counted

if TYPE_CHECKING:
    from attunebench.analyses.table import Table
    from attunebench.arena.folder import Arena
    from attunebench.arena.scores import ArenaScores

_PAGE = Path("arena.html")
_STDOUT = Path("-")


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `arena score` wrote.")] = Path(
        "arena-scores.json"
    ),
    format: Annotated[
        Literal["terminal", "markdown", "csv", "json", "html"],
        flag("Output format.", "--format", "-f", panel="Output"),
    ] = "terminal",
    output: Annotated[
        Path | None,
        flag(
            "Write to this file instead of the terminal; for html `-` is the terminal.",
            "-o",
            "--output",
            shown="arena.html for html",
            panel="Output",
        ),
    ] = None,
    full: FullOption = False,
    arena: Annotated[
        Path | None,
        flag(
            "Folder of the arena, for histories, replies and verdicts.",
            "--arena",
            metavar="DIR",
            shown="the one that was scored",
            panel="HTML page",
        ),
    ] = None,
    no_texts: Annotated[
        bool, flag("Include only numbers, without histories, replies and verdicts.", "--no-texts", panel="HTML page")
    ] = False,
) -> None:
    """Show ratings, people against models, agreement, rationales and bias of judges, each with n and interval."""
    from attunebench.arena.scores import read_arena_scores

    if file.is_dir() or not file.exists():
        raise UsageError(f"There is no file {file}; `attune-bench arena score ARENA` writes one.")
    if format != "html":
        if arena is not None or no_texts:
            raise UsageError("--arena and --no-texts apply only to --format html.")
        analyses = read_arena_scores(file).analyses
        brief = is_brief(format, output, full)
        shown = [replace(one, tables=_lead(one.tables)) for one in analyses] if brief else analyses
        emit_analyses(shown, format, output, full=full, protect=[file])
        if brief and (left := sum(len(one.tables) for one in analyses) - sum(len(one.tables) for one in shown)):
            say(f"{counted(left, 'more table')}: use --full, or --format html for a page.")
        return
    if full:
        raise UsageError("The page contains everything: --format html does not take --full.")
    if no_texts and arena is not None:
        raise UsageError("--no-texts excludes the texts from --arena; give one or the other.")
    _page(file, output or _PAGE, arena, texts=not no_texts)


def _lead(tables: Sequence[Table]) -> tuple[Table, ...]:
    """The table that answers the question of an analysis."""
    return tuple(sorted(tables, key=lambda one: not (one.chart and one.chart.lead))[:1])


def _page(file: Path, output: Path, folder: Path | None, *, texts: bool) -> None:
    from attunebench.arena.scores import read_arena_scores
    from attunebench.reports.html.arena import render_arena

    if output != _STDOUT:
        refuse_foreign(output)
    scores = read_arena_scores(file)
    behind = _behind(scores, file, folder) if texts else None
    with working("writing the page"):
        text = render_arena(scores, arena=behind)
    emit(text, None if output == _STDOUT else output, protect=[file])
    if output != _STDOUT:
        say(f"Report written to {output}; open it in a browser.")


def _behind(scores: ArenaScores, file: Path, folder: Path | None) -> Arena | None:
    """The arena that was scored, or the one that is named. Warns where it is gone, or no longer the same."""
    from attunebench.arena.folder import read_arena
    from attunebench.arena.scores import counts_of

    place = folder or file.parent / scores.about.folder
    if folder is None and not (scores.about.folder and (place / "histories.jsonl").is_file()):
        warn("The arena that was scored was not found, so the page has no verdicts; name its folder with --arena.")
        return None
    arena = read_arena(place)
    if counts_of(arena) != scores.about.counts:
        warn(f"{place} has changed since it was scored; run `attune-bench arena score` again.")
    return arena
