"""What a conversation is, once it has been read: frozen, normalised, and the same for every reader."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

YesNoNa = Literal["yes", "no", "na"]
Variant = Literal["original", "alternate", "human"]
Letter = Literal["A", "B"]


class Frozen(BaseModel):
    """Base: immutable, keys unknown to us are kept in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class Demographics(Frozen):
    """What the participant told of themselves, in the words of the file; None or () is not told."""

    country: str | None = None
    education: str | None = None
    work_edu_background: tuple[str, ...] = ()
    gender: str | None = None
    age_range: str | None = None
    english_proficiency: str | None = None
    diagnoses: tuple[str, ...] = ()


class ParticipantProfile(Frozen):
    """Who the participant is. `computed_scores`: a scale's name (`who_5` …) → its value; unknown ones are absent."""

    schema_version: str | None = None
    participant_id: str | None = None
    profile_type: str | None = None
    demographics: Demographics = Demographics()
    computed_scores: Mapping[str, float] = Field(default_factory=dict)
    conversation_topic_attitude: str | None = None


class Panas(Frozen):
    """The participant's own state, before or after. `items`: lower-case item name → 1–7, only those that are known.

    Totals run from 10 to 70 and follow the rule "items beat totals": the sum where all ten items of a side are there,
    else the file's total, else None.
    """

    items: Mapping[str, float] = Field(default_factory=dict)
    positive: float | None = None
    negative: float | None = None
    stated: tuple[float | None, float | None] = (None, None)
    """The file's own two totals, whatever its items say."""


class ConversationWide(Frozen):
    """Answers about the whole conversation; None is unknown. `four_branch`: branch → 1–7, known ones only.

    `follow_up` is () where it is absent beside a positive Q3 and None where it is absent beside a negative one.
    """

    four_branch: Mapping[str, float] = Field(default_factory=dict)
    q1: tuple[str, ...] | None = None
    q2: str | None = None
    q3: str | None = None
    follow_up: tuple[str, ...] | None = None


class Tag(Frozen):
    """One emotion that the participant felt: a PANAS item in its display form ("Proud") and 1–7, or None if unknown."""

    emotion: str
    intensity: float | None = None


class BinaryJudgement(Frozen):
    """Whether the reply did it, and whether the participant would have wanted it; None is no truth."""

    question_id: str
    observed: YesNoNa | None = None
    preferred: YesNoNa | None = None


class Comparison(Frozen):
    """One A/B comparison between two reply variants; `winner` None is no truth."""

    question_id: str
    a: Variant
    b: Variant
    winner: Letter | None = None


class Turn(Frozen):
    """One message of the participant, the reply to it, and the labels. `tags` () is neutral, None is no truth."""

    number: int
    user_message: str
    llm_response: str
    tags: tuple[Tag, ...] | None = ()
    judgements: tuple[BinaryJudgement, ...] = ()
    llm_improved: str | None = None
    human_edited: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    selected_pairwise: tuple[str, ...] = ()
    repeated_tags: tuple[Tag, ...] = ()
    """Tags of an emotion that stands in `tags` already, which keeps the one with the higher intensity."""

    @cached_property
    def applicable_questions(self) -> tuple[str, ...]:
        """IDs of the judgements where observed or preferred is yes or no, in file order (spec 3.2)."""
        known = ("yes", "no")
        return tuple(j.question_id for j in self.judgements if j.observed in known or j.preferred in known)

    @property
    def variants(self) -> dict[Variant, str | None]:
        """The three candidate replies by variant name."""
        return {"original": self.llm_response, "alternate": self.llm_improved, "human": self.human_edited}


class Conversation(Frozen):
    """One conversation with its labels. `source_file` is the file's path, `source_sha256` the digest of its bytes."""

    conversation_id: str
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    profile: ParticipantProfile | None = None
    pre_panas: Panas = Panas()
    post_panas: Panas = Panas()
    wide: ConversationWide = ConversationWide()
    turns: tuple[Turn, ...]
    source_file: str = ""
    source_sha256: str = ""

    @cached_property
    def asked_sha256(self) -> str:
        """A digest of what is shown and compared: numbers and texts of the turns, question and replies of comparisons.

        No label enters it, nor which of two replies is A. Results keep it, so that answers are never scored on others.
        """
        asked = [
            [turn.number, *turn.variants.values(), turn.user_message]
            + [[c.question_id, *sorted((c.a, c.b))] for c in turn.comparisons]
            for turn in self.turns
        ]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()

    @property
    def participant_id(self) -> str | None:
        return self.profile.participant_id if self.profile else None
