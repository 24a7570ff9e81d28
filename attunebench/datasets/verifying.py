"""Is a data folder what it should be: complete, valid, without duplicates, and as it was when its manifest (name, size
and digest of every file) was written. Looking changes nothing; only `save_manifest` writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attunebench._version import __version__
from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.conversations import Conversation, ValidationReport, validate_folder
from attunebench.conversations.loading import digest_of, file_number
from attunebench.datasets.subsets import Match, conversation_number, match_of, nearest, outside_text, recognise, spans
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


def _truth_sha256(files: Iterable[FileEntry]) -> str:
    return digest_of((entry.name, entry.sha256) for entry in files if entry.conversation_id is not None)


def manifest_of(folder: Path, report: ValidationReport) -> Manifest:
    """The manifest of a folder whose validation is `report`. Raises DataError where a file of it is invalid."""
    if report.errors:
        raise DataError(
            f"{folder} has invalid files, so it gets no manifest: {report.errors[0]}. "
            "`attune-bench validate` lists all errors."
        )
    entries = entries_of(folder, report)
    conversations = [entry.name for entry in entries if entry.conversation_id is not None]
    return Manifest(
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        subset=recognise(conversations),
        n_conversations=len(conversations),
        ground_truth_sha256=_truth_sha256(entries),
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
        entry = FileEntry(name=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        if (conversation := read.get(name)) is not None:
            known = {"conversation_id": conversation.conversation_id, "n_turns": len(conversation.turns)}
            entry = entry.model_copy(update=known)
        entries.append(entry)
    return entries


def differences(manifest: Manifest, entries: list[FileEntry]) -> list[str]:
    """A line for each file that is not as the manifest says: changed, missing, new, or moved with the same content."""
    then = {entry.name: entry.sha256 for entry in manifest.files}
    now = {entry.name: entry.sha256 for entry in entries}
    changed = [name for name in then if name in now and now[name] != then[name]]
    missing, new = ([name for name in one if name not in other] for one, other in ((then, now), (now, then)))
    moved = []
    for name in list(missing):
        if twin := next((other for other in new if now[other] == then[name]), None):
            moved.append(f"moved: {name} to {twin}")
            missing.remove(name)
            new.remove(twin)
    lines = {"changed": changed, "missing": missing, "new": new}
    return [*(f"{what}: {name}" for what, names in lines.items() for name in names), *moved]


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
    with suppress(ValidationError):
        manifest = Manifest.model_validate(raw)
        if manifest.ground_truth_sha256 == _truth_sha256(manifest.files):
            return manifest
    raise DataError(
        f"{path} is damaged: its digest does not match the files that it lists. Delete it and write a new one with "
        "`attune-bench data verify DIR --write-manifest`, or restore it."
    )


@dataclass(frozen=True, slots=True)
class Verification:
    """What a folder holds. `subset` says how its file numbers differ from the published subset that was asked for, else
    from the nearest; `fits`: they are those asked for, if any were. `duplicates` and `changes`: a sentence each."""

    folder: Path
    report: ValidationReport
    subset: str
    fits: bool
    duplicates: tuple[str, ...]
    changes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against using the folder as what it was said to be."""
        return self.report.ok and self.fits and not self.duplicates and not self.changes

    @property
    def digest(self) -> str:
        """The digest of all files that could be read, as `scores.json` gives it."""
        return digest_of((c.source_file, c.source_sha256) for c in self.report.conversations)


def verify(folder: str | Path, *, subset: str | None = None, manifest: Manifest | None = None) -> Verification:
    """Look at a folder of conversations, as `subset` and against `manifest` where these are given.

    Raises DataError where there is nothing to look at, UsageError for a subset that does not exist.
    """
    folder = Path(folder)
    if subset is not None:
        match_of(subset, ())
    if folder.is_file():
        raise DataError(f"{folder} is a file; give the folder that holds the conversation files.")
    report = validate_folder(folder)
    numbers = {name: conversation_number(Path(name).name) for name in report.files}
    misnamed = [name for name, number in numbers.items() if number is None]
    known = {number for number in numbers.values() if number is not None}
    match = nearest(known) if subset is None else match_of(subset, known)
    same_number = (
        f"number {number} is that of {' and '.join(names)}"
        for number, names in files_by_number(report.files).items()
        if len(names) > 1
    )
    return Verification(
        folder=folder,
        report=report,
        subset=_subset_text(match, misnamed, asked=subset is not None),
        fits=subset is None or not (misnamed or (match and (match.missing or match.extra))),
        duplicates=(*same_number, *_same_texts(folder, report.conversations)),
        changes=() if manifest is None else tuple(differences(manifest, entries_of(folder, report))),
    )


def files_by_number(names: Iterable[str]) -> Mapping[int, list[str]]:
    """File number → the files that have it, of names or relative paths; those without a number are left out."""
    files: dict[int, list[str]] = {}
    for name in names:
        number = file_number(name)
        if number is not None:
            files.setdefault(number, []).append(name)
    return files


def _same_texts(folder: Path, conversations: Collection[Conversation]) -> Iterator[str]:
    """Conversations that are here under two ids. (One id in two files is an error of the validation.)"""
    by_text: dict[tuple[str, ...], list[Conversation]] = {}
    for conversation in conversations:
        words = [text for turn in conversation.turns for text in (turn.user_message, turn.llm_response)]
        by_text.setdefault(tuple(" ".join(text.split()) for text in words), []).append(conversation)
    for same in by_text.values():
        by_id = {conversation.conversation_id: conversation for conversation in same}
        if len(by_id) > 1:
            files = [Path(c.source_file).relative_to(folder).as_posix() for c in by_id.values()]
            labels = "the same" if all(conversation.turns == same[0].turns for conversation in same) else "different"
            yield f"{' and '.join(files)} hold the same conversation under {len(by_id)} ids, with {labels} labels"


def _subset_text(match: Match | None, misnamed: list[str], *, asked: bool) -> str:
    if match is None:
        return "The file numbers are not those of a published subset."
    parts = [
        f"{len(match.missing)} missing ({spans(match.missing)})" if match.missing else "",
        f"{len(match.extra)} extra ({spans(match.extra)})" if match.extra else "",
        f"{len(misnamed)} not named conversation_N.json (such as {misnamed[0]})" if misnamed else "",
    ]
    if not any(parts):
        return (
            f"The file numbers are exactly those of {match.subset}; contents were not compared with the published ones."
        )
    how = "These files differ from" if asked else "Not a published subset; the nearest is"
    outside = outside_text((*match.missing, *match.extra))
    return f"{how} {match.subset}: {', '.join(filter(None, parts))}.{outside}"
