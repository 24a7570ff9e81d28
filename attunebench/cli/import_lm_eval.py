"""`attune-bench import-lm-eval`: logged samples of lm-evaluation-harness in, result files out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.errors import DataError

if TYPE_CHECKING:
    from attunebench.harness.importing import Importing, Source


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("import-lm-eval", short_help="Make result files of lm_eval's logged samples.")(import_lm_eval)


def import_lm_eval(
    samples: Annotated[
        list[Path], typer.Argument(metavar="SAMPLES…", help="Logs (samples_attunebench….jsonl), or folders of them.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the result files.")] = Path("results"),
) -> None:
    """Make result files of the samples that `lm_eval --log_samples` wrote. Asks no model.

    A result that is there already stays.
    """
    from attunebench.harness.importing import Importing, log_files, read_lm_eval_log
    from attunebench.reports.model import plural
    from attunebench.text import printable

    files = log_files(samples, ("samples_attunebench*.jsonl",), "lm_eval writes one of samples with --log_samples")
    sources = [read_lm_eval_log(path) for path, _ in files]
    importing = Importing(output)
    refused = sum(not _taken(importing, source, alone=len(sources) == 1) for source in sources)
    done = importing.close()
    for note in done.notes:
        typer.echo(printable(note), err=True)
    same = f", {done.same} there before" if done.same else ""
    folder = printable(str(output))
    typer.echo(f"{plural(done.written, 'result')} written to {folder}{same}.", err=True)
    typer.echo(f"Next: attune-bench score --results {shlex.quote(folder)} --ground-truth CONVERSATIONS", err=True)
    if refused:
        raise typer.Exit(1)


def _taken(importing: Importing, source: Source, *, alone: bool) -> bool:
    """Whether a log was taken. What it is refused for is said, or raised where it is the only one."""
    from attunebench.text import printable

    try:
        importing.take(source)
    except DataError as error:
        if alone:
            raise
        typer.echo(printable(str(error)), err=True)
        return False
    return True
