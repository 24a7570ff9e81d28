"""The task: conversations as samples, the solver and the scorer, and the benchmark's own defaults.

Inspect finds it (`inspect eval attunebench/attunebench --model …`) and all that this module imports by its entry point.
"""

from __future__ import annotations

from logging import getLogger

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, GenerateConfig

from attunebench._version import __version__
from attunebench.conversations import Conversation
from attunebench.harness.common import cluster_of
from attunebench.harness.inspect_ai.scoring import attunebench_scorer, summary
from attunebench.harness.inspect_ai.solving import attunebench_solver, sentences
from attunebench.harness.inspect_ai.study import notes_of, study_of
from attunebench.judging import JUDGE_SCALE
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Mode
from attunebench.runner.settings import RunSettings

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
    arguments = {name: value for name, value in locals().items() if name not in ("temperature", "cluster")}
    with sentences():
        clusters = cluster_of(cluster)
        study = study_of(**arguments)
        study.under(temperature=temperature)
    for note in notes_of(study, demo=conversations is None):
        _logger.warning(note)
    known = study.settings.modes
    arguments["modes"] = list(known)
    return Task(
        dataset=MemoryDataset(
            [_sample(each, mode, alone=len(known) == 1) for each in study.conversations.values() for mode in known],
            name=study.folder.name,
            location=str(study.folder),
        ),
        solver=attunebench_solver(**arguments),
        scorer=attunebench_scorer(**arguments),
        metrics=[summary(by_mode=len(known) > 1, cluster=clusters)],
        config=GenerateConfig(temperature=temperature, max_tokens=RunSettings.model_fields["max_tokens"].default),
        # One conversation that the line keeps is no reason to give up the others; the log still ends as an error.
        continue_on_fail=True,
        version=__version__,
        metadata={"prompt_set_sha256": prompt_set_sha256(), "codebook_sha256": study.codebook.sha256},
    )


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
