"""When is a result that is there the one that this run would make? Hashes of what was asked, and the differences.

What changes no prompt and no parameter re-buys nothing: a corrected label leaves these hashes as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from attunebench.protocol.calls import Call


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a result says about how it was made. The two call hashes cover ids, messages and answer schemas."""

    parameters: Mapping[str, Any]
    prompt_set_sha256: str
    codebook_sha256: str
    calls_sha256: str
    judge_calls_sha256: str | None
    """None where the run has no judges."""


def calls_sha256(calls: Iterable[Call]) -> str:
    """A digest of what is asked, in an order of its own (by call id)."""
    digest = hashlib.sha256()
    for call in sorted(calls, key=lambda call: call.id):
        asked = [call.id, [[m.role, m.content] for m in call.messages], call.schema]
        digest.update(json.dumps(asked, sort_keys=True).encode())
    return digest.hexdigest()


def stamped(result: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """A result with the hashes by which a later run knows it again."""
    marks = {"calls_sha256": stamp.calls_sha256}
    if stamp.judge_calls_sha256 is not None:
        marks["judge_calls_sha256"] = stamp.judge_calls_sha256
    return {**result, **marks}


def differences(found: Mapping[str, Any], wanted: Stamp, *, judged: bool) -> list[str]:
    """The settings in which an existing result differs from what this run would make, each with both values.

    Empty means that the result is this run's own. Votes matter only where the run has judges and the file has votes.
    """
    if not _is_whole(found):
        return ["turns (damaged in the file)"]
    theirs = found.get("parameters")
    theirs = theirs if isinstance(theirs, Mapping) else {}
    named = [
        f"{key} ({_shown(theirs.get(key))} there, {_shown(value)} now)"
        for key, value in wanted.parameters.items()
        if theirs.get(key) != value or key not in theirs
    ]
    if found.get("calls_sha256") != wanted.calls_sha256:
        named += _why_calls_differ(found, wanted)
    if judged and found.get("judge_models") and found.get("judge_calls_sha256") != wanted.judge_calls_sha256:
        named.append("judge prompts or reference replies")
    return named


def _is_whole(found: Mapping[str, Any]) -> bool:
    """Whether a file that somebody may have edited still has the shape that votes can be added to."""
    turns, judges, usage = found.get("turns"), found.get("judge_models") or [], found.get("judge_usage") or {}
    if not (isinstance(turns, list) and isinstance(judges, list) and isinstance(usage, Mapping)):
        return False
    return (
        all(isinstance(turn, Mapping) and _is_whole_turn(turn) for turn in turns)
        and len({turn["turnNumber"] for turn in turns}) == len(turns)
        and all(isinstance(judge, str) for judge in judges)
        and all(type(count) in (int, NoneType) for count in usage.values())
        and type(found.get("judge_api_cost")) in (int, float, NoneType)
    )


def _is_whole_turn(turn: Mapping[str, Any]) -> bool:
    draft = turn.get("em_drafted_response")
    votes = [turn.get(f"em_draft_{what}_by_model") for what in ("judge_scores", "binary_assessment")]
    return (
        type(turn.get("turnNumber")) is int
        and (draft is None or isinstance(draft, str))
        and all(block is None or isinstance(block, Mapping) for block in votes)
    )


def _why_calls_differ(found: Mapping[str, Any], wanted: Stamp) -> list[str]:
    if "calls_sha256" not in found:
        return ["prompts (the file does not record which were used)"]
    named = [
        name
        for name, key in (("prompt templates", "prompt_set_sha256"), ("codebook", "codebook_sha256"))
        if found.get(key) != getattr(wanted, key)
    ]
    return named or ["conversation texts"]


def missing_votes(found: Mapping[str, Any], judges: Sequence[str], turns: Iterable[int]) -> dict[str, set[int]]:
    """Judge → the turns whose vote is still owed: of `turns`, those with a draft and without an entry of this judge."""
    owed: dict[str, set[int]] = {judge: set() for judge in judges}
    asked = set(turns)
    for turn in found.get("turns") or ():
        number = turn.get("turnNumber")
        if number not in asked or turn.get("em_drafted_response") is None:
            continue
        votes = turn.get("em_draft_judge_scores_by_model") or {}
        answers = turn.get("em_draft_binary_assessment_by_model") or {}
        for judge in judges:
            if judge not in votes and judge not in answers:
                owed[judge].add(number)
    return {judge: numbers for judge, numbers in owed.items() if numbers}


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
