"""The turns of a parsed conversation file → `Turn`s with their labels. Settles the aliases and checks the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attunebench.conversations import block as kinds
from attunebench.conversations.block import Block
from attunebench.conversations.schema import BinaryJudgement, Comparison, Frozen, Tag, Turn

USUAL_COMPARISONS = 12
_LAST_TURN = 1_000_000
_NUMBER = kinds.Kind(
    lambda value: value if type(value) is int and 1 <= value <= _LAST_TURN else None,
    f"a whole number from 1 to {_LAST_TURN:,}",
)

_OBSERVED = ("observedBehavior", "did_occur", "humanValue", "actualValue")
_PREFERRED = ("preferredBehavior", "should_occur", "humanPreference")
_REPLIES = {"alternate": ("llmImproved", "alternate1"), "human": ("humanEdited", "alternate2")}

M = TypeVar("M", BinaryJudgement, Comparison)

_USUAL: dict[tuple[Any, ...], Any] = {}
"""Nine entries in ten are one of a few hundred frozen values: shared, they cost a look-up and no memory."""


def read_turns(top: Block) -> tuple[Turn, ...]:
    """The turns in the order of their numbers, without what is no object; () where the list itself is unusable."""
    path, given = top.get("turns")
    if given == []:
        top.notes.error(path, "expected at least one turn, found an empty list")
        return ()
    if not isinstance(given, list):
        top.notes.expected(path, "a list of turns", given)
        return ()
    turns: list[Turn] = []
    seen: set[int] = set()
    for index, entry in enumerate(given):
        block = top.item("turns", index, entry)
        if block is None:
            continue
        number = block.value(_NUMBER, "turnNumber")
        if number in seen:
            top.notes.error(block.at("turnNumber"), f"the turn number {number} occurs a second time")
        if number is not None:
            seen.add(number)
        turns.append(_turn(block, number or 0))
    ordered = sorted(turns, key=lambda turn: turn.number)
    if ordered != turns:
        top.notes.warn(path, "the turns are not in the order of their numbers; the numbers are used")
    return tuple(ordered)


def _turn(block: Block, number: int) -> Turn:
    labels = block.block("annotations")
    replies = labels.block("alternateResponses")
    tags, repeated = _tags(block)
    turn: dict[str, Any] = {
        "number": number,
        "user_message": block.text("userMessage"),
        "llm_response": block.text("llmResponse"),
        "tags": tags,
        "judgements": _judgements(labels),
        "llm_improved": replies.value(kinds.OPTIONAL_TEXT, *_REPLIES["alternate"]),
        "human_edited": replies.value(kinds.OPTIONAL_TEXT, *_REPLIES["human"]),
        "comparisons": _comparisons(labels),
        "selected_pairwise": _selected(labels),
        "repeated_tags": repeated,
    }
    # A comparison of a reply that is not there can be neither asked nor scored. (What is no text is noted already.)
    compared = {side for comparison in turn["comparisons"] for side in (comparison.a, comparison.b)}
    for variant, names in _REPLIES.items():
        path, value = replies.get(*names)
        if variant in compared and (value is None or (isinstance(value, str) and not value.strip())):
            block.notes.error(path, f"expected a text, since comparisons use '{variant}', found none")
    if unknown := labels.extras(Frozen):
        turn["annotations"] = unknown
    return Turn(**turn, **block.extras(Turn))


def _tags(block: Block) -> tuple[tuple[Tag, ...] | None, tuple[Tag, ...]]:
    """The tags, each emotion once, and those that were left out for it; None is no truth."""
    given = block.value(kinds.LIST, "moodShiftTags")
    if given is None:
        block.notes.no_truth(block.at("moodShiftTags"))
        return None, ()
    tags: dict[str, Tag] = {}
    repeated: list[Tag] = []
    for index, raw in enumerate(given):
        entry = block.item("moodShiftTags", index, raw, "an object with emotion and intensity")
        if entry is None:
            continue
        emotion, intensity = entry.value(kinds.EMOTION, "emotion"), entry.value(kinds.INTENSITY, "intensity")
        if emotion is None:
            continue
        tag = Tag(emotion=emotion, intensity=intensity, **entry.extras(Tag))
        if emotion in tags:
            block.notes.warn(entry.at("emotion"), f"{emotion} occurs twice in this turn; the higher intensity is used")
            lower, tag = sorted((tag, tags[emotion]), key=lambda one: one.intensity or 0)
            repeated.append(lower)
        tags[emotion] = tag
    return tuple(tags.values()), tuple(repeated)


def _judgements(labels: Block) -> tuple[BinaryJudgement, ...]:
    given = labels.value(kinds.LIST, "binaryJudgements")
    path = labels.at("binaryJudgements")
    if not given:
        labels.notes.warn(path, "there is no judgement in this turn", "count")
    judgements: dict[str, BinaryJudgement] = {}
    for index, entry in enumerate(given or ()):
        judgement = _entry(labels, "binaryJudgements", index, entry, _judgement)
        if judgement is None:
            continue
        earlier = judgements.get(judgement.question_id)
        if earlier is None:
            judgements[judgement.question_id] = judgement
        elif (earlier.observed, earlier.preferred) == (judgement.observed, judgement.preferred):
            labels.notes.warn(f"{path}[{index}].questionId", "this question occurs twice; it counts once")
        else:
            labels.notes.error(f"{path}[{index}].questionId", "judged a second time, with another value")
    return tuple(judgements.values())


def _judgement(block: Block) -> BinaryJudgement | None:
    question = block.value(kinds.BINARY_ID, "questionId")
    observed, preferred = (block.value(kinds.YES_NO, *names) for names in (_OBSERVED, _PREFERRED))
    if question is None:
        return None
    extras = block.extras(BinaryJudgement)
    return BinaryJudgement(question_id=question, observed=observed, preferred=preferred, **extras)


def _comparisons(labels: Block) -> tuple[Comparison, ...]:
    given = labels.value(kinds.LIST, "pairwiseComparisons") or []
    if len(given) != USUAL_COMPARISONS:
        sentence = f"{len(given)} comparisons instead of the usual {USUAL_COMPARISONS}"
        labels.notes.warn(labels.at("pairwiseComparisons"), sentence, "count")
    read = (_entry(labels, "pairwiseComparisons", index, entry, _comparison) for index, entry in enumerate(given))
    return tuple(comparison for comparison in read if comparison is not None)


def _comparison(block: Block) -> Comparison | None:
    question, winner = block.value(kinds.PAIRWISE_ID, "questionId"), block.value(kinds.WINNER, "winner")
    a, b = (block.value(kinds.VARIANT, *names) for names in (("responseA", "response_1"), ("responseB", "response_2")))
    if question is None or a is None or b is None:
        return None
    if a == b:
        block.notes.error(block.path, f"expected two different variants, found '{a}' on both sides")
    return Comparison(question_id=question, a=a, b=b, winner=winner, **block.extras(Comparison))


def _entry(labels: Block, name: str, index: int, raw: Any, read: Callable[[Block], M | None]) -> M | None:
    """What `read` makes of an entry of a list; one without anything to note, and without further keys, is shared."""
    key: tuple[Any, ...] = (read, *raw, *raw.values()) if isinstance(raw, dict) else ()
    try:
        usual: M | None = _USUAL.get(key)
    except TypeError:  # a list or object where a value is due
        key, usual = (), None
    if usual is not None:
        return usual
    block, notes = labels.item(name, index, raw), labels.notes
    before = len(notes.errors) + len(notes.warnings)
    entry = read(block) if block is not None else None
    if key and entry is not None and not entry.model_extra and before == len(notes.errors) + len(notes.warnings):
        _USUAL[key] = entry
    return entry


def _selected(labels: Block) -> tuple[str, ...]:
    name = "selectedPairwiseQuestions"
    selected = labels.value(kinds.TEXTS, name) or ()
    for index, question in enumerate(selected):
        labels.checked(kinds.PAIRWISE_ID, f"{labels.at(name)}[{index}]", question)
    return selected
