"""An arena whose replies and rationales are hostile, and small analyses of it whose cells lead to its verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from arenas import simulated_arena
from html_study import HOSTILE, LONG

from attunebench.analyses.table import Analysis, Cell, Chart, Drill, column, counts, table, words
from attunebench.arena.folder import Arena
from attunebench.arena.objects import DIMENSIONS, Message
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.scores import ArenaScores, about_of
from attunebench.arena.table import table_of

AUTHORS = {"lab0": 0.0, "lab1": 0.5, "ann <b>": 1.0, "original": -0.5}
SLICES = ("regular", "adversarial")
KINDS: Any = {"ann <b>": "human", "original": "original"}


def small_arena(**more: Any) -> Arena:
    """Four authors, three people and a judge, whose texts are as bad as texts can be."""
    options: dict[str, Any] = {"histories": 16, "pairs": 3, "people": 3, "judges": 1, "tie": 0.2, "adversarial": 0.4}
    made = simulated_arena(7, strengths=AUTHORS, kinds=KINDS, **options | more)
    replies = {key: one.model_copy(update={"text": f"{one.text} {HOSTILE}"}) for key, one in made.replies.items()}
    first = next(iter(replies))
    replies[first] = replies[first].model_copy(update={"text": LONG})
    early = (Message(role="seeker", text="Hello."), Message(role="supporter", text=HOSTILE))
    histories = {id: one.model_copy(update={"turns": (*early, *one.turns)}) for id, one in made.histories.items()}
    sides = ("left", "right", "same")
    verdicts = [
        one.model_copy(
            update={
                "rationale": f"Validates feelings. {HOSTILE}",
                "evidence": "I feel",
                "evidence_found": place % 2 == 0,
                "decided_by": DIMENSIONS[place % 5],
                "dimensions": {name: sides[(place + k) % 3] for k, name in enumerate(DIMENSIONS)},
            }
        )
        for place, one in enumerate(made.verdicts)
    ]
    verdicts[0] = verdicts[0].model_copy(update={"preference": None, "dimensions": {}, "outcome": "refused"})
    verdicts[-1] = verdicts[-1].model_copy(update={"preference": -(verdicts[-1].preference or 0)})  # a judge flips
    return replace(made, histories=histories, replies=replies, verdicts=verdicts)


def small_analyses(arena: Arena) -> list[Analysis]:
    """Shares won by each author and against each other one, with what is behind each."""
    verdicts = table_of(arena)
    names = verdicts.authors
    share, against = [], []
    for at, author in enumerate(names):
        row = []
        for other in range(len(names)):
            ahead = (verdicts.left == at) & (verdicts.right == other)
            behind = (verdicts.left == other) & (verdicts.right == at)
            won = np.concatenate([verdicts.winner[ahead], -verdicts.winner[behind]])
            drill = Drill(where=(("author", author), ("against", names[other])))
            row.append(Cell(float(np.nanmean(won > 0)) if len(won) else None, n=len(won), drill=drill))
        against.append(row)
        all_won = [cell.value for cell in row if cell.value is not None]
        mean = float(np.mean(all_won))
        drill = Drill(where=(("author", author), ("rater", "people")))
        share.append(Cell(mean, mean - 0.1, mean + 0.1, n=30, drill=drill))
    ratings = table(
        "ratings",
        "Ratings by people",
        words("author", names),
        counts("n", [30] * len(names), "verdicts"),
        column("share", share, "share won", "share", better=True),
        caption="Over 16 histories.",
        chart=Chart("intervals", "author", ("share",), "Share won", "share", {"even": 0.5}, sort="share"),
    )
    matrix = table(
        "matrix",
        "Share of pairs that the row wins",
        words("author", names),
        *(column(f"against_{k}", [row[k] for row in against], name, "share") for k, name in enumerate(names)),
        chart=Chart("matrix", "author", tuple(f"against_{k}" for k in range(len(names))), lines={"even": 0.5}),
    )
    slices = table(
        "slices",
        "By slice",
        words("slice", SLICES),
        column("people", [Cell(0.5, drill=Drill(where=(("slice", one),))) for one in SLICES]),
        counts("flipped", [Cell(3, drill=Drill(where=(("slice", one), ("pairs", "flipped")))) for one in SLICES]),
    )
    shows = "ann <b> is rated highest. More."
    return [
        Analysis("arena-ratings", "Ratings", "Who wins?", shows, "No cause.", (ratings, matrix)),
        Analysis("arena-people", "People and models", "Who wins?", "People.", "", (slices,), ("Few.",), ("A note.",)),
        Analysis("arena-agreement", "Agreement", "Do raters agree?", missing="There is one rater only."),
    ]


def arena_scores(arena: Arena) -> ArenaScores:
    """What `arena score` would write of it, with these analyses."""
    about = about_of(arena, ArenaSettings(), Path("arena"), Path("arena-scores.json"))
    more = {"problems": ["A verdict on an unknown pair was left out."]}
    return ArenaScores(small_analyses(arena), about.model_copy(update=more))
