"""`attune-bench import-inspect`: logs of Inspect AI in, result files out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.emitting import say
from attunebench.cli.options import flag
from attunebench.errors import DataError
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.harness.importing import Importing, Source


def import_inspect(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG", help="Logs (.eval or .json), or folders of them.")],
    output: Annotated[Path, flag("Folder of the result files.", "-o", "--output")] = Path("results"),
) -> None:
    """Write result files from logs of `inspect eval attunebench/attunebench`. Calls no model.

    Existing results are never replaced. Unfinished samples are listed as skipped; the exit status is then 1.
    """
    from attunebench.harness.importing import ForeignLogError, Importing, log_files, read_inspect_log

    importing = None
    passed_over = 0
    files = list(log_files(logs, ("*.eval", "*.json"), "those of Inspect end in .eval or .json"))
    for path, named in files:
        try:
            source = read_inspect_log(path)
        except DataError as error:
            # In a folder of many logs one of another task is nothing wrong; one that is named should be ours.
            if named:
                raise
            say(f"Skipped: {printable(str(error))}")
            passed_over += not isinstance(error, ForeignLogError)
            continue
        importing = importing or Importing(output)
        passed_over += not taken(importing, source, alone=len(files) == 1)
    if importing is None:
        raise DataError("None of these logs is from attunebench.")
    done = importing.close()
    tell(done, output)
    if done.failed or done.unreached or passed_over:
        raise typer.Exit(1)


def taken(importing: Importing, source: Source, *, alone: bool) -> bool:
    """Whether a log was taken. What it is refused for is said, or raised where it is the only one: what other logs hold
    is no worse for it."""
    try:
        importing.take(source)
    except DataError as error:
        if alone:
            raise
        say(printable(str(error)))
        return False
    return True


def tell(done: Importing, output: Path) -> None:
    """Say what became of the logs, and what to do next."""
    for note in done.notes:
        say(printable(note))
    for name, reason in done.failed.items():
        say(f"No result: {printable(name)}: {printable(reason, 200)}")
    if done.unreached:
        say(f"{counted(done.unreached, 'sample')} never finished; `inspect eval-retry` requests the rest.")
    same = f", {done.same} already there" if done.same else ""
    say(f"{counted(done.written, 'result')} written to {printable(str(output))}{same}; {len(done.failed)} skipped.")
    if done.written or done.same:
        folder = shlex.quote(printable(str(output)))
        say(f"Next: attune-bench score --results {folder} --ground-truth CONVERSATIONS")
