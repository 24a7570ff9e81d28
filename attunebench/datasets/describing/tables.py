"""The shapes that every table about the data takes: how a quantity spreads, and how often each answer was given.

Owns counts, intervals, what is missing, and the masking of small cells. Knows no field of a conversation.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from attunebench.analyses.common import counted, listed
from attunebench.analyses.model import Cell, Column, Table
from attunebench.codebook import Codebook
from attunebench.conversations import Conversation
from attunebench.statistics.intervals import clustered_wilson
from attunebench.text import printable

MASKED = "masked"
NOT_TOLD = "not told"
_LONGEST = 100
WILSON = "95 % Wilson intervals that allow for answers of one person being alike"


@dataclass(frozen=True)
class Data:
    """The conversations to describe. `mask_below`: counts of fewer people than this are not shown; 0 shows all."""

    conversations: tuple[Conversation, ...]
    codebook: Codebook
    mask_below: int = 0

    @cached_property
    def people(self) -> Mapping[str, tuple[Conversation, ...]]:
        """Participant → their conversations; somebody whose id is unknown is a person of their own."""
        found: dict[str, list[Conversation]] = {}
        for conversation in self.conversations:
            found.setdefault(person_of(conversation), []).append(conversation)
        return {person: tuple(theirs) for person, theirs in found.items()}

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


# How a quantity spreads


@dataclass(frozen=True, slots=True)
class Quantity:
    """Values of something by name; `missing` counts those that are unknown."""

    label: str
    values: Sequence[float]
    missing: int | None = None
    total: bool = False


def spread_table(
    id: str,
    title: str,
    quantities: Sequence[Quantity],
    *,
    what: str = "What",
    caption: str = "",
    notes: tuple[str, ...] = (),
    mask_below: int = 0,
) -> Table:
    """n, total, mean, sample sd (n − 1), median and range of each; under `mask_below` no range, and nothing of few."""
    with_totals = any(quantity.total for quantity in quantities)
    with_missing = any(quantity.missing is not None for quantity in quantities)
    whole = all(float(value).is_integer() for quantity in quantities for value in quantity.values)
    ends = 0 if whole else 1
    columns = [
        Column("what", what, "text"),
        Column("n", "n", "count"),
        *([Column("total", "Total", "count")] if with_totals else []),
        Column("mean", "Mean", digits=2),
        Column("sd", "SD", digits=2),
        Column("median", "Median", digits=1),
        *([] if mask_below > 1 else [Column("min", "Min", digits=ends), Column("max", "Max", digits=ends)]),
        *([Column("missing", "Missing", "count")] if with_missing else []),
    ]
    rows = [_spread_row(quantity, columns, mask_below) for quantity in quantities]
    return Table(id, title, tuple(columns), tuple(rows), caption=caption, notes=notes)


def _spread_row(quantity: Quantity, columns: Iterable[Column], mask_below: int) -> tuple[Cell, ...]:
    values = quantity.values
    known = {
        "n": len(values),
        "total": sum(values) if quantity.total else None,
        # Exact arithmetic inside: the order of the files changes no digit.
        "mean": statistics.fmean(values) if values else None,
        "sd": statistics.stdev(values) if len(values) > 1 else None,
        "median": statistics.median(values) if values else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "missing": quantity.missing,
    }
    if 0 < len(values) < mask_below:
        hidden = Cell(None, mark=MASKED)
        return (Cell(quantity.label), *(hidden for column in columns if column.id != "what"))
    return (Cell(quantity.label), *(Cell(known[column.id]) for column in columns if column.id != "what"))


# How often each answer was given


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
    above, below = (np.array([[float(counts[person])] for person in people]) for counts in (yes, asked))
    low, high = clustered_wilson(above, below)
    return Cell(yes.total() / n, float(low[0]), float(high[0]), n=n)


@dataclass(frozen=True, slots=True)
class Count:
    """How many participants and conversations have an answer."""

    people: int
    conversations: int


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing that is told or answered: value → how many have it, the order of the table; `told` have any value."""

    label: str
    values: Mapping[str, Count]
    told: Count
    untold: Count
    closed: bool = False
    """Whether the values are a list that everybody knows, and not what somebody wrote."""
    several: int = 0
    """Participants of whom different conversations say different things, where one is all that there can be."""


class _Tally:
    """Counts the answers of one facet, conversation by conversation; spellings that are alike are one answer."""

    def __init__(self) -> None:
        self.people: dict[str, set[str]] = {}
        self.conversations: dict[str, int] = {}
        self.spellings: dict[str, set[str]] = {}
        self.theirs: dict[str, set[str]] = {}
        self.untold: dict[str, int] = {}
        self.n_told = 0

    def add(self, who: str, given: Iterable[str]) -> None:
        """What a conversation of this person says."""
        values = {fold(value): shown(value) for value in given if shown(value)}
        for key, spelling in values.items():
            self.people.setdefault(key, set()).add(who)
            self.conversations[key] = self.conversations.get(key, 0) + 1
            self.spellings.setdefault(key, set()).add(spelling)
        if values:
            self.theirs.setdefault(who, set()).update(values)
            self.n_told += 1
        else:
            self.untold[who] = self.untold.get(who, 0) + 1

    def counts(self, order: Sequence[str]) -> dict[str, Count]:
        """Answer as shown → count: those of `order` first, also where nobody gave them, then the frequent ones."""
        found = {key: Count(len(self.people[key]), n) for key, n in self.conversations.items()}
        # Of several spellings always the same is shown, whatever the order of the files.
        names = {key: min(spellings) for key, spellings in self.spellings.items()} | {
            fold(name): name for name in order
        }
        rest = sorted(
            found.keys() - {fold(name) for name in order},
            key=lambda key: (-found[key].people, -found[key].conversations, key),
        )
        return {names[key]: found.get(key, Count(0, 0)) for key in (*map(fold, order), *rest)}


def facet(
    data: Data,
    label: str,
    read: Callable[[Conversation], Iterable[str]],
    *,
    order: Sequence[str] = (),
    closed: bool = False,
    single: bool = True,
    among: Callable[[Conversation], bool] | None = None,
) -> Facet:
    """Counts of what `read` gives; letter case and blanks don't count. What is not in `order` follows by frequency.

    `single`: a person has one value; several are all counted and told of. `among`: the conversations to look at.
    """
    tally = _Tally()
    for conversation in data.conversations:
        if among is None or among(conversation):
            tally.add(person_of(conversation), read(conversation))
    return Facet(
        label=label,
        values=tally.counts(order),
        told=Count(len(tally.theirs), tally.n_told),
        untold=Count(len(tally.untold.keys() - tally.theirs.keys()), sum(tally.untold.values())),
        closed=closed,
        several=sum(len(values) > 1 for values in tally.theirs.values()) if single else 0,
    )


def fold(value: str) -> str:
    """A told text for comparing."""
    return shown(value).casefold()


def shown(value: str) -> str:
    """A told text as it may stand in a table: on one line, without what steers a terminal, and cut where it is long."""
    return printable(value, _LONGEST)


def facet_table(
    id: str,
    title: str,
    facets: Sequence[Facet],
    data: Data,
    *,
    of: Literal["people", "conversations"] = "people",
    caption: str = "",
    notes: tuple[str, ...] = (),
) -> Table:
    """A row for each value of each facet, and one for what is not told. `of`: whose share it is, of those that told."""
    several = len(facets) > 1
    columns = (
        *([Column("what", "What", "text")] if several else []),
        Column("value", "Answer" if several else facets[0].label if facets else "Answer", "text"),
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
    lines = [*one.values.items(), *([(NOT_TOLD, one.untold)] if one.untold.conversations else [])]
    masked = small_cells([count.people for _, count in lines], mask_below)
    nothing = (Cell(None, mark=MASKED), *(Cell(None) for _ in range(3)))
    unnamed = 0
    for (value, count), few in zip(lines, masked, strict=True):
        if few and not one.closed and value != NOT_TOLD:
            unnamed += 1
        elif few:
            yield (Cell(value), *nothing)
        else:
            told = None if value == NOT_TOLD else getattr(one.told, of)
            part = getattr(count, of) / told if told else None
            yield Cell(value), Cell(count.people), Cell(count.conversations), Cell(part), Cell(told)
    if unnamed:
        what = "answer" if unnamed == len(lines) else "further answer"
        yield (Cell(f"({counted(unnamed, what)})"), *nothing)


def small_cells(counts: Sequence[int], below: int) -> list[bool]:
    """Which of the counts of one list are masked: those under `below`, and so many of the next smallest that at least
    two, and `below` people in all, are hidden: else the sum of the list would give them away. 0 is no person."""
    hidden = [0 < count < below for count in counts]
    for place in sorted(range(len(counts)), key=lambda place: counts[place]):
        if not any(hidden):
            break
        together = sum(count for count, one in zip(counts, hidden, strict=True) if one)
        if sum(hidden) > 1 and together >= below:
            break
        hidden[place] = hidden[place] or counts[place] > 0
    return hidden
