"""`attune-bench data`: the group of commands about sets of conversations. Each module registers its own."""

from __future__ import annotations

import typer

from attunebench.cli.data import checking, getting

_app = typer.Typer(
    help="List, get, check, cut and describe sets of conversations.", no_args_is_help=True, rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the command group to the app."""
    app.add_typer(_app, name="data")


@_app.callback()
def _group() -> None:
    """List, get, check, cut and describe sets of conversations."""


getting.register(_app)
checking.register(_app)
