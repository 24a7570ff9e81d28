"""Whether a result answers the conversation that it is scored on, and its A/B choices in the conversation's own order.

Answers to other turns, other texts or other comparisons are never scored: a number of theirs would look like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from attunebench.results.schema import Result, ResultTurn
from attunebench.scorer.truth import Truth, TruthTurn

_OTHER = {"A": "B", "B": "A"}


class MismatchError(ValueError):
    """A result answers something else than the conversation asks; the text is a clause that says what."""


def aligned(truth: Truth, result: Result) -> Result:
    """The result with turn numbers and A/B sides as in the conversation; MismatchError where it answers another one."""
    if truth.conversation_id != result.conversation_id:
        raise MismatchError(f"its conversation is {result.conversation_id!r}, not {truth.conversation_id!r}")
    if result.asked_sha256 and truth.asked_sha256 and result.asked_sha256 != truth.asked_sha256:
        raise MismatchError("it answers texts or comparisons that have changed since")
    known, turns = {turn.number: turn for turn in truth.turns}, result.turns
    if not result.numbered:
        if len(turns) != len(known):
            raise MismatchError(f"it has {len(turns)} turns without numbers, and the conversation has {len(known)}")
        turns = tuple(replace(turn, number=number) for turn, number in zip(turns, known, strict=True))
    if lacking := [turn.number for turn in turns if turn.number not in known]:
        raise MismatchError(f"its turn {lacking[0]} is not in the conversation")
    turned = tuple(_sided(known[turn.number], turn) for turn in turns)
    unchanged = all(new is old for new, old in zip(turned, result.turns, strict=True))
    return result if unchanged else replace(result, turns=turned)


def may_be_outdated(truth: Truth, result: Result) -> bool:
    """Whether the conversation's file has changed since the run and the result does not say what it asked."""
    digests = (result.source_sha256, truth.source_sha256)
    return all(digests) and digests[0] != digests[1] and not result.asked_sha256


def _sided(truth: TruthTurn, turn: ResultTurn) -> ResultTurn:
    """The turn with the letters of comparisons whose two replies were shown the other way round exchanged."""
    if not turn.assignment or turn.assignment == truth.assignment:
        return turn
    swapped = [index for index, shown in turn.assignment.items() if _is_swapped(truth, index, shown)]
    exchanged = {index: _OTHER[turn.pairwise[index]] for index in swapped if index in turn.pairwise}
    return replace(turn, pairwise={**turn.pairwise, **exchanged}) if exchanged else turn


def _is_swapped(truth: TruthTurn, index: str, shown: object) -> bool:
    if not isinstance(shown, Mapping) or not {"A", "B"} <= shown.keys():
        return False  # what a file of another make says here, or nothing
    asked, sides = truth.assignment.get(index), (shown["A"], shown["B"])
    if asked is not None and sides == (asked["B"], asked["A"]):
        return True
    if asked is None or sides != (asked["A"], asked["B"]):
        raise MismatchError(
            f"comparison {index} of its turn {truth.number} compares other replies than in the conversation"
        )
    return False
