"""`attune-bench data verify`, `cut` and `describe`: what a folder of conversations is, and parts of it.

Parses, calls one function of `datasets` and prints; decides nothing about what is right.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import (
    AllRowsOption,
    CodebookOption,
    ConversationsOption,
    Format,
    FormatOption,
    SkipInvalidOption,
    TextOutputOption,
    comma_list,
    one_folder,
)
from attunebench.cli.emitting import emit_analyses
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.datasets.manifest import Manifest
    from attunebench.datasets.verifying import Verification


_MOST_LINES = 20
"""Of errors and duplicates: the first ones tell what is wrong, and hundreds would hide it."""


def register(app: typer.Typer) -> None:
    """Add the commands to the group `data`."""
    app.command("verify", short_help="Check that a folder is whole, valid and unchanged.")(verify)
    app.command("cut", short_help="Copy a published subset, or file numbers, out of a larger folder.")(cut)
    app.command("describe", short_help="What a paper's data table holds: people, turns, labels, base rates.")(describe)


def verify(
    conversations: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder of the conversation files.", show_default=False)
    ] = None,
    folder: ConversationsOption = None,
    subset: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="It has to be this published subset: Sample200, Subsample50 …"),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest", metavar="FILE", help="The manifest.", show_default="attunebench-manifest.json in DIR"
        ),
    ] = None,
    write_manifest: Annotated[
        bool, typer.Option("--write-manifest", help="Write down name, size and digest of every file, for later looks.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Write it over one that says otherwise.")] = False,
) -> None:
    """Check a folder of conversations: how many, which published subset, every error, duplicates, and what has changed
    since its manifest was written. Changes nothing; only --write-manifest writes.

    Exit status 1 where something is wrong: an error in a file, a duplicate, a file that is changed, missing or new
    against the manifest, or not the subset that --as names.
    """
    from attunebench.conversations.loading import MANIFEST_NAME
    from attunebench.datasets.manifest import manifest_of, save_manifest
    from attunebench.datasets.verifying import verify as verified

    if replace and not write_manifest:
        raise UsageError("--replace goes with --write-manifest; without it nothing is written.")
    place = one_folder(conversations, folder)
    path = manifest or place / MANIFEST_NAME
    known = _known(path, needed=manifest is not None and not write_manifest, replace=replace)
    found = verified(place, subset=subset, manifest=known)
    _tell(found)
    if write_manifest and found.report.ok:
        if found.changes:
            _say("manifest", f"not written: {path} says otherwise; --replace writes it anew.")
        elif known is None:
            save_manifest(manifest_of(place, found.report), path)
            _say("manifest", f"written to {path}; the next `data verify` compares with it.")
    elif write_manifest:
        _say("manifest", "not written, since files have errors.")
    elif known is None:
        _say("manifest", "none; --write-manifest writes one, so that a later look finds what has changed.")
    if not found.ok:
        raise typer.Exit(1)


def _known(path: Path, *, needed: bool, replace: bool) -> Manifest | None:
    """The manifest to compare with; None where there is none, or it is to be replaced.

    Under a name of the user's own only a manifest is replaced; under ours a damaged one too.
    """
    from attunebench.conversations.loading import MANIFEST_NAME
    from attunebench.datasets.manifest import read_manifest

    if not needed and (not path.exists() or (replace and path.name == MANIFEST_NAME)):
        return None
    known = read_manifest(path)
    return None if replace else known


def cut(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A published subset: Subsample100, 50, 25 or 20.", show_default=False),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            "--conversations",
            "--ground-truth",
            "-d",
            metavar="DIR",
            help="Folder to cut from, or the name of a set that lies in ./data: Sample200.  [required]",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="The new folder.", show_default="NAME beside --from")
    ] = None,
    numbers: Annotated[
        str | None, typer.Option("--numbers", metavar="LIST", help="These file numbers instead of NAME: 1-20,33.")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Also where some of the files are not there.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="In place of a data folder that is there.")] = False,
) -> None:
    """Copy the files of a subset out of a larger folder, to the byte, with the codebook and a manifest.

    The new folder appears whole or not at all. Number 106 of Subsample100 is outside Sample200: cut from there, it is
    missing, and --partial cuts the other 99.
    """
    from attunebench.conversations.subsets import published_subsets
    from attunebench.datasets.cutting import cut as cut_out
    from attunebench.datasets.numbers import parse_spans, spans, subset_called
    from attunebench.reports.model import plural

    if (name is None) == (numbers is None):
        raise UsageError(f"Give one of {', '.join(published_subsets())}, or --numbers such as 1-20,33.")
    if source is None:
        raise UsageError("The folder to cut from is missing; give it with --from.")
    if name is not None:
        name, wanted = subset_called(name)
    elif to is None:
        raise UsageError("--numbers needs the name of the new folder; give it with --to.")
    else:
        wanted = parse_spans(numbers or "")
    source = _named_folder(source)
    target = to if to is not None else (source.parent if source.name not in ("", "..") else source / "..") / str(name)
    made = cut_out(source, target, wanted, replace=replace, partial=partial)
    _say("cut", f"{plural(made.manifest.n_conversations, 'conversation')} from {source} to {made.target}.")
    if made.missing:
        _say(
            "missing",
            f"{plural(len(made.missing), 'file')} ({spans(made.missing)}): this is not all of {name or numbers}.",
        )
    if made.companions:
        _say("beside", f"{', '.join(made.companions)}.")
    _say("digest", f"{made.manifest.ground_truth_sha256} (scores call it ground_truth_sha256)")
    typer.echo(f"Next: attune-bench run PROVIDER MODEL {shlex.quote(str(made.target))}", err=True)


def _named_folder(given: Path) -> Path:
    """A folder as it is given; the name of a set stands for the place where `data get` puts that set."""
    from attunebench.datasets.known import DEFAULT_PARENT

    near = DEFAULT_PARENT / given
    return near if not given.exists() and near.is_dir() else given


def describe(
    conversations: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder of the conversation files.", show_default=False)
    ] = None,
    folder: ConversationsOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="SECTION",
            help="size, emotions, binary, pairwise, affect, answers, people or topics; repeat or use commas.",
            show_default="all of them",
        ),
    ] = None,
    mask_below: Annotated[
        int,
        typer.Option(
            "--mask-below",
            metavar="N",
            min=0,
            help="Mask what fewer than N participants told, and what would give it away, for tables that are "
            "published: a rare answer can tell who somebody is.",
            show_default="masks nothing",
        ),
    ] = 0,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    format: FormatOption = Format.terminal,
    output: TextOutputOption = None,
    all_rows: AllRowsOption = False,
) -> None:
    """Describe a set of conversations in tables: its size, labels by kind, emotions, the base rates of every question,
    preferred replies, affect before and after, answers, participants and topics. What is missing is counted.

    Reads the data alone: no model's answers and no scores.
    """
    from attunebench.cli.loading import load
    from attunebench.datasets.describing import describe as described

    place = one_folder(conversations, folder)
    loaded, book = load(place, codebook, skip_invalid=skip_invalid, quiet=True)
    if output is not None and output.exists() and any(output.samefile(c.source_file) for c in loaded):
        raise UsageError(f"{output} is one of the conversations; name another file with -o.")
    if output is not None and output.name.endswith(".json") and place.resolve() in output.resolve().parents:
        raise UsageError(
            f"{output} would lie among conversations and be read as one of them; name a file in another folder with -o."
        )
    made = described(
        loaded,
        codebook=book,
        mask_below=mask_below,
        sections=comma_list(only),
        left_out=[f"{file.file}: {'; '.join(file.reasons)}" for file in loaded.skipped],
    )
    emit_analyses(made, format, output, all_rows=all_rows)


def _tell(found: Verification) -> None:
    from attunebench.datasets.verifying import changes_text, subset_text
    from attunebench.reports.model import plural

    report = found.report
    people = len({c.participant_id for c in report.conversations} - {None})
    turns = sum(len(conversation.turns) for conversation in report.conversations)
    _say("folder", f"{found.folder}")
    _say(
        "holds", f"{plural(len(report.files), 'conversation file')}, {plural(people, 'participant')}, {turns:,} turns."
    )
    _say("digest", f"{found.digest} (scores call it ground_truth_sha256)")
    _say("subset", subset_text(found))
    _say_some("error", [str(issue) for issue in report.errors], "`attune-bench validate` lists them all")
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(report.warning_counts.items()))
    warnings = f"{plural(len(report.warnings), 'warning')} ({counts}); `attune-bench validate` lists them."
    _say("schema", f"{plural(len(report.errors), 'error')}, {warnings if counts else 'no warnings.'}")
    _say_some("duplicate", [f"{sentence}." for sentence in found.duplicates], "several sets in one folder are no set")
    if not found.duplicates:
        _say("duplicates", "no number and no talk twice.")
    if found.manifest is not None:
        changed = list(changes_text(found))
        for line in changed:
            _say("manifest", line)
        then = f"the manifest of {found.manifest.created}"
        _say("manifest", f"{plural(len(changed), 'difference')} from {then}." if changed else f"as in {then}.")


def _say_some(what: str, lines: Sequence[str], remark: str) -> None:
    """The first lines, and how many more there are."""
    for line in lines[:_MOST_LINES]:
        _say(what, line)
    if len(lines) > _MOST_LINES:
        _say(what, f"… and {len(lines) - _MOST_LINES} more: {remark}.")


def _say(what: str, text: str) -> None:
    from attunebench.text import printable

    typer.echo(f"{what:<11} {printable(text, 20_000)}")
