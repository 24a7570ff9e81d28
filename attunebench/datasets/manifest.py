"""The manifest of a data folder: name, size and digest of every file, so that a later look finds what has changed.

Owns the file's format and the comparison. Judges no conversation, and knows nothing of where the data came from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from attunebench._version import __version__
from attunebench.codebook import FILE_NAME as CODEBOOK_NAME
from attunebench.conversations import ValidationReport, validate_folder
from attunebench.conversations.loading import MANIFEST_NAME as MANIFEST_NAME
from attunebench.conversations.loading import digest_of
from attunebench.conversations.subsets import recognise
from attunebench.errors import DataError
from attunebench.files import atomic_write
from attunebench.jsonfile import read_json

_FORMAT = "attunebench-manifest"
_VERSION = 1
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file as it lies: `name` relative to the folder, size, SHA-256 in hex. What is no conversation has no id."""

    name: str
    bytes: int
    sha256: str
    conversation_id: str | None = None
    n_turns: int | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What lay in a folder at one moment: its conversation files in order, and the codebook beside them.

    `created` is an ISO 8601 time, `subset` the published one whose file numbers these are exactly, or None.
    `ground_truth_sha256` is the digest that `scores.json` gives for these conversations.
    """

    created: str
    subset: str | None
    n_conversations: int
    ground_truth_sha256: str
    files: tuple[FileEntry, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """How a folder differs from a manifest, by file name. `moved`: (name then, name now), with the same content."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing or self.new or self.moved)


def write_manifest(folder: str | Path, *, to: Path | None = None, created: datetime | None = None) -> Manifest:
    """Write the manifest of a folder of valid conversations into it (or to the file `to`), whole or not at all.

    Takes the place of one that is there. Raises DataError: no conversation, an invalid one, or no right to write.
    """
    folder = Path(folder)
    manifest = manifest_of(folder, validate_folder(folder), created=created)
    save_manifest(manifest, to or folder / MANIFEST_NAME)
    return manifest


def manifest_of(folder: Path, report: ValidationReport, *, created: datetime | None = None) -> Manifest:
    """The manifest of a folder whose validation is `report`. Raises DataError where a file of it is invalid."""
    if report.errors:
        raise DataError(
            f"{folder} has invalid files, so it gets no manifest: {report.errors[0]}. "
            "`attune-bench validate` lists all errors."
        )
    entries = entries_of(folder, report)
    conversations = [entry for entry in entries if entry.conversation_id is not None]
    return Manifest(
        created=(created or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        subset=recognise(entry.name for entry in conversations),
        n_conversations=len(conversations),
        ground_truth_sha256=digest_of((entry.name, entry.sha256) for entry in conversations),
        files=entries,
    )


def entries_of(folder: Path, report: ValidationReport) -> tuple[FileEntry, ...]:
    """Every conversation file of the folder, valid or not, and its codebook; one that cannot be read has no entry."""
    read = {Path(c.source_file).relative_to(folder).as_posix(): c for c in report.conversations}
    entries = []
    for name in (*report.files, CODEBOOK_NAME):
        found = _digest_of_file(folder / name)
        if found is not None:
            conversation = read.get(name)
            known = (None, None) if conversation is None else (conversation.conversation_id, len(conversation.turns))
            entries.append(FileEntry(name, *found, *known))
    return tuple(entries)


def _digest_of_file(path: Path) -> tuple[int, str] | None:
    digest, size = hashlib.sha256(), 0
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except (OSError, ValueError):
        return None
    return size, digest.hexdigest()


def compare(known: Manifest, entries: tuple[FileEntry, ...]) -> Changes:
    """How the files that lie there now differ from a manifest's."""
    then = {entry.name: entry for entry in known.files}
    now = {entry.name: entry for entry in entries}
    missing = [name for name in then if name not in now]
    new = [name for name in now if name not in then]
    moved = []
    for name in list(missing):
        twin = next((other for other in new if now[other].sha256 == then[name].sha256), None)
        if twin is not None:
            moved.append((name, twin))
            missing.remove(name)
            new.remove(twin)
    return Changes(
        changed=tuple(name for name in then if name in now and now[name].sha256 != then[name].sha256),
        missing=tuple(missing),
        new=tuple(new),
        moved=tuple(moved),
    )


def save_manifest(manifest: Manifest, path: Path) -> None:
    """The manifest as a file that appears whole or not at all. Raises DataError where it cannot be written."""
    files = [
        {"name": entry.name, "bytes": entry.bytes, "sha256": entry.sha256}
        | ({} if entry.conversation_id is None else {"conversationId": entry.conversation_id, "n_turns": entry.n_turns})
        for entry in manifest.files
    ]
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "attunebench_version": __version__,
        "created": manifest.created,
        "subset": manifest.subset,
        "n_conversations": manifest.n_conversations,
        "ground_truth_sha256": manifest.ground_truth_sha256,
        "files": files,
    }
    try:
        with atomic_write(path) as file:
            file.write((json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        raise DataError(
            f"{path}: the manifest cannot be written ({error.strerror or error}); name another file with --manifest."
        ) from None


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; keys that this version does not know are passed over.

    Raises DataError: no such file, no manifest, one of a newer format, or one whose digest does not fit its entries.
    """
    if not path.is_file():
        raise DataError(f"There is no manifest {path}; `attune-bench data verify DIR --write-manifest` writes one.")
    raw, _ = read_json(path)
    if not isinstance(raw, dict) or raw.get("format") != _FORMAT:
        raise DataError(f"{path} is no manifest of attune-bench; name another file with --manifest.")
    if raw.get("version") != _VERSION:
        raise DataError(f"{path} is a manifest of another version ({raw.get('version')!r}); update attune-bench.")
    try:
        manifest = _manifest(raw)
        conversations = [entry for entry in manifest.files if entry.conversation_id is not None]
        whole = manifest.ground_truth_sha256 == digest_of((entry.name, entry.sha256) for entry in conversations)
    except (KeyError, TypeError, AttributeError, UnicodeError):
        whole = False
    if not whole:
        raise DataError(
            f"{path} is damaged: its digest does not fit the files that it names. Delete it and write a new one with "
            "`attune-bench data verify DIR --write-manifest`, or restore it."
        )
    return manifest


def _manifest(raw: Mapping[str, Any]) -> Manifest:
    return Manifest(
        created=_as(str, raw["created"]),
        subset=None if raw["subset"] is None else _as(str, raw["subset"]),
        n_conversations=_as(int, raw["n_conversations"]),
        ground_truth_sha256=_as(str, raw["ground_truth_sha256"]),
        files=tuple(
            FileEntry(
                name=_as(str, entry["name"]),
                bytes=_as(int, entry["bytes"]),
                sha256=_as(str, entry["sha256"]),
                conversation_id=None if entry.get("conversationId") is None else _as(str, entry["conversationId"]),
                n_turns=None if entry.get("n_turns") is None else _as(int, entry["n_turns"]),
            )
            for entry in raw["files"]
        ),
    )


def _as(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value
