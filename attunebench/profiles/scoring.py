"""Predictions and profiles → what was predicted correctly, and what could have been without reading the conversation.

Every row is a conversation; several can be of one participant, who has one profile, so the participant is the unit of
all chance and of every base rate. Declining and not answering earn what a wrong answer earns. Makes arrays alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import CANNOT_TELL, Trait, truth_of
from attunebench.selection.fields import thirds
from attunebench.statistics.bootstrap import Floats, Labels

Answers = Mapping[str, str | frozenset[str] | float]
"""Trait id → one of its answers, a set of them for groups, a number for scales and age, or `traits.CANNOT_TELL`. A
trait that is missing was not answered."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is right or wrong. Arrays have an entry for each row, NaN where there is no truth.

    `classes`: which of the possible truths a row has. `right`: 1 or 0. `base`: the chance that the most frequent truth
    of the other participants is right. `answered` and `declined`: 1 or 0; what is neither was not answered. `part`:
    one of the groups of another item, answered with it.
    """

    id: str
    label: str
    classes: tuple[Hashable | None, ...]
    right: Floats
    base: Floats
    answered: Floats
    declined: Floats
    screener: bool
    part: bool


@dataclass(frozen=True, slots=True)
class Scale:
    """A number: truth, prediction, and the median of the other participants, by row; NaN: none.

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


def score(conversations: Sequence[Conversation], answers: Mapping[str, Answers], traits: Sequence[Trait]) -> Scored:
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
            truth, said = _numbers(truths), _numbers(given)
            base = np.where(np.isnan(said), np.nan, base_numbers(truth, people))
            scales.append(Scale(trait.id, trait.label, truth, said, base))
    return Scored(people, tuple(items), tuple(scales))


def labels_of(conversations: Sequence[Conversation]) -> Labels:
    """A label for each conversation's participant; an unknown participant is a person of their own."""
    known: dict[str | tuple[int], int] = {}
    keys = ((c.participant_id or (place,)) for place, c in enumerate(conversations))
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def base_right(classes: Sequence[Hashable | None], people: Labels) -> Floats:
    """For each row the chance that the most frequent class of the *other* participants is its own; NaN without any.

    Each participant counts once. Leaving one out turns an even majority against them, and a model that guesses would
    beat that; so where it depends on one person which class is the most frequent, all that can be are guessed among.
    """
    theirs = _first_of_each(classes, people)
    if len(theirs) < 2:
        return np.full(len(classes), np.nan)
    counts = Counter(theirs.values())
    leading: set[Hashable] = set()
    for left_out in counts:
        others = counts - Counter([left_out])
        leading |= {name for name, count in others.items() if count == max(others.values())}
    return np.array([np.nan if c is None else float(c in leading) / len(leading) for c in classes])


def base_numbers(truth: Floats, people: Labels) -> Floats:
    """For each row the median of the other participants' numbers; NaN where the row, or everybody else, has none."""
    theirs = _first_of_each([None if np.isnan(value) else value for value in truth], people)
    medians = np.full(len(truth), np.nan)
    for row in np.flatnonzero(~np.isnan(truth)):
        others = [value for person, value in theirs.items() if person != people[row]]
        if others:
            medians[row] = median(others)
    return medians


def _first_of_each(values: Sequence[Any], people: Labels) -> dict[int, Any]:
    theirs: dict[int, Any] = {}
    for person, value in zip(people, values, strict=True):
        if value is not None:
            theirs.setdefault(int(person), value)
    return theirs


def _numbers(values: Sequence[Any]) -> Floats:
    return np.array([value if isinstance(value, (int, float)) else np.nan for value in values], dtype=np.float64)


def _items(trait: Trait, truths: list[Any], given: list[Any], people: Labels) -> list[Item]:
    """What is right or wrong about a trait: one item, for groups one more for each of them."""
    if trait.form == "choice":
        return [_item(trait, "", "", truths, given, people)]
    if trait.form == "age":
        # Somebody is 34 until the day they are 35.
        return [_item(trait, "", "", truths, given, people, lambda span, age: span.low <= age < span.high + 1)]
    if trait.form == "groups":
        items = [_item(trait, "", ", all right", truths, given, people)]
        for group in trait.options:
            has_group = partial(_mapped, read=frozenset({group}).issubset)
            items.append(_item(trait, f".{group}", f": {group}", has_group(truths), has_group(given), people))
        return items
    cuts = thirds(list(_first_of_each(truths, people).values()))
    if cuts is None:
        return []  # all have the same number
    thirds_of = partial(_mapped, read=lambda n: ("low", "middle", "high")[sum(n >= cut for cut in cuts)])
    return [_item(trait, "", ", third", thirds_of(truths), thirds_of(given), people)]


def _mapped(values: list[Any], read: Callable[[Any], Hashable]) -> list[Any]:
    """`read` of what says something; what declines, or is none, stays what it is."""
    return [value if value is None or value == CANNOT_TELL else read(value) for value in values]


def _item(
    trait: Trait,
    id: str,
    label: str,
    truths: list[Any],
    given: list[Any],
    people: Labels,
    is_right: Callable[[Any, Any], bool] = lambda truth, said: bool(truth == said),
) -> Item:
    known = np.array([truth is not None for truth in truths], dtype=bool)
    declined = np.array([said == CANNOT_TELL for said in given], dtype=bool)
    answered = np.array([said is not None for said in given], dtype=bool) & ~declined
    right = [
        bool(has) and truth is not None and is_right(truth, said)
        for truth, said, has in zip(truths, given, answered, strict=True)
    ]
    columns = (right, answered, declined)
    scored, has_answer, has_declined = (np.where(known, np.asarray(c, dtype=np.float64), np.nan) for c in columns)
    return Item(
        id=trait.id + id,
        label=trait.label + label,
        classes=tuple(truths),
        right=scored,
        base=base_right(truths, people),
        answered=has_answer,
        declined=has_declined,
        screener=trait.screener,
        part=bool(id),
    )
