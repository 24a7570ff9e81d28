"""The command line's frame: the app, the spelling of `--modes`, and how errors reach the user.

A command's own file parses, builds one settings model, calls one function of the library and prints. Nothing heavy is
imported here, so that `--help` answers at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from attunebench._version import __version__
from attunebench.cli.arguments import gather_modes
from attunebench.cli.groups import HELP, lazy_group
from attunebench.errors import AttuneBenchError
from attunebench.text import clean

COMMANDS = {
    "run": "Run a model on conversations and write result files.",
    "plan": "Write a run's requests for other engines.",
    "collect": "Turn the replies to planned requests into result files.",
    "score": "Score results against the participants' labels.",
    "reparse": "Parse stored replies again, without calling a model.",
    "rejudge": "Have other judges rate existing drafts.",
    "import-inspect": "Convert Inspect AI logs to result files.",
    "import-lm-eval": "Convert lm_eval's logged samples to result files.",
    "view": "Show the report of a results folder in the browser, live.",
    "report": "Show scores as tables, or explain a metric.",
    "compare": "Compare models pair by pair and rank them in tiers.",
    "analyze": "Analyze where, when and for whom models fail.",
    "stats": "Show everything about one model: spread, extremes, cost.",
    "subset-report": "Report scores on selected conversations, beside the rest.",
    "export": "Write scores as CSV, JSON lines or Parquet.",
    "arena": "Compare replies of people and models side by side.",
    "judge-audit": "Test judges against the participants' own choices.",
    "predict-profile": "Test what a model infers about people (experimental).",
    "figures": "Draw figures for a paper, with captions.",
    "demo": "Run, score and report the baselines, offline.",
    "validate": "Check a folder of conversations.",
    "doctor": "Check the installation, API keys and servers.",
    "selftest": "Test the engine against a server that injects faults.",
    "data": "Download, verify, cut and describe sets of conversations.",
    "prompts": "Show the prompts that a model receives.",
}
_MODULES = {name: f"attunebench.cli.{name.replace('-', '_')}" for name in COMMANDS}

app = typer.Typer(
    name="attune-bench",
    help="Measure the emotional intelligence of language models on real conversations.\n\n"
    "`demo` shows it offline. A model is evaluated by `run`, then `score`, then `report`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    cls=lazy_group(COMMANDS, _MODULES),
    context_settings=HELP,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"attune-bench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (also after the command's name).")] = False,
) -> None:
    """Options that stand before the command."""


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: runs the command and exits with the status that spec 5.1 gives."""
    words = list(sys.argv[1:] if argv is None else argv)
    # Read when numpy is first imported. The products here are small: a second thread doubled the CPU of `analyze`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_closed_streams()
    _write_to_stderr_as_far_as_it_takes()
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        parser = typer.main.get_command(app)
        status = parser(args=gather_modes(words), prog_name="attune-bench", standalone_mode=False)
    except AttuneBenchError as error:
        unread = isinstance(error.__context__, BrokenPipeError)  # `-o /dev/stdout | head`
        status = 0 if unread else _fail(str(error), error.exit_status, debug)
    except (typer.Abort, KeyboardInterrupt):
        status = 130
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        # The parser makes 1 of an output that nobody reads to its end; 1 says that something is wrong with the data.
        status = 0
    except BrokenPipeError:
        # The reader of our output (`head`) has seen enough; the interpreter must not complain about that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except OSError as error:
        if debug:
            raise
        status = _fail(_refused(error), 2, debug)
    except Exception as error:
        if callable(show := getattr(error, "show", None)):
            # A usage error of the parser, which knows the command that it belongs to and prints its usage line.
            show()
            sys.exit(2)
        if debug:
            raise
        text = (
            f"This is a bug in attune-bench ({type(error).__name__}: {error}). Use --debug for a traceback. Finished "
            "results are kept."
        )
        status = _fail(text, 2, debug)
    try:
        sys.stdout.flush()
    except OSError:
        # What a full disk did not take, the interpreter would try again, complain about, and end with 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or 2
    sys.exit(status or 0)


def _open_closed_streams() -> None:
    """A command that is started without stdout or stderr (`>&-`, a service) does its work all the same."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open to the end)


class _Tolerant(io.FileIO):
    """Takes everything, and passes on what the operating system takes."""

    def write(self, data: Any) -> int:
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written


def _write_to_stderr_as_far_as_it_takes() -> None:
    """Messages are no result: a full disk, a closed pipe or a terminal that is gone behind them ends no work."""
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        raw = _Tolerant(sys.stderr.fileno(), "w", closefd=False)
        encoding, errors = sys.stderr.encoding, sys.stderr.errors
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)


def _refused(error: OSError) -> str:
    """What the operating system did not do, where no command has a better sentence; without a name it is a stream."""
    what = str(error.filename) if error.filename else "The output"
    return f"{what}: {error.strerror or error}; check the place, its permissions and its free space."


def _fail(message: str, status: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    from attunebench.cli.emitting import folded

    # File names and values out of files stand in messages, and nothing in them may steer the terminal.
    typer.echo("\n".join(map(folded, f"attune-bench: {clean(message)}".split("\n"))), err=True)
    return status


if __name__ == "__main__":
    main()
