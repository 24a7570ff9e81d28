"""Where the facts about the scored conversations come from, and what two sources of them disagree in.

Takes a study and entries of the ground truth; says in sentences what is in one and not in the other. Reads no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attunebench.analyses.common import counted, listed
from attunebench.errors import DataError, UsageError
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.text import printable

_FACTS = (
    "participant_id",
    "om_model",
    "topics",
    "subtopic",
    "attitude",
    "demographics",
    "diagnosis_groups",
    "computed_scores",
)
_LABELS = ("pre_panas", "post_panas", "wide")
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Facts:
    """The study over the conversations of which facts are there, with these facts; and what is to be said about them.

    `warnings` concern the scores (other labels), `notes` who is left out and which facts were taken.
    """

    study: ScoreTable
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[GroundTruthEntry, ...]:
        """One for each conversation of the study, in its order."""
        return tuple(self.study.ground_truth[conversation] for conversation in self.study.ids)


def facts_of(study: ScoreTable, given: Sequence[GroundTruthEntry] | None = None, *, folder: str = "") -> Facts:
    """The facts that the scores hold, or those `given` (of the conversations in `folder`) in their place.

    Facts that are given take the place of all that the scores hold, so that a corrected profile counts; a scored
    conversation that is not among them is left out. UsageError: none are given and the scores hold none, as those of
    an older version. DataError: none of those given was scored.
    """
    scored = study.ground_truth
    if given is None:
        if not scored:
            raise UsageError(
                "These scores keep no facts about the conversations (they are of an older version); give the "
                "conversations with -d DIR, or score the results again with `attune-bench score`."
            )
        return _over(study, scored, "the scores keep no facts about them")
    entries = {entry["conversationId"]: entry for entry in given}
    if not entries.keys() & set(study.ids):
        raise DataError(
            f"None of the {counted(len(entries), 'conversation')} in {folder} was scored; give the folder of those "
            "that were."
        )
    facts = _over(study, entries, f"not in {folder}")
    unscored = [entry["source_file"] for entry in given if entry["conversationId"] not in frozenset(study.ids)]
    notes = [*facts.notes]
    if unscored:
        notes.append(f"{counted(len(unscored), 'conversation')} in {folder} not scored: {_named(unscored)}.")
    warnings, differing = _differences(facts.study, scored, folder)
    return replace(facts, warnings=warnings, notes=(*notes, *differing))


def _over(study: ScoreTable, entries: Mapping[str, GroundTruthEntry], why: str) -> Facts:
    without = [conversation for conversation in study.ids if conversation not in entries]
    known = replace(study, ground_truth=dict(entries))
    known = known.with_conversations([conversation for conversation in study.ids if conversation in entries])
    if not without:
        return Facts(known)
    names = [_file(study, conversation) for conversation in without]
    return Facts(known, notes=(f"{counted(len(without), 'scored conversation')} left out, {why}: {_named(names)}.",))


def _file(study: ScoreTable, conversation: str) -> str:
    """The name under which a conversation is found, as far as the scores know it."""
    truth = study.ground_truth.get(conversation)
    return truth["source_file"] if truth is not None else conversation


def _differences(
    study: ScoreTable, scored: Mapping[str, GroundTruthEntry], folder: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What differs between the facts in use and those that were scored on: (warnings about labels, notes on facts)."""
    relabelled, changed = [], []
    parts: dict[str, None] = {}
    for conversation in study.ids:
        now, then = study.ground_truth[conversation], scored.get(conversation)
        if then is None:
            continue
        if any(now[part] != then[part] for part in _LABELS) or _turns(now) != _turns(then):  # type: ignore[literal-required]
            relabelled.append(now["source_file"])
        other = list(_other_facts(now, then))
        if other:
            changed.append(now["source_file"])
            parts |= dict.fromkeys(other)
    warnings = (
        f"The labels of {counted(len(relabelled), 'conversation')} in {folder} are not those that were scored on: "
        f"{_named(relabelled)}. The scores stand on the labels of then; score the results again.",
    )
    notes = (
        f"What {folder} tells of {counted(len(changed), 'conversation')} is not what the scores hold "
        f"({listed(list(parts), most=6)}), and {folder} counts: {_named(changed)}.",
    )
    return warnings if relabelled else (), notes if changed else ()


def _other_facts(now: GroundTruthEntry, then: GroundTruthEntry) -> Iterable[str]:
    """The names of facts that differ; of those that hold several, the names within."""
    for part in _FACTS:
        one, other = now[part], then[part]  # type: ignore[literal-required]
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from (key for key in (*one, *(k for k in other if k not in one)) if one.get(key) != other.get(key))
        else:
            yield part


def _turns(entry: GroundTruthEntry) -> Any:
    """The labels of the turns. Letters for yes and no stand for other questions in a file of another version."""
    return [
        (turn["turnNumber"], turn["tags"], turn["comparisons"], turn["observed"], turn["preferred"])
        for turn in entry["turns"]
    ]


def _named(names: Sequence[str]) -> str:
    return listed([printable(name, 80) for name in names], most=_NAMED)
