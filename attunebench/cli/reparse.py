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
    ran_folders,
)
from attunebench.cli.emitting import say
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.runner.reparse import ReparseSummary


def reparse(
    results: ResultsOption = Path("results"),
    conversations: RanConversationsOption = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
) -> None:
    """Parse the evaluated models' replies in a folder's call journal again with the current parser, and rewrite the
    results that change. Works offline and calls no model. For judges' replies, use rejudge --replace.

    Results with other prompts or with replies missing from the journal are left unchanged and listed; the exit status
    is then 1.
    """
    from attunebench import api
    from attunebench.cli.loading import load

    loaded, book = load(ran_folders(results, conversations), codebook, skip_invalid=skip_invalid)
    summary = api.reparse(results, loaded, codebook=book)
    _tell(summary)
    if summary.left:
        raise typer.Exit(1)


def _tell(summary: ReparseSummary) -> None:
    for name, reason in summary.left.items():
        say(f"Skipped: {printable(name)}: {printable(reason)}.")
    for model, results in sorted(summary.changed.items()):
        say(f"{printable(model)}: {counted(results, 'result')} rewritten.")
    if summary.votes_dropped:
        say(f"{counted(summary.votes_dropped, 'vote')} removed, as their drafts changed; `run` requests them again.")
    rewritten = summary.changed.total()
    read = summary.unchanged + rewritten
    say(
        f"{counted(read, 'result')} parsed again: {rewritten} rewritten, {summary.unchanged} unchanged; "
        f"{len(summary.left)} skipped."
    )
    if rewritten:
        say("Next: attune-bench score")
