"""The nouns of the protocol: a call, what it asks, the answer read from a reply. Pure data, no wording, no network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from attunebench.judging import UNNAMED_SCALE, JudgeScale

if TYPE_CHECKING:
    from attunebench.conversations.traits import Trait

Mode = Literal["default", "verbose", "omniscient", "verbose_omniscient"]
Kind = Literal["draft", "judge", "review", "binary_hp", "pairwise", "post", "profile", "respond", "verdict"]
PanasStrategy = Literal["absolute", "blind", "delta", "blind_delta"]
CHANGES: frozenset[PanasStrategy] = frozenset(("delta", "blind_delta"))
"""The strategies that ask for the change of the mood, not for the mood afterwards."""
BLIND: frozenset[PanasStrategy] = frozenset(("blind", "blind_delta"))
"""The strategies that do not show the mood before the conversation."""
Outcome = Literal["answered", "incomplete", "unreadable", "refused", "truncated"]
YesNo = Literal["yes", "no"]

ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
KINDS: tuple[Kind, ...] = tuple(kind for kind in ALL_KINDS if kind not in ("profile", "respond", "verdict"))
"""The calls of the benchmark itself; `profile` belongs to a task of its own, the last two to an arena."""
DRAFTS: frozenset[Kind] = frozenset(("draft", "respond"))
"""The calls that are answered by a text for a person, `drafted_response`."""
RATINGS = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
"""What a judge rates 1–7: on the relative scale only where there is a reference."""
PREFERENCES = {"1 much better": 2, "1 slightly better": 1, "same": 0, "2 slightly better": -1, "2 much better": -2}
"""The answers of a `verdict` to which of two replies is better; the numbers are positive for the first."""
DIMENSIONS = ("human_alignment", "empathic_responsiveness", "attunement", "resonance", "task_following")
"""In what a `verdict` compares two replies besides."""
PREDICTED_PROFILE = "predicted_profile"
"""The key under which a `profile` call is answered, and its result holds the answers."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for: all that reading its reply needs, and nothing of the truth.

    `questions`: binary question IDs in the order shown (`review`, `binary_hp`, `judge`), with their shown texts.
    `comparisons`: index ("0" … "11") → the two reply labels behind A and B, e.g. ("Reply 2", "Reply 1") (`pairwise`).
    `panas`: how `post` asks for the mood afterwards. `rated`: whether a `judge` rates the draft, and `scale` on what.
    `verbose`: whether reasoning is asked for beside the answer (it never counts as an item). `traits`: what a `profile`
    call asks for, with the answers that there are.
    """

    kind: Kind
    questions: Mapping[str, str] = field(default_factory=dict)
    comparisons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    panas: PanasStrategy = "absolute"
    rated: bool = True
    scale: JudgeScale = UNNAMED_SCALE
    verbose: bool = False
    traits: tuple[Trait, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one model.

    `id` is `conversation/mode/turn/kind`, with `/judge index` behind it for judges; `post` and `profile` have turn 0.
    A judge's call names the draft it waits for in `needs`; until `plan.with_draft` has put the draft in, its last
    message lacks it at the character offset `slot`. All other calls are complete as planned.
    """

    id: str
    conversation_id: str
    mode: Mode
    turn: int
    kind: Kind
    messages: tuple[Message, ...]
    asked: Asked
    schema: Mapping[str, Any]
    judge: int | None = None
    needs: str | None = None
    slot: int | None = None

    @property
    def identity(self) -> str:
        """What the journal knows the call by: the id without a judge's place, since who is asked is known otherwise."""
        return self.id if self.judge is None else self.id.rpartition("/")[0]

    @property
    def who(self) -> int:
        """Who is asked: 0 for the evaluated model, judges count from 1."""
        return 0 if self.judge is None else self.judge + 1

    @property
    def prompt_characters(self) -> int:
        return sum(len(message.content) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply said, item by item.

    `values` has the keys of the call's answer format (spec 3.2): a missing item is absent from its map, a missing
    single value is None. `missing` names what was asked and not answered, as paths such as
    `binary_om_assessment.B13`, `emotion_tags`, `predicted_post_panas.items.Proud`. `reasoning` holds the texts of
    verbose modes (`reasoning`, `emotion_reasoning`, `binary_reasoning`). `mended`: the JSON had to be repaired.
    """

    values: Mapping[str, Any]
    missing: tuple[str, ...]
    outcome: Outcome
    mended: bool = False
    reasoning: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it did not say."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """Sums of what is known: unknown plus known is the known part."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return Usage(*(b if a is None else a if b is None else a + b for a, b in pairs))


@dataclass(frozen=True, slots=True)
class Record:
    """A call that has its final answer, and what it took: all that `assemble` needs and the journal keeps.

    `requests` counts what was sent in all (each is possibly billed), `reasks` the asks after the first; `usage`, `cost`
    (USD, None if unknown) and `seconds` (None where nobody took the time) sum over them; `models` and `providers` are
    those that the server named.
    """

    call: Call
    answer: Answer
    requests: int = 1
    reasks: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float | None = 0.0
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    structured: str | None = None
    adapted: Mapping[str, Any] = field(default_factory=dict)
    """What the server did not take as it was asked, e.g. {"temperature": "not accepted"}."""
