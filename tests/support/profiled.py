"""Conversations of people with chosen profiles, and predictions of them. Knows no score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attunebench.conversations.schema import Conversation, Demographics, ParticipantProfile, Turn


def talk(person: str | None, *, number: int = 0, **told: Any) -> Conversation:
    """A conversation of one turn; `told` are scale values, or demographics by their names."""
    known = {name: value for name, value in told.items() if name in Demographics.model_fields}
    scores = {name: value for name, value in told.items() if name not in known}
    profile = ParticipantProfile(participant_id=person, demographics=Demographics(**known), computed_scores=scores)
    return Conversation(
        conversation_id=f"c{number:03d}",
        profile=profile,
        turns=(Turn(number=1, user_message="Hello.", llm_response="Hello to you."),),
    )


def talks(people: Sequence[Mapping[str, Any]], *, each: int = 1) -> list[Conversation]:
    """`each` conversations of every person, who are called p0, p1 …"""
    return [
        talk(f"p{place}", number=place * each + again, **told)
        for place, told in enumerate(people)
        for again in range(each)
    ]
