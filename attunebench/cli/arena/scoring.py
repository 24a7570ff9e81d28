"""`attune-bench arena score`: the verdicts of an arena to a file of ratings, agreement and bias, each with n and
interval. Calls no model."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from attunebench.cli.arguments import JsonOption
from attunebench.cli.emitting import emit, first, say, warn, working
from attunebench.cli.options import flag
from attunebench.errors import DataError, UsageError
from attunebench.text import counted, printable

_STATISTICS = "Statistics"


def score(
    arena: Annotated[Path, typer.Argument(metavar="ARENA", help="Folder of the arena.", show_default=False)],
    output: Annotated[Path, flag("File to write.", "-o", "--output", metavar="FILE", panel="Output")] = Path(
        "arena-scores.json"
    ),
    ties: Annotated[
        Literal["half", "dropped", "davidson"],
        flag("How ties enter ratings: as half a win for each, not at all, or by Davidson's model.", panel=_STATISTICS),
    ] = "half",
    anchor: Annotated[
        str,
        flag(
            "Author whose rating is 1000.",
            metavar="AUTHOR",
            shown="mean of all authors; original if no reply is by a person",
            panel=_STATISTICS,
        ),
    ] = "",
    ensemble: Annotated[
        Literal["majority", "mean"],
        flag("How verdicts of several judges are combined: by majority or by mean preference.", panel=_STATISTICS),
    ] = "majority",
    ambiguous: Annotated[
        float,
        flag(
            "Pairs with a smaller majority of people are ambiguous.",
            shown="2/3",
            panel=_STATISTICS,
            min=0,
            max=1,
        ),
    ] = 2 / 3,
    resamples: Annotated[
        int, flag("Bootstrap resamples of conversations (histories) per interval.", panel=_STATISTICS, min=100)
    ] = 2000,
    seed: Annotated[int, flag("Random seed.", panel=_STATISTICS, min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Compute ratings, people against models, agreement, rationales and bias of judges from the verdicts of an arena.

    Intervals resample conversations, or histories that are of none, never single verdicts. Calls no model. Show the
    numbers with `arena report`.
    """
    from attunebench.arena.folder import read_arena
    from attunebench.arena.sampling import ArenaSettings
    from attunebench.arena.score import score_arena
    from attunebench.arena.scores import ArenaScores, about_of
    from attunebench.scores.audits import arena_notices

    if output.suffix == ".jsonl" or output.resolve() == (arena / "arena.json").resolve():
        raise UsageError(f"{output} would replace a file of an arena; name another file with -o.")
    read = read_arena(arena)
    if all(one.check for one in read.verdicts):
        raise DataError(
            f"No verdict in {arena} counts. {read.problems[-1]}"
            if read.problems
            else f"{arena} has no verdicts; run `attune-bench arena judge`, or add those of people."
        )
    settings = ArenaSettings(ties, anchor, ensemble, ambiguous, seed, resamples)
    judges = dict.fromkeys(one.rater for one in read.verdicts if one.rater_kind == "judge")
    notices = arena_notices(judges, read.made, arena)
    about = about_of(read, settings, arena, output)
    if anchor and anchor not in about.authors:
        raise UsageError(f"{arena} has no author {anchor!r}; authors are {', '.join(sorted(about.authors))}.")
    with working("scoring"):
        lead, *rest = score_arena(read, settings)
        scores = ArenaScores([replace(lead, warnings=(*notices, *lead.warnings)), *rest], about)
    emit(scores.json(), output)
    for problem in first(read.problems):
        warn(problem)
    if as_json:
        missing = {one.name: one.missing for one in scores.analyses if one.missing}
        typer.echo(json.dumps({"scores": str(output), **about.counts, "missing": missing}))
    place = printable(str(output))
    say(f"Scores of {counted(about.counts['verdicts'], 'verdict')} written to {place}.")
    say(f"Next: attune-bench arena report {shlex.quote(place)}")
