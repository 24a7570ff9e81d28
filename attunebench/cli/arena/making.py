"""`attune-bench arena new`: histories and the replies that exist, into a new arena or one that grows."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import FOLDER, SkipInvalidOption, comma_list
from attunebench.cli.emitting import first, folded, say
from attunebench.cli.options import flag
from attunebench.errors import UsageError
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.arena.folder import Arena
    from attunebench.arena.histories import AdversarialRule
    from attunebench.arena.objects import History, Reply

ArenaArgument = Annotated[Path, typer.Argument(metavar="ARENA", help="Folder of the arena.", show_default=False)]


def new(
    arena: ArenaArgument,
    conversations: Annotated[
        Path | None, flag("Conversations: each turn becomes a history with up to three replies.", *FOLDER)
    ] = None,
    histories: Annotated[
        list[Path] | None,
        flag("JSON or JSONL of histories (turns) or dialogues (dialog, as in ESConv).", metavar="FILE"),
    ] = None,
    replies: Annotated[
        list[Path] | None, flag("JSON or JSONL of replies: history, author, kind, text.", metavar="FILE")
    ] = None,
    results: Annotated[
        list[Path] | None, flag("Results whose drafts become replies.", "--results", "-r", metavar="DIR")
    ] = None,
    mode: Annotated[str, flag("Mode of the results.")] = "default",
    candidates: Annotated[
        bool, flag("Add the three candidate replies of each turn of the conversations.", "--candidates/--no-candidates")
    ] = True,
    human_replies: Annotated[
        str | None,
        flag("People wrote the supporter's turns of dialogues: add the next one as a reply by AUTHOR.",
             metavar="AUTHOR", shown="no replies"),
    ] = None,
    adversarial: Annotated[
        list[str] | None,
        flag("Criteria for adversarial histories of conversations: tags, unmet, fit or none; use commas.",
             metavar="CRITERIA", shown="tags,unmet,fit"),
    ] = None,
    adversarial_needs: Annotated[int, flag("How many of these criteria must hold.", metavar="N", min=1)] = 2,
    slices: Annotated[
        Path | None, flag("JSON or JSONL of id, slice and tags, for histories or whole conversations.", metavar="FILE")
    ] = None,
    limit: Annotated[int | None, flag("Only N histories, chosen at random.", metavar="N", shown="all", min=1)] = None,
    seed: Annotated[int, flag("Random seed of --limit.", min=0)] = 0,
    skip_invalid: SkipInvalidOption = False,
) -> None:  # fmt: skip
    """Create an arena of histories and the replies that exist, or add to one. Existing replies, pairs and verdicts are
    never overwritten.

    Histories are adversarial by their labels: tags (more negative than positive feelings were labelled after the last
    reply), unmet (that reply differed from what was preferred on at least a third of the questions), fit (the
    participant found the model a poor fit).
    """
    from attunebench.arena.folder import add_histories, add_replies, note_step, read_arena, read_lines, refuse_foreign
    from attunebench.arena.histories import drawn, read_slices, sliced
    from attunebench.arena.objects import History
    from attunebench.arena.replies import drafts_of

    there = arena / "histories.jsonl"
    if not (conversations or histories or replies or results or slices):
        raise UsageError("Nothing to add; give --conversations, --histories, --replies, --results or --slices.")
    refuse_foreign(arena)
    rule = _rule(adversarial, adversarial_needs)
    made, given = _from_conversations(conversations, rule, skip_invalid, candidates) if conversations else ([], {})
    _from_files(histories or (), replies or (), human_replies, made, given)
    made = made if limit is None else drawn(made, limit, seed)
    if slices is not None:
        new = {one.id for one in made}
        old = [one for one in read_lines(there, History) if one.id not in new]
        made, unknown = sliced([*old, *made], read_slices(slices))
        if unknown:
            ids = counted(len(unknown), "id")
            say(f"{ids} in {printable(str(slices))} without a history (first: {printable(unknown[0])}).")
    if made:
        add_histories(arena, made)
    known = read_arena(arena).histories
    for path in results or ():
        drafts = drafts_of(path, known.values(), mode)
        given.setdefault("drafts", []).extend(drafts.replies)
        for sentence in drafts.left_out:
            say(folded(f"Left out of {printable(str(path))}: {sentence}"))
    for name, lines in given.items():
        answering = [one for one in lines if one.history in known]
        if limit is None and (others := len(lines) - len(answering)):
            say(f"Left out of {printable(name)}: {counted(others, 'reply', 'replies')} to histories not in the arena.")
        add_replies(arena, name, answering)
    sources = [conversations, *(histories or ()), *(replies or ()), *(results or ()), slices]
    how = {"adversarial": conversations and str(rule), "mode": results and mode, "seed": limit and seed}
    named = [path.resolve().name for path in sources if path]
    note_step(arena, {"command": "new", "from": named, "limit": limit, **how})
    show_arena(read_arena(arena))
    say(f"Next: attune-bench arena respond PROVIDER MODEL {shlex.quote(str(arena))}, or arena pairs.")


Given = dict[str, "list[Reply]"]
"""Replies by the name of their file."""


def _from_conversations(
    folder: Path, rule: AdversarialRule, skip_invalid: bool, candidates: bool
) -> tuple[list[History], Given]:
    from attunebench.arena.histories import histories_of
    from attunebench.arena.replies import candidates_of
    from attunebench.cli.loading import load

    loaded, _ = load(folder, None, skip_invalid=skip_invalid, quiet=True)
    say(folded(f"Slices: {rule}."))
    return histories_of(loaded, rule), {"candidates": candidates_of(loaded)} if candidates else {}


def _from_files(
    histories: Sequence[Path], replies: Sequence[Path], people: str | None, made: list[History], given: Given
) -> None:
    """Add what is in files; `people`: the author of what supporters of dialogues wrote."""
    from attunebench.arena.histories import read_material
    from attunebench.arena.replies import followed, read_replies

    for path in histories:
        material = read_material(path)
        made += material.histories
        if people:
            given.setdefault(f"from-{path.stem}", []).extend(followed(material.followed_by, people))
    for path in replies:
        given.setdefault(f"from-{path.stem}", []).extend(read_replies(path))


def _rule(adversarial: list[str] | None, needed: int) -> AdversarialRule:
    from attunebench.arena.histories import CRITERIA, AdversarialRule

    named = comma_list(adversarial) if adversarial is not None else tuple(CRITERIA)
    if unknown := [name for name in named if name not in (*CRITERIA, "none")]:
        raise UsageError(f"--adversarial: there is no {unknown[0]!r}; choose from {', '.join(CRITERIA)}, none.")
    return AdversarialRule(tuple(name for name in CRITERIA if name in named and "none" not in named), needed)


def show_arena(arena: Arena) -> None:
    """What is in an arena, by slice and author, and what does not count."""
    slices = Counter(one.slice for one in arena.histories.values())
    parts = ", ".join(f"{count:,} {printable(name, 60)}" for name, count in slices.most_common())
    typer.echo(f"Histories  {len(arena.histories):,} ({parts})")
    authors = Counter((author, one.kind) for (_, author), one in arena.replies.items())
    for (author, kind), count in authors.most_common():
        typer.echo(f"Replies    {count:,} by {printable(author, 80)} ({kind})")
    if arena.pairs:
        typer.echo(f"Pairs      {len(arena.pairs):,}")
    if arena.verdicts:
        raters = len({one.rater for one in arena.verdicts})
        typer.echo(f"Verdicts   {len(arena.verdicts):,} by {counted(raters, 'rater')}")
    for line in first([f"! {printable(sentence, 400)}" for sentence in arena.problems]):
        say(folded(line))
