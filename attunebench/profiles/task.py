"""The task of predicting profiles, as the engine takes it: one call a conversation, one file for its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attunebench.conversations.traits import PROFILE_TASK, TRAITS, Trait
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import PREDICTED_PROFILE
from attunebench.protocol.plan import PROFILE_TEMPLATES, plan_profile
from attunebench.results.assemble import provenance, taken
from attunebench.runner.work import Task

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.protocol.calls import Call, Mode, Record
    from attunebench.runner.settings import RunSettings


@dataclass(frozen=True)
class ProfileTask(Task):
    """Predicting profiles. `traits` as `conversations.traits.traits_of` makes them of the data at hand."""

    traits: tuple[Trait, ...] = TRAITS
    name: str = PROFILE_TASK
    plan_inputs: tuple[str, ...] = (PROFILE_TASK,)

    @property
    def prompt_set_sha256(self) -> str:
        return prompt_set_sha256(PROFILE_TEMPLATES)

    def plan(
        self, conversation: Conversation, mode: Mode, codebook: Codebook, settings: RunSettings
    ) -> tuple[Call, ...]:
        return (plan_profile(conversation, codebook, self.traits),)

    def warnings(self, conversations: Sequence[Conversation], codebook: Codebook) -> tuple[str, ...]:
        return ()

    def assemble(
        self, conversation: Conversation, mode: Mode, records: Mapping[str, Record], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The content of the result file, which `task` marks as no result of the benchmark.

        `predicted_profile` has an entry for each trait that was answered, if by `traits.CANNOT_TELL`. Raises ValueError
        where the call has no record.
        """
        own = list(records.values())
        if not own:
            raise ValueError(f"no result without an answer about {conversation.conversation_id}")
        return {
            "task": PROFILE_TASK,
            "experimental": True,
            **provenance(conversation, own, facts),
            "conversationId": conversation.conversation_id,
            # A run looks for votes in the turns of a result; a profile has neither.
            "turns": [],
            PREDICTED_PROFILE: dict(own[0].answer.values[PREDICTED_PROFILE]),
            **taken(own),
        }
