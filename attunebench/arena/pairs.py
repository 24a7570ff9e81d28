"""Which replies are compared (spec 10.2): pairs within a history, by one of three designs, and whether they connect all
authors, without which ratings say nothing about each other.

A pair's id and its sides depend on its history and authors alone. Pairs that are there stay as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from attunebench.arena.folder import Arena
from attunebench.arena.objects import Pair, ReplyKind
from attunebench.arena.table import table_of
from attunebench.errors import UsageError
from attunebench.statistics.ratings import bradley_terry

DesignName = Literal["adaptive", "heart", "full"]
Authors = tuple[str, str]
"""Two authors, in alphabetical order."""
HEART_PAIRS = 9.3
"""Pairs a history in the published study, according to second-hand digests of it."""
ADAPTIVE_PAIRS = 12
NEIGHBOURS = 2
_ID_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class DesignSettings:
    """How pairs are chosen. `per_history`: pairs a history; the most of `adaptive` and `full`, the mean of `heart`, of
    which pairs with people are never cut. None: 12 of `adaptive`, 9.3 of `heart`, all of `full`. `neighbours`: with how
    many authors of similar rating each one is compared in `adaptive`."""

    design: DesignName = "adaptive"
    per_history: float | None = None
    neighbours: int = NEIGHBOURS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Chosen:
    """`pairs` that are new; `groups`: the sets of authors that all pairs, old and new, connect; `notes`: sentences on
    how they were chosen."""

    pairs: tuple[Pair, ...]
    groups: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def choose_pairs(arena: Arena, settings: DesignSettings) -> Chosen:
    """The pairs that the design adds to an arena. Raises UsageError where it cannot be used."""
    authors: dict[str, list[str]] = defaultdict(list)
    for history, author in arena.replies:
        authors[history].append(author)
    possible = {history: list(combinations(sorted(names), 2)) for history, names in sorted(authors.items())}
    if not any(possible.values()):
        raise UsageError("No history has replies of two authors; add replies with `arena new` or `arena respond`.")
    there: dict[str, set[Authors]] = defaultdict(set)
    for pair in arena.pairs.values():
        there[pair.history].add(_sorted(pair.left, pair.right))
    chosen, notes = (
        _adaptive(arena, possible, there, settings)
        if settings.design == "adaptive"
        else _drawn(arena, possible, settings)
    )
    new = [_pair(history, two) for history in possible for two in chosen[history] if two not in there[history]]
    linked = [_sorted(pair.left, pair.right) for pair in (*arena.pairs.values(), *new)]
    groups = connected({author for _, author in arena.replies}, linked)
    return Chosen(tuple(new), groups, notes)


Possible = Mapping[str, Sequence[Authors]]
Made = tuple[Possible, tuple[str, ...]]


def _drawn(arena: Arena, possible: Possible, settings: DesignSettings) -> Made:
    """Of `heart` all pairs of a person and a model, and random ones up to a number a history; of `full` these alone, or
    every pair."""
    heart = settings.design == "heart"
    people = {author for (_, author), one in arena.replies.items() if one.kind == "human"}
    if heart and not people:
        raise UsageError(
            "--design heart compares every model with people, and no reply in this arena is by a person. Add replies "
            "of kind human, or use another design."
        )
    if (mean := HEART_PAIRS if heart and not settings.per_history else settings.per_history) is None:
        return possible, ("Full design: every pair of replies to a history.",)
    chosen = {}
    for history, pairs in possible.items():
        mixed = [two for two in pairs if heart and len(people & {*two}) == 1]
        others = _shuffled(history, (two for two in pairs if two not in mixed), settings.seed)
        chosen[history] = [*mixed, *others[: max(0, _quota(history, mean, settings.seed) - len(mixed))]]
    how = (
        f"HEART design: all pairs of a person and a model, and random pairs up to a mean of {mean:g} per history"
        if heart
        else f"Full design: at most {mean:g} random pairs per history"
    )
    return chosen, (f"{how}, seed {settings.seed}.",)


def _adaptive(arena: Arena, possible: Possible, there: Mapping[str, set[Authors]], settings: DesignSettings) -> Made:
    """Everybody against the anchors and its neighbours by the ratings so far; which of these a history gets, where not
    all of them have room, is what has been compared least often."""
    kinds: dict[str, ReplyKind] = {author: reply.kind for (_, author), reply in arena.replies.items()}
    ratings = _ratings(arena)
    shared = Counter(two for pairs in possible.values() for two in pairs)
    near = _connecting(_near(kinds, ratings, shared, settings), kinds, ratings, shared)
    counts = Counter(two for pairs in there.values() for two in pairs)
    old = {author for two in counts for author in two}
    limit = ADAPTIVE_PAIRS if settings.per_history is None else settings.per_history
    people = {author for author, kind in kinds.items() if kind == "human"}
    only_people = len(people) == len(kinds)
    chosen = {}
    for history, pairs in possible.items():
        authors = {author for two in pairs for author in two}
        anchors = _anchors(history, authors, kinds, counts, settings.seed)
        wanted = [two for two in pairs if two not in there[history] and (two in near or anchors & {*two})]
        wanted = [two for two in wanted if only_people or not people >= {*two}]
        wanted = sorted(_shuffled(history, wanted, settings.seed), key=counts.__getitem__)
        # Otherwise a model that comes later would find no room.
        raised = limit * len(authors) / max(1, len(authors & old)) if there[history] else limit
        chosen[history] = wanted[: max(0, _quota(history, raised, settings.seed) - len(there[history]))]
        counts.update(chosen[history])
    basis = (
        f"These pairs depend on the ratings so far ({len(arena.verdicts):,} verdicts); `full` and `heart` do not."
        if ratings
        else "There are no verdicts yet, so neighbours are random; later runs choose them by the ratings so far."
    )
    named = [name for name, kind in (("people", "human"), ("the original", "original")) if kind in kinds.values()]
    against = f"{' and '.join(named)} and " if named else ""
    most = f"at most {limit:g} pairs per history, seed {settings.seed}"
    about = f"Adaptive design: every author against {against}its {settings.neighbours} nearest in rating; {most}."
    return chosen, (about, basis)


def _anchors(
    history: str, authors: set[str], kinds: Mapping[str, ReplyKind], counts: Mapping[Authors, int], seed: int
) -> set[str]:
    """Who of these everybody is compared with: the original, and one person, since people are pooled."""
    people = sorted(author for author in authors if kinds[author] == "human")
    used = {one: sum(n for two, n in counts.items() if one in two) for one in people}
    by_chance = {one: _digest(str(seed), history, one) for one in people}
    person = min(people, key=lambda one: (used[one], by_chance[one]), default=None)
    return {author for author in authors if kinds[author] == "original" or author == person}


def _near(
    kinds: Mapping[str, ReplyKind],
    ratings: Mapping[str, float],
    shared: Mapping[Authors, int],
    settings: DesignSettings,
) -> set[Authors]:
    """Each author with those nearest in rating (people apart, who are anchors) that have replied to a same history."""
    others = sorted(author for author, kind in kinds.items() if kind != "human")
    near = set()
    for one in others:
        known = [author for author in others if author != one and _sorted(one, author) in shared]
        by_distance = sorted(
            (_apart(ratings, one, other), _digest(str(settings.seed), one, other), other) for other in known
        )
        near |= {_sorted(one, other) for *_, other in by_distance[: settings.neighbours]}
    return near


def _connecting(
    near: set[Authors], kinds: Mapping[str, ReplyKind], ratings: Mapping[str, float], shared: Mapping[Authors, int]
) -> set[Authors]:
    """`near`, and the closest authors of groups that neither it nor the anchors connect."""
    anchored = {two for two in shared if {"human", "original"} & {kinds[author] for author in two}}
    while len(groups := connected(kinds, anchored | near)) > 1:
        group_of = {author: place for place, group in enumerate(groups) for author in group}
        between = [two for two in shared if group_of[two[0]] != group_of[two[1]]]
        if not between:
            break
        near = near | {min(between, key=lambda two: (_apart(ratings, *two), two))}
    return near


def _ratings(arena: Arena) -> dict[str, float]:
    """Author → rating by all verdicts so far, on the log-odds scale; {} without any."""
    table = table_of(arena).merged().answered()
    if not len(table):
        return {}
    wins = np.zeros((len(table.authors), len(table.authors)))
    np.add.at(wins, (table.left, table.right), (1 + table.winner) / 2)
    np.add.at(wins, (table.right, table.left), (1 - table.winner) / 2)
    ratings = bradley_terry(wins)
    return {name: float(value) for name, value in zip(table.authors, ratings.theta, strict=True) if value == value}


def _apart(ratings: Mapping[str, float], one: str, other: str) -> float:
    """The distance of two ratings; an author without one is taken to be average."""
    return abs(ratings.get(one, 0.0) - ratings.get(other, 0.0))


def connected(authors: Iterable[str], pairs: Iterable[Authors]) -> tuple[tuple[str, ...], ...]:
    """The sets of authors that pairs connect, the largest first."""
    group = {author: {author} for author in authors}
    for one, other in pairs:
        if group[one] is not group[other]:
            small, large = sorted((group[one], group[other]), key=len)
            large |= small
            group.update(dict.fromkeys(small, large))
    sets = {id(members): tuple(sorted(members)) for members in group.values()}
    return tuple(sorted(sets.values(), key=lambda members: (-len(members), members)))


def _pair(history: str, two: Authors) -> Pair:
    """The pair of these authors; its id is the same in every arena, and chance says who is left."""
    digest = _digest(history, *two)
    left, right = two if int(digest[-1], 16) % 2 else two[::-1]
    return Pair(id=f"{history[:_ID_CHARACTERS]}/{digest[:12]}", history=history, left=left, right=right)


def _sorted(one: str, other: str) -> Authors:
    return (one, other) if one < other else (other, one)


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _shuffled(history: str, pairs: Iterable[Authors], seed: int) -> list[Authors]:
    """In an order that depends on the seed, the history and each pair alone."""
    return sorted(pairs, key=lambda two: _digest(str(seed), history, *two))


def _quota(history: str, mean: float, seed: int) -> int:
    """How many pairs a history gets: the whole number below the mean, or one more in so many histories."""
    whole, rest = divmod(mean, 1)
    chance = int(_digest(str(seed), history)[:12], 16) / 16**12
    return int(whole) + (chance < rest)
