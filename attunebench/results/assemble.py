"""From the answers of one conversation to its result file (spec 5.2). Owns the three ways to say that something is not
there: a block of which nothing was answered is null, an unanswered item is missing from its map, a block of which
nothing was asked is empty. Counts, usage and cost are the evaluated model's alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from attunebench.conversations.schema import Conversation, Turn
from attunebench.protocol.calls import Answer, Kind, Mode, Record
from attunebench.protocol.messages import askable_comparisons, reply_labels
from attunebench.protocol.post import post_block
from attunebench.protocol.read import expected_items
from attunebench.results.schema import BINARY_BLOCKS, TURN_BLOCKS, TURN_FIELDS, VOTE_KEYS
from attunebench.results.votes import spent, with_votes

SCHEMA_VERSION = "1.0"
_MAPS = frozenset(TURN_BLOCKS[name] for name in (*BINARY_BLOCKS, "pairwise"))


def assemble(
    conversation: Conversation, mode: Mode, records: Mapping[str, Record], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """The result of one conversation in one mode; `records` maps call ids to finished calls, `facts` are the keys of
    the file that its run decides (`provider`, `em_model`, `judge_models` by judge index …). Raises ValueError unless
    every call to the evaluated model is there; judges' records may be missing (their votes are pending)."""
    own = {(record.call.turn, record.call.kind): record for record in records.values() if record.call.judge is None}
    expected: list[tuple[int, Kind]] = [(0, "post")]
    for turn in conversation.turns:
        is_asked = {"binary_hp": turn.applicable_questions, "pairwise": askable_comparisons(turn)}
        kinds: tuple[Kind, ...] = ("draft", "review", "binary_hp", "pairwise")
        expected += [(turn.number, kind) for kind in kinds if is_asked.get(kind, True)]
    if owed := [each for each in expected if each not in own]:
        names = ", ".join(f"{conversation.conversation_id}/{mode}/{number}/{kind}" for number, kind in owed)
        raise ValueError(f"no result without an answer to {names}")
    answers = {each: record.answer for each, record in own.items()}
    result: dict[str, Any] = {
        **provenance(conversation, list(own.values()), facts),
        "conversationId": conversation.conversation_id,
        "mode": mode,
        "turns": [_turn_block(conversation, turn, answers) for turn in conversation.turns],
        "post_conversation": post_block(conversation, own[0, "post"]),
        "scores": {},
        **taken(list(own.values())),
    }
    return with_votes(result, records.values(), facts["judge_models"])


def provenance(conversation: Conversation, records: Sequence[Record], facts: Mapping[str, Any]) -> dict[str, Any]:
    """How a result came about: the first keys of its file. `records` are the evaluated model's own."""
    return {
        "schema_version": SCHEMA_VERSION,
        **facts,
        # The name alone: where the folder lay on somebody's disk is nobody's business.
        "source_file": PurePath(conversation.source_file).name,
        "source_sha256": conversation.source_sha256,
        "asked_sha256": conversation.asked_sha256,
        "em_model_reported": ", ".join(dict.fromkeys(name for record in records for name in record.models)) or None,
        "providers_reported": sorted({name for record in records for name in record.providers}),
        "structured_used": sorted({record.structured for record in records if record.structured}),
        "adapted": {name: how for record in records for name, how in record.adapted.items()},
    }


def taken(records: Sequence[Record]) -> dict[str, Any]:
    """What a result took: the last keys of its file. `records` are the evaluated model's own."""
    usage, cost = spent(records)
    timed = [record.seconds for record in records if record.seconds is not None]
    expected = sum(len(expected_items(record.call.asked)) for record in records)
    return {
        # Per call, not per request: `reasked` are the calls that were asked again at least once.
        "calls": {
            "made": len(records),
            "reasked": sum(record.reasks > 0 for record in records),
            "mended": sum(record.answer.mended for record in records),
            "refused": sum(record.answer.outcome == "refused" for record in records),
            "truncated": sum(record.answer.outcome == "truncated" for record in records),
            "answered_items": expected - sum(len(record.answer.missing) for record in records),
            "expected_items": expected,
        },
        "usage": usage,
        "api_cost": cost,
        # A sum with gaps would look like a duration.
        "duration_seconds": round(sum(timed), 3) if len(timed) == len(records) else None,
    }


def _turn_block(conversation: Conversation, turn: Turn, answers: Mapping[tuple[int, Kind], Answer]) -> dict[str, Any]:
    comparisons = askable_comparisons(turn)
    asked = {"pairwise": bool(comparisons)}
    block: dict[str, Any] = {"turnNumber": turn.number}
    for key, (kind, name) in TURN_FIELDS.items():
        answer = answers.get((turn.number, kind)) or Answer({}, (), "answered")  # not asked
        if key == TURN_BLOCKS["pairwise"]:
            block["reply_labels"] = reply_labels(conversation, turn)
            block["pairwise_assignment"] = {index: {"A": c.a, "B": c.b} for index, c in comparisons.items()}
        block[key] = answer.reasoning.get(name) if name.endswith("reasoning") else answer.values.get(name)
        if key in _MAPS:
            # Empty where nothing was asked, null where nothing of what was asked was answered.
            block[key] = (dict(block[key] or {}) or None) if asked.get(kind, bool(turn.applicable_questions)) else {}
    return block | {name: {} for name in VOTE_KEYS}
