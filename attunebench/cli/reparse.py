"""`attune-bench reparse`: journalled replies read again with today's reader, result files out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attunebench.cli.arguments import (
    CodebookOption,
    RanConversationsOption,
    ResultsOption,
    SkipInvalidOption,
)
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.runner.reparse import ReparseSummary


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("reparse", short_help="Read journalled replies again with today's reader.")(reparse)


def reparse(
    results: ResultsOption = Path("results"),
    conversations: RanConversationsOption = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
) -> None:
    """Read the evaluated models' replies in a folder's call journal again with today's reader, and rewrite the results
    that come out otherwise. Needs no network and asks no model. For judges' replies use rejudge --replace.

    A result whose replies are not all in the journal, or that was made with other prompts, stays as it is and is
    named; then the exit status is 1.
    """
    from attunebench import api
    from attunebench.cli.loading import load

    if conversations is None:
        raise UsageError("The conversations folder is missing; give it with --conversations.")
    if not results.is_dir():
        raise UsageError(f"There is no results folder {results}; give it with --results.")
    loaded, book = load(conversations, codebook, skip_invalid=skip_invalid)
    summary = api.reparse(results, loaded, codebook=book)
    _tell(summary)
    if summary.left:
        raise typer.Exit(1)


def _tell(summary: ReparseSummary) -> None:
    from attunebench.text import counted, printable

    for name, reason in summary.left.items():
        _say(f"Left as it is: {printable(name)}: {printable(reason)}.")
    for model, results in sorted(summary.changed.items()):
        _say(f"{printable(model)}: {counted(results, 'result')} rewritten.")
    if summary.votes_dropped:
        _say(f"{counted(summary.votes_dropped, 'vote')} on drafts that read otherwise now went; `run` asks for them.")
    read = summary.unchanged + summary.changed.total()
    _say(
        f"{counted(read, 'result')} read again: {summary.changed.total()} rewritten, {summary.unchanged} as before; "
        f"{len(summary.left)} left."
    )
    if summary.changed.total():
        _say("Next: attune-bench score, which takes the answers from the results.")


def _say(text: str) -> None:
    typer.echo(text, err=True)
