"""Where a command's text goes: stdout, a file or a folder; whole or not at all, never over what it was made from."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from attunebench.cli.arguments import Format
from attunebench.errors import DataError, UsageError
from attunebench.files import atomic_write
from attunebench.jsonfile import data_in
from attunebench.text import clean

if TYPE_CHECKING:
    from attunebench.analyses.table import Analysis

_FILE_WIDTH = 120


def say(text: str) -> None:
    """A message, on stderr: stdout is for results."""
    typer.echo(text, err=True)


def folded(line: str, stream: TextIO | None = None, indent: str = "  ") -> str:
    """The line broken between words where the stream (stderr) is a terminal; a log or a command keeps its lines
    whole."""
    if not (stream or sys.stderr).isatty():
        return line
    width = shutil.get_terminal_size((80, 24)).columns
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def warn(text: str) -> None:
    """A warning on stderr, where the format that was written has no place for it."""
    say(folded(f"! {clean(text)}"))


def first(lines: Sequence[str], more: str = " more.", *, most: int = 5) -> list[str]:
    """The first lines, and how many more there are: hundreds would hide what they say."""
    rest = len(lines) - most
    return [*lines[:most], *([f"  … and {rest}{more}"] if rest > 0 else ())]


def terminal_width(output: Path | None) -> int:
    """That of the terminal; a file gets one at which most tables are whole."""
    return _FILE_WIDTH if output is not None else shutil.get_terminal_size((80, 24)).columns


def listing(entries: Mapping[str, str]) -> str:
    """Names with what they are, a line each; in a terminal wrapped between words, beside the name."""
    widest = max(map(len, entries)) + 2
    room = max(shutil.get_terminal_size((80, 24)).columns, widest + 20) if sys.stdout.isatty() else 10_000
    lines = (
        textwrap.fill(f"{name:<{widest}}{said}", room, subsequent_indent=" " * widest, break_on_hyphens=False)
        for name, said in entries.items()
    )
    return "".join(f"{line}\n" for line in lines)


def working(what: str) -> AbstractContextManager[Any]:
    """A sign of life on stderr while something takes long, gone when it ends; none where stderr is no terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True, markup=False).status(what)


def coloured(output: Path | None) -> bool:
    """Whether the text goes to a terminal that knows escape codes."""
    return output is None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def look(output: Path | None) -> dict[str, Any]:
    """How a text for people is drawn: its width, and whether it has colours."""
    colours = {"colour": coloured(output), "no_color": bool(os.environ.get("NO_COLOR"))}
    return {"width": terminal_width(output), **colours}


def is_brief(format: Format, output: Path | None, full: bool) -> bool:
    """Whether somebody reads this on a screen, who has not asked for all of it."""
    return format == "terminal" and output is None and not full


def emit_analyses(
    analyses: Sequence[Analysis],
    format: Format,
    output: Path | None,
    *,
    full: bool = False,
    rows: int | None = None,
    rules: str = "",
    protect: Sequence[Path] = (),
) -> None:
    """Draw them and `emit` the text. A screen shows at most `rows` rows of a table (None: the usual number), unless all
    are asked for. A CSV has no place for warnings, which go to stderr then."""
    from attunebench.reports.analyses import TERMINAL_ROWS, render

    text = render(
        analyses,
        format,
        **look(output),
        rows=(rows or TERMINAL_ROWS) if is_brief(format, output, full) else None,
        rules=rules,
    )
    emit(text, output, protect=protect)
    if format == "csv":
        for warning in dict.fromkeys(warning for analysis in analyses for warning in analysis.warnings):
            warn(warning)


def emit(text: str, output: Path | None, *, protect: Sequence[Path] = ()) -> None:
    """To stdout, or to a file that appears whole or not at all; never over a folder or a file of `protect`, and never
    over data that no text can be made from again (a conversation, a result, scores)."""
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        # A terminal that cannot show a dash or a rule gets a question mark, not a traceback.
        typer.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
        return
    if any(source.exists() and output.exists() and output.samefile(source) for source in protect):
        raise UsageError(f"{output} is the scores file itself; name another file with -o.")
    if output.is_dir():
        raise DataError(f"{output} is a folder; name a file with -o.")
    if kind := data_in(output):
        raise UsageError(f"{output} is {kind} and was not overwritten; name another file with -o.")
    if output.name.endswith(".json") and _holds_conversations(output.parent):
        raise UsageError(
            f"{output} is in a conversations folder and would be read as a conversation; name a file in another folder "
            "with -o."
        )
    _write(output, text, "name another file with -o")


def emit_folder(files: Mapping[str, str], folder: Path) -> None:
    """Files into a folder, which is created if it is missing; each is written whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror or error}); name another folder.") from None
    for name, text in files.items():
        _write(folder / name, text, "name another folder")


def _holds_conversations(folder: Path) -> bool:
    """Whether the first conversation by file name, if there is any, is one. Reads no more, since results are large."""
    first = min(folder.glob("conversation_*.json"), default=None)
    return first is not None and data_in(first) == "a conversation"


def _write(path: Path, text: str, remedy: str) -> None:
    try:
        with atomic_write(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}); {remedy}.") from None
