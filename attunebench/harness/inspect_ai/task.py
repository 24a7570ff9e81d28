"""The task: conversations as samples, the solver and the scorer, and the benchmark's own defaults.

`inspect eval attunebench/attunebench --model …` finds it by its name.
"""

from __future__ import annotations

from logging import getLogger
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, GenerateConfig

from attunebench._version import __version__
from attunebench.conversations import Conversation
from attunebench.errors import UsageError
from attunebench.harness.inspect_ai.scoring import attunebench_scorer, summary
from attunebench.harness.inspect_ai.solving import attunebench_solver
from attunebench.harness.inspect_ai.study import Choices, Study, study_of
from attunebench.harness.inspect_ai.trouble import sentences
from attunebench.judging import JUDGE_SCALE
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Mode
from attunebench.runner.settings import ModelSettings, RunSettings

_logger = getLogger(__name__)


@task
def attunebench(
    conversations: str | None = None,
    modes: str | list[str] = "default",
    panas_strategy: str = "absolute",
    judge_scale: str = JUDGE_SCALE,
    max_reasks: int = 2,
    structured: str = "auto",
    temperature: float | None = 0.0,
    cluster: str | None = None,
    order_seed: int = 0,
    codebook: str | None = None,
    skip_invalid: bool = False,
) -> Task:
    """Read and serve a real person's feelings over a conversation.

    Args:
        conversations: Folder of the conversation files; the bundled demonstration without it.
        modes: default, verbose, omniscient, verbose_omniscient, all, or several with commas; a sample for each.
        panas_strategy: The mood question: absolute, blind, delta or blind_delta.
        judge_scale: What a judge's 1 to 7 mean: quality, or relative to the human-edited reply (4 = as good).
        max_reasks: How often an unusable reply is asked for again.
        structured: How answers are held to their format: schema, text, or auto (a schema where it is taken).
        temperature: Sampling temperature where `--temperature` does not say otherwise; null leaves it to the provider.
        cluster: participant, for standard errors that keep a person's conversations together.
        order_seed: Seed of the order of the samples, of which `--limit` takes the first.
        codebook: An annotation codebook in place of the one beside the data or our own.
        skip_invalid: Leave out conversations that do not validate.
    """
    with sentences():
        choices = Choices.of(
            conversations=conversations,
            modes=modes,
            panas_strategy=panas_strategy,
            judge_scale=judge_scale,
            max_reasks=max_reasks,
            structured=structured,
            order_seed=order_seed,
            codebook=codebook,
            skip_invalid=skip_invalid,
        )
        if cluster not in (None, "participant"):
            raise UsageError(f"There is no cluster {cluster}; participant is the one there is.")
        choices.settings(ModelSettings(provider="inspect", model="none"), temperature=temperature)
        study = study_of(choices)
    for note in study.notes:
        _logger.warning(note)
    return Task(
        dataset=MemoryDataset(_samples(study), name=study.folder.name, location=str(study.folder)),
        solver=attunebench_solver(**choices.arguments()),
        scorer=attunebench_scorer(**choices.arguments()),
        metrics=[summary(by_mode=len(choices.modes) > 1, cluster=cluster)],
        config=GenerateConfig(temperature=temperature, max_tokens=_default("max_tokens")),
        # One conversation that the line keeps is no reason to give up the others; the log still ends as an error.
        continue_on_fail=True,
        version=__version__,
        metadata={"prompt_set_sha256": prompt_set_sha256(), "codebook_sha256": study.codebook.sha256},
    )


def _default(setting: str) -> Any:
    return RunSettings.model_fields[setting].default


def _samples(study: Study) -> list[Sample]:
    modes = study.choices.modes
    return [
        _sample(conversation, mode, alone=len(modes) == 1) for conversation in study.conversations for mode in modes
    ]


def _sample(conversation: Conversation, mode: Mode, *, alone: bool) -> Sample:
    """A conversation in a mode. The talk is there for who reads the log: it is not what is sent. No label is in it."""
    name = conversation.conversation_id
    talk: list[ChatMessage] = []
    for turn in conversation.turns:
        talk += [ChatMessageUser(content=turn.user_message), ChatMessageAssistant(content=turn.llm_response)]
    return Sample(
        id=name if alone else f"{name}_{mode}",
        input=talk,
        metadata={"conversation": name, "mode": mode, "participant": conversation.participant_id},
    )
