"""`attune-bench arena demo`: the whole arena on the bundled conversations, offline."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from attunebench.cli.emitting import emit, emit_analyses, say, working
from attunebench.cli.options import flag


def demo(
    output: Annotated[Path, flag("Folder of the arena, arena-scores.json and report.html.", "-o", "--output")] = Path(
        "attunebench-arena-demo"
    ),
    full: Annotated[bool, flag("Print every table of the report.", "--full", "--all")] = False,
) -> None:
    """Have built-in judges compare the replies of the bundled conversations and of baselines, and report. Requires no
    key and no network. The numbers are not a finding.

    Overwrites only folders that it created.
    """
    from attunebench.arena.demo import make_demo_arena
    from attunebench.arena.sampling import ArenaSettings
    from attunebench.arena.score import score_arena
    from attunebench.arena.scores import ArenaScores, about_of
    from attunebench.demo import claim_folder
    from attunebench.reports.html.arena import render_arena

    folder, file, page = output / "arena", output / "arena-scores.json", output / "report.html"
    claim_folder(output, "arena demo", "the arena, arena-scores.json and report.html in this folder")
    with working("comparing replies"):
        arena = make_demo_arena(folder)
    with working("scoring"):
        settings = ArenaSettings()
        scores = ArenaScores(score_arena(arena, settings), about_of(arena, settings, folder, file))
        emit(scores.json(), file)
    with working("writing the page"):
        emit(render_arena(scores, arena=arena), page)
    ratings = scores.analyses[0]
    brief = replace(ratings, tables=tuple(one for one in ratings.tables if one.id == "by-rater"))
    emit_analyses(scores.analyses if full else [brief], "terminal", None, full=full)
    where, place = shlex.quote(str(file)), shlex.quote(str(folder))
    say(f"\nReport written to {page}; open it in a browser.")
    say(f"All tables: attune-bench arena report {where} --full")
    say(f"To add a judge: attune-bench arena judge {place} --judge PROVIDER:MODEL")
