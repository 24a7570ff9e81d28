"""What a result answered: whether it answers this conversation at all, and its answers in the conversation's own order.

Answers to other turns, other texts or other comparisons are never scored: a number of theirs would look like any other.
Copies, abbreviates and counts; computes no metric. No words of a draft or a reason are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat

from attunebench.coerce import amount
from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.metrics.emotion import as_tags
from attunebench.results.schema import BINARY_BLOCKS, TURN_BLOCKS, Result, ResultTurn
from attunebench.scorer.truth import QUESTIONS, Truth, TruthTurn, letters, panas_state, wide_answers
from attunebench.scores.schema import ConversationAnswers, TurnAnswers

COUNTS = ("answered", "expected", "made", "refused", "mended", "reasked", "truncated")
"""What is counted of a result; judges and reasoning are not among it. None is unknown.

`reasked`: calls that were asked again at least once; `truncated`: calls cut at the limit of tokens for good.
"""
RATES = {
    "answered_rate": ("answered", "expected"),
    "refusal_rate": ("refused", "made"),
    "mended_rate": ("mended", "made"),
}
"""Metric id → the two counts whose ratio it is; over several conversations both are summed first."""
PANAS_SIDES = {
    "positive": tuple(item.lower() for item in PANAS_POSITIVE),
    "negative": tuple(item.lower() for item in PANAS_NEGATIVE),
}
_USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_OTHER = {"A": "B", "B": "A"}


class MismatchError(ValueError):
    """A result answers something else than the conversation asks; the text is a clause that says what."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of an aligned result, turn by turn of the conversation.

    `letters`: those of the `BINARY_BLOCKS`, turn by turn, in the order of the `width` questions of `Truth.blank`;
    `pairwise`: those of each turn's comparisons.
    """

    result: Result
    turns: tuple[ResultTurn, ...]
    letters: bytes
    width: int
    pairwise: tuple[str, ...]

    @property
    def measured(self) -> frozenset[str]:
        return self.result.measured

    def of_turns(self) -> Iterator[TurnAnswers]:
        """What was answered in each turn, as scores keep it; a block that the result does not have is absent."""
        measured, text = self.measured, self.letters.decode()
        starts = {block: row * len(self.turns) * self.width for row, block in enumerate(BINARY_BLOCKS)}
        known = [(block, start) for block, start in starts.items() if block in measured]
        for place, (turn, chosen) in enumerate(zip(self.turns, self.pairwise, strict=True)):
            answers: TurnAnswers = {}
            if "tags" in measured:
                answers["tags"] = None if turn.tags is None else as_tags(turn.tags)
            for block, start in known:
                begin = start + place * self.width
                answers[block] = text[begin : begin + len(QUESTIONS)]  # type: ignore[literal-required]
            if "pairwise" in measured:
                answers["pairwise"] = chosen
            yield answers

    def of_conversation(self) -> ConversationAnswers:
        """What was answered about the whole conversation, as scores keep it."""
        return {
            "post_panas": panas_state(self.result.panas) if "panas" in self.measured else None,
            "wide": wide_answers(self.result.wide) if "wide" in self.measured else None,
        }


def answers_of(truth: Truth, result: Result) -> Answers:
    """The answers with turn numbers and A/B sides as in the conversation; MismatchError where it answers another."""
    result = _align(truth, result)
    given = {turn.number: turn for turn in result.turns}
    turns = tuple([given.get(labels.number) or ResultTurn(labels.number) for labels in truth.turns])
    pairs = zip(truth.turns, turns, strict=True)
    chosen = tuple(["".join(map(turn.pairwise.get, labels.indices, repeat("-"))) for labels, turn in pairs])
    blocks = [getattr(turn, block) for block in BINARY_BLOCKS for turn in turns]
    return Answers(result, turns, letters(blocks, truth.blank), len(truth.blank), chosen)


def may_be_outdated(truth: Truth, result: Result) -> bool:
    """Whether the conversation's file has changed since the run and the result does not say what it asked."""
    digests = (result.source_sha256, truth.source_sha256)
    return all(digests) and digests[0] != digests[1] and not result.asked_sha256


def usage_of(result: Result) -> dict[str, float]:
    """The tokens that a result states."""
    return {name: known for name in _USAGE if (known := amount(result.usage.get(name))) is not None}


def counts_of(truth: Truth, answers: Answers) -> dict[str, float | None]:
    """The `COUNTS` of a result: the file's own where they are sound, else those of what is in it."""
    calls = answers.result.calls
    stated = {name: amount(calls.get(name)) for name in COUNTS[2:]}
    answered, expected = amount(calls.get("answered_items")), amount(calls.get("expected_items"))
    if answered is None or not expected or answered > expected:
        answered, expected = _items(truth, answers)
    made = stated["made"]
    sound = {
        name: count if count is not None and made is not None and count <= made else None
        for name, count in stated.items()
    }
    return {"answered": answered, "expected": expected, **sound}


def _items(truth: Truth, answers: Answers) -> tuple[float, float]:
    """(answered, expected) over the blocks that the result has."""
    answered = expected = 0
    for labels, turn in zip(truth.turns, answers.turns, strict=True):
        for block in TURN_BLOCKS.keys() & answers.measured:
            answer = getattr(turn, block)
            if block in ("draft", "tags"):
                answered, expected = answered + (answer is not None), expected + 1
            else:
                asked = labels.assignment.keys() if block == "pairwise" else labels.questions
                answered, expected = answered + len(asked & answer.keys()), expected + len(asked)
    if "panas" in answers.measured:
        panas = answers.result.panas
        for side, items in PANAS_SIDES.items():  # a side for which only the total is given counts as answered
            answered += len(items if getattr(panas, side) is not None else panas.items.keys() & {*items})
        expected += len(PANAS_ITEMS)
    if "wide" in answers.measured:
        wide = answers.result.wide
        answered += sum(answer is not None for answer in (wide.q1, wide.q2, wide.q3, wide.follow_up))
        answered += len(wide.four_branch)
        expected += 4 + len(BRANCHES)
    return answered, expected


def _align(truth: Truth, result: Result) -> Result:
    if truth.conversation_id != result.conversation_id:
        raise MismatchError(f"its conversation is {result.conversation_id!r}, not {truth.conversation_id!r}")
    if result.asked_sha256 and truth.asked_sha256 and result.asked_sha256 != truth.asked_sha256:
        raise MismatchError("its texts or comparisons have changed since")
    known, turns = {turn.number: turn for turn in truth.turns}, result.turns
    if not result.numbered:
        if len(turns) != len(known):
            raise MismatchError(f"it has {len(turns)} turns without numbers, and the conversation has {len(known)}")
        turns = tuple(turn._replace(number=number) for turn, number in zip(turns, known, strict=True))
    if lacking := [turn.number for turn in turns if turn.number not in known]:
        raise MismatchError(f"its turn {lacking[0]} is not in the conversation")
    turned = tuple([_with_sides(known[turn.number], turn) for turn in turns])
    unchanged = all(new is old for new, old in zip(turned, result.turns, strict=True))
    return result if unchanged else result._replace(turns=turned)


def _with_sides(truth: TruthTurn, turn: ResultTurn) -> ResultTurn:
    """The turn with the letters of comparisons whose two replies were shown the other way round exchanged."""
    if not turn.assignment or turn.assignment == truth.assignment:
        return turn
    swapped = [index for index, shown in turn.assignment.items() if _is_swapped(truth, index, shown)]
    exchanged = {index: _OTHER[turn.pairwise[index]] for index in swapped if index in turn.pairwise}
    return turn._replace(pairwise={**turn.pairwise, **exchanged}) if exchanged else turn


def _is_swapped(truth: TruthTurn, index: str, shown: object) -> bool:
    if not isinstance(shown, Mapping) or not {"A", "B"} <= shown.keys():
        return False  # what a file of another make says here, or nothing
    asked, sides = truth.assignment.get(index), (shown["A"], shown["B"])
    if asked is not None and sides == (asked["B"], asked["A"]):
        return True
    if asked is None or sides != (asked["A"], asked["B"]):
        raise MismatchError(
            f"comparison {index} of its turn {truth.number} compares different replies than the conversation does"
        )
    return False
