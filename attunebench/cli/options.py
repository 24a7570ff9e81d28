"""Options made from the fields of settings models, and how `--help` shows options: in panels, rare ones on demand."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand

from attunebench.text import counted

if TYPE_CHECKING:
    from pydantic import BaseModel

Command = Callable[..., None]

_ASKING = ("Model", "Judges", "What is asked", "Limits and cost", "Resuming", "Parallel", "Batch")
_PANELS = (*_ASKING, "Statistics", "Output", "HTML page")
_FIRST_COLUMN = 24
_SHOW_ALL = f"{__name__}.all"


def option_named(name: str) -> str:
    """How the option whose value is called so is spelt on the command line."""
    return f"--{name.replace('_', '-')}"


def parameter(name: str, kind: Any, default: Any = None) -> inspect.Parameter:
    """An option of a command: the name of its value, its type (`Annotated` with a typer.Option) and its default."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def flag(
    help: str,
    *spellings: str,
    panel: str | None = None,
    rare: bool = False,
    metavar: str | None = None,
    shown: str | None = None,
    min: float | None = None,
    max: float | None = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """An option in `Annotated`: its meaning, its spellings (`--name` by default), and how `--help` shows it."""
    return typer.Option(
        *spellings,
        help=help,
        metavar=metavar,
        min=min,
        max=max,
        autocompletion=complete,
        show_default=shown or True,
        hidden=rare,
        rich_help_panel=panel,
    )


def options_of(
    model: type[BaseModel],
    *,
    without: Collection[str] = (),
    prefix: str = "",
    also_bare: Collection[str] = (),
    panel: str | None = None,
    shown: str | None = None,
    help: Mapping[str, str] = MappingProxyType({}),
) -> list[inspect.Parameter]:
    """An option for each field of a settings model that says how it is shown; the model alone checks its value.

    Those of `also_bare` are known without the `prefix`, too. `panel`, `shown` (the default) and `help` (by field) win
    over what the fields say.
    """
    made = []
    for name, field in model.model_fields.items():
        about: Any = field.json_schema_extra
        if name in without or about is None:
            continue
        types = (field.annotation, *get_args(field.annotation))
        kind: Any = next((kind for kind in (bool, int, float) if kind in types), str)
        default = None if field.is_required() else field.default
        option = flag(
            help.get(name, field.description or ""),
            f"--{prefix}{name}".replace("_", "-"),
            *([f"--{name}".replace("_", "-")] if name in also_bare else ()),
            metavar=about["metavar"],
            shown=shown or about["shown"],
            rare=about["rare"],
            panel=panel or about["panel"],
        )
        optional: Any = kind if default is not None else kind | None
        made.append(parameter(f"{prefix}{name}".replace("-", "_"), Annotated[optional, option], default))
    return made


def with_options(**groups: Sequence[inspect.Parameter]) -> Callable[[Command], Command]:
    """The command with options in the place of each parameter that is named; it gets their values as a dict."""

    def decorated(command: Command) -> Command:
        @wraps(command)
        def called(**values: Any) -> None:
            for group, options in groups.items():
                values[group] = {option.name: values.pop(option.name) for option in options}
            command(**values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [*(one for one in own if one.name not in groups), *chain(*groups.values())]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorated


class PanelCommand(TyperCommand):
    """A command whose `--help` shows its options in panels; those that are hidden are shown by `--help-all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As of any command."""
        if "--help-all" in args:
            ctx.meta[_SHOW_ALL] = True
            args = ["--help"]
        return list(super().parse_args(ctx, args))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then the panels in their order, then what belongs to none."""
        for title, rows in self.panels(ctx).items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(
                        [(name.ljust(_FIRST_COLUMN), said) for name, said in rows], col_max=_FIRST_COLUMN
                    )

    def get_shown(self, ctx: Any) -> list[Any]:
        """The parameters that `--help` shows in panels."""
        return list(self.get_params(ctx))

    def panels(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Title → what is shown under it: option and meaning."""
        panels: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", "Options", *_PANELS, "Help")}
        more = 0
        for one in self.get_shown(ctx):
            shown = copy.copy(one)
            shown.hidden = getattr(one, "hidden", False) and not ctx.meta.get(_SHOW_ALL)
            if row := shown.get_help_record(ctx):
                row = (row[0].replace("<list[Path]>", "<path>"), row[1])
                panel = getattr(one, "rich_help_panel", None) or ("Help" if one.name == "help" else "Options")
                panels["Arguments" if one.param_type_name == "argument" else panel].append(row)
            else:
                more += 1
        if more:
            panels["Help"].append(("--help-all", f"Show {counted(more, 'rarely needed option')}."))
        return panels
