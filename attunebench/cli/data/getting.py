"""`attune-bench data list` and `get`: which data sets are known, where they lie, and how they come here.

Parses, calls one function of `datasets` and prints.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.datasets.getting import Got
    from attunebench.datasets.known import Listed

_NAMED = 12
"""Numbers or files that are named in a line; the rest is counted."""


def register(app: typer.Typer) -> None:
    """Add the commands to the group `data`."""
    app.command("list", short_help="Known data sets: size, where found here, complete or not.")(list_sets)
    app.command("get", short_help="Fetch a published data set, or take it from a folder or archive.")(get)


def list_sets(
    place: Annotated[
        Path | None,
        typer.Option("--in", metavar="DIR", help="Look in this folder too.", show_default=False),
    ] = None,
) -> None:
    """List the known data sets: how many conversations each has, in which folder it was found, whether it is complete
    there or which numbers are missing, and how to get it.

    Looks in this folder, in ./data, in "Test Samples" and in DIR, and one level down in each, by folder and file
    names alone; `data verify` looks into the files.
    """
    from attunebench.datasets.bounds import megabytes
    from attunebench.datasets.known import list_known, unfinished
    from attunebench.text import printable

    if place is not None and not place.is_dir():
        raise UsageError(f"There is no folder {place}; give one that is there with --in.")
    places = [Path(), *([place] if place is not None else [])]
    for listed in list_known(places):
        for line in _lines(listed):
            typer.echo(line)
    for part, size in unfinished(places).items():
        typer.echo(
            f"{printable(str(part))} holds {megabytes(size)} of a download that broke off: the same `data get` goes on "
            "with it.",
            err=True,
        )


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
        typer.Option(
            "--from",
            metavar="PLACE",
            help="A folder, a zip, a .tar or .tar.gz, or an http(s) address of one. Files are found by their names "
            "(conversation_<number>.json) wherever they lie in it.",
            show_default="the published repository, Thoughtful-Lab/attunebench on GitHub",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="The folder that is made; with `all`, the one that theirs are made in.",
            show_default="data/NAME",
        ),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option("--sha256", metavar="HEX", help="What the archive's SHA-256 has to be.", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of a folder that is there, once it is whole.")
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Take what there is: leave out what is missing or invalid, and name it.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress; only what came.")] = False,
) -> None:
    """Bring a published data set into a folder of its own, with the codebook, licence and readme where its source has
    them. Every conversation is checked, and a manifest is written for `data verify`.

    The folder appears whole or not at all. A download that breaks off is gone on with by the same command. Where the
    data set is there already, complete and valid, nothing is fetched.
    """
    from attunebench.cli.data.showing import shown
    from attunebench.datasets.getting import get as fetch

    if name is None:
        raise UsageError("The data set is missing; give its name, such as Sample200. `data list` names all.")
    try:
        with shown(quiet) as watcher:
            all_got = fetch(
                name, source=source, to=to, sha256=sha256, replace=replace, partial=partial, watcher=watcher
            )
    except KeyboardInterrupt:
        typer.echo("Interrupted: no folder is half done. The same command goes on with what was downloaded.", err=True)
        raise
    for got in all_got:
        _tell(got)
    if not quiet:
        folder = shlex.quote(str(all_got[0].folder))
        typer.echo(f"Next: attune-bench run PROVIDER MODEL {folder}, or attune-bench data describe {folder}.", err=True)


def _tell(got: Got) -> None:
    from attunebench.text import printable

    count = f"{got.n_conversations} conversation{'' if got.n_conversations == 1 else 's'}"
    place = printable(str(got.folder))
    if got.fetched:
        typer.echo(f"{got.subset}: {count} in {place}")
    else:
        typer.echo(f"{got.subset}: {count} in {place}, there already; nothing was fetched (--replace fetches it again)")
    typer.echo(f"  digest    {got.digest}")
    if got.companions:
        typer.echo(f"  beside    {', '.join(map(printable, got.companions))}")
    if got.missing:
        typer.echo(f"  missing   {len(got.missing)}: {_some(list(map(str, got.missing)))}")
    for reason in got.invalid:
        typer.echo(f"  left out  {printable(reason)}")
    if got.n_warnings:
        typer.echo(f"  warnings  {got.n_warnings}; attune-bench validate {shlex.quote(str(got.folder))} lists them")


def _lines(listed: Listed) -> list[str]:
    from attunebench.text import printable

    head = f"{listed.name:<14}{listed.size:>4} conversations  "
    if listed.bundled is not None:
        return [f"{head}comes with the package (written examples, no human data): {printable(str(listed.bundled))}"]
    said = []
    for found in listed.found:
        lacks = f"{len(found.missing)} missing: {_some(list(map(str, found.missing)))}" if found.missing else "complete"
        more = f"; {found.others} of other sets" if found.others else ""
        said.append(f"{printable(str(found.folder))}: {lacks}{more}")
    if not any(not found.missing for found in listed.found):
        said += [
            f"part of {printable(str(folder))}: attune-bench data cut {listed.name} --from {shlex.quote(str(folder))}"
            for folder in listed.within[:1]
        ] or [f"{'' if said else 'not found; '}attune-bench data get {listed.name}{_give_way(listed)}"]
    return [head + said[0], *(" " * len(head) + line for line in said[1:])]


def _give_way(listed: Listed) -> str:
    """`data get` leaves a folder alone that stands in the place of the whole set."""
    from attunebench.datasets.known import DEFAULT_PARENT

    return " --replace" if os.path.lexists(DEFAULT_PARENT / listed.name) else ""


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
