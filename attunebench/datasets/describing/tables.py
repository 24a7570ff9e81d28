"""The shapes of tables about the data: how a quantity spreads, and how often each answer was given.

Owns counts, intervals, what is missing, and the masking of small cells. Knows no field of a conversation.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from attunebench.analyses.table import Cell, Column, Table, Unit, column, table, words
from attunebench.analyses.verdicts import counted, listed
from attunebench.codebook import Codebook
from attunebench.conversations import Conversation
from attunebench.conversations.schema import Turn
from attunebench.statistics.intervals import clustered_wilson
from attunebench.text import printable

MASKED = "masked"
NOT_TOLD = "not told"
_LONGEST = 100
WILSON = "95 % Wilson intervals that allow for answers of one person being alike"

Reader = Callable[[Conversation], Iterable[str]]


@dataclass(frozen=True)
class Data:
    """The conversations to describe. `mask_below`: counts of fewer people than this are not shown; 0 shows all."""

    conversations: tuple[Conversation, ...]
    codebook: Codebook
    mask_below: int = 0

    @cached_property
    def people(self) -> Mapping[str, list[Conversation]]:
        """Participant → their conversations; somebody whose id is unknown is a person of their own."""
        people: dict[str, list[Conversation]] = {}
        for conversation in self.conversations:
            people.setdefault(person_of(conversation), []).append(conversation)
        return people

    @cached_property
    def turns(self) -> list[tuple[str, Turn]]:
        """(Participant, turn) of every turn."""
        return [(person_of(conversation), turn) for conversation in self.conversations for turn in conversation.turns]

    @property
    def mask_note(self) -> str:
        """What "masked" means."""
        return (
            f"“{MASKED}”: fewer than {self.mask_below} participants, or a number from which such a one could be "
            "computed; ranges, which are single people's values, are left out. That is no formal anonymisation."
        )


def person_of(conversation: Conversation) -> str:
    """A key for whoever held the conversation."""
    known = conversation.participant_id
    return f"person {known}" if known is not None else f"unknown, in {conversation.conversation_id}"


def spread_table(
    data: Data,
    id: str,
    title: str,
    what: str,
    quantities: Mapping[str, Sequence[float | None]],
    caption: str,
    *,
    total: bool = False,
) -> Table:
    """n, mean, sample sd (n − 1), median and range of each quantity, by its label, over the values that are known.

    `total`: of amounts, which are told with their sum and never masked; else what is missing is counted.
    """
    mask = 0 if total else data.mask_below
    known = [([value for value in values if value is not None], len(values)) for values in quantities.values()]
    ends = 0 if all(float(value).is_integer() for values, _ in known for value in values) else 1
    measures: list[tuple[str, str, Unit, int | None, Callable[[list[float], int], float | None]]] = [
        ("n", "n", "count", None, lambda values, _: len(values)),
        ("total", "Total", "count", None, lambda values, _: sum(values)),
        # Exact arithmetic inside: the order of the files changes no digit.
        ("mean", "Mean", "number", 2, lambda values, _: statistics.fmean(values) if values else None),
        ("sd", "SD", "number", 2, lambda values, _: statistics.stdev(values) if len(values) > 1 else None),
        ("median", "Median", "number", 1, lambda values, _: statistics.median(values) if values else None),
        ("min", "Min", "number", ends, lambda values, _: min(values, default=None)),
        ("max", "Max", "number", ends, lambda values, _: max(values, default=None)),
        ("missing", "Missing", "count", None, lambda values, n: n - len(values)),
    ]
    hidden = {"missing" if total else "total", *(("min", "max") if mask > 1 else ())}
    filled = [words("what", quantities, what)]
    for name, label, unit, digits, measure in measures:
        if name not in hidden:
            cells = [masked(few=0 < len(values) < mask, value=measure(values, n)) for values, n in known]
            filled.append(column(name, cells, label, unit, digits=digits))
    return table(id, title, *filled, caption=caption)


def masked(*, few: bool, value: float | None) -> Cell:
    """A value, or the mark in its place where few people stand behind it."""
    return Cell(None, mark=MASKED) if few else Cell(value)


def share(answers: Iterable[tuple[str, bool]]) -> Cell:
    """The share of (person, whether so) that are so, with n answers and an interval; undefined over nothing.

    Answers of one person are alike: the interval is that of as many independent ones as theirs are worth.
    """
    yes: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for person, so in answers:
        yes[person] += so
        asked[person] += 1
    n = asked.total()
    if not n:
        return Cell(None, n=0)
    people = sorted(asked)  # sums of the same numbers in another order differ in their last digit
    above, below = (np.array([[float(tally[person])] for person in people]) for tally in (yes, asked))
    low, high = clustered_wilson(above, below)
    return Cell(yes.total() / n, float(low[0]), float(high[0]), n=n)


class Count(NamedTuple):
    """How many participants and conversations have an answer."""

    people: int
    conversations: int


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing that is told or answered: value → how many have it, in the order of the table; `told` have any value.

    `closed`: the values are a list that everybody knows, and not what somebody wrote. `several`: participants of whom
    different conversations say different things, where one is all that there can be.
    """

    label: str
    values: Mapping[str, Count]
    told: Count
    untold: Count
    closed: bool
    several: int


def facet(
    data: Data,
    label: str,
    read: Reader,
    order: Sequence[str] = (),
    *,
    closed: bool = False,
    single: bool = False,
    among: Callable[[Conversation], bool] = lambda _: True,
) -> Facet:
    """Counts of what `read` gives; letter case and blanks do not matter. What is not in `order` follows by frequency.

    `single`: a person has one value; several are all counted and noted. `among`: the conversations to look at.
    """
    given = [
        (person_of(c), {fold(value): shown(value) for value in read(c) if shown(value)})
        for c in data.conversations
        if among(c)
    ]
    tellers: dict[str, list[str]] = {}
    spellings: dict[str, set[str]] = {}
    theirs: dict[str, set[str]] = {}
    for person, values in given:
        for key, spelling in values.items():
            tellers.setdefault(key, []).append(person)
            spellings.setdefault(key, set()).add(spelling)
            theirs.setdefault(person, set()).add(key)
    count = {key: Count(len(set(people)), len(people)) for key, people in tellers.items()}
    # Of several spellings always the same is shown, whatever the order of the files.
    names = {key: min(same) for key, same in spellings.items()} | {fold(name): name for name in order}
    first = [fold(name) for name in order]
    rest = sorted(count.keys() - set(first), key=lambda key: (-count[key].people, -count[key].conversations, key))
    silent = [person for person, values in given if not values]
    return Facet(
        label,
        {names[key]: count.get(key, Count(0, 0)) for key in (*first, *rest)},
        told=Count(len(theirs), len(given) - len(silent)),
        untold=Count(len(set(silent) - theirs.keys()), len(silent)),
        closed=closed,
        several=sum(len(values) > 1 for values in theirs.values()) if single else 0,
    )


def fold(value: str) -> str:
    """A text for comparing."""
    return shown(value).casefold()


def shown(value: str) -> str:
    """A text as it may stand in a table: on one line, without what steers a terminal, and cut where it is long."""
    return printable(value, _LONGEST)


def facet_table(
    data: Data,
    id: str,
    title: str,
    facets: Sequence[Facet],
    caption: str,
    *,
    of: Literal["people", "conversations"] = "people",
    notes: tuple[str, ...] = (),
) -> Table:
    """A row for each value of each facet, and one for what is not told. `of`: whose share it is, of those that told."""
    several = len(facets) > 1
    columns = (
        *([Column("what", "What", "text")] if several else []),
        Column("value", "Answer" if several or not facets else facets[0].label, "text"),
        Column("participants", "Participants", "count"),
        Column("conversations", "Conversations", "count"),
        Column("share", f"Share of {'participants' if of == 'people' else 'conversations'}", "share"),
        Column("n", "of n", "count"),
    )
    rows = [
        (*([Cell(one.label)] if several else []), *cells)
        for one in facets
        for cells in _facet_rows(one, of, data.mask_below)
    ]
    differing = [
        f"{one.label} (of {counted(one.several, 'participant')})"
        for one in facets
        if one.several >= max(data.mask_below, 1)
    ]
    if differing:
        notes = (*notes, f"Conversations of one participant differ in {listed(differing)}; each answer is counted.")
    return Table(id, title, columns, tuple(rows), caption=caption, notes=notes)


def _facet_rows(one: Facet, of: Literal["people", "conversations"], mask_below: int) -> Iterator[tuple[Cell, ...]]:
    """Of a masked answer that is no option of a list not even the words are shown: they may be one person's."""
    lines: list[tuple[str, Count, Any]] = [(value, count, getattr(one.told, of)) for value, count in one.values.items()]
    lines += [(NOT_TOLD, one.untold, None)] if one.untold.conversations else []
    nothing = (Cell(None, mark=MASKED), *(Cell(None) for _ in range(3)))
    unnamed = 0
    for (value, count, n), few in zip(lines, small_cells([line[1].people for line in lines], mask_below), strict=True):
        if few and not one.closed and value != NOT_TOLD:
            unnamed += 1
        elif few:
            yield (Cell(value), *nothing)
        else:
            part = getattr(count, of) / n if n else None
            yield Cell(value), Cell(count.people), Cell(count.conversations), Cell(part), Cell(n)
    if unnamed:
        what = "answer" if unnamed == len(lines) else "further answer"
        yield (Cell(f"({counted(unnamed, what)})"), *nothing)


def small_cells(counts: Sequence[int], below: int) -> list[bool]:
    """Which of the counts of one list are masked: those under `below`, and so many of the next smallest that at least
    two, and `below` people in all, are hidden: else the sum of the list would give them away. 0 is no person."""
    hidden = [0 < count < below for count in counts]
    for place in sorted(range(len(counts)), key=lambda place: counts[place]):
        together = sum(count for count, one in zip(counts, hidden, strict=True) if one)
        if not any(hidden) or (sum(hidden) > 1 and together >= below):
            break
        hidden[place] = hidden[place] or counts[place] > 0
    return hidden
