"""What people say together of each pair, and what each judge says of it: what agreement is computed from.

People and judges are compared with the same reference: the majority of the other people who saw a pair, for each of
these people. So a judge is held against what each person is held against, not against a majority with one vote more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels, ratio

_LABELS = 3
"""Right, the same, left."""

Mask = NDArray[np.bool_]


class Majority(NamedTuple):
    """What raters of a pair say together, an entry for each pair: the most frequent answer as `winner` (+1 left, −1
    right, 0 where that is "the same" or none is in front, NaN where nobody answered); `share` of the raters who gave
    it; how many raters answered, and how many of them named a better reply (`votes`)."""

    winner: Floats
    share: Floats
    raters: Floats
    votes: Floats

    @classmethod
    def of(cls, answers: Floats) -> Majority:
        """Of the numbers of raters who say right, the same, left: (entries, 3)."""
        most, raters = answers.max(axis=1), answers.sum(axis=1)
        ahead = (answers == most[:, None]).sum(axis=1) == 1
        winner = np.where(ahead, answers.argmax(axis=1) - 1.0, 0.0)
        return cls(np.where(raters > 0, winner, np.nan), ratio(most, raters), raters, raters - answers[:, 1])


def _answers(pair: Labels, winner: Floats, pairs: int) -> Floats:
    """How many say right, the same, left of each pair: (pairs, 3)."""
    place = pair * _LABELS + (winner + 1).astype(np.intp)
    return np.bincount(place, minlength=pairs * _LABELS).reshape(pairs, _LABELS).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Voices:
    """Merged verdicts of people with what the other people said of the pair; and what judges said of each pair.

    `pair`, `rater` and `chosen` (+1, −1, 0) have an entry for each person's verdict, as has `others`. Where no pair was
    seen by two people, `others` is this one person, and nobody's choice can be compared with it (NaN). `judges` have
    an entry for each pair, NaN without an answer; several of them together are a judge too.
    """

    pair: Labels
    chosen: Floats
    rater: Labels
    others: Majority
    judges: Mapping[str, Floats]

    @classmethod
    def of(cls, merged: VerdictTable, settings: ArenaSettings) -> Voices:
        people = merged.of_people().answered()
        chosen = people.winner
        answers = _answers(people.pair, chosen, len(people.pairs))[people.pair]
        if (answers.sum(axis=1) > 1).any():
            answers[np.arange(len(people)), (chosen + 1).astype(np.intp)] -= 1
        else:
            chosen = np.full(len(people), np.nan)
        return cls(people.pair, chosen, people.rater, Majority.of(answers), _judges(merged, settings))

    @property
    def names(self) -> list[str]:
        """Who can be compared with people: people where a pair has two of them, each judge, and judges together."""
        return [*([] if np.isnan(self.chosen).all() else [PEOPLE]), *(self.judges if len(self.pair) else ())]

    def choices(self, name: str) -> Floats:
        """What people or a judge chose, an entry for each person's verdict."""
        return self.chosen if name == PEOPLE else self.judges[name][self.pair]

    def couples(self, rows: Mask) -> tuple[Labels, Labels]:
        """Places of all two verdicts on the same pair among these rows."""
        order = np.flatnonzero(rows)[np.argsort(self.pair[rows], kind="stable")]
        pairs, none = self.pair[order], np.zeros(0, dtype=np.intp)
        first, second = [none], [none]
        for step in range(1, int(np.bincount(pairs).max(initial=0))):
            both = np.flatnonzero(pairs[:-step] == pairs[step:])
            first.append(order[both])
            second.append(order[both + step])
        return np.concatenate(first), np.concatenate(second)

    def majority(self, rows: Mask) -> tuple[Labels, Majority]:
        """The pairs that two people or more saw, and what they say together; of these rows."""
        answers = _answers(self.pair[rows], self.chosen[rows], int(self.pair.max(initial=-1)) + 1)
        pairs = np.flatnonzero(answers.sum(axis=1) > 1)
        return pairs, Majority.of(answers[pairs])

    def votes(self, rows: Mask) -> dict[int, float]:
        """How many of these rows have a majority of so many people who name a better reply."""
        people, times = np.unique(self.others.votes[rows], return_counts=True)
        return {int(votes): float(of) for votes, of in zip(people, times, strict=True) if votes > 0}


def _judges(merged: VerdictTable, settings: ArenaSettings) -> dict[str, Floats]:
    """Judge → what it chose of each pair, NaN nothing; and where there are several what they chose together."""
    judges, chosen = merged.of_judges().answered(), dict[str, Floats]()
    for place in np.unique(judges.rater):
        rows = judges.rater == place
        chosen[judges.raters[place]] = of = np.full(len(judges.pairs), np.nan)
        of[judges.pair[rows]] = judges.winner[rows]
    if len(chosen) > 1:
        together = judges.as_one_rater(mean=settings.ensemble == "mean")
        chosen[JUDGES] = of = np.full(len(judges.pairs), np.nan)
        of[together.pair] = together.winner
    return chosen


def credit(one: Floats, other: Floats) -> Floats:
    """1 where both choose the same reply, 0 where they choose different ones, ½ where one of them calls them the same;
    NaN where both do, since there is nothing to agree on. Chance is ½."""
    return np.asarray(np.where((one == 0) & (other == 0), np.nan, (1 + one * other) / 2))


def decided(choices: Floats) -> Floats:
    """Choices of a better reply; NaN in place of ties."""
    return np.asarray(np.where(choices == 0, np.nan, choices))
