"""`attune-bench prompts show`: exactly what a model would be sent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import CodebookOption
from attunebench.cli.options import PanelCommand, flag
from attunebench.errors import UsageError
from attunebench.judging import JudgeScale
from attunebench.protocol.calls import Kind, PanasStrategy
from attunebench.text import visible

if TYPE_CHECKING:
    from attunebench.conversations.schema import Conversation
    from attunebench.protocol.calls import Call

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Show the prompts that a model receives."""


@app.command("show", cls=PanelCommand, short_help="Print one prompt exactly.")
def show(
    conversation: Annotated[Path, flag("A conversation file.")],
    turn: Annotated[int | None, flag("Number of the turn, from 1; not for `post` and `profile`.")] = None,
    call: Annotated[
        Kind, flag("The call. `profile` belongs to predict-profile, `respond` and `verdict` to the arena.")
    ] = "review",
    mode: Annotated[str, flag("default, verbose, omniscient or verbose_omniscient.")] = "default",
    panas_strategy: Annotated[PanasStrategy, flag("As for `run`.")] = "absolute",
    judge_scale: Annotated[JudgeScale, flag("As for `run`.")] = "quality",
    codebook: CodebookOption = None,
) -> None:
    """Print the messages of one call, under a line that names each message's role.

    A terminal shows control and invisible characters as code points; a pipe or file gets the exact text.
    """
    from attunebench.cli.loading import choose_codebook
    from attunebench.conversations import load_conversations
    from attunebench.protocol.modes import parse_modes
    from attunebench.protocol.plan import as_text, show_prompt

    modes = parse_modes(mode)
    if len(modes) != 1:
        raise UsageError("Only one mode can be shown at a time.")
    if not conversation.is_file():
        raise UsageError(f"{conversation} is not a conversation file; give one file, such as DIR/conversation_7.json.")
    (loaded,) = load_conversations(conversation)
    book = choose_codebook(conversation.parent, codebook)
    if call in ("respond", "verdict"):
        text = as_text(_of_an_arena(loaded, turn, call))
    else:
        text = show_prompt(loaded, turn, call, modes[0], book, panas_strategy=panas_strategy, judge_scale=judge_scale)
    # What a conversation holds must not steer a terminal; a file or a program gets it to the letter, by `color` too.
    typer.echo(visible(text) if sys.stdout.isatty() else text, nl=False, color=True)


def _of_an_arena(conversation: Conversation, turn: int | None, kind: Kind) -> Call:
    """The call to respond to a turn, or to compare two of its replies: the original one and, where there is one, the
    edited one. Raises UsageError where there is no such turn, or only one reply."""
    from attunebench.arena.histories import histories_of
    from attunebench.arena.replies import candidates_of
    from attunebench.protocol.arena import Shown, plan_reply, plan_verdict
    from attunebench.protocol.plan import check_turn

    check_turn(conversation, turn)
    name = f"{conversation.conversation_id}/{turn}"
    history = next(one for one in histories_of([conversation]) if one.id == name)
    told = tuple((message.role, message.text) for message in history.turns)
    if kind == "respond":
        return plan_reply(name, told)
    replies = {one.author: one.text for one in candidates_of([conversation]) if one.history == name}
    first, *others = [replies[author] for author in ("original", "edited", "alternate") if author in replies] or [""]
    if not others:
        raise UsageError(f"Turn {turn} of {conversation.conversation_id} has no two replies to compare.")
    return plan_verdict(name, name, "left", Shown(told, first, others[0]), 0)
