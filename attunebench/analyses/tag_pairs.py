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
Pairs = tuple[tuple[int, int], ...]

_PLACE = {item: i for i, item in enumerate(PANAS_ITEMS)}
_COUNT = len(PANAS_ITEMS)
_EQUAL_FIRST = 1e-6
"""Added to the similarity of equal names: under what one step of the rounded similarities makes, over all tags."""
_DEALS = 10


@dataclass(frozen=True)
class TagPairs:
    """Counts per conversation and model: `matched` (conversations, felt, predicted, models), `missed` and `invented`
    (conversations, items, models), `dealt` as `matched`. Epochs are averaged.

    `dealt` is what the substitutions would be if the names that were not felt were dealt to other turns. `turns`:
    (model, felt, predicted) → rows of the study's turns. `unanswered` counts turns left out, over models.
    """

    matched: Floats
    missed: Floats
    invented: Floats
    dealt: Floats
    turns: Mapping[tuple[int, int, int], Sequence[int]]
    unanswered: int

    @property
    def felt(self) -> Floats:
        """How often each item was felt: (conversations, items, models)."""
        return np.asarray(self.matched.sum(axis=2) + self.missed)

    @property
    def predicted(self) -> Floats:
        """How often each item was predicted: (conversations, items, models)."""
        return np.asarray(self.matched.sum(axis=1) + self.invented)

    @property
    def right(self) -> Floats:
        """How often each item was felt and predicted: (conversations, items, models)."""
        return np.asarray(np.diagonal(self.matched, axis1=1, axis2=2).transpose(0, 2, 1))


def tag_pairs(study: ScoreTable, rng: np.random.Generator) -> TagPairs:
    """Match the tags of all turns that have labels and answers."""
    shape = (len(study.ids), _COUNT, _COUNT, len(study.groups))
    matched, dealt = np.zeros(shape), np.zeros(shape)
    missed, invented = (np.zeros((shape[0], _COUNT, shape[3])) for _ in range(2))
    turns: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    truths = [None if tags is None else _places(tags) for tags in study.truth_tags()]
    unanswered = 0
    for model, group in enumerate(study.groups):
        answered: list[tuple[int, Items, Items, float]] = []
        for row, epochs in enumerate(study.tags(group)):
            felt = truths[row]
            given = [_places(tags) for tags in epochs if tags is not None]
            unanswered += felt is not None and bool(epochs) and not given
            if felt is not None:
                answered += [(row, felt, items, 1 / len(given)) for items in given]
        for row, felt, items, weight in answered:
            place = study.turns[row].conversation
            pairs = _matching(felt, items)
            for i, j in pairs:
                matched[place, i, j, model] += weight
                turns[model, i, j].append(row)
            for i in set(felt) - {i for i, _ in pairs}:
                missed[place, i, model] += weight
            for j in set(items) - {j for _, j in pairs}:
                invented[place, j, model] += weight
        _deal(study, answered, dealt[..., model], rng)
    return TagPairs(matched, missed, invented, dealt, turns, unanswered)


def _deal(
    study: ScoreTable, answered: Sequence[tuple[int, Items, Items, float]], dealt: Floats, rng: np.random.Generator
) -> None:
    """Match felt items that were not named with names that were not felt, of turns drawn at random; mean of deals."""
    felt = [_without(one[1], one[2]) for one in answered]
    spare = [_without(one[2], one[1]) for one in answered]
    for _ in range(_DEALS):
        order = rng.permutation(len(answered)).tolist()
        for (row, _, _, weight), left, other in zip(answered, felt, order, strict=True):
            for i, j in _matching(left, spare[other]):
                dealt[study.turns[row].conversation, i, j] += weight / _DEALS


def _places(tags: Iterable[str]) -> Items:
    return tuple(sorted(_PLACE[name] for name in tags if name in _PLACE))


def _without(items: Items, others: Items) -> Items:
    return tuple(item for item in items if item not in others)


@lru_cache(maxsize=100_000)
def _matching(felt: Items, predicted: Items) -> Pairs:
    table = [
        [PANAS_SIMILARITY[PANAS_ITEMS[i]][PANAS_ITEMS[j]] + _EQUAL_FIRST * (i == j) for j in predicted] for i in felt
    ]
    return tuple((felt[row], predicted[column]) for row, column in best_matching(table))
