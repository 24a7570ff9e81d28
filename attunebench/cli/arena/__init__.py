"""`attune-bench arena`: the group of commands that compare replies of people and models side by side."""

from __future__ import annotations

import typer

from attunebench.cli.groups import HELP, lazy_group

COMMANDS = {
    "new": "Create an arena: histories, and the replies that exist.",
    "respond": "Have a model reply to every history.",
    "pairs": "Choose which replies are compared.",
    "judge": "Have judges compare the replies of every pair.",
    "score": "Compute ratings, agreement and bias from the verdicts.",
    "report": "Show the numbers of `arena score`, also as one HTML page.",
    "demo": "Run the whole arena on the bundled conversations, offline.",
}
_MODULES = {
    "new": "making",
    "respond": "asking",
    "pairs": "pairing",
    "judge": "asking",
    "score": "scoring",
    "report": "reporting",
    "demo": "demo",
}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    cls=lazy_group(COMMANDS, {name: f"{__name__}.{module}" for name, module in _MODULES.items()}),
    context_settings=HELP,
)


@app.callback()
def _group() -> None:
    """Compare replies of people and models to the same histories, by people and by judges.

    `demo` shows it offline. An arena is made by `new`, `respond`, `pairs` and `judge`, in this order, then `score` and
    `report`.
    """
