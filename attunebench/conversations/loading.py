"""A folder → its conversations in order, or a report of what is wrong with it. The rules of a single conversation are
`reading`'s. Prints nothing and changes nothing."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from attunebench.conversations.block import Issue, Notes
from attunebench.conversations.reading import read_conversation
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError
from attunebench.files import shipped, visible_files
from attunebench.jsonfile import read_json
from attunebench.text import listed

MANIFEST_NAME = "attunebench-manifest.json"
"""What `datasets.verifying` writes into a data folder: never looked at here, whatever it holds."""
LETTER_LIMIT = 0.9
_ERRORS_NAMED = 3


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """An invalid file that was left out because the user asked for it; `reasons` as `path: sentence`."""

    file: str
    reasons: tuple[str, ...]


class PassedOver(NamedTuple):
    """A JSON file that is no conversation, and why it was taken for none."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class ConversationSet:
    """The conversations of a folder in run order, and what was noted while loading; files are relative to `folder`.

    `ground_truth_sha256` is the digest of the sorted (file name, SHA-256) pairs of the files that are in.
    """

    folder: str
    conversations: tuple[Conversation, ...]
    warnings: tuple[Issue, ...]
    skipped: tuple[SkippedFile, ...]
    passed_over: tuple[PassedOver, ...]
    ground_truth_sha256: str

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self.conversations)

    def __len__(self) -> int:
        return len(self.conversations)

    @property
    def by_id(self) -> Mapping[str, Conversation]:
        return {conversation.conversation_id: conversation for conversation in self.conversations}


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Every error and warning of a folder. `n_conversations` counts the files that can be used as they are.

    `files`: all conversation files, relative to the folder, in order. `conversations`: of those that could be read,
    also the ones that share an id.
    """

    folder: str
    n_conversations: int
    files: tuple[str, ...]
    conversations: tuple[Conversation, ...]
    errors: tuple[Issue, ...]
    warnings: tuple[Issue, ...]
    passed_over: tuple[PassedOver, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def warning_counts(self) -> Mapping[str, int]:
        """Warning kind → how many."""
        return Counter(issue.kind or "other" for issue in self.warnings)


_File = tuple[Conversation | None, Notes]
"""A conversation file as read; None where the file itself is invalid."""


def load_conversations(folder: str | Path, *, skip_invalid: bool = False) -> ConversationSet:
    """Load the conversations under `folder` (searched recursively), ordered by number in the file name, then by name.

    A path to a single conversation file loads that one. Hidden files and folders (leading dot) are ignored. Raises
    DataError if there are no conversations or if files are invalid; with `skip_invalid`, invalid files are omitted and
    listed in `skipped`, and only a folder without any valid conversation is an error.
    """
    files, passed_over = _scan(Path(folder))
    invalid = [notes for _, notes in files if notes.errors]
    first = listed((str(notes.errors[0]) for notes in invalid), most=_ERRORS_NAMED + 1)
    if invalid and not skip_invalid:
        raise DataError(
            f"{len(invalid)} of {len(files)} conversation files in {folder} are invalid: {first}. "
            "`attune-bench validate` lists all errors; --skip-invalid leaves these files out."
        )
    if len(invalid) == len(files):
        raise DataError(f"None of the {len(files)} conversation files in {folder} is valid: {first}.")
    valid = [(conversation, notes) for conversation, notes in files if not notes.errors]
    conversations = tuple(conversation for conversation, _ in valid if conversation is not None)
    return ConversationSet(
        folder=str(folder),
        conversations=conversations,
        warnings=_warnings(valid),
        skipped=tuple(
            SkippedFile(notes.file, tuple(str(replace(issue, file="")) for issue in notes.errors)) for notes in invalid
        ),
        passed_over=passed_over,
        ground_truth_sha256=digest_of((c.source_file, c.source_sha256) for c in conversations),
    )


def validate_folder(folder: str | Path) -> ValidationReport:
    """Everything that is wrong or remarkable in the folder's conversation files, in their order.

    Raises DataError only where there is nothing to validate: no such folder, or no conversation file in it.
    """
    files, passed_over = _scan(Path(folder))
    return ValidationReport(
        folder=str(folder),
        n_conversations=sum(not notes.errors for _, notes in files),
        files=tuple(notes.file for _, notes in files),
        conversations=tuple(conversation for conversation, _ in files if conversation is not None),
        errors=tuple(issue for _, notes in files for issue in notes.errors),
        warnings=_warnings(files),
        passed_over=passed_over,
    )


def _scan(folder: Path) -> tuple[list[_File], tuple[PassedOver, ...]]:
    """The conversation files in a folder, in order, and the other JSON files."""
    if not folder.exists():
        raise DataError(f"There is no folder {folder}; give the folder that holds the conversation files.")
    paths = _json_files(folder) if folder.is_dir() else [folder]
    root = folder if folder.is_dir() else folder.parent
    read = [_read(path, path.relative_to(root).as_posix()) for path in paths]
    passed_over = [one for one in read if isinstance(one, PassedOver)]
    files = [one for one in read if not isinstance(one, PassedOver)]
    if not files:
        raise DataError(_nothing(folder, passed_over))
    _note_duplicates(files)
    return files, tuple(passed_over)


def _json_files(folder: Path) -> list[Path]:
    def order(path: Path) -> tuple[float, str, str]:
        number = file_number(path.name)
        return (float("inf") if number is None else number, path.name, path.relative_to(folder).as_posix())

    paths = (path for path in visible_files(folder) if path.name.endswith(".json") and path.name != MANIFEST_NAME)
    return sorted(paths, key=order)


def file_number(name: str) -> int | None:
    """The number in a conversation file's name, the last one where there are several; None without one."""
    digits = re.findall(r"[0-9]{1,18}", Path(name).stem)
    return int(digits[-1]) if digits else None


def _read(path: Path, file: str) -> _File | PassedOver:
    notes = Notes(file)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in file):
        notes.file = ascii(file)
        notes.error("", "the name has a control character or is not UTF-8; rename the file")
        return None, notes
    try:
        if not path.is_file():
            raise DataError(f"{path}: cannot be read (a broken link, or not a regular file).")
        raw, sha256 = read_json(path)
    except DataError as error:
        notes.error("", str(error).removeprefix(f"{path}: ").removesuffix("."))
        return None, notes
    if not isinstance(raw, dict) or "turns" not in raw:
        return PassedOver(file, "it has no turns")
    if "em_model" in raw:
        return PassedOver(file, "it is a result (it has an em_model)")
    return read_conversation(raw, file, source=str(path), sha256=sha256)


def _note_duplicates(files: Iterable[_File]) -> None:
    by_id: dict[str, list[Notes]] = {}
    for conversation, notes in files:
        if conversation is not None:
            by_id.setdefault(conversation.conversation_id, []).append(notes)
    for conversation_id, same in by_id.items():
        for notes in same if len(same) > 1 else ():
            others = " and ".join(other.file for other in same if other is not notes)
            notes.error("conversationId", f"'{conversation_id}' is also the id of {others}")


def _warnings(files: Sequence[_File]) -> tuple[Issue, ...]:
    """All warnings of the files, and for each variant that is nearly always on one letter, which gives it away."""
    turns = [turn for conversation, _ in files if conversation is not None for turn in conversation.turns]
    sides = [(c.a, c.b) for turn in turns for c in turn.comparisons]
    on_a, on_b = Counter(a for a, _ in sides), Counter(b for _, b in sides)
    warnings = [issue for _, notes in files for issue in notes.warnings]
    for variant, n in (on_a + on_b).items():
        most, letter = max((on_a[variant], "A"), (on_b[variant], "B"))
        if most > LETTER_LIMIT * n:
            sentence = f"'{variant}' is {letter} in {most} of its {n} comparisons; the letter reveals the variant"
            warnings.append(Issue("", "", sentence, "letters"))
    return tuple(warnings)


def demo_folder() -> Path:
    """The folder of the demonstration conversations: written examples, no human data.

    Raises DataError where the installation lacks them.
    """
    return shipped("Demo12")


def digest_of(files: Iterable[tuple[str, str]]) -> str:
    """The SHA-256 of a set of (file name or path, SHA-256): what `scores.json` calls `ground_truth_sha256`."""
    pairs = sorted((Path(name).name, sha256) for name, sha256 in files)
    return hashlib.sha256(
        "".join(f"{name}\0{digest}\n" for name, digest in pairs).encode("utf-8", "surrogateescape")
    ).hexdigest()


def _nothing(folder: Path, passed_over: list[PassedOver]) -> str:
    if folder.is_file():
        return f"{folder} is not a conversation file: {passed_over[0].reason}."
    if not passed_over:
        return f"There is no *.json file in {folder}; give the folder that holds the conversation files."
    first = passed_over[0]
    return (
        f"None of the {len(passed_over)} JSON files in {folder} is a conversation ({first.file}: {first.reason}); "
        "give the folder that holds the conversation files."
    )
