"""`attune-bench doctor`: is this installation, this folder and this server fit for a run?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.arguments import JsonOption
from attunebench.cli.emitting import folded
from attunebench.cli.options import flag
from attunebench.text import counted

_MARKS = {"ok": "ok  ", "note": "-   ", "fail": "FAIL"}


def doctor(
    base_url: Annotated[str | None, flag("Ask this server for its models, e.g. http://localhost:8000/v1.")] = None,
    api_key: Annotated[str | None, flag("The key for that server; no other key is ever sent to it.")] = None,
    output: Annotated[Path, flag("The folder that a run would write into.", "--output", "-o")] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Check what is installed, which keys a run would find (without showing them), and whether a server answers.

    Sends nothing except one GET request to --base-url. Exit status 1 if something must be fixed.
    """
    from attunebench.doctor import examine

    if as_json:
        findings = [asdict(each) for each in examine(base_url=base_url, api_key=api_key, output=output)]
        ok = all(each["state"] != "fail" for each in findings)
        typer.echo(json.dumps({"ok": ok, "findings": findings}))
        raise typer.Exit(not ok)
    failed = 0
    for finding in examine(base_url=base_url, api_key=api_key, output=output):
        typer.echo(folded(f"{_MARKS[finding.state]}  {finding.text}", sys.stdout, " " * 6))
        failed += finding.state == "fail"
    if failed:
        typer.echo(f"{counted(failed, 'problem')} found; see the lines marked FAIL.")
        raise typer.Exit(1)
    typer.echo("No problems found.")
