"""`attune-bench data verify` and `describe`: what is in a folder of conversations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import (
    OUTPUT,
    CodebookOption,
    ConversationsArgument,
    ConversationsOption,
    SkipInvalidOption,
    comma_list,
    one_folder,
)
from attunebench.cli.emitting import emit, emit_analyses, first, is_brief, look
from attunebench.cli.options import flag, with_options
from attunebench.errors import UsageError
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.datasets.verifying import Verification


_MOST_LINES = 20
"""Of errors and duplicates: the first ones tell what is wrong, and hundreds would hide it."""


def verify(
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    subset: Annotated[str | None, flag("Expected published subset, such as Sample200.", "--as", metavar="NAME")] = None,
    manifest: Annotated[
        Path | None, flag("The manifest.", metavar="FILE", shown="attunebench-manifest.json in DIR")
    ] = None,
    write_manifest: Annotated[
        bool, flag("Record name, size and digest of every file for later checks.", "--write-manifest")
    ] = False,
    replace: Annotated[bool, flag("Overwrite a different manifest.", "--replace")] = False,
) -> None:
    """Check a folder of conversations: its size, the published subset it matches, errors, duplicates, and changes
    since its manifest was written. Only --write-manifest writes anything.

    Exit status 1 if there is a problem: an error in a file, a duplicate, a file that is changed, missing or new
    relative to the manifest, or a subset other than --as.
    """
    from attunebench.conversations.loading import MANIFEST_NAME
    from attunebench.datasets.verifying import manifest_of, read_manifest, save_manifest
    from attunebench.datasets.verifying import verify as verify_folder

    if replace and not write_manifest:
        raise UsageError("--replace requires --write-manifest.")
    place = one_folder(conversations, folder)
    path = manifest or place / MANIFEST_NAME
    known = None
    # Under a name of the user's own only a manifest is replaced; under ours a damaged one, too.
    if (manifest is not None and not write_manifest) or (path.exists() and not (replace and manifest is None)):
        known = read_manifest(path)
    if replace:
        known = None
    verification = verify_folder(place, subset=subset, manifest=known)
    _show(verification)
    for line in verification.changes:
        _print("manifest", line)
    if known is not None:
        _print("manifest", f"differences from the manifest of {known.created}: {len(verification.changes)}.")
    if not write_manifest:
        if known is None:
            _print("manifest", "none; --write-manifest writes one for later checks.")
    elif not verification.report.ok:
        _print("manifest", "not written, because files have errors.")
    elif verification.changes:
        _print("manifest", f"not written: {path} differs; --replace overwrites it.")
    elif known is None:
        save_manifest(manifest_of(place, verification.report), path)
        _print("manifest", f"written to {path}; the next `data verify` compares with it.")
    if not verification.ok:
        raise typer.Exit(1)


@with_options(shown=OUTPUT)
def describe(
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    only: Annotated[
        list[str] | None,
        flag(
            "size, emotions, binary, pairwise, affect, answers, people or topics; repeat or use commas.",
            metavar="SECTION",
            shown="all of them",
        ),
    ] = None,
    mask_below: Annotated[
        int,
        flag(
            "Mask values reported by fewer than N participants, and values that would reveal them: in published "
            "tables, a rare answer can identify a person.",
            metavar="N",
            shown="no masking",
            min=0,
        ),
    ] = 0,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    *,
    shown: dict[str, Any],
) -> None:
    """Describe a set of conversations in tables: size, labels by kind, emotions, base rates of every question,
    preferred replies, affect before and after, answers, participants and topics. Missing values are counted.

    Reads conversations only, no results or scores.
    """
    from attunebench.cli.loading import load
    from attunebench.datasets.describing import describe as described
    from attunebench.reports.analyses import render, render_findings

    place, output = one_folder(conversations, folder), shown["output"]
    loaded, book = load(place, codebook, skip_invalid=skip_invalid, quiet=True)
    if output is not None and output.name.endswith(".json") and place.resolve() in output.resolve().parents:
        raise UsageError(
            f"{output} is in a conversations folder and would be read as a conversation; name a file in another folder "
            "with -o."
        )
    made = described(
        loaded,
        codebook=book,
        mask_below=mask_below,
        sections=comma_list(only),
        left_out=[f"{file.file}: {'; '.join(file.reasons)}" for file in loaded.skipped],
    )
    if only or not is_brief(**shown):
        emit_analyses(made, **shown)
        return
    size, *sections = made
    emit(render([replace(size, tables=size.tables[:1])], **look(None)), None)
    names = ", ".join(section.name for section in made)
    below = f"Tables of a section: --only NAME ({names}). All of them: --full or another --format."
    emit("\n" + render_findings(sections, **look(None), head="Section", with_n=False, below=(below,)), None)


def _show(verification: Verification) -> None:
    report = verification.report
    people = {c.participant_id for c in report.conversations} - {None}
    turns = sum(len(conversation.turns) for conversation in report.conversations)
    _print("folder", f"{verification.folder}")
    _print("holds", f"{len(report.files)} conversation files, {len(people)} participants, {turns:,} turns.")
    _print("digest", f"{verification.digest} (scores call it ground_truth_sha256)")
    _print("subset", verification.subset)
    for line in first([str(issue) for issue in report.errors], most=_MOST_LINES):
        _print("error", line)
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(report.warning_counts.items()))
    _print(
        "schema",
        f"errors: {len(report.errors)}; warnings: {len(report.warnings)}"
        + (f" ({counts}); `attune-bench validate` lists them." if counts else "."),
    )
    for line in first([f"{sentence}." for sentence in verification.duplicates], most=_MOST_LINES):
        _print("duplicate", line)
    if not verification.duplicates:
        _print("duplicates", "no number and no conversation twice.")


def _print(what: str, text: str) -> None:
    typer.echo(f"{what:<11} {printable(text, 20_000)}")
