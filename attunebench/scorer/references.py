"""Scores to hold models against, made from the labels alone: what is achievable without reading the conversation.

`base-rate` answers each conversation with what would have scored best over all *other* conversations, item by item;
`always-empty-tags` says of every turn that nothing was felt. Both answer in the shape of results and are scored as
models are. Knows no model and no file.

Every credit is a whole number, so that "all minus its own" is exact: a conversation's labels cannot tip a tie in what
is predicted for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.constants import (
    BRANCHES,
    FOLLOW_UP_OPTIONS,
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
from attunebench.scorer.groups import ScoreSettings, columns_of
from attunebench.scorer.truth import QUESTIONS, Ground
from attunebench.scores.schema import BASE_RATE, EMPTY_TAGS, GroundTruthEntry, Reference

Item = tuple[Any, ...]
"""What is answered: its kind, and which one of it. For `_BY_KIND`, all items that share all but the last part decide
where the others' labels of this one do not."""

_UNITS = 10**9
_BY_KIND = frozenset(("observed", "preferred", "winner", "strength"))
_YES_NO = ("yes", "no")
_SCALE, _TOTALS = tuple(map(float, range(1, 8))), tuple(map(float, range(10, 71)))
_TAG_SETS = tuple(emotion.as_tags((item, None) for item in items) for items in ((), *zip(PANAS_ITEMS, strict=True)))
_WIDE: Mapping[str, tuple[Sequence[Any], Callable[[Any, Any], float | None]]] = {
    "q1": (
        tuple(goals for size in range(len(Q1_OPTIONS) + 1) for goals in combinations(Q1_OPTIONS, size)),
        questions.q1_goals,
    ),
    "q2": (Q2_OPTIONS, questions.same_option),
    "q3": (Q3_OPTIONS, questions.same_option),
    "follow_up": (((), *((option,) for option in FOLLOW_UP_OPTIONS)), questions.q3_follow_up),
}
"""Question after the conversation → the candidates for its answer, and how they are scored."""
_OF_THE_DATA = {"neutral_turn_share"}
_OF_TAGS = {*(card.id for card in emotion.CARDS), "emotion_tracking"} - _OF_THE_DATA

_MEANINGS = {
    BASE_RATE: (
        "Base rate",
        "Gives every item the answer that scores best over all other conversations, including those of the same "
        "person: the more frequent yes or no, winner and option, the median rating, the best set of goals, one emotion "
        "or none. This is the score achievable without reading the conversation. With few conversations it can fall "
        "below chance, because leaving one out tips an even split against it.",
    ),
    EMPTY_TAGS: (
        "Always no emotion",
        "Predicts no emotion on any turn: the part of the emotion scores that neutral turns contribute.",
    ),
}


def references(ground: Ground, settings: ScoreSettings) -> list[Reference]:
    """The references of a ground truth, with intervals from the same resamples as those of models.

    The base rate needs two conversations; the list is empty without any.
    """
    found, facts = [], ground.entries
    cards = cards_of(settings.rules)
    if len(facts) > 1:
        without = {*RATES, *_OF_THE_DATA}
        metrics = [name for name, card in cards.items() if name not in without and card.group != "draft"]
        found.append(_reference(BASE_RATE, base_rate_results(facts), ground, metrics, settings))
    if facts:
        metrics = [metric_id for metric_id in cards if metric_id in _OF_TAGS]
        found.append(_reference(EMPTY_TAGS, empty_tag_results(facts), ground, metrics, settings))
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
    best = _best_of_others(facts)
    return [_base_rate(fact, {item: places[row] for item, places in best.items()}) for row, fact in enumerate(facts)]


def _base_rate(fact: GroundTruthEntry, best: Mapping[Item, int]) -> Result:
    """`best`: item → place of its best candidate, −1 where the others do not tell."""

    def likely(candidates: Sequence[Any], *item: Any) -> Any:
        place = best.get(item, best.get(item[:-1], -1))
        return None if place < 0 else candidates[place]

    def answers(candidates: Sequence[Any], kind: str, names: Iterable[str]) -> dict[str, Any]:
        found = {name: likely(candidates, kind, name) for name in names}
        return {name: answer for name, answer in found.items() if answer is not None}

    observed, preferred = (answers(_YES_NO, side, QUESTIONS) for side in ("observed", "preferred"))
    tags = likely(_TAG_SETS, "tags")
    turns = tuple(
        ResultTurn(
            turn["turnNumber"],
            tags=None if tags is None else tuple(PredictedTag(n, likely(_SCALE, "strength", n)) for n in tags),
            binary_om=observed,
            binary_hp=preferred,
            binary_om_hp=observed,
            binary_hp_hp=preferred,
            pairwise={
                str(index): "A" if winner == a else "B"
                for index, (question, a, b, _) in enumerate(turn["comparisons"])
                if (winner := likely(_pair(a, b), "winner", _pair(a, b), question)) is not None
            },
        )
        for turn in fact["turns"]
    )
    totals = answers(_TOTALS, "total", ("positive", "negative"))  # count only where items are not told
    panas = PredictedPanas(answers(_SCALE, "panas", (item.lower() for item in PANAS_ITEMS)), **totals)
    wide = {name: likely(candidates, name) for name, (candidates, _) in _WIDE.items()}
    return _result(
        fact,
        BASE_RATE,
        turns=turns,
        measured=frozenset({*TURN_BLOCKS, *WIDE_BLOCKS} - {"draft"}),
        panas=panas,
        wide=PredictedWide(**wide, four_branch=answers(_SCALE, "branch", BRANCHES)),
    )


def _result(fact: GroundTruthEntry, name: str, **answers: Any) -> Result:
    return Result(fact["conversationId"], provider="reference", em_model=name, mode="default", **answers)


def _reference(
    name: str, results: Sequence[Result], ground: Ground, metrics: Sequence[str], settings: ScoreSettings
) -> Reference:
    scored = [score_prepared(ground.truths[result.conversation_id], result) for result in results]
    entries = [entry for entry, _ in scored]
    shown = [metric_id for metric_id in metrics if any(entry["metrics"][metric_id] is not None for entry in entries)]
    units = [(entry["conversationId"], entry["participant_id"]) for entry in entries]
    aggregates = settings.estimate(columns_of(units, [row for _, row in scored], settings))
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


def _best_of_others(facts: Sequence[GroundTruthEntry]) -> dict[Item, list[int]]:
    """Item → for each conversation the place of the candidate with the highest credit over all other conversations,
    −1 where none of them tells. Ties go to the earlier candidate."""
    earned: dict[Item, tuple[list[int], list[Sequence[int]]]] = defaultdict(lambda: ([], []))
    for row, fact in enumerate(facts):
        for item, credit in _credits(fact):
            for key in (item, item[:-1]) if item[0] in _BY_KIND else (item,):
                earned[key][0].append(row)
                earned[key][1].append(credit)
    others: dict[Item, NDArray[np.int64]] = {}
    known: dict[Item, NDArray[np.bool_]] = {}
    for item, (rows, credits) in earned.items():
        table = np.zeros((len(facts), len(credits[0])), dtype=np.int64)
        np.add.at(table, rows, np.array(credits, dtype=np.int64))
        told = np.bincount(rows, minlength=len(facts)) > 0
        others[item], known[item] = table.sum(axis=0) - table, told.sum() > told
    found = {}
    for item, credit_of_others in others.items():
        best, is_known = credit_of_others == credit_of_others.max(axis=1, keepdims=True), known[item]
        if item[0] in _BY_KIND and (kind := item[:-1]) in others:
            best = np.where(best, others[kind], np.iinfo(np.int64).min)
            is_known = is_known | known[kind]
        found[item] = np.where(is_known, best.argmax(axis=1), -1).tolist()
    return found


def _credits(fact: GroundTruthEntry) -> Iterator[tuple[Item, Sequence[int]]]:
    """What each candidate for each item that a conversation tells earns there, in whole units: yes and no, the variants
    of a pair, and the numbers of a scale are credited by count or by nearness, all else by its metric."""
    turns, wide, panas = fact["turns"], fact["wide"], fact["post_panas"]
    for side in ("observed", "preferred"):
        columns = zip(*(turn[side] for turn in turns), strict=True)
        for question, letters in zip(QUESTIONS, columns, strict=False):
            if any(counts := (letters.count("y"), letters.count("n"))):
                yield (side, question), counts
    for asked, a, b, winner in (comparison for turn in turns for comparison in turn["comparisons"]):
        if winner is not None:
            pair = _pair(a, b)
            yield ("winner", pair, asked), [variant == (a if winner == "A" else b) for variant in pair]
    tags = [turn["tags"] for turn in turns if turn["tags"] is not None]
    if tags:
        yield ("tags",), [round(_UNITS * _tracking(tags, candidate)) for candidate in _TAG_SETS]
    ratings = [
        *(("strength", *tag, _SCALE) for each in tags for tag in each.items()),
        *(("panas", *rated, _SCALE) for rated in panas["items"].items()),
        *(("branch", *rated, _SCALE) for rated in wide["four_branch"].items()),
        *(("total", side, panas[side], _TOTALS) for side in ("positive", "negative")),
    ]
    for kind, name, rating, scale in ratings:
        if rating is not None:
            yield (kind, name), _nearness(rating, scale)
    for name in _WIDE:
        answer: Any = wide[name]  # type: ignore[literal-required]
        if earned := _wide_credits(name, tuple(answer) if isinstance(answer, list) else answer):
            yield (name,), earned


@lru_cache(maxsize=1024)
def _nearness(rating: float, scale: Sequence[float]) -> list[int]:
    """Of each number of a scale, in thousandths; the nearest to all ratings is their median."""
    return [-abs(round(1000 * number) - round(1000 * rating)) for number in scale]


@lru_cache(maxsize=1024)
def _wide_credits(name: str, truth: Any) -> list[int]:
    candidates, metric = _WIDE[name]
    values = [metric(truth, candidate) for candidate in candidates]
    return [] if None in values else [round(_UNITS * (value or 0)) for value in values]


def _pair(a: str | None, b: str | None) -> tuple[str, ...]:
    """Two variants in the order of the three."""
    return tuple(sorted((str(a), str(b)), key=VARIANTS.index))


def _tracking(turns: Sequence[emotion.Tags], predicted: emotion.Tags) -> float:
    """How well tags track those of a conversation's turns: the mean of F1 and VA."""
    pairs = (
        (emotion.emotion_f1(tags, predicted), emotion.emotion_va(tags, predicted, PANAS_SIMILARITY)) for tags in turns
    )
    return sum((f1 or 0) + (va or 0) for f1, va in pairs) / 2 / len(turns)
