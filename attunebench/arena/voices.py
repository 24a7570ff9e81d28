"""What people say together of each pair, and what each judge says of it: what agreement is computed from.

People and judges are compared with the same reference: the majority of the other people who saw a pair, for each of
these people. So a judge is held against what each person is held against, not against a majority with one vote more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attunebench.arena.sampling import ArenaSettings, rater_groups
from attunebench.arena.table import PEOPLE, Majority, VerdictTable, answers_of
from attunebench.statistics.bootstrap import Floats, Labels

Where = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Voices:
    """Merged verdicts of people with what the other people said of the pair; and what judges said of each pair.

    `pair`, `rater` and `chosen` (+1, −1, 0) have an entry for each person's verdict, as has `others`. `judges` have an
    entry for each pair, NaN without an answer; several of them together are a judge too. `alone`: no pair was seen by
    two people; `others` is then this one person. `where` leads to these verdicts.
    """

    name: str
    where: Where
    alone: bool
    pair: Labels
    rater: Labels
    chosen: Floats
    others: Majority
    judges: Mapping[str, Floats]

    @classmethod
    def of(
        cls, merged: VerdictTable, settings: ArenaSettings, name: str = "all", where: Where = (), *, alone: bool = False
    ) -> Voices:
        people, judges = merged.of_people().answered(), dict[str, Floats]()
        answers = answers_of(people.pair, people.winner, len(people.pairs))[people.pair]
        if not alone:
            answers[np.arange(len(people)), (people.winner + 1).astype(np.intp)] -= 1
        for group in rater_groups(merged.of_judges(), settings):
            judges[group.key] = np.full(len(merged.pairs), np.nan)
            judges[group.key][group.table.pair] = group.table.winner
        return cls(name, where, alone, people.pair, people.rater, people.winner, Majority.of(answers), judges)

    def at(self, rows: NDArray[np.bool_], name: str = "", where: Where = ()) -> Voices:
        """Some of people's verdicts, under a name of their own if it has one."""
        others = Majority(*(values[rows] for values in self.others))
        voices = replace(self, name=name or self.name, where=(*self.where, *where), others=others)
        return replace(voices, pair=self.pair[rows], rater=self.rater[rows], chosen=self.chosen[rows])

    @property
    def names(self) -> list[str]:
        """Who can be compared with people: people where a pair has two of them, each judge, and judges together."""
        return [*([] if self.alone else [PEOPLE]), *self.judges] if len(self.pair) else []

    def choices(self, name: str) -> Floats:
        """What people or a judge chose, an entry for each person's verdict."""
        return self.chosen if name == PEOPLE else self.judges[name][self.pair]

    def couples(self) -> Labels:
        """Places of all two verdicts on the same pair: (2, couples)."""
        order = np.argsort(self.pair, kind="stable")
        pairs, found = self.pair[order], [np.zeros((2, 0), dtype=np.intp)]
        for step in range(1, int(np.bincount(pairs).max(initial=0))):
            first = np.flatnonzero(pairs[:-step] == pairs[step:])
            found.append(order[np.stack([first, first + step])])
        return np.hstack(found)

    def votes(self) -> dict[int, float]:
        """How many verdicts stand beside a majority of so many people who name a better reply."""
        people, times = np.unique(self.others.votes, return_counts=True)
        return {int(votes): float(of) for votes, of in zip(people, times, strict=True) if votes > 0}


def credit(one: Floats, other: Floats) -> Floats:
    """1 where both choose the same reply, 0 where they choose different ones, ½ where one of them calls them the same;
    NaN where both do, since there is nothing to agree on. Chance is ½."""
    return np.asarray(np.where((one == 0) & (other == 0), np.nan, (1 + one * other) / 2))


def decided(choices: Floats) -> Floats:
    """Choices of a better reply; NaN in place of ties."""
    return np.asarray(np.where(choices == 0, np.nan, choices))
