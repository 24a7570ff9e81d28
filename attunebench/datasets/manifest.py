"""The manifest of a data folder: name, size and digest of every file, so that a later look finds what has changed."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attunebench._version import __version__
from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.conversations import ValidationReport
from attunebench.conversations.loading import digest_of
from attunebench.datasets.subsets import recognise
from attunebench.errors import DataError
from attunebench.files import atomic_write
from attunebench.jsonfile import read_json

_FORMAT: Literal["attunebench-manifest"] = "attunebench-manifest"


class FileEntry(BaseModel):
    """A file: its name relative to the folder, size and SHA-256 in hex. What is not a conversation has no id."""

    model_config = ConfigDict(frozen=True, strict=True)
    name: str
    bytes: int
    sha256: str
    conversation_id: Annotated[str | None, Field(alias="conversationId")] = None
    n_turns: int | None = None


class Manifest(BaseModel):
    """What was in a folder at one moment: its conversation files in order, and the codebook beside them.

    `created` is an ISO 8601 time, `subset` the published one whose file numbers these are exactly, or None.
    `ground_truth_sha256` is the digest that `scores.json` gives for these conversations.
    """

    model_config = ConfigDict(frozen=True, strict=True)
    format: Literal["attunebench-manifest"] = _FORMAT
    version: Literal[1] = 1
    attunebench_version: str = __version__
    created: str
    subset: str | None
    n_conversations: int
    ground_truth_sha256: str
    files: list[FileEntry]

    @property
    def is_whole(self) -> bool:
        """Whether the digest is that of the entries."""
        conversations = [(entry.name, entry.sha256) for entry in self.files if entry.conversation_id is not None]
        return self.ground_truth_sha256 == digest_of(conversations)


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


def entries_of(folder: Path, report: ValidationReport) -> list[FileEntry]:
    """Every conversation file of the folder, valid or not, and its codebook; one that cannot be read has no entry."""
    read = {Path(c.source_file).relative_to(folder).as_posix(): c for c in report.conversations}
    entries = []
    for name in (*report.files, CODEBOOK):
        try:
            content = (folder / name).read_bytes()
        except (OSError, ValueError):
            continue
        known: dict[str, Any] = {}
        if (conversation := read.get(name)) is not None:
            known = {"conversationId": conversation.conversation_id, "n_turns": len(conversation.turns)}
        digest = hashlib.sha256(content).hexdigest()
        entries.append(FileEntry(name=name, bytes=len(content), sha256=digest, **known))
    return entries


def differences(manifest: Manifest, entries: list[FileEntry]) -> list[str]:
    """A line for each file that is not as the manifest says: changed, missing, new, or moved with the same content."""
    then = {entry.name: entry.sha256 for entry in manifest.files}
    now = {entry.name: entry.sha256 for entry in entries}
    missing = [name for name in then if name not in now]
    new = [name for name in now if name not in then]
    moved = []
    for name in list(missing):
        twin = next((other for other in new if now[other] == then[name]), None)
        if twin is not None:
            moved.append(f"moved: {name} to {twin}")
            missing.remove(name)
            new.remove(twin)
    changed = [f"changed: {name}" for name in then if name in now and now[name] != then[name]]
    return [*changed, *(f"missing: {name}" for name in missing), *(f"new: {name}" for name in new), *moved]


def save_manifest(manifest: Manifest, path: Path) -> None:
    """Write the manifest, whole or not at all. Raises DataError where it cannot be written."""
    document = manifest.model_dump(by_alias=True, exclude_none=True) | {"subset": manifest.subset}
    try:
        with atomic_write(path) as file:
            file.write(f"{json.dumps(document, indent=1)}\n".encode())
    except OSError as error:
        raise DataError(
            f"{path}: the manifest cannot be written ({error.strerror or error}); name another file with --manifest."
        ) from None


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; keys that this version does not know are ignored.

    Raises DataError: no such file, not a manifest, a newer format, or a digest that does not fit its entries.
    """
    if not path.is_file():
        raise DataError(f"There is no manifest {path}; `attune-bench data verify DIR --write-manifest` writes one.")
    raw, _ = read_json(path)
    if not isinstance(raw, dict) or raw.get("format") != _FORMAT:
        raise DataError(f"{path} is not a manifest of attune-bench; name another file with --manifest.")
    if raw.get("version") != 1:
        raise DataError(f"{path} is a manifest of another version ({raw.get('version')!r}); update attune-bench.")
    try:
        manifest = Manifest.model_validate(raw)
        is_whole = manifest.is_whole
    except ValidationError:
        is_whole = False
    if not is_whole:
        raise DataError(
            f"{path} is damaged: its digest does not fit the files that it names. Delete it and write a new one with "
            "`attune-bench data verify DIR --write-manifest`, or restore it."
        )
    return manifest
