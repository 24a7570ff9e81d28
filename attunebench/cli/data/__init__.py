"""`attune-bench data`: the group of commands about sets of conversations."""

from __future__ import annotations

import typer

from attunebench.cli.data.checking import describe, verify
from attunebench.cli.data.getting import cut, get, list_sets
from attunebench.cli.options import PanelCommand

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """List, get, check, cut and describe sets of conversations."""


for name, command, does in (
    ("list", list_sets, "Known data sets: size, where found here, complete or not."),
    ("get", get, "Fetch a published data set, or take it from a folder or archive."),
    ("cut", cut, "Copy a published subset, or file numbers, out of a larger folder."),
    ("verify", verify, "Check that a folder is whole, valid and unchanged."),
    ("describe", describe, "What a paper's data table holds: people, turns, labels, base rates."),
):
    app.command(name, cls=PanelCommand, short_help=does)(command)
