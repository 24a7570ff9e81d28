"""The turns of a parsed conversation file → `Turn`s with their labels. Settles the aliases and checks the labels.

Knows nothing of the rest of the file (see `reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations, product
from operator import itemgetter
from typing import Any, TypeVar, get_args

from attunebench.codebook import default_codebook
from attunebench.conversations import values
from attunebench.conversations.issues import Notes
from attunebench.conversations.schema import BinaryJudgement, Comparison, Frozen, Letter, Tag, Turn, Variant, YesNoNa
from attunebench.conversations.values import Object, extras_of

USUAL_COMPARISONS = 12
_LAST_TURN = 1_000_000

_CODEBOOK = default_codebook()
_OBSERVED = ("observedBehavior", "did_occur", "humanValue", "actualValue")
_PREFERRED = ("preferredBehavior", "should_occur", "humanPreference")
_JUDGEMENT_KEYS = ("questionId", _OBSERVED[0], _PREFERRED[0])
_JUDGEMENT_KEY = itemgetter(*_JUDGEMENT_KEYS)
_COMPARISON_KEYS = ("questionId", "responseA", "responseB", "winner")
_COMPARISON_KEY = itemgetter(*_COMPARISON_KEYS)

# Nine entries in ten are one of a few hundred frozen values: shared, they cost a look-up and no memory.
_JUDGEMENTS: dict[tuple[str, ...], BinaryJudgement] = {
    key: BinaryJudgement(question_id=key[0], observed=key[1], preferred=key[2])
    for key in product(_CODEBOOK.binary, get_args(YesNoNa), get_args(YesNoNa))
}
_COMPARISONS: dict[tuple[str, ...], Comparison] = {
    (question, a, b, winner): Comparison(question_id=question, a=a, b=b, winner=winner)
    for question in _CODEBOOK.pairwise
    for a, b in permutations(get_args(Variant), 2)
    for winner in get_args(Letter)
}

T = TypeVar("T")


def read_turns(raw: Object, notes: Notes) -> tuple[Turn, ...]:
    """The turns in the order of their numbers, without what is no object; () where the list itself is unusable."""
    given = raw.get("turns")
    if given == []:
        notes.error("turns", "expected at least one turn, found an empty list")
        return ()
    if not isinstance(given, list):
        notes.expected("turns", "a list of turns", given)
        return ()
    turns: list[Turn] = []
    seen: set[int] = set()
    for index, entry in enumerate(given):
        path = f"turns[{index}]"
        if not isinstance(entry, dict):
            notes.expected(path, "an object", entry)
            continue
        number = _number(entry, path, notes)
        if number in seen:
            notes.error(f"{path}.turnNumber", f"the turn number {number} stands here a second time")
        if number is not None:
            seen.add(number)
        turns.append(_turn(entry, number or 0, path, notes))
    ordered = sorted(turns, key=lambda turn: turn.number)
    if ordered != turns:
        notes.warn("turns", "the turns are not in the order of their numbers; the numbers count")
    return tuple(ordered)


def _turn(raw: Object, number: int, path: str, notes: Notes) -> Turn:
    labels = values.member(raw, "annotations", path, notes)
    inside = f"{path}.annotations"
    replies = values.member(labels, "alternateResponses", inside, notes)
    other = f"{inside}.alternateResponses"
    unknown = extras_of(
        labels, {"binaryJudgements", "alternateResponses", "pairwiseComparisons", "selectedPairwiseQuestions"}, Frozen
    )
    tags, repeated = _tags(raw, path, notes)
    turn = Turn(
        number=number,
        user_message=values.text(raw, "userMessage", path, notes),
        llm_response=values.text(raw, "llmResponse", path, notes),
        tags=tags,
        judgements=_judgements(labels, inside, notes),
        llm_improved=values.optional_text(replies, other, notes, "llmImproved", "alternate1"),
        human_edited=values.optional_text(replies, other, notes, "humanEdited", "alternate2"),
        comparisons=_comparisons(labels, inside, notes),
        selected_pairwise=_selected(labels, inside, notes),
        repeated_tags=repeated,
        **extras_of(raw, {"turnNumber", "userMessage", "llmResponse", "moodShiftTags", "annotations"}, Turn),
        **({"annotations": unknown} if unknown else {}),
    )
    _note_missing_replies(turn, replies, other, notes)
    return turn


def _note_missing_replies(turn: Turn, replies: Object, path: str, notes: Notes) -> None:
    """A comparison of a reply that is not there can be neither asked nor scored. (What is no text is noted already.)"""
    compared = {side for comparison in turn.comparisons for side in (comparison.a, comparison.b)}
    for variant, names in (("alternate", ("llmImproved", "alternate1")), ("human", ("humanEdited", "alternate2"))):
        name, value = values.pick(replies, *names)
        if variant in compared and (value is None or (isinstance(value, str) and not value.strip())):
            notes.error(f"{path}.{name}", f"expected a text, since comparisons use '{variant}', found none")


def _number(raw: Object, path: str, notes: Notes) -> int | None:
    value = raw.get("turnNumber")
    if type(value) is int and 1 <= value <= _LAST_TURN:
        return value
    notes.expected(f"{path}.turnNumber", f"a whole number from 1 to {_LAST_TURN:,}", value)
    return None


def _tags(raw: Object, path: str, notes: Notes) -> tuple[tuple[Tag, ...] | None, tuple[Tag, ...]]:
    """The tags, each emotion once, and those that were left out for it; None is no truth."""
    given = values.entries(raw, "moodShiftTags", path, notes)
    if given is None:
        notes.no_truth(f"{path}.moodShiftTags")
        return None, ()
    tags: dict[str, Tag] = {}
    repeated: list[Tag] = []
    for index, entry in enumerate(given):
        place = f"{path}.moodShiftTags[{index}]"
        if not isinstance(entry, dict):
            notes.expected(place, "an object with emotion and intensity", entry)
            continue
        emotion = values.emotion(entry, place, notes)
        intensity = values.intensity(entry, place, notes)
        if emotion is None:
            continue
        tag = Tag(emotion=emotion, intensity=intensity, **extras_of(entry, ("emotion", "intensity"), Tag))
        if emotion in tags:
            notes.warn(f"{place}.emotion", f"{emotion} stands in this turn twice; the higher intensity counts")
            lower, tag = sorted((tag, tags[emotion]), key=lambda one: one.intensity or 0)
            repeated.append(lower)
        tags[emotion] = tag
    return tuple(tags.values()), tuple(repeated)


def _judgements(labels: Object, path: str, notes: Notes) -> tuple[BinaryJudgement, ...]:
    given = values.entries(labels, "binaryJudgements", path, notes)
    if not given:
        notes.warn(f"{path}.binaryJudgements", "there is no judgement in this turn", "count")
    found: dict[str, BinaryJudgement] = {}
    for index, entry in enumerate(given or ()):
        judgement = _usual(_JUDGEMENTS, entry, _JUDGEMENT_KEY)
        if judgement is None:
            judgement = _judgement(entry, f"{path}.binaryJudgements[{index}]", notes)
        if judgement is None:
            continue
        earlier = found.get(judgement.question_id)
        if earlier is None:
            found[judgement.question_id] = judgement
        elif (earlier.observed, earlier.preferred) == (judgement.observed, judgement.preferred):
            notes.warn(
                f"{path}.binaryJudgements[{index}].questionId", "this question stands here twice; it counts once"
            )
        else:
            notes.error(f"{path}.binaryJudgements[{index}].questionId", "judged a second time, with another value")
    return tuple(found.values())


def _judgement(raw: Any, path: str, notes: Notes) -> BinaryJudgement | None:
    if not isinstance(raw, dict):
        notes.expected(path, "an object", raw)
        return None
    question = values.known_id(raw, path, notes, _CODEBOOK.binary, "the ID of a binary question (B1 … B505)")
    observed = values.yes_no(raw, path, notes, *_OBSERVED)
    preferred = values.yes_no(raw, path, notes, *_PREFERRED)
    if question is None:
        return None
    extras = extras_of(raw, ("questionId", *_OBSERVED, *_PREFERRED), BinaryJudgement)
    return BinaryJudgement(question_id=question, observed=observed, preferred=preferred, **extras)


def _comparisons(labels: Object, path: str, notes: Notes) -> tuple[Comparison, ...]:
    given = values.entries(labels, "pairwiseComparisons", path, notes) or []
    if len(given) != USUAL_COMPARISONS:
        notes.warn(f"{path}.pairwiseComparisons", f"{len(given)} comparisons, usual are {USUAL_COMPARISONS}", "count")
    found = []
    for index, entry in enumerate(given):
        comparison = _usual(_COMPARISONS, entry, _COMPARISON_KEY)
        if comparison is None:
            comparison = _comparison(entry, f"{path}.pairwiseComparisons[{index}]", notes)
        if comparison is not None:
            found.append(comparison)
    return tuple(found)


def _comparison(raw: Any, path: str, notes: Notes) -> Comparison | None:
    if not isinstance(raw, dict):
        notes.expected(path, "an object", raw)
        return None
    question = values.known_id(raw, path, notes, _CODEBOOK.pairwise, "general or PW1 … PW16")
    a = values.variant(raw, path, notes, "responseA", "response_1")
    b = values.variant(raw, path, notes, "responseB", "response_2")
    winner = values.winner(raw, path, notes)
    if question is None or a is None or b is None:
        return None
    if a == b:
        notes.error(path, f"expected two different variants, found '{a}' on both sides")
    extras = extras_of(raw, (*_COMPARISON_KEYS, "response_1", "response_2"), Comparison)
    return Comparison(question_id=question, a=a, b=b, winner=winner, **extras)


def _usual(known: Mapping[tuple[str, ...], T], raw: Any, key: Callable[[Any], tuple[str, ...]]) -> T | None:
    """The shared object for an entry in the format's own spelling, without anything else in it; None for the rest."""
    try:
        values_in_order = key(raw)
        return known.get(values_in_order) if len(raw) == len(values_in_order) else None
    except (KeyError, TypeError):  # another spelling, no object at all, or a list or object where a value is due
        return None


def _selected(labels: Object, path: str, notes: Notes) -> tuple[str, ...]:
    selected = values.texts(labels, "selectedPairwiseQuestions", path, notes)
    for index, question in enumerate(selected):
        if question not in _CODEBOOK.pairwise:
            notes.expected(f"{path}.selectedPairwiseQuestions[{index}]", "general or PW1 … PW16", question)
    return selected
