"""Access to data for the released rules: a conversation and a result as `metrics.released` takes them, and its values
as those of a result. Decides nothing that spec 09 decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.coerce import yes_no
from attunebench.constants import (
    BINARY_CATEGORY,
    PANAS_NEGATIVE,
    PANAS_POSITIVE,
    PANAS_SIMILARITY,
    Q3_OPTIONS,
    REPLY_VARIANTS,
)
from attunebench.conversations.schema import Conversation, ConversationWide, Turn
from attunebench.conversations.schema import Panas as ReadPanas
from attunebench.metrics import released
from attunebench.metrics.binary import UNCATEGORISED
from attunebench.metrics.registry import cards_of
from attunebench.metrics.released import Comparison, Confusion, Judgement, Panas, Tags, Values, Wide
from attunebench.results.schema import BINARY_BLOCKS, PredictedPanas, PredictedWide, Result, ResultTurn

_SIMILARITY = {one.lower(): {other.lower(): v for other, v in row.items()} for one, row in PANAS_SIMILARITY.items()}
CATEGORIES = tuple(sorted({*BINARY_CATEGORY.values(), UNCATEGORISED}))
"""Of the binary questions, in the order of pooled counts."""
TURN_METRICS = tuple(card.id for card in cards_of("attunebench").values() if card.level == "turn")
"""What the entry of a turn holds, whatever the rules."""
ACCURACIES = {
    "binary_om": "binary_om_accuracy",
    "binary_hp": "binary_hp_accuracy",
    "binary_om_hp": "binary_om_accuracy_hp",
    "binary_hp_hp": "binary_hp_accuracy_hp",
}
_RATINGS = {"overall_score": "overall", "emotional_appropriateness": "appropriateness", "tone_match": "tone"}
"""A judge's ratings in result files → as spec 09 names them."""
_PARTICIPANT = frozenset(("binary_om_hp", "binary_hp_hp"))
_OFTEN_UNDEFINED = frozenset(
    {
        *("emotion_hit_rate_tagged", "emotion_f1_tagged", "emotion_va_tagged", "emotion_intensity_mae", "kendall_tau"),
        *("draft_judge", "draft_binary_alignment", "neutral_false_alarm", "neutral_turn_share"),
        *(f"response_similarity_{variant}" for variant in REPLY_VARIANTS),
    }
)
"""Metrics of a turn that are None without data; the mean of the others over no turn is 0."""

Counts = NDArray[np.int64]


class TurnLabels(NamedTuple):
    """The labels of one turn."""

    tags: Tags = ()
    judgements: Sequence[Judgement] = ()
    comparisons: Sequence[Comparison] = ()
    texts: Mapping[str, str] = {}


class RuleValues(NamedTuple):
    """What rules make of a result: its metrics, those of its turns by number, its pooled counts (`BINARY_BLOCKS`,
    `CATEGORIES`, 4), which blocks count as measured, and whether every term of the Composite is there."""

    metrics: Values
    turns: Mapping[int, Values]
    pooled: Counts
    measured: frozenset[str]
    complete: bool


def score_released(conversation: Conversation, result: Result) -> RuleValues:
    """All values of a result by the released rules, over the turns that both files have."""
    given = {turn.number: turn for turn in result.turns}
    pairs = [(_turn_labels(turn), given[turn.number]) for turn in conversation.turns if turn.number in given]
    counts = [_counts(*pair) for pair in pairs]
    turns = [_turn_values(*pair, counted) for pair, counted in zip(pairs, counts, strict=True)]
    pooled = sum(counts, _counts(TurnLabels(), ResultTurn(0)))
    observer, participant = (Confusion(*_total(pooled, block)) for block in ("binary_hp", "binary_hp_hp"))
    truth, predicted = _wide(conversation.wide), _wide(result.wide)
    metrics: Values = {
        **_means(turns),
        **released.panas(_panas(conversation.pre_panas), _panas(conversation.post_panas), _panas(result.panas)),
        **released.questions(truth, predicted, Q3_OPTIONS),
        **released.four_branch(truth.branches, predicted.branches),
    }
    accuracy, accuracy_hp = (metrics[name] or 0.0 for name in ("binary_hp_accuracy", "binary_hp_accuracy_hp"))
    follow_up = metrics["q3_follow_up"] or 0.0
    metrics |= {  # ours that follow from theirs: a difference, and the follow-up by what its truth is
        "perspective_gap": (metrics["binary_om_accuracy"] or 0.0) - accuracy,
        "q3_follow_up_asked": follow_up if truth.follow_up else None,
        "q3_follow_up_false_alarm": None if truth.follow_up else 1 - follow_up,
    }
    metrics |= released.perspective(observer, participant, accuracy, accuracy_hp)
    metrics |= released.composite(metrics)
    shown = {
        answers.number: {name: values.get(name) for name in TURN_METRICS}
        for (_, answers), values in zip(pairs, turns, strict=True)
    }
    return RuleValues(metrics, shown, pooled, frozenset(BINARY_BLOCKS), complete=True)


def _turn_values(labels: TurnLabels, answers: ResultTurn, counts: Counts) -> Values:
    predicted = [(tag.emotion, tag.intensity) for tag in (*(answers.tags or ()), *answers.unknown_tags)]
    winners = [comparison.winner for comparison in labels.comparisons]
    selected = [answers.pairwise.get(str(index)) for index in range(len(winners))]
    won = released.wins(labels.comparisons, winners)
    emotions = released.emotions(labels.tags, predicted, _SIMILARITY)
    values: Values = {
        **emotions,
        "emotion_f1_tagged": emotions["emotion_f1"] if labels.tags else None,
        "emotion_va_tagged": emotions["emotion_va"] if labels.tags else None,
        "neutral_false_alarm": None if labels.tags else float(bool(predicted)),
        "neutral_turn_share": float(not labels.tags),
        "pairwise_accuracy": released.pairwise_accuracy(labels.comparisons, answers.pairwise),
        "kendall_tau": released.kendall_tau(won, released.wins(labels.comparisons, selected)),
        "draft_judge": released.draft_judge(
            {_RATINGS.get(name, name): rating for name, rating in answers.first_ratings.items()}
        ),
        "draft_binary_alignment": released.draft_binary_alignment(
            _truth("binary_hp", labels.judgements), answers.first_assessment
        ),
        **released.response_similarity(answers.draft, labels.texts, won),
    }
    for block, metric_id in ACCURACIES.items():
        values[metric_id] = released.accuracy(
            Confusion(*_total(counts, block)), judged=bool(labels.judgements), participant=block in _PARTICIPANT
        )
    return values


def _truth(block: str, judgements: Iterable[Judgement]) -> dict[str, str]:
    truths = {one.question: one.om if block.startswith("binary_om") else one.hp for one in judgements}
    return {question: truth for question, truth in truths.items() if truth in ("yes", "no")}


def _counts(labels: TurnLabels, answers: ResultTurn) -> Counts:
    """Counts of a turn: (blocks, categories, 4)."""
    counts = np.zeros((len(BINARY_BLOCKS), len(CATEGORIES), 4), dtype=np.int64)
    for row, block in enumerate(BINARY_BLOCKS):
        asked = defaultdict[str, dict[str, str]](dict)
        for question, truth in _truth(block, labels.judgements).items():
            asked[BINARY_CATEGORY.get(question, UNCATEGORISED)][question] = truth
        for category, truths in asked.items():
            counts[row, CATEGORIES.index(category)] = released.confusion(truths, getattr(answers, block))
    return counts


def _total(counts: Counts, block: str) -> list[int]:
    total: list[int] = counts[BINARY_BLOCKS.index(block)].sum(axis=0).tolist()
    return total


def _means(turns: list[Values]) -> Values:
    nothing = TurnLabels(), ResultTurn(0)
    names = turns[0] if turns else _turn_values(*nothing, _counts(*nothing))
    means: Values = {}
    for name in names:
        defined = [value for turn in turns if (value := turn[name]) is not None]
        empty = None if name in _OFTEN_UNDEFINED else 0.0
        means[name] = sum(defined) / len(defined) if defined else empty
    return means


def _turn_labels(turn: Turn) -> TurnLabels:
    return TurnLabels(
        tags=tuple((tag.emotion, tag.intensity) for tag in (*(turn.tags or ()), *turn.repeated_tags)),
        judgements=tuple(
            Judgement(one.question_id, one.observed, yes_no((one.model_extra or {}).get("llmValue")), one.preferred)
            for one in turn.judgements
        ),
        comparisons=tuple(Comparison(one.a, one.b, one.winner) for one in turn.comparisons),
        texts={variant: text for variant, text in turn.variants.items() if text and text.strip()},
    )


def _panas(state: ReadPanas | PredictedPanas) -> Panas:
    sides = (
        {item.lower(): state.items[item.lower()] for item in side if item.lower() in state.items}
        for side in (PANAS_POSITIVE, PANAS_NEGATIVE)
    )
    return Panas(state.stated, *sides)


def _wide(wide: ConversationWide | PredictedWide) -> Wide:
    return Wide(wide.q1 or (), wide.q2 or "", wide.q3 or "", wide.follow_up or (), wide.four_branch)
