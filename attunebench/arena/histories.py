"""Histories: made from conversations, one for each turn, or read from a file of histories or dialogues (spec 10.1).

Which histories of conversations are adversarial is decided by labels of what the history shows, never by how good the
reply was that it got: otherwise that reply would look worse there by construction.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from attunebench import coerce
from attunebench.arena.objects import ADVERSARIAL, REGULAR, History, Role, errors_at, objects_in
from attunebench.codebook import default_codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError

Criterion = Literal["tags", "unmet", "fit"]
CRITERIA: Mapping[Criterion, str] = {
    "tags": "more negative than positive feelings were labelled after the last reply",
    "unmet": "the last reply differed from what was preferred on at least a third of the questions",
    "fit": "the participant found the model a poor fit",
}
_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("seeker", "user", "usr", "client", "help-seeker", "patient", "speaker"), "seeker"),
    **dict.fromkeys(("supporter", "assistant", "sys", "therapist", "counselor", "counsellor", "listener"), "supporter"),
}
_DIALOGUE = ("dialog", "dialogue", "utterances", "messages", "conversation")
_IDS = ("id", "dialog_id", "dialogue_id", "conversation_id", "conversationId", "conv_id")
_TAGS = ("emotion_type", "problem_type", "experience_type")


@dataclass(frozen=True, slots=True)
class AdversarialRule:
    """A history is adversarial where at least `needed` of the criteria hold (all of them where there are fewer)."""

    criteria: tuple[Criterion, ...] = get_args(Criterion)
    needed: int = 2

    def __str__(self) -> str:
        if not self.criteria:
            return "no history of a conversation is adversarial"
        number = min(self.needed, len(self.criteria))
        which = f"at least {number} of these hold" if len(self.criteria) > 1 else "this holds"
        return f"a history is adversarial where {which}: {'; '.join(CRITERIA[name] for name in self.criteria)}"

    def met(self, conversation: Conversation, place: int) -> tuple[Criterion, ...]:
        """The criteria that hold for the history of the turn at this place (from 0); labels that are missing hold for
        none."""
        book = default_codebook()
        last = conversation.turns[place - 1] if place else None
        tags = [tag.emotion in book.panas_negative for tag in (last and last.tags) or ()]
        sides = [{one.observed, one.preferred} for one in (last.judgements if last else ())]
        known = [len(two) == 2 for two in sides if two <= {"yes", "no"}]
        holds: dict[Criterion, bool] = {
            "tags": 2 * sum(tags) > len(tags),
            "unmet": bool(known) and 3 * sum(known) >= len(known),
            "fit": conversation.wide.q3 in book.q3_negative,
        }
        return tuple(name for name in self.criteria if holds[name])

    def slice_of(self, met: Sequence[Criterion]) -> str:
        return ADVERSARIAL if self.criteria and len(met) >= min(self.needed, len(self.criteria)) else REGULAR


def histories_of(conversations: Iterable[Conversation], rule: AdversarialRule | None = None) -> list[History]:
    """The histories of conversations: `<conversationId>/<turn>`, up to the participant's message of that turn, with the
    original model's earlier replies."""
    rule = rule or AdversarialRule()
    histories = []
    for conversation in conversations:
        turns: list[dict[str, str]] = []
        topic = coerce.text(conversation.metadata.get("category"))
        for place, turn in enumerate(conversation.turns):
            turns.append({"role": "seeker", "text": turn.user_message})
            met = rule.met(conversation, place)
            content = {
                "id": f"{conversation.conversation_id}/{turn.number}",
                "turns": turns,
                "slice": rule.slice_of(met),
                "tags": (*([topic] if topic else ()), *met),
                "source": "conversation",
                "conversation": conversation.conversation_id,
                "asked_sha256": conversation.asked_sha256,
            }
            histories.append(History.model_validate(content))
            turns = [*turns, {"role": "supporter", "text": turn.llm_response}]
    return histories


class Material(NamedTuple):
    """The histories of a file. `followed_by`: history id → what the supporter of a dialogue wrote next."""

    histories: tuple[History, ...]
    followed_by: Mapping[str, str]


def read_material(path: Path) -> Material:
    """The histories in a file: JSON or JSONL of histories (`turns`, kept as they are) or of dialogues as in ESConv
    (`dialog` of speaker and content), cut before each message of the supporter. DataError names what is wrong."""
    histories: list[History] = []
    followed_by: dict[str, str] = {}
    for place, (where, entry) in enumerate(objects_in(path), 1):
        with errors_at(where):
            if "turns" in entry:
                told = {"source": path.name, **entry, "turns": _messages(entry["turns"])}
                histories.append(History.model_validate(told))
                continue
            for history, following in _cut(entry, f"{path.stem}-{place}", path.name):
                histories.append(history)
                if following.strip():
                    followed_by[history.id] = following
    if not histories:
        raise DataError(f"{path} contains no history.")
    return Material(tuple(histories), followed_by)


def _cut(entry: Mapping[str, Any], name: str, source: str) -> Iterator[tuple[History, str]]:
    """The histories of a dialogue, each with the supporter's next words ("" where the dialogue ends)."""
    dialogue = coerce.first(entry, _DIALOGUE)
    if dialogue is None:
        raise ValueError("expected turns (a history) or dialog (a dialogue)")
    told: list[dict[str, str]] = []
    for message in _messages(dialogue):
        if told and told[-1]["role"] == message["role"]:
            told[-1] = {**message, "text": f"{told[-1]['text']}\n{message['text']}"}
        else:
            told.append(message)
    known = map(coerce.text, (entry.get(key) for key in _TAGS))
    about = {
        "slice": coerce.text(entry.get("slice")) or REGULAR,
        "tags": tuple(tag for tag in (*known, *(coerce.texts(entry.get("tags")) or ())) if tag),
        "source": source,
    }
    stem = _identifier(coerce.first(entry, _IDS)) or name
    number = 0
    for place, message in enumerate(told):
        if message["role"] == "seeker":
            number += 1
            following = told[place + 1]["text"] if place + 1 < len(told) else ""
            content = {"id": f"{stem}/{number}", "turns": told[: place + 1], "conversation": stem, **about}
            yield History.model_validate(content), following


def _identifier(value: Any) -> str | None:
    return str(value) if type(value) is int else coerce.identifier(value)


def _messages(entries: Any) -> list[dict[str, str]]:
    if not isinstance(entries, list):
        raise ValueError("expected a list of messages")
    messages = []
    for entry in map(coerce.block, entries):
        role = _ROLES.get(coerce.folded(coerce.first(entry, ("role", "speaker"))))
        text = coerce.first(entry, ("text", "content", "utterance"))
        if role is None or not isinstance(text, str):
            raise ValueError("expected messages with a role (seeker or supporter) and a text")
        messages.append({"role": role, "text": text.strip()})
    return messages


def read_slices(path: Path) -> dict[str, Mapping[str, Any]]:
    """What a file says of histories or conversations, by id: JSON or JSONL of `id`, `slice`, `tags`."""
    slices: dict[str, Mapping[str, Any]] = {}
    for where, entry in objects_in(path):
        name, tags = _identifier(entry.get("id")), coerce.texts(entry.get("tags", []))
        given = {"slice": coerce.text(entry.get("slice")), "tags": tags}
        if name is None or tags is None or not (given["slice"] or tags):
            raise DataError(f"{where}: expected an id with a slice (a text), tags (a list of texts) or both.")
        if slices.setdefault(name, given) != given:
            raise DataError(f"{where}: {name!r} occurs twice, with different slices or tags.")
    return slices


def sliced(
    histories: Iterable[History], slices: Mapping[str, Mapping[str, Any]]
) -> tuple[list[History], tuple[str, ...]]:
    """The histories with the slices and tags that a file gives them or their whole conversation, and the ids of the
    file that name neither."""
    made, used = [], set()
    for history in histories:
        for name in (history.id.rpartition("/")[0], history.id):
            if (given := slices.get(name)) is not None:
                used.add(name)
                tags = tuple(dict.fromkeys((*history.tags, *given["tags"])))
                history = history.model_copy(update={"slice": given["slice"] or history.slice, "tags": tags})
        made.append(history)
    return made, tuple(name for name in slices if name not in used)


def drawn(histories: Sequence[History], limit: int, seed: int) -> list[History]:
    """At most `limit` of the histories, in their order. Whether one is drawn depends on its id and the seed: a larger
    limit keeps what a smaller one drew."""
    by_chance = sorted(histories, key=lambda one: (random.Random(f"{seed}/{one.id}").random(), one.id))
    chosen = {one.id for one in by_chance[:limit]}
    return [one for one in histories if one.id in chosen]
