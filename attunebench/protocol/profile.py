"""The one call that asks for a participant's profile. Experimental.

Its prompt is a function of the messages of the talk alone: no label, no profile, no metadata. What is asked for is in
`conversations.traits`, the words are in `attunebench.prompts`. Pure.
"""

from __future__ import annotations

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import TRAITS, Trait
from attunebench.prompts import render
from attunebench.protocol import messages as show
from attunebench.protocol.calls import Asked, Call
from attunebench.protocol.schemas import schema_for

TEMPLATES = ("profile_prediction/system", "profile_prediction/task", "reask", "transcript", "turn")
"""What its prompts are made of."""


def plan_profile(conversation: Conversation, codebook: Codebook, traits: tuple[Trait, ...] = TRAITS) -> Call:
    """The call for one conversation."""
    asked = Asked("profile", traits=traits)
    thread = show.Thread(conversation, background=None)
    transcript = thread.until(len(conversation.turns) - 1, replied=True)
    return Call(
        id=f"{conversation.conversation_id}/default/0/profile",
        conversation_id=conversation.conversation_id,
        mode="default",
        turn=0,
        kind="profile",
        messages=show.messages("profile_prediction/system", transcript, render("profile_prediction/task")),
        asked=asked,
        schema=schema_for(asked, codebook),
    )
