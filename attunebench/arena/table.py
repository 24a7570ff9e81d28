"""Verdicts as arrays, which every number of an arena is computed from; and two orders merged into one verdict."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.arena.folder import Arena
from attunebench.arena.objects import DIMENSIONS, ReplyKind, Side
from attunebench.statistics.bootstrap import Floats, Labels, ratio

_SIDES: dict[Side, float] = {"left": 1.0, "same": 0.0, "right": -1.0}
PEOPLE, JUDGES, ALL_PEOPLE = "people", "judges", "all people"
"""The raters that all people and all judges are together, and the author that all people are."""
_ROWS = ("pair", "history", "left", "right", "rater", "preference", "slot", "dimensions", "flipped")


@dataclass(frozen=True, slots=True)
class VerdictTable:
    """Arrays with a row for each verdict, and the names that their numbers stand for.

    `pair`, `history`, `left`, `right` (authors) and `rater` are places in the tuples of names. `preference` is −2 … 2,
    positive for left, NaN without an answer; `slot` is +1 where left was shown first, −1 where right was, 0 where both
    orders are merged; `dimensions` (rows, 5) is +1 for left, −1 for right, 0 for the same, NaN without an answer.
    `flipped`: merged of two orders in which different replies won. `kinds` has a kind for each author, `judges` says
    which raters are judges, `slices` has the slice of each history.

    `units` has a number for each history, from 0: histories that are turns of one conversation have the same. They are
    no independent evidence, so what is resampled, permuted and counted are units.
    """

    histories: tuple[str, ...]
    units: Labels
    slices: tuple[str, ...]
    authors: tuple[str, ...]
    kinds: tuple[ReplyKind, ...]
    raters: tuple[str, ...]
    judges: NDArray[np.bool_]
    pairs: tuple[str, ...]
    pair: Labels
    history: Labels
    left: Labels
    right: Labels
    rater: Labels
    preference: Floats
    slot: Floats
    dimensions: Floats
    flipped: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.pair)

    @property
    def unit(self) -> Labels:
        """Of each verdict."""
        return self.units[self.history]

    @property
    def unit_names(self) -> tuple[str, str]:
        """What one unit is called, and several."""
        turns = len(np.unique(self.units)) < len(self.histories)
        return ("conversation", "conversations") if turns else ("history", "histories")

    def where(self, rows: NDArray[np.bool_] | Labels) -> VerdictTable:
        """The verdicts of these rows; all names stay, so that places mean the same."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _ROWS})

    def of_slice(self, name: str) -> VerdictTable:
        return self.where(np.array([one == name for one in self.slices], dtype=bool)[self.history])

    def of_people(self) -> VerdictTable:
        return self.where(~self.judges[self.rater])

    def of_judges(self) -> VerdictTable:
        return self.where(self.judges[self.rater])

    def answered(self) -> VerdictTable:
        return self.where(~np.isnan(self.preference))

    def in_dimension(self, place: int) -> VerdictTable:
        """The answers in one dimension in place of the preference."""
        return replace(self, preference=self.dimensions[:, place]).answered()

    @property
    def winner(self) -> Floats:
        """+1 where left won, −1 where right did, 0 for a tie, NaN without an answer."""
        return np.asarray(np.sign(self.preference))

    def with_people_as_one(self) -> VerdictTable:
        """Where several authors are people: all of them as one author, without verdicts between them."""
        human = np.array([kind == "human" for kind in self.kinds], dtype=bool)
        if human.sum() < 2:
            return self
        others = [name for name, person in zip(self.authors, human, strict=True) if not person]
        place = np.where(human, len(others), np.cumsum(~human) - 1)
        rows = self.where(~(human[self.left] & human[self.right]))
        return replace(
            rows,
            authors=(*others, ALL_PEOPLE),
            kinds=(*(kind for kind in self.kinds if kind != "human"), "human"),
            left=place[rows.left],
            right=place[rows.right],
        )

    def as_one_rater(self, *, mean: bool = False) -> VerdictTable:
        """One row for each pair: what most raters say, a tie where no answer is in front, or their mean preference."""
        if not len(self):
            return self
        _, first, group = np.unique(self.pair, return_index=True, return_inverse=True)
        pool, nothing = partial(_mean if mean else _majority, group=group, n=len(first)), np.zeros_like(first)
        return replace(
            self.where(first),
            rater=nothing,
            raters=("all",),
            judges=np.array([self.judges[self.rater].all()]),
            preference=pool(self.preference),
            dimensions=np.column_stack([pool(of) for of in self.dimensions.T]),
            slot=nothing.astype(np.float64),
            flipped=nothing > 0,
        )

    def merged(self) -> VerdictTable:
        """One row for each rater and pair: the mean preference over its orders; a tie where the orders name different
        winners. An order without an answer does not count beside one with an answer."""
        if not len(self):
            return self
        key = self.pair * len(self.raters) + self.rater
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        rows, n = self.where(first), len(first)

        def opposed(values: Floats) -> NDArray[np.bool_]:
            """Where one value is above 0 and another below."""
            above, below = (np.bincount(group, part, minlength=n) > 0 for part in (values > 0, values < 0))
            return np.asarray(above & below)

        def mean(values: Floats) -> Floats:
            return np.asarray(np.where(opposed(values), 0.0, _mean(values, group, n)))

        return replace(
            rows,
            preference=mean(self.preference),
            dimensions=np.column_stack([mean(of) for of in self.dimensions.T]),
            slot=np.sign(np.bincount(group, np.where(np.isnan(self.preference), 0.0, self.slot), minlength=n)),
            flipped=rows.flipped | opposed(self.preference),
        )


def _mean(values: Floats, group: Labels, n: int) -> Floats:
    """Of each group, over what is known; NaN without anything."""
    known = ~np.isnan(values)
    return ratio(np.bincount(group, np.where(known, values, 0.0), minlength=n), np.bincount(group[known], minlength=n))


def answers_of(pair: Labels, winner: Floats, pairs: int) -> Floats:
    """How many answer right, the same, left of each pair: (pairs, 3)."""
    place = pair * 3 + (winner + 1).astype(np.intp)
    return np.bincount(place, minlength=pairs * 3).reshape(pairs, 3).astype(np.float64)


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
        """Of numbers of answers as in `answers_of`."""
        most, raters = answers.max(axis=1), answers.sum(axis=1)
        ahead = (answers == most[:, None]).sum(axis=1) == 1
        winner = np.where(ahead, answers.argmax(axis=1) - 1.0, 0.0)
        return cls(np.where(raters > 0, winner, np.nan), ratio(most, raters), raters, raters - answers[:, 1])


def _majority(values: Floats, group: Labels, n: int) -> Floats:
    """The sign that most values of each group have, as in `Majority`."""
    known = ~np.isnan(values)
    return Majority.of(answers_of(group[known], np.sign(values[known]), n)).winner


def table_of(arena: Arena) -> VerdictTable:
    """The verdicts of an arena, in the order of its files, without checks of attention. All must be on pairs of it."""
    verdicts = [one for one in arena.verdicts if not one.check]
    histories, pairs = tuple(arena.histories), tuple(arena.pairs)
    kinds: dict[str, ReplyKind] = {}
    for (_, author), reply in arena.replies.items():
        kinds.setdefault(author, reply.kind)
    for pair in arena.pairs.values():
        for author in (pair.left, pair.right):
            kinds.setdefault(author, "model")
    raters = {one.rater: one.rater_kind == "judge" for one in verdicts}
    conversations = [(one.conversation, "" if one.conversation else one.id) for one in arena.histories.values()]
    reserved = {name: f"judge {name}" for name in (PEOPLE, JUDGES) if raters.get(name)}
    of = [arena.pairs[one.pair] for one in verdicts]
    sides = [[_SIDES.get(one.dimensions.get(name, ""), np.nan) for name in DIMENSIONS] for one in verdicts]  # type: ignore[call-overload]
    preferences = [np.nan if one.preference is None else float(one.preference) for one in verdicts]
    return VerdictTable(
        histories=histories,
        units=_places(conversations, conversations),
        slices=tuple(one.slice for one in arena.histories.values()),
        authors=tuple(kinds),
        kinds=tuple(kinds.values()),
        raters=tuple(reserved.get(name, name) for name in raters),
        judges=np.array(list(raters.values()), dtype=bool),
        pairs=pairs,
        pair=_places(pairs, [one.pair for one in verdicts]),
        history=_places(histories, [pair.history for pair in of]),
        left=_places(kinds, [pair.left for pair in of]),
        right=_places(kinds, [pair.right for pair in of]),
        rater=_places(raters, [one.rater for one in verdicts]),
        preference=np.array(preferences, dtype=np.float64),
        slot=np.array([1.0 if one.order == "left" else -1.0 for one in verdicts]),
        dimensions=np.array(sides, dtype=np.float64).reshape(len(verdicts), len(DIMENSIONS)),
        flipped=np.zeros(len(verdicts), dtype=bool),
    )


def _places(names: Iterable[Hashable], entries: Iterable[Hashable]) -> Labels:
    """Where each entry stands among the names, of which a repeated one counts once."""
    place = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in entries], dtype=np.intp)
