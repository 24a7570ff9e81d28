"""Predictions and profiles → what was predicted correctly, and what could have been without reading the conversation.
Every row is a conversation; the participant, who has one profile, is the unit of all chance and of every base rate.
Declining and not answering earn what a wrong answer earns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import CANNOT_TELL, Span, Trait, truth_of
from attunebench.selection.fields import thirds
from attunebench.statistics.bootstrap import Floats, Labels

Answers = Mapping[str, str | frozenset[str] | float]
"""Trait id → one of its answers, a set of them for groups, a number for scales and age, or `traits.CANNOT_TELL`. A
trait that is missing was not answered."""


class Item(NamedTuple):
    """One thing that is right or wrong. Arrays have an entry for each row, NaN where there is no truth.

    `right`: 1 or 0. `base`: the chance that the most frequent truth of the other participants is right. `answered` and
    `declined`: 1 or 0; what is neither was not answered. `part`: one of the groups of another item, answered with it.
    """

    id: str
    label: str
    right: Floats
    base: Floats
    answered: Floats
    declined: Floats
    screener: bool
    part: bool


class Scale(NamedTuple):
    """A number: truth, prediction, and the median of the other participants, by row; NaN: none.

    `base` is NaN too where nothing was predicted: both errors are over the same rows.
    """

    id: str
    label: str
    truth: Floats
    given: Floats
    base: Floats


class Scored(NamedTuple):
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


def _items(trait: Trait, truths: list[Any], given: list[Any], people: Labels) -> Iterator[Item]:
    """What is right or wrong about a trait: one item, for groups one more for each of them."""
    if trait.form == "scale":
        cuts = thirds(list(_first_of_each(truths, people).values()))
        if cuts is not None:  # else all have the same number
            read = partial(_mapped, read=lambda n: ("low", "middle", "high")[sum(n >= cut for cut in cuts)])
            yield _item(trait, "", ", third", read(truths), read(given), people)
        return
    yield _item(trait, "", ", all right" if trait.form == "groups" else "", truths, given, people)
    for group in trait.options if trait.form == "groups" else ():
        read = partial(_mapped, read=frozenset({group}).issubset)
        yield _item(trait, f".{group}", f": {group}", read(truths), read(given), people)


def _mapped(values: list[Any], read: Callable[[Any], Hashable]) -> list[Any]:
    """`read` of what says something; what declines, or is none, stays what it is."""
    return [value if value is None or value == CANNOT_TELL else read(value) for value in values]


def _item(trait: Trait, part: str, label: str, truths: list[Any], given: list[Any], people: Labels) -> Item:
    """Flags by row: NaN where there is no truth."""
    rows = list(zip(truths, given, strict=True))
    declined = [np.nan if truth is None else float(said == CANNOT_TELL) for truth, said in rows]
    answered = [np.nan if truth is None else float(said not in (None, CANNOT_TELL)) for truth, said in rows]
    right = [
        float(_is_right(truth, said)) if has == 1 else has for (truth, said), has in zip(rows, answered, strict=True)
    ]
    rows_of = (np.array(right), base_right(truths, people), np.array(answered), np.array(declined))
    return Item(trait.id + part, trait.label + label, *rows_of, trait.screener, bool(part))


def _is_right(truth: Any, said: Any) -> bool:
    # Somebody is 34 until the day they are 35.
    return bool(truth.low <= said < truth.high + 1 if isinstance(truth, Span) else truth == said)
