"""`attune-bench data verify`, `cut` and `describe`: what a folder of conversations is, and parts of it.

Parses, calls one function of `datasets` and prints; decides nothing about what is right.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import ConversationsOption, one_folder

if TYPE_CHECKING:
    from attunebench.datasets.verifying import Verification


def register(app: typer.Typer) -> None:
    """Add the commands to the group `data`."""
    app.command("verify", short_help="Check that a folder is whole, valid and unchanged.")(verify)


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
    from attunebench.datasets.manifest import manifest_of, read_manifest, save_manifest
    from attunebench.datasets.verifying import verify as verified

    place = one_folder(conversations, folder)
    path = manifest or place / MANIFEST_NAME
    wanted = path.exists() if manifest is None or write_manifest else True
    known = read_manifest(path) if wanted and not (write_manifest and replace) else None
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
    for issue in report.errors:
        _say("error", str(issue))
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(report.warning_counts.items()))
    warnings = f"{plural(len(report.warnings), 'warning')} ({counts}); `attune-bench validate` lists them."
    _say("schema", f"{plural(len(report.errors), 'error')}, {warnings if counts else 'no warnings.'}")
    for sentence in found.duplicates:
        _say("duplicate", f"{sentence}.")
    if not found.duplicates:
        _say("duplicates", "no number and no talk twice.")
    if found.manifest is not None:
        changed = list(changes_text(found))
        for line in changed:
            _say("manifest", line)
        then = f"the manifest of {found.manifest.created}"
        _say("manifest", f"{plural(len(changed), 'difference')} from {then}." if changed else f"as in {then}.")


def _say(what: str, text: str) -> None:
    from attunebench.text import printable

    typer.echo(f"{what:<11} {printable(text, 20_000)}")
