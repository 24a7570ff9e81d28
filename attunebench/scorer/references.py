"""Scores to hold models against, made from the labels alone: what is achievable without reading the conversation.

`base-rate` answers each conversation with what would have scored best over all *other* conversations, item by item;
`always-empty-tags` says of every turn that nothing was felt. Both answer in the shape of results and are scored as
models are. Knows no model and no file.

Every credit is a whole number, so that "all minus its own" is exact: a conversation's labels cannot tip a tie in what
is predicted for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from attunebench.constants import (
    BRANCHES,
    FOLLOW_UP_OPTIONS,
    PAIRWISE_QUESTION_TEXT,
    PANAS_ITEMS,
    PANAS_SIMILARITY,
    Q1_OPTIONS,
    Q2_OPTIONS,
    Q3_OPTIONS,
)
from attunebench.metrics import emotion, questions
from attunebench.metrics.pairwise import VARIANTS
from attunebench.metrics.registry import cards_of
from attunebench.results.schema import (
    TURN_BLOCKS,
    WIDE_BLOCKS,
    PredictedPanas,
    PredictedTag,
    PredictedWide,
    Result,
    ResultTurn,
)
from attunebench.scorer.answers import RATES
from attunebench.scorer.conversation import score_prepared
from attunebench.scorer.groups import Resampling, columns_of, numbers_of
from attunebench.scorer.truth import QUESTIONS, Ground
from attunebench.scores.schema import BASE_RATE, EMPTY_TAGS, GroundTruthEntry, Reference, TurnTruth

T = TypeVar("T")
Credits = NDArray[np.int64]
"""(conversations, items, candidates): what each candidate answer earns in a conversation, in whole units."""
Choices = NDArray[np.intp]
"""(conversations, items): the chosen candidate, −1 where no other conversation says anything."""

_UNITS = 10**9
_PAIRS = tuple(combinations(VARIANTS, 2))
_PAIRWISE = tuple(PAIRWISE_QUESTION_TEXT)
_ITEMS = tuple(item.lower() for item in PANAS_ITEMS)
_TAG_SETS = tuple(emotion.as_tags((item, None) for item in items) for items in ((), *zip(PANAS_ITEMS, strict=True)))
_GOAL_SETS = tuple(goals for size in range(len(Q1_OPTIONS) + 1) for goals in combinations(Q1_OPTIONS, size))
_FOLLOW_UPS: tuple[tuple[str, ...], ...] = ((), *((option,) for option in FOLLOW_UP_OPTIONS))
_OF_THE_DATA = {"neutral_turn_share"}
_OF_TAGS = {*(card.id for card in emotion.CARDS), "emotion_tracking"} - _OF_THE_DATA

_MEANINGS = {
    BASE_RATE: (
        "Base rate",
        "Answers every item with what would have scored best over the other conversations, whoever is talking: the "
        "more frequent yes or no, winner and option, the median rating, the best set of goals, one emotion or none. "
        "Other conversations of the same person are among them. It is the score achievable without reading the "
        "conversation. On few conversations it can fall below chance, since leaving one out tips an even split "
        "against it.",
    ),
    EMPTY_TAGS: (
        "Always no emotion",
        "Says of every turn that the person felt nothing: how much of the emotion scores comes from neutral turns.",
    ),
}


def references(ground: Ground, resampling: Resampling) -> list[Reference]:
    """The references of a ground truth, with intervals from the same resamples as those of models.

    The base rate needs two conversations; the list is empty without any.
    """
    found, facts = [], ground.entries
    cards = cards_of(resampling.rules)
    if len(facts) > 1:
        without = {*RATES, *_OF_THE_DATA}
        metrics = [name for name, card in cards.items() if name not in without and card.group != "draft"]
        found.append(_reference(BASE_RATE, base_rate_results(facts), ground, metrics, resampling))
    if facts:
        metrics = [metric_id for metric_id in cards if metric_id in _OF_TAGS]
        found.append(_reference(EMPTY_TAGS, empty_tag_results(facts), ground, metrics, resampling))
    return found


def empty_tag_results(facts: Iterable[GroundTruthEntry]) -> list[Result]:
    """A result for each conversation that says nothing but that no emotion was felt in any turn."""
    return [
        _result(
            fact,
            EMPTY_TAGS,
            turns=tuple(ResultTurn(turn["turnNumber"], tags=()) for turn in fact["turns"]),
            measured=frozenset(["tags"]),
        )
        for fact in facts
    ]


def base_rate_results(facts: Sequence[GroundTruthEntry]) -> list[Result]:
    """A result for each conversation, made of the labels of all others; what no other one tells is not answered."""
    observed = _likely_answers([[turn["observed"] for turn in fact["turns"]] for fact in facts])
    preferred = _likely_answers([[turn["preferred"] for turn in fact["turns"]] for fact in facts])
    winners = _likely_winners(facts)
    tags = _likely_tags(facts)
    panas, wide = _likely_panas(facts), _likely_wide(facts)
    measured = frozenset({*TURN_BLOCKS, *WIDE_BLOCKS} - {"draft"})
    made = []
    for row, fact in enumerate(facts):
        turns = tuple(
            ResultTurn(
                turn["turnNumber"],
                tags=tags[row],
                binary_om=observed[row],
                binary_hp=preferred[row],
                binary_om_hp=observed[row],
                binary_hp_hp=preferred[row],
                pairwise=_letters(turn, winners[row]),
            )
            for turn in fact["turns"]
        )
        made.append(_result(fact, BASE_RATE, turns=turns, measured=measured, panas=panas[row], wide=wide[row]))
    return made


def _result(fact: GroundTruthEntry, name: str, **answers: Any) -> Result:
    return Result(fact["conversationId"], provider="reference", em_model=name, mode="default", **answers)


def _reference(
    name: str, results: Sequence[Result], ground: Ground, metrics: Sequence[str], resampling: Resampling
) -> Reference:
    entries = [score_prepared(ground.truths[result.conversation_id], result) for result in results]
    shown = [metric_id for metric_id in metrics if any(entry["metrics"][metric_id] is not None for entry in entries)]
    units = [(entry["conversationId"], entry["participant_id"]) for entry in entries]
    aggregates = resampling.estimate(columns_of(units, [*map(numbers_of, entries)], resampling))
    label, meaning = _MEANINGS[name]
    return {
        "id": name,
        "label": label,
        "meaning": meaning,
        "n_conversations": len(entries),
        "metrics": {metric_id: aggregates[metric_id] for metric_id in shown},
        "conversations": [
            {
                "conversationId": entry["conversationId"],
                "metrics": {metric_id: entry["metrics"][metric_id] for metric_id in shown},
            }
            for entry in entries
        ],
    }


def best_of_others(credit: Credits, given: NDArray[np.int64], general: Credits | None = None) -> Choices:
    """For each conversation and item the candidate with the highest credit over all other conversations.

    `given` (conversations, items) counts the labels behind the credit. Ties go to `general`, credit for items as a
    whole, then to the earlier candidate.
    """
    others = credit.sum(axis=0) - credit
    best = others == others.max(axis=-1, keepdims=True)
    unknown = given.sum(axis=0) == given
    if general is not None:
        whole = general.sum(axis=0) - general
        best = np.where(best, whole, np.iinfo(np.int64).min)
        unknown &= ~whole.any(axis=-1)
    return np.where(unknown, -1, best.argmax(axis=-1))


def _likely_answers(letters: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Per conversation: question → the more frequent answer; a question that nobody else has goes by all questions."""
    credit = np.zeros((len(letters), len(QUESTIONS), 2), dtype=np.int64)
    for row, turns in enumerate(letters):
        told = np.frombuffer("".join(turns).encode(), dtype=np.uint8).reshape(len(turns), len(QUESTIONS))
        credit[row] = np.stack([(told == ord(letter)).sum(axis=0) for letter in "yn"], axis=-1)
    chosen = best_of_others(credit, credit.sum(axis=-1), credit.sum(axis=1, keepdims=True))
    return [
        {question: ("yes", "no")[which] for question, which in zip(QUESTIONS, row, strict=True) if which >= 0}
        for row in chosen.tolist()
    ]


def _likely_winners(facts: Sequence[GroundTruthEntry]) -> list[dict[tuple[str, str, str], str]]:
    """Per conversation: (question, two variants) → the one that won more often; a new question goes by the variants."""
    credit = np.zeros((len(facts), len(_PAIRWISE), len(_PAIRS), 2), dtype=np.int64)
    for row, fact in enumerate(facts):
        for question, a, b, winner in (comparison for turn in fact["turns"] for comparison in turn["comparisons"]):
            if winner is not None:
                pair = _pair(a, b)
                won = pair.index(a if winner == "A" else b)
                credit[row, _PAIRWISE.index(str(question)), _PAIRS.index(pair), won] += 1
    chosen = best_of_others(credit, credit.sum(axis=-1), credit.sum(axis=1, keepdims=True))
    return [
        {
            (question, *pair): pair[row[q][p]]
            for q, question in enumerate(_PAIRWISE)
            for p, pair in enumerate(_PAIRS)
            if row[q][p] >= 0
        }
        for row in chosen.tolist()
    ]


def _pair(a: str | None, b: str | None) -> tuple[str, str]:
    """Two variants in the order of the three."""
    first, second = sorted((str(a), str(b)), key=VARIANTS.index)
    return first, second


def _letters(turn: TurnTruth, winners: Mapping[tuple[str, str, str], str]) -> dict[str, str]:
    letters = {}
    for index, (question, a, b, _winner) in enumerate(turn["comparisons"]):
        likely = winners.get((str(question), *_pair(a, b)))
        if likely is not None:
            letters[str(index)] = "A" if likely == a else "B"
    return letters


def _likely_tags(facts: Sequence[GroundTruthEntry]) -> list[tuple[PredictedTag, ...] | None]:
    """Per conversation nothing or one emotion at its median strength, whichever tracks best (mean of F1 and VA)."""
    told = [[turn["tags"] for turn in fact["turns"] if turn["tags"] is not None] for fact in facts]
    credit, given = _credit(told, _TAG_SETS, _tracking)
    strengths: Credits = np.zeros((len(facts), len(PANAS_ITEMS), 7), dtype=np.int64)
    for row, turns in enumerate(told):
        for name, strength in (tag for tags in turns for tag in tags.items()):
            if strength is not None:
                strengths[row, PANAS_ITEMS.index(name)] -= _distances(strength, 1, 7)
    typical = best_of_others(strengths, np.abs(strengths).sum(axis=-1), strengths.sum(axis=1, keepdims=True))
    found: list[tuple[PredictedTag, ...] | None] = []
    for row, which in enumerate(best_of_others(credit, given)[:, 0].tolist()):
        if which <= 0:
            found.append(None if which < 0 else ())
        else:
            strength = int(typical[row, which - 1])
            found.append((PredictedTag(PANAS_ITEMS[which - 1], None if strength < 0 else float(strength + 1)),))
    return found


def _tracking(turns: Sequence[emotion.Tags], predicted: emotion.Tags) -> float | None:
    values = [
        (emotion.emotion_f1(tags, predicted), emotion.emotion_va(tags, predicted, PANAS_SIMILARITY)) for tags in turns
    ]
    return sum((f1 or 0) + (va or 0) for f1, va in values) / 2 / len(values) if values else None


def _likely_panas(facts: Sequence[GroundTruthEntry]) -> list[PredictedPanas]:
    """Median ratings after the talk; totals count only where items are not told (items beat totals)."""
    items = _typical([fact["post_panas"]["items"] for fact in facts], _ITEMS, 1, 7)
    sides = [{"positive": fact["post_panas"]["positive"], "negative": fact["post_panas"]["negative"]} for fact in facts]
    totals = _typical(sides, ("positive", "negative"), 10, 70)
    return [
        PredictedPanas(rated, side.get("positive"), side.get("negative"))
        for rated, side in zip(items, totals, strict=True)
    ]


def _likely_wide(facts: Sequence[GroundTruthEntry]) -> list[PredictedWide]:
    wide = [fact["wide"] for fact in facts]
    answers = zip(
        _best([answer["q1"] for answer in wide], _GOAL_SETS, questions.q1_goals),
        _best([answer["q2"] for answer in wide], Q2_OPTIONS, questions.same_option),
        _best([answer["q3"] for answer in wide], Q3_OPTIONS, questions.same_option),
        _best([answer["follow_up"] for answer in wide], _FOLLOW_UPS, questions.q3_follow_up),
        _typical([answer["four_branch"] for answer in wide], BRANCHES, 1, 7),
        strict=True,
    )
    return [PredictedWide(*answer) for answer in answers]


def _best(truths: Sequence[Any], candidates: Sequence[T], metric: Callable[[Any, Any], float | None]) -> list[T | None]:
    """Per conversation the candidate by which the others' answers score best; None where no other has one."""
    chosen = best_of_others(*_credit(truths, candidates, metric))[:, 0].tolist()
    return [None if which < 0 else candidates[which] for which in chosen]


def _credit(
    truths: Sequence[Any], candidates: Sequence[Any], metric: Callable[[Any, Any], float | None]
) -> tuple[Credits, NDArray[np.int64]]:
    """What each candidate earns as the one item of a conversation, and whether there is truth for it at all."""
    known: dict[str, list[int] | None] = {}
    credit = np.zeros((len(truths), 1, len(candidates)), dtype=np.int64)
    given = np.zeros((len(truths), 1), dtype=np.int64)
    for row, truth in enumerate(truths):
        key = repr(truth)
        if key not in known:
            values = [metric(truth, candidate) for candidate in candidates]
            known[key] = None if None in values else [round(_UNITS * (value or 0)) for value in values]
        if (earned := known[key]) is not None:
            credit[row, 0], given[row, 0] = earned, 1
    return credit, given


def _typical(rated: Sequence[Mapping[str, float | None]], names: Sequence[str], low: int, high: int) -> list[Any]:
    """Per conversation: name → the whole number nearest to all others' ratings, their median; unrated names are out."""
    credit = np.zeros((len(rated), len(names), high - low + 1), dtype=np.int64)
    given = np.zeros((len(rated), len(names)), dtype=np.int64)
    for row, ratings in enumerate(rated):
        for column, name in enumerate(names):
            if (rating := ratings.get(name)) is not None:
                credit[row, column], given[row, column] = -_distances(rating, low, high), 1
    return [
        {name: float(low + which) for name, which in zip(names, row, strict=True) if which >= 0}
        for row in best_of_others(credit, given).tolist()
    ]


def _distances(rating: float, low: int, high: int) -> NDArray[np.int64]:
    """Of a rating from each whole number of its scale, in thousandths."""
    distances: NDArray[np.int64] = np.abs(np.arange(low, high + 1) * 1000 - round(1000 * rating))
    return distances
