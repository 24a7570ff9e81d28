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
    ("list", list_sets, "List data sets and whether they are complete here."),
    ("get", get, "Download a published data set, or copy it from a folder or archive."),
    ("cut", cut, "Copy a published subset or given file numbers from a larger folder."),
    ("verify", verify, "Check that a folder is complete, valid and unchanged."),
    ("describe", describe, "Describe a data set as in a paper's data table."),
):
    app.command(name, cls=PanelCommand, short_help=does)(command)
