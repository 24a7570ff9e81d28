"""`attune-bench arena pairs`: which replies are compared."""

from __future__ import annotations

import shlex
from typing import Annotated, Literal

import typer

from attunebench.cli.arena.making import ArenaArgument, show_arena
from attunebench.cli.emitting import folded, say
from attunebench.cli.options import flag
from attunebench.text import counted, listed, printable


def pairs(
    arena: ArenaArgument,
    design: Annotated[
        Literal["adaptive", "heart", "full"],
        flag(
            "adaptive: every author against people, the original and its neighbours by the ratings so far. heart: all "
            "pairs of a person and a model, and random ones. full: all pairs."
        ),
    ] = "adaptive",
    per_history: Annotated[
        float | None,
        flag(
            "Pairs per history: the maximum (adaptive, full) or the mean (heart).",
            metavar="N",
            shown="12 (adaptive), 9.3 (heart), all (full)",
            min=0.1,
            max=1_000_000,
        ),
    ] = None,
    neighbours: Annotated[int, flag("Neighbours of each author (adaptive).", metavar="N", min=1)] = 2,
    seed: Annotated[int, flag("Random seed.", min=0)] = 0,
) -> None:
    """Choose the pairs of replies to compare, each within one history. Existing pairs and verdicts stay.

    heart and full depend only on ids and the seed. adaptive also depends on the verdicts so far: after judging,
    run it again with a larger --per-history.
    """
    from attunebench.arena.folder import add_pairs, note_step, read_arena
    from attunebench.arena.pairs import DesignSettings, choose_pairs

    before = read_arena(arena)
    chosen = choose_pairs(before, DesignSettings(design, per_history, neighbours, seed))
    added = add_pairs(arena, chosen.pairs)
    if added:
        note_step(arena, {"command": "pairs", "added": added, "verdicts": len(before.verdicts), "how": chosen.notes})
    for sentence in chosen.notes:
        say(folded(sentence))
    show_arena(read_arena(arena))
    typer.echo(f"New pairs  {added:,}")
    if not added:
        say("No pairs were added: the arena has those of this design. Another --design or --per-history may add some.")
    if len(chosen.groups) > 1:
        apart = listed((printable(" and ".join(group), 100) for group in chosen.groups), most=4)
        say(
            "! The pairs do not connect all authors, and ratings of different groups cannot be compared: "
            f"{counted(len(chosen.groups), 'group')} ({apart}). Raise --per-history, or add replies to the same "
            "histories."
        )
    say(f"Next: attune-bench arena judge {shlex.quote(str(arena))} --judge PROVIDER:MODEL")
