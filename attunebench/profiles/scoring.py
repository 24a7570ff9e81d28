"""Predictions and profiles → what was told rightly, and what could have been without reading anybody.

Every row is a conversation; several can be of one participant, who has one profile, so the participant is the unit of
all chance and of every base rate. Declining and not answering earn what a wrong answer earns. Makes arrays: intervals
and tables are elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import CANNOT_TELL, Span, Trait, Truth, truth_of
from attunebench.profiles.predictions import Answer
from attunebench.selection.known import thirds
from attunebench.statistics.bootstrap import Floats, Labels

THIRDS = ("low", "middle", "high")
Classes = tuple[Hashable | None, ...]
"""For each row which of the possible truths it has; None where the profile does not say."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is right or wrong. Arrays have an entry for each row, NaN where there is no truth.

    `right`: 1 or 0. `base`: the chance that the most frequent truth of the other participants is right. `answered` and
    `declined`: 1 or 0; what is neither was not answered.
    """

    id: str
    label: str
    classes: Classes
    right: Floats
    base: Floats
    answered: Floats
    declined: Floats
    screener: bool = False
    part: bool = False
    """Whether it is one of the groups of another item, answered with it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One number that is near or far: truth, prediction, and the median of the other participants, by row; NaN: none.

    `base` is NaN too where nothing was predicted: both errors are over the same rows.
    """

    id: str
    label: str
    truth: Floats
    given: Floats
    base: Floats


@dataclass(frozen=True, slots=True)
class Scored:
    """The rows' participants as labels 0 … k − 1, and what was predicted of them."""

    people: Labels
    items: tuple[Item, ...]
    scales: tuple[Scale, ...]


def score(
    conversations: Sequence[Conversation], answers: Mapping[str, Mapping[str, Answer]], traits: Sequence[Trait]
) -> Scored:
    """Score the conversations that have a prediction (maybe an empty one), in their order."""
    rows = [conversation for conversation in conversations if conversation.conversation_id in answers]
    people = labels_of(rows)
    items: list[Item] = []
    scales: list[Scale] = []
    for trait in traits:
        truths = [truth_of(trait, row.profile) for row in rows]
        given = [answers[row.conversation_id].get(trait.id) for row in rows]
        items += _items(trait, truths, given, people)
        if trait.form == "scale":
            scales.append(_scale(trait, truths, given, people))
    return Scored(people, tuple(items), tuple(scales))


def labels_of(conversations: Sequence[Conversation]) -> Labels:
    """A label for each conversation's participant; one of an unknown person is a person's own."""
    known: dict[str | tuple[int], int] = {}
    keys = ((c.participant_id or (place,)) for place, c in enumerate(conversations))
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def base_right(classes: Classes, people: Labels) -> Floats:
    """For each row the chance that the most frequent class of the *other* participants is its own; NaN without any.

    Each participant counts once. Leaving one out turns an even majority against them, and a model that guesses would
    beat that; so where it depends on one person which class is the most frequent, all that can be are guessed among.
    """
    theirs = _first_of_each(classes, people)
    counts = Counter(theirs.values())
    if len(theirs) < 2:
        return np.full(len(classes), np.nan)
    leading: set[Hashable] = set()
    for left_out in counts:
        others = counts - Counter([left_out])
        leading |= {name for name, count in others.items() if count == max(others.values())}
    return np.array([np.nan if c is None else float(c in leading) / len(leading) for c in classes])


def base_numbers(truth: Floats, people: Labels) -> Floats:
    """For each row the median of the other participants' numbers; NaN where the row, or everybody else, has none."""
    theirs = _first_of_each([None if np.isnan(value) else value for value in truth], people)
    found = np.full(len(truth), np.nan)
    for row in np.flatnonzero(~np.isnan(truth)):
        others = [_number(value) for person, value in theirs.items() if person != people[row]]
        if others:
            found[row] = median(others)
    return found


def _first_of_each(values: Sequence[Hashable | None], people: Labels) -> dict[int, Hashable]:
    theirs: dict[int, Hashable] = {}
    for person, value in zip(people, values, strict=True):
        if value is not None:
            theirs.setdefault(int(person), value)
    return theirs


def _items(trait: Trait, truths: Sequence[Truth | None], given: Sequence[Answer | None], people: Labels) -> list[Item]:
    """What is right or wrong about a trait: one item, for groups one more for each of them."""
    if trait.form == "choice":
        return [_item(trait.id, trait.label, trait, truths, given, people)]
    if trait.form == "age":
        return [_item(trait.id, trait.label, trait, truths, given, people, _in_span)]
    if trait.form == "scale":
        return _third(trait, truths, given, people)
    items = [_item(trait.id, f"{trait.label}, all right", trait, truths, given, people)]
    for group in trait.options:
        inside = [None if truth is None else group in _set(truth) for truth in truths]
        said = [_either(answer, lambda said, group=group: group in _set(said)) for answer in given]  # type: ignore[misc]
        items.append(_item(f"{trait.id}.{group}", f"{trait.label}: {group}", trait, inside, said, people, part=True))
    return items


def _third(trait: Trait, truths: Sequence[Truth | None], given: Sequence[Answer | None], people: Labels) -> list[Item]:
    """The third of the participants in which a number lies; no item where all have the same number."""
    numbers = [None if truth is None else _number(truth) for truth in truths]
    cuts = thirds([_number(value) for value in _first_of_each(numbers, people).values()])
    if cuts is None:
        return []

    def third(number: float) -> str:
        return THIRDS[sum(number >= cut for cut in cuts)]

    inside = [None if number is None else third(number) for number in numbers]
    said = [_either(answer, lambda said: third(_number(said))) for answer in given]
    return [_item(trait.id, f"{trait.label}, third", trait, inside, said, people)]


def _item(
    item_id: str,
    label: str,
    trait: Trait,
    truths: Sequence[Hashable | None],
    given: Sequence[Hashable | None],
    people: Labels,
    is_right: Callable[[Hashable, Hashable], bool] = lambda truth, said: truth == said,
    *,
    part: bool = False,
) -> Item:
    known = np.array([truth is not None for truth in truths], dtype=bool)
    declined = np.array([said == CANNOT_TELL for said in given], dtype=bool)
    answered = np.array([said is not None for said in given], dtype=bool) & ~declined
    right = [
        truth is not None and has and said is not None and is_right(truth, said)
        for truth, said, has in zip(truths, given, answered, strict=True)
    ]

    def where_known(flags: object) -> Floats:
        return np.where(known, np.asarray(flags, dtype=np.float64), np.nan)

    classes = tuple(truths)
    return Item(
        item_id,
        label,
        classes,
        where_known(right),
        base_right(classes, people),
        where_known(answered),
        where_known(declined),
        screener=trait.screener,
        part=part,
    )


def _scale(trait: Trait, truths: Sequence[Truth | None], given: Sequence[Answer | None], people: Labels) -> Scale:
    truth = np.array([np.nan if value is None else _number(value) for value in truths], dtype=np.float64)
    said = np.array([_number(value) if isinstance(value, (int, float)) else np.nan for value in given])
    base = base_numbers(truth, people)
    base[np.isnan(said)] = np.nan
    return Scale(trait.id, trait.label, truth, said, base)


def _in_span(truth: Hashable, said: Hashable) -> bool:
    """Whether an age lies in a range: somebody is 34 until the day they are 35."""
    assert isinstance(truth, Span)
    return truth.low <= _number(said) < truth.high + 1


def _either(answer: Answer | None, read: Callable[[Answer], Hashable]) -> Hashable | None:
    """`read` of an answer that says something; what declines, or is none, stays what it is."""
    return None if answer is None else CANNOT_TELL if answer == CANNOT_TELL else read(answer)


def _number(value: object) -> float:
    assert isinstance(value, (int, float))
    return float(value)


def _set(said: Truth | Answer) -> frozenset[str]:
    assert isinstance(said, frozenset)
    return said
