"""The texts behind the scores, from folders: conversations, result files, and the call journal beside them.

Never raises for what is not there or cannot be used: it is named in `remarks`, and the numbers stand without it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attunebench.conversations import Conversation, load_conversations
from attunebench.errors import DataError
from attunebench.journal import Journal
from attunebench.judging import judge_label
from attunebench.results.folder import read_result
from attunebench.results.schema import Result
from attunebench.scores import ConversationEntry
from attunebench.text import listed

if TYPE_CHECKING:
    from attunebench.conversations.schema import Turn
    from attunebench.journal import Entry


class Draft(NamedTuple):
    """The reply that a model wrote itself (None: it gave none). `judges`: judge and scale → its ratings of it, 1–7."""

    number: int
    text: str | None
    judges: Mapping[str, Mapping[str, float]]


class RawReply(NamedTuple):
    """What a model sent back, before it was parsed.

    `turn` is 0 for the call about the whole conversation. `ask` counts from 0: later ones are re-prompts. `text` None:
    the server sent none, and `trouble` says what it sent. `parameters` is the JSON of the user's settings where the
    folder holds replies to this call under several; else "".
    """

    provider: str
    model: str
    mode: str
    turn: int
    kind: str
    ask: int
    text: str | None
    trouble: str = ""
    parameters: str = ""


class FolderTranscripts:
    """The texts in a conversations folder and a results folder; either may be None. A context manager."""

    def __init__(self, conversations: Path | None, results: Path | None, *, sha256: str | None = None) -> None:
        """`sha256` is the digest of the conversations that were scored, where the scores say it."""
        self._remarks: list[str] = []
        self._lost: list[str] = []
        self._held = ExitStack()
        self._conversations = self._load(conversations, sha256)
        self._results: Path | None = None
        self._journal: Journal | None = None
        if results is None or not results.exists():
            why = "no results folder is known" if results is None else f"there is no folder {results}"
            self._remarks.append(f"The models' texts are missing: {why}; give the folder with --results DIR.")
        else:
            # Names in scores are relative to the folder, also where one file was scored alone.
            self._results = results if results.is_dir() else results.parent
            self._open(self._results)

    def __enter__(self) -> FolderTranscripts:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is missing or changed, in sentences. Complete when everything that is wanted was asked for."""
        lost = f"Result files that are missing or have changed since they were scored: {listed(self._lost, most=4)}."
        return (*self._remarks, *([lost] if self._lost else []))

    def talk(self, conversation_id: str) -> tuple[Turn, ...]:
        """The turns of a conversation in order; () where the folder does not hold it."""
        conversation = self._conversations.get(conversation_id)
        return conversation.turns if conversation else ()

    def drafts(self, entry: ConversationEntry) -> tuple[Draft, ...]:
        """The drafts in the result file of an entry; () where the file is gone or holds another result by now."""
        if self._results is None:
            return ()
        name = entry["source_file"]
        path = self._results / name
        result: Any = None
        # A path that leads out of the folder is nothing of it. (`Path.is_file` raises without access.)
        if not Path(name).is_absolute() and ".." not in Path(name).parts and os.path.isfile(path):  # noqa: PTH113
            result = read_result(path, name)
        scored = (entry["conversationId"], entry["provider"], entry["em_model"], entry["mode"], entry["epoch"])
        if not isinstance(result, Result) or result.key != scored:
            self._lost.append(name)
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
            entries = list(self._journal.entries("call_id >= ? AND call_id < ? AND judge IS NULL", bounds))
        except DataError as error:
            self._remarks.append(f"Further raw replies are missing: {error}")
            self._journal = None
            return ()
        settings: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for entry in entries:
            settings[entry.call_id, entry.provider, entry.model].add(entry.parameters)
        entries.sort(key=lambda entry: (entry.provider, entry.model, entry.mode, entry.turn, entry.kind, entry.sent_at))
        return tuple(
            _reply(entry, several=len(settings[entry.call_id, entry.provider, entry.model]) > 1) for entry in entries
        )

    def _load(self, folder: Path | None, sha256: str | None) -> Mapping[str, Conversation]:
        missing = "The texts of the conversations are missing"
        if folder is None or not folder.exists():
            why = "no conversations folder is known" if folder is None else f"there is no folder {folder}"
            self._remarks.append(f"{missing}: {why}; give the folder with --conversations DIR.")
            return {}
        try:
            loaded = load_conversations(folder, skip_invalid=True)
        except DataError as error:
            self._remarks.append(f"{missing}: {error}")
            return {}
        if sha256 is not None and loaded.ground_truth_sha256 != sha256:
            self._remarks.append(
                f"The conversations in {folder} have changed since they were scored, so texts may not match the labels."
            )
        return loaded.by_id

    def _open(self, folder: Path) -> None:
        try:
            journal = self._held.enter_context(Journal.read(folder))
            if journal.count():
                self._journal = journal
            else:
                self._remarks.append("Raw replies are missing: the results folder has no call journal with replies.")
        except DataError as error:
            self._remarks.append(f"Raw replies are missing: {error}")


def _reply(entry: Entry, *, several: bool) -> RawReply:
    text, trouble = None, entry.error or ""
    if entry.reply is not None:
        text = entry.reply.text
        cut = entry.reply.finish_reason not in (None, "stop")
        trouble = entry.reply.refusal or (f"ended by: {entry.reply.finish_reason}" if cut else "")
    same = {name: getattr(entry, name) for name in ("provider", "model", "mode", "turn", "kind", "ask")}
    return RawReply(**same, text=text, trouble=trouble, parameters=entry.parameters if several else "")


def folders_of(
    metadata: Mapping[str, Any], scores_file: Path, *, results: Path | None, conversations: Path | None
) -> tuple[Path | None, Path | None]:
    """(results, conversations): those given, else those that the scores' metadata name, where they still are.

    A path of the metadata is looked for as it stands, then beside the scores file.
    """

    def found(named: Any) -> Path | None:
        if not isinstance(named, str) or not named:
            return None
        return next((path for path in (Path(named), scores_file.parent / named) if path.exists()), Path(named))

    return results or found(metadata.get("results")), conversations or found(metadata.get("ground_truth"))
