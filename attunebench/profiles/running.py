"""The task of predicting profiles: one call a conversation, one file for its answer; and its scores.

Nothing of it enters a score of the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Analysis
from attunebench.codebook import Codebook, default_codebook
from attunebench.coerce import block
from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import PROFILE_TASK, TRAITS, Trait, asrs_note, traits_of, untold
from attunebench.errors import DataError, UsageError
from attunebench.profiles.scoring import Answers, score
from attunebench.profiles.tables import tabulate
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import PREDICTED_PROFILE
from attunebench.protocol.plan import PROFILE_TEMPLATES, plan_profile
from attunebench.protocol.read.traits import trait_answer
from attunebench.results.assemble import provenance, taken
from attunebench.runner import Observer, RunSettings, RunSummary, run_conversations
from attunebench.runner.files import identity_of, read_object
from attunebench.runner.work import Task
from attunebench.text import counted, listed, printable

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call, Mode, Record


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
        return (plan_profile(conversation, self.traits),)

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


def predict_profiles(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    *,
    codebook: Codebook | None = None,
    observer: Observer | None = None,
    run_again: str = "",
    interruptible: bool = False,
) -> RunSummary:
    """Ask `settings.em` for the participant's profile of each conversation, once, and write a file for each.

    Resumes, re-prompts, skips and spends as `runner.run_conversations` does, and raises what it raises. UsageError too
    for judges and modes: there is nothing to judge, and a mode that tells of the profile leaves nothing to predict.
    """
    if settings.judges or settings.modes != ("default",):
        raise UsageError("Profiles are predicted in the default mode and without judges.")
    return run_conversations(
        list(conversations),
        settings,
        codebook or default_codebook(),
        task=ProfileTask(traits_of(conversations)),
        observer=observer,
        run_again=run_again,
        interruptible=interruptible,
    )


def score_profiles(
    folder: Path, conversations: Sequence[Conversation], provider: str, model: str, settings: Settings | None = None
) -> tuple[Analysis, tuple[str, ...]]:
    """Score the predictions of a model in a folder against the profiles of these conversations.

    Gives the analysis, and sentences on predictions that could not be scored (the analysis has them too). `settings`:
    seed, resamples, level, small … of the statistics. Raises DataError where the folder has none of the model.
    """
    traits = traits_of(conversations)
    answers, not_scored = _read_predictions(folder, provider, model, traits)
    if unknown := sorted(answers.keys() - {c.conversation_id for c in conversations}):
        not_scored.append(f"Not scored, because the conversation is missing: {_some(unknown)}.")
    told = {trait.label: [w for c in conversations if (w := untold(trait, c.profile)) is not None] for trait in traits}
    unusable = [
        f"{label}: the words of {counted(len(words), 'conversation')} match none of the answers "
        f"({_some(sorted(set(words)))}); they are not scored."
        for label, words in told.items()
        if words
    ]
    analysis = tabulate(
        score(conversations, answers, traits),
        printable(provider),
        printable(model),
        len(conversations),
        settings or Settings(),
        warnings=[*not_scored, *unusable],
        notes=asrs_note(conversations),
    )
    return analysis, tuple(not_scored)


def _read_predictions(
    folder: Path, provider: str, model: str, traits: tuple[Trait, ...]
) -> tuple[dict[str, Answers], list[str]]:
    """Conversation id → the model's answers, and a sentence for each that several files claim to hold: none counts."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}; name the one that predict-profile wrote to with -o.")
    predictions: dict[str, dict[str, Answers]] = {}
    others: set[str] = set()
    for path in sorted(folder.glob("[!_]*.json")):
        content = read_object(path) or {}
        identity = identity_of(content, PROFILE_TASK)
        if identity is not None and identity[1:3] == (provider, model):
            predictions.setdefault(identity[0], {})[path.name] = answers_in(content, traits)
        elif identity is not None:
            others.add(f"{identity[1]} {identity[2]}")
    if not predictions:
        there = f"it contains those of {listed(sorted(others))}" if others else "it contains none"
        raise DataError(f"{folder} has no predicted profiles of {provider} {model}; {there}.")
    twice = [
        f"Not scored, because the prediction occurs twice: {_some(files)}."
        for files in predictions.values()
        if len(files) > 1
    ]
    return {name: next(iter(files.values())) for name, files in predictions.items() if len(files) == 1}, twice


def answers_in(content: Mapping[str, Any], traits: tuple[Trait, ...]) -> Answers:
    """The answers of one file's content, by trait id; what somebody edited is read like a reply."""
    given = block(content.get(PREDICTED_PROFILE))
    read = {trait.id: trait_answer(trait, given[trait.id]) for trait in traits if trait.id in given}
    return {
        name: frozenset(answer) if isinstance(answer, list) else answer
        for name, answer in read.items()
        if answer is not None
    }


def _some(names: Iterable[str]) -> str:
    return listed((printable(name, 60) for name in names), most=4)
