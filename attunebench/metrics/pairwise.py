"""Pairwise metrics of one turn: which of two candidate replies the person preferred. Source: spec 4.1.

`winners` maps a comparison's index → "A" | "B" and holds only comparisons with a winner; `selections` maps index →
"A" | "B", and a missing index, or None for all of it, is not answered: a choice of the other reply. A turn whose
comparisons were never asked is not passed to these functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from math import sqrt
from operator import eq

from attunebench.metrics.card import CardMaker, Metric

Letters = Mapping[str, str]
Sides = Mapping[str, tuple[str, str]]
VARIANTS = ("original", "alternate", "human")
"""The three candidate replies of a turn."""
_OTHER = {"A": "B", "B": "A"}

CARDS: list[Metric] = []
_of_turn = CardMaker(CARDS, group="turn", level="turn")


@_of_turn.of(
    "Pairwise",
    "How often the model picks the reply, of two, that the person preferred.",
    status="canonical",
    chance=0.5,
    proportion=True,
)
def pairwise_accuracy(winners: Letters, selections: Letters | None) -> float | None:
    """Share of the comparisons with a winner on which the selection equals it; not answered is wrong."""
    if not winners:
        return None
    chosen = selections or {}
    right: int = sum(map(eq, winners.values(), map(chosen.get, winners)))
    return right / len(winners)


def wins(sides: Sides, letters: Letters) -> tuple[int, ...]:
    """How often each variant (original, alternate, human) was chosen. `sides`: index → (variant A, variant B)."""
    counts = dict.fromkeys(VARIANTS, 0)
    for index, letter in letters.items():
        counts[sides[index][letter == "B"]] += 1
    return tuple(counts.values())


@_of_turn.of(
    "Kendall τ",
    "Agreement between model and person on the ranking of the three candidate replies: 1 is the same order, −1 the "
    "reverse.",
    status="alongside",
    low=-1.0,
    unit="correlation",
    chance=0.0,
)
def kendall_tau(sides: Sides, winners: Letters, selections: Letters | None) -> float | None:
    """τ-b of the wins per variant in truth and prediction, an unanswered comparison being a win for the reply that the
    person did not choose; undefined where a side has all counts equal."""
    if not winners:
        return None
    chosen = selections or {}
    felt, guessed = dict.fromkeys(VARIANTS, 0), dict.fromkeys(VARIANTS, 0)
    for index, winner in winners.items():
        one, other = sides[index]
        felt[one if winner == "A" else other] += 1
        guessed[one if (chosen.get(index) or _OTHER[winner]) == "A" else other] += 1
    return tau_b(tuple(felt.values()), tuple(guessed.values()))


@lru_cache(maxsize=4096)
def tau_b(one: tuple[int, ...], other: tuple[int, ...]) -> float | None:
    """Kendall τ-b of two count vectors as in `scipy.stats.kendalltau`, in [−1, 1]; None where a side is all tied."""
    concordance = untied_one = untied_other = 0
    for first, second in combinations(range(len(one)), 2):
        in_one = _sign(one[first] - one[second])
        in_other = _sign(other[first] - other[second])
        concordance += in_one * in_other
        untied_one += in_one != 0
        untied_other += in_other != 0
    if not untied_one or not untied_other:
        return None
    return concordance / sqrt(untied_one * untied_other)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
