"""The command line's frame: the app, the spelling of `--modes`, and how errors reach the user.

A command's own file parses, builds one settings model, calls one function of the library and prints. Nothing heavy is
imported here, so that `--help` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from attunebench._version import __version__
from attunebench.cli.arguments import gather_modes
from attunebench.errors import AttuneBenchError

COMMANDS = ("run", "score", "report", "demo", "validate", "prompts", "doctor")
"""In the order in which `--help` shows them; each is a module of this package with a `register(app)`."""

app = typer.Typer(
    name="attune-bench",
    help="Measure how well a language model reads and serves a real person's feelings over a conversation.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"attune-bench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (also after the command's name).")] = False,
) -> None:
    """Options that stand before the command."""


for name in COMMANDS:
    importlib.import_module(f"attunebench.cli.{name}").register(app)


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: runs the command and exits with the status that spec 5.1 gives."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        status = app(args=gather_modes(words), standalone_mode=False)
    except AttuneBenchError as error:
        status = _fail(str(error), error.exit_status, debug)
    except (typer.Abort, KeyboardInterrupt):
        status = 130
    except BrokenPipeError:
        # The reader of our output (`head`) has seen enough; the interpreter must not complain about that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except Exception as error:
        if callable(show := getattr(error, "show", None)):
            # A usage error of the parser, which knows the command that it belongs to and prints its usage line.
            show()
            sys.exit(2)
        if debug:
            raise
        text = (
            f"This is a bug of attune-bench ({type(error).__name__}: {error}); --debug shows where. Nothing was lost."
        )
        status = _fail(text, 2, debug)
    sys.exit(status or 0)


def _fail(message: str, status: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    typer.echo(f"attune-bench: {message}", err=True)
    return status


if __name__ == "__main__":
    main()
