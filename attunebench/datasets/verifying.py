"""Is a data folder what it should be: complete, valid, without duplicates, and as it was when its manifest was written.

Looks and tells; changes nothing. The rules of a file are `conversations`', the comparison is `manifest`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from attunebench.conversations import Conversation, ValidationReport, validate_folder
from attunebench.conversations.loading import digest_of, file_number
from attunebench.conversations.subsets import subset_file_name
from attunebench.datasets.manifest import Changes, FileEntry, Manifest, compare, entries_of
from attunebench.datasets.numbers import Match, match_of, nearest, outside_text, spans
from attunebench.errors import DataError


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found in a folder.

    `match`: how its file numbers stand to the subset that was asked for, else to the nearest; None where none is near.
    `misnamed`: files that the published naming does not have. `duplicates`: a sentence each. `changes` is None without
    a manifest.
    """

    folder: Path
    report: ValidationReport
    entries: tuple[FileEntry, ...]
    match: Match | None
    asked: bool
    misnamed: tuple[str, ...]
    duplicates: tuple[str, ...]
    manifest: Manifest | None = None
    changes: Changes | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing stands against using the folder as what it was said to be."""
        incomplete = self.asked and not self.is_subset
        return self.report.ok and not self.duplicates and not self.changes and not incomplete

    @property
    def is_subset(self) -> bool:
        """Whether the files are exactly those of the subset in `match`."""
        return self.match is not None and self.match.exact and not self.misnamed

    @property
    def digest(self) -> str:
        """The set's digest, as `scores.json` gives it; of all files that could be read."""
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
    entries = entries_of(folder, report)
    numbers = {number for name in report.files if (number := _published_number(name)) is not None}
    return Verification(
        folder=folder,
        report=report,
        entries=entries,
        match=nearest(numbers) if subset is None else match_of(subset, numbers),
        asked=subset is not None,
        misnamed=tuple(name for name in report.files if _published_number(name) is None),
        duplicates=(*_same_numbers(report.files), *_same_talks(folder, report.conversations)),
        manifest=manifest,
        changes=None if manifest is None else compare(manifest, entries),
    )


def files_by_number(names: Iterable[str]) -> Mapping[int, list[str]]:
    """File number → the files that have it, of names or relative paths; those without a number are left out."""
    found: dict[int, list[str]] = {}
    for name in names:
        number = file_number(name)
        if number is not None:
            found.setdefault(number, []).append(name)
    return found


def _published_number(name: str) -> int | None:
    number = file_number(name)
    return number if number is not None and Path(name).name == subset_file_name(number) else None


def _same_numbers(names: Iterable[str]) -> Iterator[str]:
    for number, same in files_by_number(names).items():
        if len(same) > 1:
            yield f"number {number} is that of {' and '.join(same)}"


def _same_talks(folder: Path, conversations: Collection[Conversation]) -> Iterator[str]:
    """Talks that stand here under two ids. (One id on two files is an error of the validation.)"""
    talks: dict[tuple[str, ...], list[Conversation]] = {}
    for conversation in conversations:
        words = [text for turn in conversation.turns for text in (turn.user_message, turn.llm_response)]
        talks.setdefault(tuple(" ".join(text.split()) for text in words), []).append(conversation)
    for same in talks.values():
        by_id = {conversation.conversation_id: conversation for conversation in same}
        if len(by_id) > 1:
            files = [Path(c.source_file).relative_to(folder).as_posix() for c in by_id.values()]
            alike = all(conversation.turns == same[0].turns for conversation in same)
            how = "the same labels" if alike else "different labels"
            yield f"{' and '.join(files)} hold the same talk under {len(by_id)} ids, with {how}"


def subset_text(found: Verification) -> str:
    """How the file numbers stand to the published subsets, in a sentence."""
    match = found.match
    if match is None:
        return "The file numbers are those of no published subset."
    if found.is_subset:
        return f"The file numbers are exactly those of {match.subset}; numbers are compared, not what was published."
    parts = [
        f"{len(match.missing)} missing ({spans(match.missing)})" if match.missing else "",
        f"{len(match.extra)} extra ({spans(match.extra)})" if match.extra else "",
        f"{len(found.misnamed)} not named conversation_N.json ({_some(found.misnamed)})" if found.misnamed else "",
    ]
    how = "These are not the files of" if found.asked else "The files are no published subset's; nearest is"
    outside = outside_text((*match.missing, *match.extra))
    return f"{how} {match.subset}: {', '.join(filter(None, parts))}.{outside}"


def _some(names: tuple[str, ...], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def changes_text(found: Verification) -> Iterator[str]:
    """A line for each file that is not as the manifest says."""
    changes = found.changes or Changes()
    yield from (f"changed since then: {name}" for name in changes.changed)
    yield from (f"missing: {name}" for name in changes.missing)
    yield from (f"new: {name}" for name in changes.new)
    yield from (f"moved: {then} is {now} now" for then, now in changes.moved)
