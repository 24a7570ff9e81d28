"""The one call that asks for a participant's profile, and the result that its answer makes. Experimental.

Its prompt is a function of the messages of the talk alone: no label, no profile, no metadata. What is asked for is in
`conversations.traits`, the words are in `attunebench.prompts`. A result is no result of the benchmark (`task` marks
it), and nothing of it enters a score of the benchmark. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import PROFILE_TASK, TRAITS, Trait
from attunebench.prompts import render
from attunebench.protocol import messages as show
from attunebench.protocol.assemble import RunFacts, provenance, taken
from attunebench.protocol.calls import PREDICTED_PROFILE, Asked, Call, Record
from attunebench.protocol.schemas import schema_for

TEMPLATES = ("profile_prediction/system", "profile_prediction/task", "reask", "transcript", "turn")
"""What its prompts are made of."""


def plan_profile(conversation: Conversation, codebook: Codebook, traits: tuple[Trait, ...] = TRAITS) -> Call:
    """The call for one conversation."""
    asked = Asked("profile", traits=traits)
    thread = show.Thread(conversation, background=None)
    transcript = thread.until(len(conversation.turns) - 1, replied=True)
    return Call(
        id=_call_id(conversation),
        conversation_id=conversation.conversation_id,
        mode="default",
        turn=0,
        kind="profile",
        messages=show.messages("profile_prediction/system", transcript, render("profile_prediction/task")),
        asked=asked,
        schema=schema_for(asked, codebook),
    )


def assemble_profile(conversation: Conversation, records: Mapping[str, Record], facts: RunFacts) -> dict[str, Any]:
    """The content of the result file. Raises ValueError where the call has no record.

    `predicted_profile` has an entry for each trait that was answered, `conversations.traits.CANNOT_TELL` among the
    answers; a trait that is missing was not answered.
    """
    record = records.get(_call_id(conversation))
    if record is None:
        raise ValueError(f"no result without an answer to {_call_id(conversation)}")
    return {
        "task": PROFILE_TASK,
        "experimental": True,
        **provenance(conversation, [record], facts),
        "conversationId": conversation.conversation_id,
        "em_model": facts.em_model,
        # A run looks for votes in the turns of a result; a profile has neither.
        "turns": [],
        PREDICTED_PROFILE: dict(record.answer.values[PREDICTED_PROFILE]),
        **taken([record]),
    }


def _call_id(conversation: Conversation) -> str:
    return f"{conversation.conversation_id}/default/0/profile"
