"""`attune-bench validate`: every error of a folder of conversations with its place, warnings apart."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from attunebench.cli.arguments import ConversationsArgument, ConversationsOption, JsonOption, one_folder
from attunebench.cli.options import flag
from attunebench.text import printable


def validate(
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    quiet: Annotated[bool, flag("Errors only, without the warnings.", "--quiet", "-q")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check conversation files. For every error, print the file, the place in the JSON and what was expected. Changes
    nothing.

    Exit status 1 if there is an error.
    """
    from attunebench.conversations import validate_folder

    report = validate_folder(one_folder(conversations, folder))
    if as_json:
        found = {name: [asdict(issue) for issue in getattr(report, name)] for name in ("errors", "warnings")}
        told = {
            "ok": report.ok,
            "conversations": report.n_conversations,
            **found,
            "passed_over": [each._asdict() for each in report.passed_over],
        }
        typer.echo(json.dumps(told))
        raise typer.Exit(not report.ok)
    for issue in report.errors:
        typer.echo(f"error    {printable(str(issue))}")
    for issue in () if quiet else report.warnings:
        typer.echo(f"warning  {printable(str(issue))}")
    for passed in () if quiet else report.passed_over:
        typer.echo(f"passed   {printable(passed.file)}: {printable(passed.reason)}")
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(report.warning_counts.items()))
    typer.echo(
        f"{report.n_conversations} valid conversations, {len(report.errors)} errors, {len(report.warnings)} warnings"
        + (f" ({counts})." if counts else "."),
        err=bool(report.errors),
    )
    if report.errors:
        raise typer.Exit(1)
