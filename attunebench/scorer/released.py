"""Access to data for the released rules: a conversation and a result as `metrics.released` takes them, and its values
as those of a result. Decides nothing that spec 09 decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

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
from attunebench.metrics import binary, released
from attunebench.metrics.binary import UNCATEGORISED
from attunebench.metrics.registry import cards_of
from attunebench.metrics.released import Comparison, Confusion, Judgement, Panas, Tags, Values, Wide
from attunebench.results.schema import BINARY_BLOCKS, PredictedPanas, PredictedWide, Result, ResultTurn

_SIMILARITY = {one.lower(): {other.lower(): v for other, v in row.items()} for one, row in PANAS_SIMILARITY.items()}
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

Counts = dict[str, Confusion]
"""Category → counts of the yes/no answers to its questions."""


@dataclass(frozen=True, slots=True)
class TurnLabels:
    """The labels of one turn."""

    tags: Tags
    judgements: tuple[Judgement, ...]
    comparisons: tuple[Comparison, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one conversation; `turns`: number → labels, in their order."""

    turns: Mapping[int, TurnLabels]
    pre: Panas
    post: Panas
    wide: Wide


class Scored(NamedTuple):
    """What rules make of a result: its metrics, those of its turns by number, its pooled counts by block and category
    (None for a block that was not measured), and whether every term of the Composite is there."""

    metrics: Values
    turns: Mapping[int, Values]
    pooled: Mapping[str, Mapping[str, binary.Confusion] | None]
    complete: bool


def labels_of(conversation: Conversation) -> Labels:
    """The labels of a conversation, made once for all its results."""
    return Labels(
        turns={turn.number: _turn_labels(turn) for turn in conversation.turns},
        pre=_panas(conversation.pre_panas),
        post=_panas(conversation.post_panas),
        wide=_wide(conversation.wide),
    )


def score_released(labels: Labels, result: Result) -> Scored:
    """All values of a result by the released rules, over the turns that both files have."""
    given = {turn.number: turn for turn in result.turns}
    pairs = {number: (turn, given[number]) for number, turn in labels.turns.items() if number in given}
    counted = [_confusions(*pair) for pair in pairs.values()]
    turns = {n: _turn_values(*pair, counts) for (n, pair), counts in zip(pairs.items(), counted, strict=True)}
    pooled = {block: _summed([counts[block] for counts in counted]) for block in BINARY_BLOCKS}
    observer, participant = (released.total(pooled[block].values()) for block in ("binary_hp", "binary_hp_hp"))
    predicted = _wide(result.wide)
    metrics: Values = {
        **_means(list(turns.values())),
        **released.panas(labels.pre, labels.post, _panas(result.panas)),
        **released.questions(labels.wide, predicted, Q3_OPTIONS),
        **released.four_branch(labels.wide.branches, predicted.branches),
    }
    metrics.update(_of_ours(metrics, labels.wide))
    metrics.update(
        released.perspective(
            observer, participant, metrics["binary_hp_accuracy"] or 0.0, metrics["binary_hp_accuracy_hp"] or 0.0
        )
    )
    metrics.update(released.composite(metrics))
    kept = {block: {name: binary.Confusion(*one) for name, one in found.items()} for block, found in pooled.items()}
    shown = {number: {name: values.get(name) for name in TURN_METRICS} for number, values in turns.items()}
    return Scored(metrics, shown, kept, complete=True)


def _turn_values(labels: TurnLabels, answers: ResultTurn, counts: Mapping[str, Counts]) -> Values:
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
            _truth("binary_hp", labels), answers.first_assessment
        ),
        **released.response_similarity(answers.draft, labels.texts, won),
    }
    for block, metric_id in ACCURACIES.items():
        values[metric_id] = released.accuracy(
            released.total(counts[block].values()), judged=bool(labels.judgements), participant=block in _PARTICIPANT
        )
    return values


def _truth(block: str, labels: TurnLabels) -> dict[str, str]:
    truths = {one.question: one.om if block.startswith("binary_om") else one.hp for one in labels.judgements}
    return {question: truth for question, truth in truths.items() if truth in ("yes", "no")}


def _confusions(labels: TurnLabels, answers: ResultTurn) -> dict[str, Counts]:
    """Block → category → counts of a turn."""
    found: dict[str, Counts] = {}
    for block in BINARY_BLOCKS:
        by_category: dict[str, dict[str, str]] = {}
        for question, truth in _truth(block, labels).items():
            by_category.setdefault(BINARY_CATEGORY.get(question, UNCATEGORISED), {})[question] = truth
        predicted = getattr(answers, block)
        found[block] = {category: released.confusion(truth, predicted) for category, truth in by_category.items()}
    return found


def _summed(turns: list[Counts]) -> Counts:
    names = sorted({name for counts in turns for name in counts})
    return {name: released.total(counts[name] for counts in turns if name in counts) for name in names}


def _means(turns: list[Values]) -> Values:
    nothing = TurnLabels((), (), (), {}), ResultTurn(0)
    names = turns[0] if turns else _turn_values(*nothing, _confusions(*nothing))
    means: Values = {}
    for name in names:
        defined = [value for turn in turns if (value := turn[name]) is not None]
        empty = None if name in _OFTEN_UNDEFINED else 0.0
        means[name] = sum(defined) / len(defined) if defined else empty
    return means


def _of_ours(metrics: Values, truth: Wide) -> Values:
    """Our quantities that follow from released ones: a difference, and the follow-up by what its truth is."""
    follow_up = metrics["q3_follow_up"] or 0.0
    return {
        "perspective_gap": (metrics["binary_om_accuracy"] or 0.0) - (metrics["binary_hp_accuracy"] or 0.0),
        "q3_follow_up_asked": follow_up if truth.follow_up else None,
        "q3_follow_up_false_alarm": None if truth.follow_up else 1 - follow_up,
    }


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
