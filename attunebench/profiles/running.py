"""Runs a model over conversations for their profiles, reads its predictions, and scores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Analysis
from attunebench.codebook import Codebook, default_codebook
from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import PROFILE_TASK, Trait, asrs_note, traits_of, untold
from attunebench.errors import DataError, UsageError
from attunebench.profiles.scoring import Answers, score
from attunebench.profiles.tables import tabulate
from attunebench.profiles.task import ProfileTask
from attunebench.protocol.calls import PREDICTED_PROFILE
from attunebench.protocol.read.traits import trait_answer
from attunebench.runner import Observer, RunSettings, RunSummary, run_conversations
from attunebench.runner.files import identity_of, read_object
from attunebench.text import printable


@dataclass(frozen=True, slots=True)
class ProfileScores:
    """The analysis of a model's predictions, and sentences on those that could not be scored (it has them too)."""

    analysis: Analysis
    not_scored: tuple[str, ...] = ()


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
    folder: Path,
    conversations: Sequence[Conversation],
    provider: str,
    model: str,
    settings: Settings | None = None,
) -> ProfileScores:
    """Score the predictions of a model in a folder against the profiles of these conversations.

    `settings`: seed, resamples, level, small … of the statistics. Raises DataError where the folder has none of them.
    """
    traits = traits_of(conversations)
    answers, not_scored = _read_predictions(folder, provider, model, traits)
    if unknown := sorted(answers.keys() - {c.conversation_id for c in conversations}):
        not_scored.append(f"Not scored, no such conversation here: {_some(unknown)}.")
    warnings = list(not_scored)
    for trait in traits:
        words = [words for c in conversations if (words := untold(trait, c.profile)) is not None]
        if words:
            warnings.append(
                f"{trait.label}: told in words that fit none of the answers in {len(words)} conversations "
                f"({_some(sorted(set(words)))}); they are not scored."
            )
    analysis = tabulate(
        score(conversations, answers, traits),
        printable(provider),
        printable(model),
        len(conversations),
        settings or Settings(),
        warnings=warnings,
        notes=asrs_note(conversations),
    )
    return ProfileScores(analysis, tuple(not_scored))


def _read_predictions(
    folder: Path, provider: str, model: str, traits: tuple[Trait, ...]
) -> tuple[dict[str, Answers], list[str]]:
    """Conversation id → the model's answers, and a sentence for each that several files claim to hold: none counts."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}; name the one that predict-profile wrote to with -o.")
    answers: dict[str, Answers] = {}
    files: dict[str, list[str]] = {}
    others: set[str] = set()
    for path in sorted(folder.glob("[!_]*.json")):
        content = read_object(path) or {}
        identity = identity_of(content, PROFILE_TASK)
        if identity is None:
            continue
        if identity[1:3] == (provider, model):
            files.setdefault(identity[0], []).append(path.name)
            answers[identity[0]] = answers_in(content, traits)
        else:
            others.add(f"{identity[1]} {identity[2]}")
    if not answers:
        there = f"there are those of {', '.join(sorted(others)[:5])}" if others else "it has none at all"
        raise DataError(f"{folder} has no predicted profiles of {provider} {model}; {there}.")
    twice = {name: names for name, names in files.items() if len(names) > 1}
    return {name: given for name, given in answers.items() if name not in twice}, [
        f"Not scored, the same prediction twice: {' and '.join(map(printable, names))}." for names in twice.values()
    ]


def answers_in(content: Mapping[str, Any], traits: tuple[Trait, ...]) -> Answers:
    """The answers of one file's content, by trait id; what somebody edited is read like a reply."""
    given = content.get(PREDICTED_PROFILE)
    given = given if isinstance(given, dict) else {}
    read = {trait.id: trait_answer(trait, given[trait.id]) for trait in traits if trait.id in given}
    return {
        name: frozenset(answer) if isinstance(answer, list) else answer
        for name, answer in read.items()
        if answer is not None
    }


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(printable(name, 60) for name in names[:3]) + more
