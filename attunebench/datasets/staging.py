"""The folder of a subset as it will be, built beside its place from what a source offers, and checked.

Owns what may stand in the way: numbers that are missing, files that contradict each other, what is no conversation.
Puts nothing into its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.codebook import load_codebook
from attunebench.conversations import ValidationReport, validate_folder
from attunebench.conversations.loading import MANIFEST_NAME
from attunebench.conversations.subsets import subset_file_name
from attunebench.datasets.choosing import Choice, choose, conversation_number
from attunebench.datasets.entries import Entry, Source, shown
from attunebench.datasets.manifest import Manifest, manifest_of, save_manifest
from attunebench.datasets.numbers import outside_text, spans
from attunebench.datasets.watching import Watcher
from attunebench.errors import DataError

_LFS = b"version https://git-lfs"
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")


@dataclass(frozen=True, slots=True)
class Offer:
    """A source, and all files that it lists."""

    source: Source
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Staged:
    """A folder that stands ready. `missing`: numbers that the source does not have; `invalid`: files that were left
    out, each with the reason; `companions`: names of what lies beside the conversations."""

    manifest: Manifest
    missing: tuple[int, ...]
    invalid: tuple[str, ...]
    n_warnings: int
    companions: tuple[str, ...]


def stage(
    offer: Offer, subset: str, numbers: frozenset[int], folder: Path, *, partial: bool, watcher: Watcher
) -> Staged:
    """Build the subset of these numbers in the empty `folder`, with a manifest.

    With `partial`, what is missing or invalid is left out and named. Raises DataError where something stands in the
    way, and OSError where the disk does; what is in the folder then is of no use.
    """
    choice = choose(offer.entries, subset, numbers)
    if choice.missing and not (partial and choice.candidates):
        raise DataError(_lacking(offer, subset, numbers, choice.missing))
    _copy(offer.source, choice, folder, subset, watcher)
    companions = _companions(folder, choice, watcher)
    watcher.step(f"Checking {subset}", None, unit="files")
    report, invalid = _valid(folder, subset, offer.source.label, partial)
    manifest = manifest_of(folder, report)
    save_manifest(manifest, folder / MANIFEST_NAME)
    return Staged(manifest, choice.missing, invalid, len(report.warnings), companions)


def _copy(source: Source, choice: Choice, folder: Path, subset: str, watcher: Watcher) -> None:
    names = {entry.path: subset_file_name(number) for number, same in choice.candidates.items() for entry in same}
    names |= {entry.path: name for name, entry in choice.companions.items()}
    watcher.step(f"Unpacking {subset}", len(names), unit="files")
    first: dict[str, tuple[str, str]] = {}
    for done, (entry, pieces) in enumerate(source.contents(names.keys()), 1):
        name = names[entry.path]
        if name not in first:
            first[name] = (_write(folder / name, pieces, entry, source.label), entry.path)
        elif _sha256(pieces) != first[name][0]:
            raise DataError(
                f"{source.label} has two different files {name}: {shown(first[name][1])} and {shown(entry.path)}. "
                f"Which one belongs to {subset} cannot be known; give the right folder with --from."
            )
        watcher.reached(done)
    if gone := set(names.values()) - first.keys():
        raise DataError(f"{source.label} changed while it was read ({sorted(gone)[0]} is gone); repeat the command.")


def _write(path: Path, pieces: Iterator[bytes], entry: Entry, label: str) -> str:
    """Write a file; the SHA-256 of its bytes."""
    digest = hashlib.sha256()
    with path.open("xb") as file:
        for piece in pieces:
            if piece.startswith(_LFS):
                raise DataError(
                    f"{label}: {shown(entry.path)} is a pointer of Git LFS and not the file; clone the repository, "
                    "`git lfs pull`, and give the folder with --from."
                )
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _sha256(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _companions(folder: Path, choice: Choice, watcher: Watcher) -> tuple[str, ...]:
    """What was taken along. A codebook that cannot be read would stop every run on the folder, so it goes."""
    kept = dict(choice.companions)
    if CODEBOOK in kept:
        try:
            load_codebook(folder / CODEBOOK)
        except DataError as error:
            watcher.note(f"The codebook of the source is left out, since it cannot be used: {error}")
            (folder / CODEBOOK).unlink()
            del kept[CODEBOOK]
    return tuple(kept)


def _valid(folder: Path, subset: str, label: str, partial: bool) -> tuple[ValidationReport, tuple[str, ...]]:
    """The report on the folder once it is valid, and what was left out of it to make it so."""
    invalid: dict[str, str] = {}
    for _ in range(2):
        try:
            report = validate_folder(folder)
        except DataError as error:
            reason = next(iter(invalid.values()), str(error).replace(f" in {folder}", ""))
            raise DataError(f"No file of {subset} in {label} is a conversation: {reason.rstrip('.')}.") from None
        bad = {issue.file: str(issue) for issue in reversed(report.errors)}
        bad |= {p.file: f"{p.file}: {p.reason}" for p in report.passed_over if conversation_number(p.file) is not None}
        if not bad:
            return report, tuple(invalid.values())
        if not partial:
            break
        invalid |= bad
        for name in bad:
            (folder / name).unlink()
    more = f"; and {len(bad) - 1} more" if len(bad) > 1 else ""
    raise DataError(
        f"{len(bad)} of the {len(bad) + report.n_conversations} files of {subset} in {label} are no valid "
        f"conversations: {next(iter(bad.values()))}{more}. Nothing was written; --partial leaves them out."
    )


def _lacking(offer: Offer, subset: str, numbers: frozenset[int], missing: tuple[int, ...]) -> str:
    label = offer.source.label
    if len(missing) == len(numbers):
        inner = [entry.path for entry in offer.entries if entry.name.lower().endswith(_ARCHIVES)]
        hint = f" It holds {shown(inner[0])}: unpack it, and give that with --from." if inner else ""
        return (
            f"{label} has none of the {len(numbers)} conversations of {subset} (conversation_<number>.json)."
            f"{hint or ' Give the folder or archive that has them with --from.'}"
        )
    return (
        f"{label} lacks {len(missing)} of the {len(numbers)} conversations of {subset}: {spans(missing)}."
        f"{outside_text(missing)} Nothing was written; --partial takes the others."
    )
