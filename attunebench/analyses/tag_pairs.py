"""Felt tags beside predicted ones: which was matched with which, which were missed, which invented, turn by turn.

The matching is that of Emotion VA: one to one, with the largest total similarity; equal names come first where totals
are equal. Unanswered turns are left out: a broken answer confuses no emotions. (Part of the confusion of emotions.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from attunebench.constants import PANAS_ITEMS, PANAS_SIMILARITY
from attunebench.metrics.matching import best_matching
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

Items = tuple[int, ...]
"""Positions in PANAS_ITEMS, ascending."""

_EQUAL_FIRST = 1e-6
"""Added to the similarity of equal names: under what one step of the rounded similarities makes, over all tags."""
_DEALS = 10


@dataclass(frozen=True)
class TagPairs:
    """Counts per conversation and model: `matched` (conversations, felt, predicted, models), `felt`, `predicted`,
    `missed` and `invented` (conversations, items, models), `dealt` as `matched`. Epochs are averaged.

    `dealt` is what the substitutions would be if the names that were not felt were dealt to other turns. `turns`:
    (model, felt, predicted) → rows of the study's turns. `unanswered` counts turns left out, over models.
    """

    matched: Floats
    felt: Floats
    predicted: Floats
    missed: Floats
    invented: Floats
    dealt: Floats
    turns: Mapping[tuple[int, int, int], Sequence[int]]
    unanswered: int

    @property
    def right(self) -> Floats:
        """How often each item was felt and predicted: (conversations, items, models)."""
        return np.asarray(np.diagonal(self.matched, axis1=1, axis2=2).transpose(0, 2, 1))


def tag_pairs(study: ScoreTable, rng: np.random.Generator) -> TagPairs:
    """Match the tags of all turns that have labels and answers."""
    items = len(PANAS_ITEMS)
    matched, dealt = (np.zeros((len(study.ids), items, items, len(study.groups))) for _ in range(2))
    missed, invented = (np.zeros((len(study.ids), items, len(study.groups))) for _ in range(2))
    turns: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    truths = [None if tags is None else _places(tags) for tags in study.truth_tags()]
    unanswered = 0
    for model, group in enumerate(study.groups):
        answered: list[tuple[int, Items, Items, float]] = []  # conversation, felt, predicted, weight
        for row, (felt, epochs) in enumerate(zip(truths, study.tags(group), strict=True)):
            predictions = [_places(tags) for tags in epochs if tags is not None]
            unanswered += felt is not None and bool(epochs) and not predictions
            for predicted in predictions if felt is not None else ():
                assert felt is not None
                place, weight = study.turns[row].conversation, 1 / len(predictions)
                answered.append((place, felt, predicted, weight))
                pairs = _matching(felt, predicted)
                for i, j in pairs:
                    matched[place, i, j, model] += weight
                    turns[model, i, j].append(row)
                missed[place, _without(felt, [i for i, _ in pairs]), model] += weight
                invented[place, _without(predicted, [j for _, j in pairs]), model] += weight
        _deal(answered, dealt[..., model], rng)
    felt_tags, predicted_tags = matched.sum(axis=2) + missed, matched.sum(axis=1) + invented
    return TagPairs(matched, felt_tags, predicted_tags, missed, invented, dealt, turns, unanswered)


def _deal(answered: Sequence[tuple[int, Items, Items, float]], dealt: Floats, rng: np.random.Generator) -> None:
    """Match felt items that were not named with names that were not felt, of turns drawn at random; mean of deals."""
    spare = [_without(predicted, felt) for _, felt, predicted, _ in answered]
    for _ in range(_DEALS):
        order = rng.permutation(len(answered)).tolist()
        for (place, felt, predicted, weight), other in zip(answered, order, strict=True):
            for i, j in _matching(_without(felt, predicted), spare[other]):
                dealt[place, i, j] += weight / _DEALS


def _places(tags: Iterable[str]) -> Items:
    named = frozenset(tags)
    return tuple(i for i, item in enumerate(PANAS_ITEMS) if item in named)


def _without(items: Items, others: Iterable[int]) -> Items:
    return tuple(item for item in items if item not in others)


@lru_cache(maxsize=100_000)
def _matching(felt: Items, predicted: Items) -> tuple[tuple[int, int], ...]:
    table = [
        [PANAS_SIMILARITY[PANAS_ITEMS[i]][PANAS_ITEMS[j]] + _EQUAL_FIRST * (i == j) for j in predicted] for i in felt
    ]
    return tuple((felt[row], predicted[column]) for row, column in best_matching(table))
