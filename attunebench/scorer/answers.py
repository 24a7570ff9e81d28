"""What a model said and what a person labelled, in the compact form of `scores.json`: analyses need no other file.

Copies and abbreviates; judges nothing. No words of a talk, a draft or a reason are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

from attunebench.coerce import MOST, amount, in_range, text
from attunebench.constants import BINARY_CATEGORY
from attunebench.conversations.groups import diagnosis_groups
from attunebench.conversations.schema import Conversation, ConversationWide, Panas, Turn
from attunebench.metrics.emotion import as_tags
from attunebench.results.schema import BINARY_BLOCKS, PredictedPanas, PredictedWide, Result, ResultTurn
from attunebench.scores import (
    ConversationAnswers,
    GroundTruthEntry,
    PanasState,
    TurnAnswers,
    TurnTruth,
    WideAnswers,
)

QUESTIONS = tuple(BINARY_CATEGORY)
"""The binary questions in the order of the strings of letters."""
_LETTERS = {"yes": "y", "no": "n"}
_NO_ANSWER, _NO_TRUTH = "-", "."
_USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one result, and what they took; `turns`: turn number → answers, those of the file alone."""

    turns: Mapping[int, TurnAnswers]
    whole: ConversationAnswers
    usage: dict[str, float]
    api_cost: float | None
    duration_seconds: float | None


def answers_of(result: Result, comparisons: Mapping[int, int]) -> Answers:
    """The answers of a result; `comparisons`: turn number → how many comparisons the turn has."""
    given = {turn.number: turn for turn in result.turns}
    return Answers(
        turns={
            number: _turn_answers(given.get(number) or ResultTurn(number), result.measured, count)
            for number, count in comparisons.items()
        },
        whole={
            "post_panas": _panas(result.panas) if "panas" in result.measured else None,
            "wide": _wide(result.wide) if "wide" in result.measured else None,
        },
        usage={name: known for name in _USAGE if (known := amount(result.usage.get(name))) is not None},
        api_cost=result.api_cost,
        duration_seconds=result.duration_seconds,
    )


def truth_entry(conversation: Conversation) -> GroundTruthEntry:
    """A conversation's labels and what is known of its participant."""
    metadata, profile = conversation.metadata, conversation.profile
    category = metadata.get("category")
    categories = category if isinstance(category, (list, tuple)) else (category,)
    told = profile.demographics.model_dump(exclude_none=True, mode="json") if profile else {}
    return {
        "conversationId": conversation.conversation_id,
        "source_file": conversation.source_file.replace("\\", "/").rsplit("/", 1)[-1],
        "participant_id": conversation.participant_id,
        "om_model": text(metadata.get("model")),
        "topics": [topic for raw in categories if (topic := text(raw))],
        "subtopic": text(metadata.get("subtopic")),
        "attitude": profile.conversation_topic_attitude if profile else None,
        "demographics": {key: value for key, value in told.items() if value != [] and _is_told(value)},
        "diagnosis_groups": list(diagnosis_groups(profile.demographics.diagnoses)) if profile else [],
        "computed_scores": dict(profile.computed_scores) if profile else {},
        "pre_panas": _panas(conversation.pre_panas),
        "post_panas": _panas(conversation.post_panas),
        "wide": _wide(conversation.wide),
        "turns": [_turn_truth(turn) for turn in conversation.turns],
    }


def _turn_answers(turn: ResultTurn, measured: frozenset[str], comparisons: int) -> TurnAnswers:
    answers: TurnAnswers = {}
    if "tags" in measured:
        answers["tags"] = None if turn.tags is None else as_tags((tag.emotion, tag.intensity) for tag in turn.tags)
    for name in BINARY_BLOCKS:
        if name in measured:
            answers[name] = _letters(getattr(turn, name), _NO_ANSWER)  # type: ignore[literal-required]
    if "pairwise" in measured:
        answers["pairwise"] = "".join(map(turn.pairwise.get, _indices(comparisons), repeat(_NO_ANSWER)))
    return answers


def _turn_truth(turn: Turn) -> TurnTruth:
    observed = {judgement.question_id: judgement.observed or "" for judgement in turn.judgements}
    preferred = {judgement.question_id: judgement.preferred or "" for judgement in turn.judgements}
    return {
        "turnNumber": turn.number,
        "tags": None if turn.tags is None else as_tags((tag.emotion, tag.intensity) for tag in turn.tags),
        "observed": _letters(observed, _NO_TRUTH),
        "preferred": _letters(preferred, _NO_TRUTH),
        "comparisons": [[c.question_id, c.a, c.b, c.winner] for c in turn.comparisons],
    }


@lru_cache(maxsize=64)
def _indices(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def _letters(given: Mapping[str, str], otherwise: str) -> str:
    return "".join(map(_LETTERS.get, map(given.get, QUESTIONS), repeat(otherwise)))  # type: ignore[arg-type]


def _panas(state: Panas | PredictedPanas) -> PanasState:
    return {"positive": state.positive, "negative": state.negative, "items": dict(state.items)}


def _wide(wide: ConversationWide | PredictedWide) -> WideAnswers:
    return {
        "q1": None if wide.q1 is None else list(wide.q1),
        "q2": wide.q2,
        "q3": wide.q3,
        "follow_up": None if wide.follow_up is None else list(wide.follow_up),
        "four_branch": dict(wide.four_branch),
    }


def _is_told(value: Any) -> bool:
    """Whether a value is of those by which conversations can be chosen: texts and numbers, no objects."""
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return isinstance(value, str) or in_range(value, -MOST, MOST) is not None
