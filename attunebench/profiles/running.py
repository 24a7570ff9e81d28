"""The thin shell: run a model over conversations for their profiles, and score what it said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench.analyses.model import Analysis, Settings
from attunebench.codebook import Codebook, default_codebook
from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import ASRS, Trait, asrs_is_sum, traits_of, untold
from attunebench.errors import UsageError
from attunebench.profiles.predictions import read_predictions
from attunebench.profiles.scoring import score
from attunebench.profiles.tables import Who, tabulate
from attunebench.profiles.task import ProfileTask
from attunebench.runner import Observer, RunSettings, RunSummary, run_conversations
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.profiles.predictions import Predictions

_NAMED_AT_MOST = 3


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

    Resumes, reasks, skips and spends as `runner.run_conversations` does, and raises what it raises. UsageError too for
    judges and modes: there is nothing to judge, and a mode that tells of the profile would leave nothing to predict.
    """
    if settings.judges or settings.modes != ("default",):
        raise UsageError("Profiles are predicted in the default mode and without judges.")
    chosen = list(conversations)
    return run_conversations(
        chosen,
        settings,
        codebook or default_codebook(),
        task=ProfileTask(traits_of(chosen)),
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
    predictions = read_predictions(folder, provider, model, traits)
    scored = score(conversations, predictions.answers, traits)
    who = Who(printable(provider), printable(model), len(conversations))
    left_out = _left_out(predictions, conversations)
    analysis = tabulate(
        scored,
        who,
        settings or Settings(),
        warnings=(*left_out, *_unfitting(conversations, traits)),
        notes=_forms(conversations),
    )
    return ProfileScores(analysis, tuple(left_out))


def _left_out(predictions: Predictions, conversations: Sequence[Conversation]) -> list[str]:
    there = {conversation.conversation_id for conversation in conversations}
    said = [
        f"Not scored, the same prediction twice: {' and '.join(map(printable, names))}."
        for names in predictions.twice.values()
    ]
    if unknown := sorted(predictions.answers.keys() - there):
        said.append(f"Not scored, no such conversation here: {_some(unknown)}.")
    return said


def _unfitting(conversations: Sequence[Conversation], traits: Sequence[Trait]) -> list[str]:
    """Facts that were told in words that fit none of the answers: they have no truth here."""
    said = []
    for trait in traits:
        words = [found for c in conversations if (found := untold(trait, c.profile)) is not None]
        if words:
            said.append(
                f"{trait.label}: told in words that fit none of the answers in {len(words)} conversations "
                f"({_some(sorted(set(words)))}); they are not scored."
            )
    return said


def _forms(conversations: Sequence[Conversation]) -> list[str]:
    if not any(c.profile is not None and ASRS in c.profile.computed_scores for c in conversations):
        return []
    if asrs_is_sum(conversations):
        return ["ASRS-6 is read as a sum of 0–24 (a value above 6 occurs): screen-positive from 14."]
    return ["ASRS-6 is read as a count of 0–6 (no value is above 6): screen-positive from 4."]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_AT_MOST} more" if len(names) > _NAMED_AT_MOST else ""
    return ", ".join(printable(name, 60) for name in names[:_NAMED_AT_MOST]) + more
