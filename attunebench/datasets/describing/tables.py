"""Tables about the data: how a quantity spreads, how often each answer was given; intervals; masking."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from attunebench.analyses.table import Cell, Table, Unit, column, counts, table, words
from attunebench.analyses.verdicts import counted, listed
from attunebench.codebook import Codebook
from attunebench.conversations import Conversation
from attunebench.conversations.schema import Turn
from attunebench.statistics.intervals import clustered_wilson
from attunebench.text import printable

MASKED = "masked"
NOT_TOLD = "not told"
_LONGEST = 100
WILSON = "95 % Wilson intervals that account for the correlation of one person's answers"


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
            f"“{MASKED}”: fewer than {self.mask_below} participants, or a number that would reveal such a value. "
            "Ranges, which show single people's values, are omitted. This is not formal anonymisation."
        )


def person_of(conversation: Conversation) -> str:
    """A key for whoever held the conversation."""
    known = conversation.participant_id
    return f"person {known}" if known is not None else f"unknown, in {conversation.conversation_id}"


# Quantities


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
    measures: dict[str, tuple[str, Unit, int | None, Callable[[list[float], int], float | None]]] = {
        "n": ("n", "count", None, lambda values, _: len(values)),
        "total": ("Total", "count", None, lambda values, _: sum(values)),
        "mean": ("Mean", "number", 2, lambda values, _: mean_of(values)),
        "sd": ("SD", "number", 2, lambda values, _: statistics.stdev(values) if len(values) > 1 else None),
        "median": ("Median", "number", 1, lambda values, _: statistics.median(values) if values else None),
        "min": ("Min", "number", ends, lambda values, _: min(values, default=None)),
        "max": ("Max", "number", ends, lambda values, _: max(values, default=None)),
        "missing": ("Missing", "count", None, lambda values, n: n - len(values)),
    }
    for name in ("missing" if total else "total", *(("min", "max") if mask > 1 else ())):
        del measures[name]
    filled = [
        column(name, [masked(measure(v, n), few=0 < len(v) < mask) for v, n in known], label, unit, digits=digits)
        for name, (label, unit, digits, measure) in measures.items()
    ]
    return table(id, title, words("what", quantities, what), *filled, caption=caption)


def mean_of(values: Sequence[float]) -> float | None:
    """Exact inside, so that the order of the files changes no digit; None over nothing."""
    return statistics.fmean(values) if values else None


def mean_cell(values: Sequence[float | None], mask_below: int = 0) -> Cell:
    """The mean of what is known, with its n where something is not."""
    known = [value for value in values if value is not None]
    if 0 < len(known) < mask_below:
        return masked(None, few=True)
    return Cell(mean_of(known), n=len(known) if len(known) < len(values) else None)


def masked(value: float | None, *, few: bool) -> Cell:
    """A value, or the mark in its place where few people stand behind it."""
    return Cell(None, mark=MASKED) if few else Cell(value)


def part(count: float, of: int) -> float | None:
    """A share; None of nothing."""
    return count / of if of else None


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


# Answers


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing that is told or answered: the text or texts that `read` gives of a conversation; `order` has the values
    to show first.

    `closed`: the values are a list that everybody knows, and not what somebody wrote. `single`: a person has one value;
    several are all counted and noted. `among`: the conversations to look at.
    """

    label: str
    read: Callable[[Conversation], Any]
    order: Sequence[str] = ()
    closed: bool = False
    single: bool = False
    among: Callable[[Conversation], bool] = lambda _: True


_Line = tuple[str, int, int, int | None]
"""A value, how many participants and conversations have it, and how many have any value (None: it is not told)."""


def facet_table(
    data: Data,
    id: str,
    title: str,
    facets: Sequence[Facet],
    caption: str,
    *,
    of: Literal["participants", "conversations"] = "participants",
    notes: tuple[str, ...] = (),
) -> Table:
    """A row for each value of each facet, and one for what is not told. `of`: whose share it is, of those that told."""
    several = len(facets) != 1
    rows: list[tuple[Cell, ...]] = []
    differing = []
    for facet in facets:
        lines, people = _lines(data, facet, of)
        rows += ((*([Cell(facet.label)] * several), *cells) for cells in _rows(lines, facet, of, data.mask_below))
        if facet.single and people >= max(data.mask_below, 1):
            differing.append(f"{facet.label} (of {counted(people, 'participant')})")
    if differing:
        notes = (*notes, f"A participant's conversations differ in {listed(differing)}; each answer is counted.")
    return table(
        id,
        title,
        *([words("what", label="What")] * several),
        words("value", label="Answer" if several else facets[0].label),
        counts("participants", label="Participants"),
        counts("conversations", label="Conversations"),
        column("share", (), f"Share of {of}", "share"),
        counts("n", label="of n"),
        rows=rows,
        caption=caption,
        notes=notes,
    )


def _lines(data: Data, facet: Facet, of: str) -> tuple[list[_Line], int]:
    """The values of a facet, and how many participants have several. Letter case and blanks do not matter."""
    told = [
        (person_of(c), {fold(text): text for text in texts_of(facet.read(c))})
        for c in data.conversations
        if facet.among(c)
    ]
    having: dict[str, list[str]] = {fold(name): [] for name in facet.order}
    names: dict[str, str] = {}
    theirs: dict[str, set[str]] = {}
    for person, values in told:
        for key, spelling in values.items():
            having.setdefault(key, []).append(person)
            # Of several spellings always the same is shown, whatever the order of the files.
            names[key] = min(spelling, names.get(key, spelling))
            theirs.setdefault(person, set()).add(key)
    names |= {fold(name): name for name in facet.order}
    n = len(theirs) if of == "participants" else sum(bool(values) for _, values in told)
    first = {fold(name): place for place, name in enumerate(facet.order)}
    keys = sorted(having, key=lambda key: (first.get(key, len(first)), -len({*having[key]}), -len(having[key]), key))
    lines: list[_Line] = [(names[key], len({*having[key]}), len(having[key]), n) for key in keys]
    if silent := [person for person, values in told if not values]:
        lines.append((NOT_TOLD, len({*silent} - theirs.keys()), len(silent), None))
    return lines, sum(len(values) > 1 for values in theirs.values())


def _rows(lines: Sequence[_Line], facet: Facet, of: str, mask_below: int) -> Iterator[tuple[Cell, ...]]:
    """Of a masked answer that is no option of a list not even the words are shown: they may be one person's."""
    nothing = (Cell(None, mark=MASKED), *[Cell(None)] * 3)
    unnamed = 0
    few_have_it = small_cells([participants for _, participants, _, _ in lines], mask_below)
    for (value, participants, conversations, n), few in zip(lines, few_have_it, strict=True):
        if few and not facet.closed and n is not None:
            unnamed += 1
        elif few:
            yield (Cell(value), *nothing)
        else:
            share = part(participants if of == "participants" else conversations, n or 0)
            yield tuple(map(Cell, (value, participants, conversations, share, n)))
    if unnamed:
        what = "answer" if unnamed == len(lines) else "further answer"
        yield (Cell(f"({counted(unnamed, what)})"), *nothing)


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts that a file gives, one or a list of them, as they may be shown; () where it gives none."""
    given = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(text for one in given if isinstance(one, str) and (text := shown(one)))


def fold(value: str) -> str:
    """A text for comparing."""
    return shown(value).casefold()


def shown(value: str) -> str:
    """A text as it may stand in a table: on one line, without what steers a terminal, and cut where it is long."""
    return printable(value, _LONGEST)


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
