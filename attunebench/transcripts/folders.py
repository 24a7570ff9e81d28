"""Transcripts from folders: conversations, result files, and the call journal beside them.

Never raises for what is not there or cannot be used: it is named in `remarks`, and the numbers stand without it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from attunebench.conversations import ConversationSet, load_conversations
from attunebench.errors import DataError
from attunebench.journal import Journal
from attunebench.judging import judge_label
from attunebench.results.folder import read_result
from attunebench.results.schema import Result
from attunebench.scores import ConversationEntry
from attunebench.transcripts import Draft, RawReply, TalkTurn

if TYPE_CHECKING:
    from attunebench.journal import Entry

_OF_A_TALK = "call_id >= ? AND call_id < ? AND judge IS NULL"


class FolderTranscripts:
    """The texts in a conversations folder and a results folder; either may be None. A context manager."""

    def __init__(self, conversations: Path | None, results: Path | None, *, sha256: str | None = None) -> None:
        """`sha256` is the digest of the conversations that were scored, where the scores say it."""
        self._remarks: list[str] = []
        self._lost: list[str] = []
        self._held = ExitStack()
        self._talks = self._load(conversations, sha256)
        self._results = _folder(results)
        if self._results is None:
            self._remarks.append(
                "The texts that models wrote are not here: "
                + ("no results folder is known" if results is None else f"there is no folder {results}")
                + "; --results DIR names it."
            )
        self._journal = self._open()

    def __enter__(self) -> FolderTranscripts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is missing or changed, in sentences. Complete when everything that is wanted was asked for."""
        if not self._lost:
            return tuple(self._remarks)
        more = f" and {len(self._lost) - 3} more" if len(self._lost) > 3 else ""
        return (
            *self._remarks,
            f"Result files that are no longer there, or no longer what was scored: {', '.join(self._lost[:3])}{more}.",
        )

    def talk(self, conversation_id: str) -> tuple[TalkTurn, ...]:
        """The turns of a conversation in order; () where the folder does not hold it."""
        found = self._talks.by_id.get(conversation_id) if self._talks is not None else None
        if found is None:
            return ()
        return tuple(
            TalkTurn(turn.number, turn.user_message, turn.llm_response, turn.llm_improved, turn.human_edited)
            for turn in found.turns
        )

    def drafts(self, entry: ConversationEntry) -> tuple[Draft, ...]:
        """The drafts in the result file of an entry; () where the file is gone or holds another result by now."""
        if self._results is None:
            return ()
        result = _read(self._results, entry["source_file"])
        if result is None or result.key != _key(entry):
            self._lost.append(entry["source_file"])
            return ()
        return tuple(
            Draft(
                turn.number,
                turn.draft,
                {judge_label(judge, vote.scale): vote.ratings for judge, vote in turn.votes.items() if vote.ratings},
            )
            for turn in result.turns
        )

    def replies(self, conversation_id: str) -> tuple[RawReply, ...]:
        """The journal's replies to the calls about a conversation, by model, mode, turn and kind, as they came."""
        if self._journal is None:
            return ()
        # Call ids begin with the conversation's, and "0" is the character after the slash behind it.
        bounds = (f"{conversation_id}/", f"{conversation_id}0")
        try:
            found = list(self._journal.entries(_OF_A_TALK, bounds))
        except DataError as error:
            self._remarks.append(f"Raw replies are not shown from here on: {error}")
            self._journal = None
            return ()
        settings: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for entry in found:
            settings[_call(entry)].add(entry.parameters)
        found.sort(key=lambda entry: (entry.provider, entry.model, entry.mode, entry.turn, entry.kind, entry.sent_at))
        return tuple(_reply(entry, several=len(settings[_call(entry)]) > 1) for entry in found)

    def _load(self, folder: Path | None, sha256: str | None) -> ConversationSet | None:
        if folder is None or not folder.exists():
            why = "no conversations folder is known" if folder is None else f"there is no folder {folder}"
            self._remarks.append(f"The words of the talks are not here: {why}; --conversations DIR names it.")
            return None
        try:
            loaded = load_conversations(folder, skip_invalid=True)
        except DataError as error:
            self._remarks.append(f"The words of the talks are not here: {error}")
            return None
        if sha256 is not None and loaded.ground_truth_sha256 != sha256:
            self._remarks.append(
                f"The conversations in {folder} have changed since they were scored: texts may not fit the labels."
            )
        return loaded

    def _open(self) -> Journal | None:
        if self._results is None:
            return None
        try:
            journal = self._held.enter_context(Journal.read(self._results))
            if journal.count():
                return journal
            self._remarks.append("Raw replies are not here: the results folder has no call journal with replies.")
        except DataError as error:
            self._remarks.append(f"Raw replies are not here: {error}")
        return None


def _folder(results: Path | None) -> Path | None:
    """The folder that the names in scores are relative to: one file may have been scored alone."""
    if results is None or not results.exists():
        return None
    return results if results.is_dir() else results.parent


def _read(folder: Path, name: str) -> Result | None:
    """The result in a file of the folder; None for a path that leads out of it, and for what is no result."""
    path, named = folder / name, Path(name)
    if named.is_absolute() or ".." in named.parts or not os.path.isfile(path):  # noqa: PTH113 (`Path` raises without access)
        return None
    found = read_result(path, name)
    return found if isinstance(found, Result) else None


def _key(entry: ConversationEntry) -> tuple[str, str, str, str, int | None]:
    return (entry["conversationId"], entry["provider"], entry["em_model"], entry["mode"], entry["epoch"])


def _call(entry: Entry) -> tuple[str, ...]:
    return (entry.call_id, entry.provider, entry.model)


def _reply(entry: Entry, *, several: bool) -> RawReply:
    text, trouble = None, entry.error or ""
    if entry.reply is not None:
        text = entry.reply.text
        cut = entry.reply.finish_reason not in (None, "stop")
        trouble = entry.reply.refusal or (f"ended by: {entry.reply.finish_reason}" if cut else "")
    return RawReply(
        provider=entry.provider,
        model=entry.model,
        mode=entry.mode,
        turn=entry.turn,
        kind=entry.kind,
        ask=entry.ask,
        text=text,
        trouble=trouble,
        parameters=entry.parameters if several else "",
    )


def folders_of(
    metadata: Mapping[str, Any], scores_file: Path, *, results: Path | None, conversations: Path | None
) -> tuple[Path | None, Path | None]:
    """(results, conversations): those given, else those that the scores' metadata name, where they still are.

    A path of the metadata is looked for as it stands, then beside the scores file.
    """
    return (
        results or _found(metadata.get("results"), scores_file),
        conversations or _found(metadata.get("ground_truth"), scores_file),
    )


def _found(named: Any, scores_file: Path) -> Path | None:
    if not isinstance(named, str) or not named:
        return None
    ways = (Path(named), scores_file.parent / named)
    return next((path for path in ways if path.exists()), Path(named))
