"""Replies that exist already: the three candidates of a turn, drafts in results folders, and any JSONL (spec 10.1).

The edited candidate is a model's reply that a person edited. It is never called human, whoever says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attunebench import coerce
from attunebench.arena.objects import History, Reply, ReplyKind, errors_at, family_of, objects_in
from attunebench.conversations.schema import Conversation, Variant
from attunebench.errors import DataError
from attunebench.results.folder import Findings, find_duplicates, read_results

CANDIDATES: Mapping[Variant, ReplyKind] = {"original": "original", "alternate": "alternate", "human": "edited"}
"""Variant of a turn → kind of its reply, which is also its author's name."""
_EDITED = frozenset(("humanedited", "human_edited", "human-edited", "edited"))
_TEXTS = ("text", "reply", "response", "content")


def candidates_of(conversations: Iterable[Conversation]) -> list[Reply]:
    """The replies of every turn, as authors `original`, `alternate` and `edited`; blank ones are none."""
    return [
        Reply(
            history=f"{conversation.conversation_id}/{turn.number}",
            author=kind,
            kind=kind,
            family=family_of("", str(conversation.metadata.get("model") or "")) if kind == "original" else None,
            text=turn.variants[variant] or "",
        )
        for conversation in conversations
        for turn in conversation.turns
        for variant, kind in CANDIDATES.items()
        if (turn.variants[variant] or "").strip()
    ]


class Drafts(NamedTuple):
    """Replies that evaluated models drafted; `left_out`: sentences on results and drafts that are not among them."""

    replies: tuple[Reply, ...]
    left_out: tuple[str, ...] = ()


def drafts_of(results: Path, histories: Iterable[History], mode: str = "default") -> Drafts:
    """The drafts of results of one mode to these histories. An author is named as the model is, with its provider where
    several offer it; of several epochs the first one counts."""
    findings, skipped = Findings(), Counter[str]()
    found = [result for result in read_results(results, findings) if result.mode == mode]
    skipped["files cannot be read"] = len(findings.unreadable)
    doubled = {one.key for one in find_duplicates((result.key, result.source_file) for result in found)}
    skipped["results occur more than once"] = sum(result.key in doubled for result in found)
    providers: dict[str, set[str]] = defaultdict(set)
    for result in found:
        providers[result.em_model].add(result.provider)
    found = sorted((one for one in found if one.key not in doubled), key=lambda one: (one.key[:4], one.epoch or 0))
    by_conversation: dict[str, list[History]] = defaultdict(list)
    for history in histories:
        by_conversation[history.id.rpartition("/")[0]].append(history)
    replies: dict[tuple[str, str], Reply] = {}
    for result in found:
        shown = by_conversation.get(result.conversation_id, [])
        if not shown:
            skipped["results are of conversations that are not in the arena"] += 1
            continue
        asked = {(history.model_extra or {}).get("asked_sha256") for history in shown}
        if result.asked_sha256 and asked - {None, result.asked_sha256}:
            skipped["results are of conversations whose texts have changed since"] += 1
            continue
        name = result.em_model
        author = name if len(providers[name]) == 1 else f"{name} ({result.provider})"
        drafts = {str(turn.number): turn.draft or "" for turn in result.turns}
        for history in shown:
            # Turns without numbers are places, and so many messages of the seeker are in the history.
            place = sum(message.role == "seeker" for message in history.turns)
            text = drafts.get(history.id.rpartition("/")[2] if result.numbered else str(place), "")
            if not text.strip():
                skipped["drafts are missing"] += (history.id, author) not in replies
                continue
            made = Reply(
                history=history.id, author=author, kind="model", family=family_of(result.provider, name), text=text
            )
            if replies.setdefault((history.id, author), made) is not made:
                skipped["drafts are of a further epoch"] += 1
    left_out = [f"{n:,} {what}." for what, n in skipped.items() if n]
    return Drafts(tuple(replies.values()), tuple(left_out or ([] if found else [f"no result has mode {mode}."])))


def read_replies(path: Path) -> list[Reply]:
    """The replies in a JSON or JSONL file of `history`, `author`, `kind` and `text`. DataError names the place of what
    is wrong; two different replies of one author to one history are wrong."""
    replies: dict[tuple[str, str], Reply] = {}
    for where, entry in objects_in(path):
        content: dict[str, Any] = {"text": coerce.first(entry, _TEXTS), **entry}
        content.setdefault("author", entry.get("model"))
        if _EDITED & {coerce.folded(content.get("kind")), coerce.folded(content["author"])}:
            content["kind"] = "edited"
        with errors_at(where):
            reply = Reply.model_validate(content)
        if replies.setdefault((reply.history, reply.author), reply) != reply:
            raise DataError(f"{where}: {reply.author!r} has another reply to {reply.history!r} above.")
    if not replies:
        raise DataError(f"{path} contains no reply.")
    return list(replies.values())


def followed(by: Mapping[str, str], author: str) -> list[Reply]:
    """What supporters of dialogues wrote next, as replies of people: for a user who says that people wrote it."""
    return [Reply(history=history, author=author, kind="human", text=text) for history, text in by.items()]
