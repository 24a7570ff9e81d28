"""Options by which a command lets people choose conversations: taken from the catalogue, grouped in `--help`.

They are made when the command is parsed or explained, for no other command needs them and they are many. Knows the
parser; what the options mean is `selection.filters`'.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from attunebench.selection.filters import Filter

_GIVEN = "attunebench.filters"
_RULES = (
    "Choose conversations by what is known of them: an option repeated means any of its values, different options "
    "mean all of them, --not-… leaves out. Of numbers, min and max include N, below and above do not. A conversation "
    "of which a value is missing is on neither side and counted. "
    "--list-fields shows what the data has."
)


def given_filters(ctx: typer.Context) -> Mapping[str, Sequence[str]]:
    """Name → values of the filters that stand on the line of a `FilterCommand`."""
    given: Mapping[str, Sequence[str]] = ctx.meta[_GIVEN]
    return given


class FilterCommand(TyperCommand):
    """A command with an option for each filter, which its help shows apart, a line for each field."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own parameters, the filters, and the help option."""
        *own, of_help = super().get_params(ctx)
        return [*own, *_parameters(), of_help]

    def invoke(self, ctx: Any) -> Any:
        """Hand the filters on through the context: the command's function has no parameter for each."""
        given = {str(one.name): ctx.params.pop(one.name) for one in _parameters()}
        ctx.meta[_GIVEN] = {name: values for name, values in given.items() if values}
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options, then the filters in their groups."""
        from attunebench.selection.guide import guide

        own = super().get_params(ctx)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            shown = [parameter.get_help_record(ctx) for parameter in own if parameter.param_type_name == kind]
            if records := [record for record in shown if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(records)
        with formatter.section("Filters"):
            formatter.write_text(_RULES)
        for group, entries in guide().items():
            if records := [(entry.usage, entry.field.meaning) for entry in entries if entry.options]:
                with formatter.section(group):
                    formatter.write_dl(records)


@cache
def _parameters() -> tuple[Any, ...]:
    """The filters as the parser has them."""
    from attunebench.selection.filters import filters

    def command(**_: Any) -> None:
        """Never called: a signature that the parser's own library makes options of."""

    command.__signature__ = inspect.Signature(list(map(_parameter, filters())))  # type: ignore[attr-defined]
    command.__annotations__ = {one.parameter: _annotation(one) for one in filters()}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return tuple(typer.main.get_command(app).params)


def _annotation(one: Filter) -> Any:
    return Annotated[list[str] | None, typer.Option(one.flag, metavar=one.metavar, help=one.help)]


def _parameter(one: Filter) -> inspect.Parameter:
    return inspect.Parameter(one.parameter, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(one))
