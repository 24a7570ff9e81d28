"""`attune-bench data list`, `get` and `cut`: which data sets are known, where they are, and how they come here."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import FOLDER, JsonOption
from attunebench.cli.emitting import say
from attunebench.cli.options import flag
from attunebench.errors import UsageError
from attunebench.text import clean, printable

if TYPE_CHECKING:
    from attunebench.datasets.building import Built
    from attunebench.datasets.downloading import Progress
    from attunebench.datasets.getting import Listed


def list_sets(
    place: Annotated[Path | None, flag("Search this folder too.", "--in", metavar="DIR")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the known data sets with their size, the folders that contain them, missing numbers, and how to get them.

    Searches this folder, ./data, "Test Samples" and DIR, each one level deep, by names only; `data verify` reads the
    files.
    """
    from attunebench.datasets.getting import list_known

    if place is not None and not place.is_dir():
        raise UsageError(f"There is no folder {place}; give one that exists with --in.")
    known = list_known([Path(), *([place] if place is not None else [])])
    if as_json:
        sets = [{**each._asdict(), "found": [found._asdict() for found in each.found]} for each in known]
        typer.echo(json.dumps({"sets": sets}, default=str))
        return
    for listed in known:
        for line in _lines(listed):
            typer.echo(line)


def get(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Sample200, Subsample100, Subsample50, Subsample25, Subsample20 (in any letter case), or all.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        flag(
            "A folder, a zip, a .tar or .tar.gz, or an http(s) address of one. Files are found by name "
            "(conversation_<number>.json) anywhere in it.",
            "--from",
            metavar="PLACE",
            shown="the published repository, Thoughtful-Lab/attunebench on GitHub",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        flag("The new folder; with `all`, their parent folder.", metavar="DIR", shown="data/NAME"),
    ] = None,
    sha256: Annotated[str | None, flag("Expected SHA-256 of the archive.", metavar="HEX")] = None,
    replace: Annotated[bool, flag("Replace an existing folder once the new one is complete.", "--replace")] = False,
    partial: Annotated[
        bool, flag("Accept an incomplete set; missing and invalid files are listed.", "--partial")
    ] = False,
    quiet: Annotated[bool, flag("Print only the outcome, without progress.", "--quiet", "-q")] = False,
) -> None:
    """Copy a published data set into its own folder, with codebook, licence and readme if the source has them.
    Validates every conversation and writes a manifest for `data verify`.

    The folder is created completely or not at all. Interrupted downloads are retried. If the data set is already
    there, complete and valid, nothing is downloaded.
    """
    from attunebench.datasets.getting import get as fetch

    if name is None:
        raise UsageError("The data set is missing; give its name, such as Sample200. `data list` names all.")
    with _progress(quiet) as progress:
        all_built = fetch(
            name, source=source, to=to, sha256=sha256, replace=replace, partial=partial, progress=progress
        )
    for built in all_built:
        _show(built)
    if not quiet:
        folder = shlex.quote(str(all_built[0].folder))
        say(f"Next: attune-bench run PROVIDER MODEL {folder}, or attune-bench data describe {folder}.")


def cut(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A published subset: Subsample100, 50, 25 or 20.", show_default=False),
    ] = None,
    source: Annotated[
        Path | None,
        flag(
            "Source folder, or the name of a set in ./data, such as Sample200.  [required]",
            "--from",
            *FOLDER,
            metavar="DIR",
        ),
    ] = None,
    to: Annotated[Path | None, flag("The new folder.", metavar="DIR", shown="NAME beside --from")] = None,
    numbers: Annotated[str | None, flag("These file numbers instead of NAME: 1-20,33.", metavar="LIST")] = None,
    partial: Annotated[bool, flag("Accept missing or invalid files.", "--partial")] = False,
    replace: Annotated[bool, flag("Replace an existing data folder.", "--replace")] = False,
) -> None:
    """Copy the files of a subset from a larger folder, byte for byte, with the codebook and a manifest.

    The new folder is created completely or not at all. Number 106 of Subsample100 is not in Sample200; use --partial
    to copy the other 99.
    """
    from attunebench.datasets.getting import DEFAULT_PARENT
    from attunebench.datasets.getting import cut as cut_out
    from attunebench.datasets.subsets import parse_spans, published_subsets, subset_called

    if (name is None) == (numbers is None):
        raise UsageError(f"Give one of {', '.join(published_subsets())}, or --numbers such as 1-20,33.")
    if source is None:
        raise UsageError("The folder to cut from is missing; give it with --from.")
    if not source.exists() and (DEFAULT_PARENT / source).is_dir():
        source = DEFAULT_PARENT / source
    if name is not None:
        name, wanted = subset_called(name)
        to = to or (source.parent if source.name not in ("", "..") else source / "..") / name
    elif to is None:
        raise UsageError("--numbers needs the name of the new folder; give it with --to.")
    else:
        wanted = parse_spans(numbers or "")
    _show(cut_out(source, to, wanted, replace=replace, partial=partial))
    say(f"Next: attune-bench run PROVIDER MODEL {shlex.quote(str(to))}")


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    """Each step on stderr, and on a terminal a bar for as long as bytes come."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None), DownloadColumn())
    console = Console(stderr=True, quiet=quiet)
    last = ""
    with Progress(*columns, console=console, transient=True, disable=quiet or not sys.stderr.isatty()) as bars:
        task = bars.add_task("", visible=False)

        def show(what: str, done: int, total: int | None) -> None:
            nonlocal last
            bars.update(task, description=clean(what), completed=done, total=total, visible=done > 0)
            if what != last:
                console.print(clean(what), markup=False, highlight=False, soft_wrap=True)
            last = what

        yield show


def _show(built: Built) -> None:
    count = f"{built.manifest.n_conversations} conversation{'s' * (built.manifest.n_conversations != 1)}"
    already = "" if built.is_new else ", there already; nothing was fetched (--replace fetches it again)"
    typer.echo(f"{built.name}: {count} in {printable(str(built.folder))}{already}")
    typer.echo(f"  digest    {built.manifest.ground_truth_sha256} (scores call it ground_truth_sha256)")
    if built.companions:
        typer.echo(f"  beside    {', '.join(map(printable, built.companions))}")
    if built.missing:
        typer.echo(f"  missing   {len(built.missing)}: {_some(built.missing)}")
    for reason in built.left_out:
        typer.echo(f"  left out  {printable(reason)}")
    if built.n_warnings:
        folder = shlex.quote(str(built.folder))
        typer.echo(f"  warnings  {built.n_warnings}; attune-bench validate {folder} lists them")


def _lines(listed: Listed) -> list[str]:
    from attunebench.datasets.getting import DEFAULT_PARENT

    head = f"{listed.name:<14}{listed.size:>4} conversations  "
    if listed.bundled is not None:
        return [f"{head}comes with the package (written examples, no human data): {printable(str(listed.bundled))}"]
    lines = []
    for folder, missing, others in listed.found:
        lacks = f"{len(missing)} missing: {_some(missing)}" if missing else "complete"
        lines.append(f"{printable(str(folder))}: {lacks}" + (f"; {others} of other sets" if others else ""))
    if all(missing for _, missing, _ in listed.found):
        if listed.within:
            larger = shlex.quote(str(listed.within[0]))
            lines.append(f"part of {printable(larger)}: attune-bench data cut {listed.name} --from {larger}")
        else:
            # A folder that is in the place of the whole set gives way only when asked.
            replace = " --replace" if os.path.lexists(DEFAULT_PARENT / listed.name) else ""
            lines.append(f"{'' if lines else 'not found; '}attune-bench data get {listed.name}{replace}")
    return [head + lines[0], *(" " * len(head) + line for line in lines[1:])]


def _some(numbers: tuple[int, ...], most: int = 12) -> str:
    rest = len(numbers) - most
    return ", ".join(map(str, numbers[:most])) + (f" and {rest} more" if rest > 0 else "")
