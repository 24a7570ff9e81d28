"""The three pillars and the Composite of one conversation, from its canonical metrics.

Works on values by metric id and nothing else; a value that is None or missing is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from attunebench.metrics.card import PUBLIC_CODE, CardMaker, Metric
from attunebench.metrics.means import mean_defined, weighted_mean

PILLAR_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"emotion_tracking": 0.24, "evaluation_quality": 0.49, "holistic_comprehension": 0.27}
)
QUESTIONS = ("q1_goals", "q2_clarity", "q3_fit", "q3_follow_up")

Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Composite:
    """The Composite and its parts by metric id; `complete` is False where a term had to be left out."""

    values: dict[str, float | None]
    complete: bool


def panas_term(adjusted: float | None, *, nothing_moved: bool) -> float | None:
    """P, in [0, 1]: (panas_baseline_adjusted + 1)/2, or 0.5 where it is undefined because no known side moved."""
    if adjusted is not None:
        return (adjusted + 1) / 2
    return 0.5 if nothing_moved else None


def composite(values: Values, *, nothing_moved: bool) -> Composite:
    """The pillars (0–1), the Composite (0–100) and the two group averages (0–1) of a conversation. Source: spec 4.3.

    `nothing_moved`: PANAS was asked, and every side that is known before and after is the same. A term without a
    defined member is left out of its pillar, whose remaining weights are rescaled to 1, and `complete` is False; a
    pillar without any term makes the Composite None.
    """
    tracking = mean_defined([values.get("emotion_f1"), values.get("emotion_va")])
    binary = mean_defined([values.get("binary_om_accuracy"), values.get("binary_hp_accuracy")])
    pairwise = values.get("pairwise_accuracy")
    mood = panas_term(values.get("panas_baseline_adjusted"), nothing_moved=nothing_moved)
    questions = mean_defined([values.get(question) for question in QUESTIONS])
    branches = values.get("four_branch")
    pillars: dict[str, float | None] = {
        "emotion_tracking": tracking,
        "evaluation_quality": weighted_mean([(0.5, binary), (0.5, pairwise)]),
        "holistic_comprehension": weighted_mean([(0.4, mood), (0.3, questions), (0.3, branches)]),
    }
    whole = None
    if None not in pillars.values():
        whole = weighted_mean([(weight, pillars[pillar]) for pillar, weight in PILLAR_WEIGHTS.items()])
    averages = {
        "composite": None if whole is None else 100 * whole,
        "turn_level_average": mean_defined([tracking, binary, pairwise]),
        "conversation_wide_average": mean_defined([mood, questions, branches]),
    }
    complete = None not in (tracking, binary, pairwise, mood, questions, branches)
    return Composite({**pillars, **averages}, complete)


CARDS: list[Metric] = []
_canonical = CardMaker(CARDS, status="canonical", group="pillar", level="conversation")
_diagnostic = CardMaker(CARDS, status="diagnostic", group="diagnostic", level="conversation", source=PUBLIC_CODE)

_canonical(
    "composite",
    "Composite",
    "Overall score of a model; 100 is full agreement with the person.",
    "100 · (0.24·emotion_tracking + 0.49·evaluation_quality + 0.27·holistic_comprehension); undefined where a "
    "pillar is.",
    high=100.0,
    unit="points",
)
_canonical(
    "emotion_tracking",
    "Emotion tracking",
    "How well the model predicts the person's emotions, turn by turn.",
    "mean(emotion_f1, emotion_va).",
)
_canonical(
    "evaluation_quality",
    "Evaluation quality",
    "How well the model predicts the person's judgement of each reply and which reply they prefer.",
    "0.5·mean(binary_om_accuracy, binary_hp_accuracy) + 0.5·pairwise_accuracy.",
)
_canonical(
    "holistic_comprehension",
    "Holistic comprehension",
    "How well the model predicts the person's mood and answers after the conversation.",
    "0.4·(panas_baseline_adjusted + 1)/2 + 0.3·mean(q1_goals, q2_clarity, q3_fit, q3_follow_up) + "
    "0.3·four_branch; the first term is 0.5 where no known PANAS side changed.",
)
_diagnostic(
    "turn_level_average",
    "Turn-level average",
    "Unweighted mean of the turn-by-turn metrics, as other implementations report it.",
    "mean(emotion_tracking, mean of the two binary accuracies, pairwise_accuracy).",
)
_diagnostic(
    "conversation_wide_average",
    "Conversation-wide average",
    "Unweighted mean of the conversation-wide metrics, as other implementations report it.",
    "mean(P, mean of the four questions, four_branch), P as in holistic_comprehension.",
)
