"""The texts behind the scores: what was said in a conversation, what a model drafted, and its raw replies.

Plain data that knows no file; `folders` reads it from a run's folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from attunebench.scores import ConversationEntry


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """The texts of a turn: the person's message, the reply of the original model, and the two other candidates."""

    number: int
    user: str
    reply: str
    alternate: str | None = None
    human: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """The reply that a model wrote itself (None: it gave none). `judges`: judge and scale → its ratings of it, 1–7."""

    number: int
    text: str | None
    judges: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RawReply:
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


class Transcripts(Protocol):
    """Where the texts behind scores come from; each method gives () for what is not there."""

    @property
    def remarks(self) -> Sequence[str]:
        """Sentences on what is missing, or is no longer what was scored."""
        ...

    def talk(self, conversation_id: str) -> Sequence[TalkTurn]:
        """The turns of a conversation in order."""
        ...

    def drafts(self, entry: ConversationEntry) -> Sequence[Draft]:
        """The drafts of the result that this entry was scored from."""
        ...

    def replies(self, conversation_id: str) -> Sequence[RawReply]:
        """The replies of all models to the calls about a conversation, without those of judges."""
        ...
