"""What a run asks of a conversation, and what becomes of the answers: the part of a run that is not its engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Call, Mode, Record
from attunebench.protocol.plan import plan_conversation, plan_warnings
from attunebench.results.assemble import assemble
from attunebench.runner.files import Identity, identity_of, result_name
from attunebench.runner.settings import RunSettings


class Task:
    """What is asked of each conversation and mode: the benchmark (spec 03). Other tasks override what they do
    otherwise."""

    name: str = ""
    """"" for the benchmark itself; else what keeps this task's lists and locks apart from those of others."""
    plan_inputs: tuple[str, ...] = ()
    """What its plans depend on beside conversation, templates, codebook and settings, as texts."""

    @property
    def prompt_set_sha256(self) -> str:
        return prompt_set_sha256()

    def plan(
        self, conversation: Conversation, mode: Mode, codebook: Codebook, settings: RunSettings
    ) -> tuple[Call, ...]:
        """All calls of a conversation in a mode, judges' calls among them. UsageError for settings that do not fit."""
        return plan_conversation(
            conversation,
            mode,
            codebook,
            judges=len(settings.judges),
            panas_strategy=settings.panas_strategy,
            judge_scale=settings.scale,
        )

    def warnings(self, conversations: Sequence[Conversation], codebook: Codebook) -> tuple[str, ...]:
        return plan_warnings(conversations, codebook)

    def assemble(
        self, conversation: Conversation, mode: Mode, records: Mapping[str, Record], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The content of the result file. `turns` is a list of objects with `turnNumber`, a draft and votes."""
        return assemble(conversation, mode, records, facts)

    def identity_of(self, data: Mapping[str, Any]) -> Identity | None:
        return identity_of(data)

    def result_name(self, identity: Identity) -> str:
        return result_name(identity)


BENCHMARK = Task()


def with_scores(result: dict[str, Any], conversation: Conversation) -> dict[str, Any]:
    """The result with its `scores` block computed; one without such a block, or written by others, stays as it is."""
    if not isinstance(result.get("scores"), dict) or "attunebench_version" not in result:
        return result
    from attunebench.scorer.conversation import quick_scores  # numpy is not loaded before the first result

    return {**result, "scores": quick_scores(conversation, result)}
