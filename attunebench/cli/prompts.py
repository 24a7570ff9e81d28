"""`attune-bench prompts show`: exactly what a model would be sent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.arguments import CodebookOption
from attunebench.cli.options import PanelCommand, flag
from attunebench.errors import UsageError
from attunebench.judging import JudgeScale
from attunebench.protocol.calls import Kind, PanasStrategy
from attunebench.text import visible

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Show the prompts that a model receives."""


@app.command("show", cls=PanelCommand, short_help="Print one prompt exactly.")
def show(
    conversation: Annotated[Path, flag("A conversation file.")],
    turn: Annotated[int | None, flag("Number of the turn, from 1; not for `post` and `profile`.")] = None,
    call: Annotated[Kind, flag("The call; `profile` is the call of predict-profile.")] = "review",
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
    from attunebench.protocol.plan import show_prompt

    modes = parse_modes(mode)
    if len(modes) != 1:
        raise UsageError("Only one mode can be shown at a time.")
    if not conversation.is_file():
        raise UsageError(f"{conversation} is not a conversation file; give one file, such as DIR/conversation_7.json.")
    (loaded,) = load_conversations(conversation)
    book = choose_codebook(conversation.parent, codebook)
    text = show_prompt(loaded, turn, call, modes[0], book, panas_strategy=panas_strategy, judge_scale=judge_scale)
    # What a conversation holds must not steer a terminal; a file or a program gets it to the letter, by `color` too.
    typer.echo(visible(text) if sys.stdout.isatty() else text, nl=False, color=True)
