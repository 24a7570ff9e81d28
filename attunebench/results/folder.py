"""A folder of result files → results, and a note of every file that is none. Names matter in this alone:
`_skipped_*.json` holds what a run left undone, another leading `_` is private to a run, and what begins with a dot is
not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from os import stat_result
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import Any

from attunebench import coerce
from attunebench.conversations.traits import PROFILE_TASK
from attunebench.errors import DataError
from attunebench.files import visible_files
from attunebench.jsonfile import MAX_BYTES, parse_json
from attunebench.results.parsing import is_result, parse_result
from attunebench.results.schema import Result

Key = tuple[str, str, str, str, "int | None"]


@dataclass(frozen=True, slots=True)
class NoResult:
    """A file without a result: it should be one and cannot be read, for the `reason` (a clause); or, without a reason,
    it does not mean to be one. `profile`: it is a predicted profile."""

    file: str
    reason: str = ""
    profile: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """A conversation that a run could not finish, as its `_skipped_<model>.json` says."""

    conversation_id: str
    provider: str
    em_model: str
    mode: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Files that claim to be the same result; none of them is taken."""

    key: Key
    files: tuple[str, ...]


@dataclass(slots=True)
class Findings:
    """What was met on the way through a folder beside readable results; filled in while reading."""

    unreadable: list[NoResult] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)  # predicted profiles

    def add(self, other: NoResult) -> None:
        if other.reason:
            self.unreadable.append(other)
        elif other.profile:
            self.profiles.append(other.file)


def read_results(folder: str | Path, findings: Findings) -> Iterator[Result]:
    """The results one by one, duplicates too, `source_file` relative to the folder; `findings` takes the rest."""
    for path, name in result_files(folder, findings):
        found = read_result(path, name)
        if isinstance(found, Result):
            yield found
        else:
            findings.add(found)


def result_files(folder: str | Path, findings: Findings) -> list[tuple[Path, str]]:
    """The files under a folder (or the one) that may hold a result, in order, with their names relative to it; what
    runs left undone goes into `findings`. DataError: there is no such folder."""
    root = Path(folder)
    if not root.exists():
        raise DataError(f"There is no folder {root}; name the one that `attune-bench run` wrote its results to.")
    files = []
    for path, is_file in _json_files(root, findings):
        name = "/".join(path.parts[len(root.parts) :]) if path != root else path.name
        if not is_file:
            findings.add(NoResult(name, "is a broken link, not a regular file, or not readable"))
        elif path.name.startswith("_skipped_"):
            try:
                findings.skipped += _skipped(_content(path))
            except ValueError as error:
                findings.add(NoResult(name, str(error)))
        elif not path.name.startswith("_"):
            files.append((path, name))
    return files


def read_result(path: Path, name: str) -> Result | NoResult:
    """The result in a file, or what the file is instead."""
    content = read_content(path, name)
    try:
        return parse_result(content, source_file=name) if isinstance(content, dict) else content
    except ValueError as error:
        return NoResult(name, str(error))


def read_content(path: Path, name: str) -> dict[str, Any] | NoResult:
    """The JSON of a file that is meant to be a result, or what the file is instead."""
    try:
        content = _content(path)
    except ValueError as error:
        return NoResult(name, str(error))
    if is_result(content):
        return dict(content)
    return NoResult(name, profile=coerce.block(content).get("task") == PROFILE_TASK)


def find_duplicates(keyed_files: Iterable[tuple[Key, str]]) -> tuple[Duplicate, ...]:
    """The keys that stand more than once, with all their files, in order of first appearance."""
    files: dict[Key, list[str]] = {}
    for key, file in keyed_files:
        files.setdefault(key, []).append(file)
    return tuple(Duplicate(key, tuple(names)) for key, names in files.items() if len(names) > 1)


def _json_files(root: Path, findings: Findings) -> list[tuple[Path, bool]]:
    """Every visible `*.json` below the folder, and whether it is a regular file. Links are followed; a folder or file
    with several names counts once."""
    if not root.is_dir():
        return [(root, root.is_file())]

    def note(error: OSError) -> None:
        name = Path(error.filename).relative_to(root).as_posix()
        findings.add(NoResult(name, f"is a folder that cannot be read ({error.strerror})"))

    names: dict[object, tuple[bool, tuple[str, ...], Path, bool]] = {}
    for path in visible_files(root, note):
        status = _status(path, follow=False)
        if is_link := status is not None and S_ISLNK(status.st_mode):
            status = _status(path, follow=True)
        # The name of a link that leads nowhere does not tell whether it was one to a folder of results.
        if path.name.endswith(".json") or (is_link and status is None):
            is_file = status is not None and S_ISREG(status.st_mode)
            key = (status.st_dev, status.st_ino) if status is not None and is_file else path
            name = (is_link, path.parts, path, is_file)
            names[key] = min(names.get(key, name), name)  # a file goes by its own name before that of a link to it
    return [(path, is_file) for *_, path, is_file in sorted(names.values(), key=itemgetter(1))]


def _status(path: Path, *, follow: bool) -> stat_result | None:
    """None where there is nothing, or no access to it."""
    try:
        return path.stat(follow_symlinks=follow)
    except OSError:
        return None


def _content(path: Path) -> Any:
    """The JSON of a file; a number that nobody can compute with is null. ValueError says in a clause what is wrong."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"is larger than {MAX_BYTES // 1024 // 1024} MB, too large for a result file")
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror or error})") from None
    try:
        return parse_json(data, lenient=True)
    except ValueError as error:
        raise ValueError(f"is {error}") from None


def _skipped(content: Any) -> Iterator[Skipped]:
    """What a run's list says, of entries that say enough; what stands around all entries holds for each."""
    entries = coerce.block(content).get("skipped")
    for each in entries if isinstance(entries, list) else ():
        entry = {**content, **coerce.block(each)}
        conversation_id = coerce.identifier(entry.get("conversationId"))
        em_model = coerce.text(coerce.first(entry, ("em_model", "model")))
        if conversation_id is not None and em_model is not None:
            provider, mode = coerce.text(entry.get("provider")), coerce.text(entry.get("mode"))
            reason = coerce.text(entry.get("reason"))
            yield Skipped(conversation_id, provider or "unknown", em_model, mode or "default", reason)
