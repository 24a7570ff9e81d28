"""The task `attunebench/attunebench` of Inspect: conversations as samples, the solver, the scorer with its metric.
Every metric of the registry is a key of a sample's score, NaN where undefined; a sample whose calls were not all made
is unscored. Means are over conversations, epochs first, each with its standard error and n."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from logging import getLogger
from typing import Any

import numpy as np
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from attunebench._version import __version__
from attunebench.conversations import Conversation
from attunebench.harness.common import EXAMPLES, STORE, Study, model_named, study_of
from attunebench.harness.inspect_ai.solving import attunebench_solver, sentences
from attunebench.judging import JUDGE_SCALE
from attunebench.metrics.registry import cards_of
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Mode
from attunebench.protocol.plan import plan_warnings
from attunebench.results.parsing import parse_result
from attunebench.runner.settings import RunSettings
from attunebench.scorer.answers import COUNTS, MismatchError
from attunebench.scorer.conversation import score_conversation
from attunebench.scorer.groups import ScoreSettings, columns_of
from attunebench.scores import ConversationEntry
from attunebench.statistics.bootstrap import Floats

_logger = getLogger(__name__)
_CARDS = cards_of("attunebench")
_COUNTED = ("answered", "expected")  # counts of items: how much was answered stands apart from how well


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
        conversations: Folder of the conversation files; by default the bundled demonstration.
        modes: default, verbose, omniscient, verbose_omniscient, all, or several with commas; a sample for each.
        panas_strategy: The mood question: absolute, blind, delta or blind_delta.
        judge_scale: What a judge's 1 to 7 mean: quality, or relative to the human-edited reply (4 = as good).
        max_reasks: How often an unusable reply is re-prompted.
        structured: How the answer format is enforced: schema, text, or auto (a schema where it is supported).
        temperature: Sampling temperature where `--temperature` does not say otherwise; null leaves it to the provider.
        cluster: participant, for standard errors that keep a person's conversations together.
        order_seed: Seed of the order of the samples, of which `--limit` takes the first.
        codebook: An annotation codebook in place of the one beside the data or our own.
        skip_invalid: Leave out conversations that do not validate.
    """
    arguments = {name: value for name, value in locals().items() if name not in ("temperature", "cluster")}
    with sentences():
        study = study_of(model_named("none"), temperature=temperature, **arguments)
        known = study.settings.modes
        shown = summary(by_mode=len(known) > 1, cluster=cluster)
    for note in notes_of(study):
        _logger.warning(note)
    arguments["modes"] = list(known)
    return Task(
        dataset=MemoryDataset(
            [_sample(each, mode, alone=len(known) == 1) for each in study.conversations.values() for mode in known],
            name=study.folder.name,
            location=str(study.folder),
        ),
        solver=attunebench_solver(**arguments),
        scorer=attunebench_scorer(**arguments),
        metrics=[shown],
        config=GenerateConfig(temperature=temperature, max_tokens=RunSettings.model_fields["max_tokens"].default),
        # One conversation lost to the network does not stop the others; the log still ends as an error.
        continue_on_fail=True,
        version=__version__,
        metadata={"prompt_set_sha256": prompt_set_sha256(), "codebook_sha256": study.codebook.sha256},
    )


def notes_of(study: Study) -> Iterator[str]:
    """What a user should know before anything is asked."""
    if study.examples:
        yield f"{study.folder.name} has conversations {EXAMPLES}. Name your folder: -T conversations=FOLDER"
    for file in study.loaded.skipped:
        yield f"Left out {file.file}: {'; '.join(file.reasons)}"
    for text in plan_warnings(study.conversations.values(), study.codebook):
        yield text.replace("--codebook FILE", "-T codebook=FILE")


def _sample(conversation: Conversation, mode: Mode, *, alone: bool) -> Sample:
    """A conversation in a mode. Its texts are for readers of the log, and are not what is sent. No label is in it."""
    name, kinds = conversation.conversation_id, (ChatMessageUser, ChatMessageAssistant)
    texts = [(turn.user_message, turn.llm_response) for turn in conversation.turns]
    facts = {"conversation": name, "mode": mode, "participant": conversation.participant_id}
    messages = [kind(content=text) for pair in texts for kind, text in zip(kinds, pair, strict=True)]
    return Sample(id=name if alone else f"{name}_{mode}", input=messages, metadata=facts)


@metric(scores="unreduced")
def summary(by_mode: bool = False, cluster: Any = None) -> Metric:
    """Each metric but the diagnostic ones as `<id>`, `<id>_stderr` and `<id>_n` where it is defined; counts of items.
    Modes are never averaged: with several of them, and with `by_mode`, a name is `<mode>.<id>`."""
    settings = ScoreSettings(resamples=1, cluster=cluster)

    def summarised(scores: list[SampleScore]) -> Value:
        modes: dict[str, list[SampleScore]] = {}
        for score in scores:
            modes.setdefault((score.sample_metadata or {})["mode"], []).append(score)
        if len(modes) < 2 and not by_mode:
            return dict(_rows(scores, settings))
        return {f"{mode}.{name}": row for mode, those in modes.items() for name, row in _rows(those, settings)}

    return summarised


@scorer(name="attunebench_scorer", metrics=[summary()])
def attunebench_scorer(**arguments: Any) -> Scorer:
    """Score a sample by the labels of its conversation; `arguments` as the task takes them."""
    with sentences():
        study = study_of(model_named("none"), **arguments)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (labels are no target: they stay here)
        reason = "The sample ended before every call had its answer."
        if result := (state.store.get(STORE) or {}).get("result"):
            with sentences():
                conversation = study.conversation(state.metadata["conversation"])
            try:
                return _score(score_conversation(conversation, parse_result(result)))
            except MismatchError as error:
                reason = f"The sample cannot be scored: {error}."
        return Score.unscored(reason="scoring_failed", explanation=reason)

    return score


def _score(found: ConversationEntry) -> Score:
    tallies, composite, complete = found["calls"] or {}, found["metrics"]["composite"], found["composite_complete"]
    shown = "undefined" if composite is None else f"{composite:.1f}"
    values = {**found["metrics"], **{f"{name}_items": tallies[name] for name in _COUNTED}}
    return Score(
        value={key: math.nan if value is None else value for key, value in values.items()},
        answer=f"{tallies['answered'] or 0:g} of {tallies['expected'] or 0:g} items answered",
        explanation=f"Composite {shown}{'' if complete else ', because one of its terms is undefined'}",
        metadata={"counts": tallies, "composite_complete": complete},
    )


def _rows(scores: Sequence[SampleScore], settings: ScoreSettings) -> Iterator[tuple[str, float]]:
    """The rows of one mode, as `attune-bench score` estimates them."""
    units = [(str(score.sample_id), (score.sample_metadata or {}).get("participant")) for score in scores]
    estimates = settings.estimate(columns_of(units, [*map(_numbers, scores)], settings))
    for metric_id, estimate in estimates.items():
        if estimate["mean"] is not None and _CARDS[metric_id].status != "diagnostic":
            rows = {"": estimate["mean"], "_stderr": estimate["se"], "_n": float(estimate["n"])}
            yield from ((f"{metric_id}{part}", value) for part, value in rows.items() if value is not None)
    for key in (f"{name}_items" for name in _COUNTED):
        yield key, float(sum(float(score.score.as_dict()[key] or 0) for score in scores))


def _numbers(score: SampleScore) -> Floats:
    """A sample's score in the form that scoring keeps for means."""
    values, counts = score.score.as_dict(), (score.score.metadata or {})["counts"]
    return np.array(
        [*(values[metric_id] for metric_id in _CARDS), *(counts[name] for name in COUNTS)], dtype=np.float64
    )
