"""Groups of commands whose modules are imported when one is wanted: listing them needs none."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from attunebench.cli.options import PanelCommand

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def lazy_group(commands: Mapping[str, str], modules: Mapping[str, str]) -> type[TyperGroup]:
    """A group of `commands` (name → what it does), in the order in which `--help` shows them, and the module of each:
    `score` is the function `score` of its module, or, of a group of commands, that module's `app`."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            """Their names, in order."""
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """The command of that name, or None."""
            return _command(modules[cmd_name], cmd_name, commands[cmd_name]) if cmd_name in commands else None

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Names with what they do, from the table alone."""
            with formatter.section("Commands"):
                formatter.write_dl(list(commands.items()))

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """As of any group, which knows its commands."""
            self.commands = dict.fromkeys(commands)  # type: ignore[assignment]  # for "Did you mean"
            return super().resolve_command(ctx, args)

    return LazyGroup


@cache
def _command(place: str, name: str, does: str) -> Any:
    """Made of a function's signature, which takes longer than many a command: once for a process."""
    module = importlib.import_module(place)
    if isinstance(group := getattr(module, "app", None), typer.Typer):
        return typer.main.get_command(group)
    function = getattr(module, name.replace("-", "_"))
    # Words that are left over are for those who ask for them.
    settings = {**HELP, "allow_extra_args": "context" in inspect.signature(function).parameters}
    one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    kind = getattr(module, "COMMAND_CLASS", PanelCommand)
    one.command(name, cls=kind, short_help=does, context_settings=settings)(function)
    return typer.main.get_command(one)
