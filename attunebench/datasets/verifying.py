"""Is a data folder what it should be: complete, valid, without duplicates, and as it was when its manifest was written.

Looks and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from attunebench.conversations import Conversation, ValidationReport, validate_folder
from attunebench.conversations.loading import digest_of, file_number
from attunebench.datasets.manifest import Manifest, differences, entries_of
from attunebench.datasets.subsets import Match, conversation_number, match_of, nearest, outside_text, spans
from attunebench.errors import DataError


@dataclass(frozen=True, slots=True)
class Verification:
    """What a folder holds.

    `match`: how its file numbers differ from the subset that was asked for, else from the nearest; None where none is
    near. `misnamed`: files that are not named as published ones. `duplicates` and `changes` (from the manifest):
    a sentence each.
    """

    folder: Path
    report: ValidationReport
    match: Match | None
    asked: bool
    misnamed: tuple[str, ...]
    duplicates: tuple[str, ...]
    changes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against using the folder as what it was said to be."""
        incomplete = self.asked and not self.is_subset
        return self.report.ok and not self.duplicates and not self.changes and not incomplete

    @property
    def is_subset(self) -> bool:
        """Whether the files are exactly those of the subset in `match`."""
        return self.match is not None and not (self.match.missing or self.match.extra or self.misnamed)

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
    published = {name: conversation_number(Path(name).name) for name in report.files}
    numbers = {number for number in published.values() if number is not None}
    same_number = (
        f"number {number} is that of {' and '.join(names)}"
        for number, names in files_by_number(report.files).items()
        if len(names) > 1
    )
    return Verification(
        folder=folder,
        report=report,
        match=nearest(numbers) if subset is None else match_of(subset, numbers),
        asked=subset is not None,
        misnamed=tuple(name for name, number in published.items() if number is None),
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


def subset_text(verification: Verification) -> str:
    """How the file numbers differ from the published subsets, in a sentence."""
    match, misnamed = verification.match, verification.misnamed
    if match is None:
        return "The file numbers are not those of a published subset."
    if verification.is_subset:
        return (
            f"The file numbers are exactly those of {match.subset}; contents are not compared with what was published."
        )
    parts = [
        f"{len(match.missing)} missing ({spans(match.missing)})" if match.missing else "",
        f"{len(match.extra)} extra ({spans(match.extra)})" if match.extra else "",
        f"{len(misnamed)} not named conversation_N.json (such as {misnamed[0]})" if misnamed else "",
    ]
    how = "These are not the files of" if verification.asked else "Not a published subset; the nearest is"
    outside = outside_text((*match.missing, *match.extra))
    return f"{how} {match.subset}: {', '.join(filter(None, parts))}.{outside}"
