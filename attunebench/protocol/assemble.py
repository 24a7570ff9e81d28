"""From the answers of one conversation to its result file (spec 5.2): records in, a dict ready for JSON out.

Owns the file's keys and the three ways to say that something is not there: a block of which nothing was answered is
null, an unanswered item is missing from its map, a block of which nothing was asked is empty. Pure; knows no file,
clock or metric. Counts, usage and cost are the evaluated model's alone; what judges took stands apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, TypeVar

from attunebench.conversations.schema import Conversation, Turn
from attunebench.judging import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE
from attunebench.protocol.calls import RATINGS, Kind, Mode, Record, Usage
from attunebench.protocol.candidates import askable_comparisons, reply_assignment
from attunebench.protocol.post import post_block
from attunebench.protocol.read import expected_items

SCHEMA_VERSION = "1.0"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a result says about the run that made it; all of it comes from outside, none of it from answers.

    `judge_models`: by judge index. `run_timestamp`: ISO 8601 with a time zone. `scores`: metric id → value, {} where
    nobody scored yet. `parameters` as the run's settings state them.
    """

    provider: str
    em_model: str
    run_timestamp: str
    attunebench_version: str
    prompt_set_sha256: str
    codebook_sha256: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    judge_models: tuple[str, ...] = ()
    epoch: int | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)


def assemble(conversation: Conversation, mode: Mode, records: Mapping[str, Record], facts: RunFacts) -> dict[str, Any]:
    """The result of one conversation in one mode; `records` maps call ids to finished calls.

    Every call to the evaluated model must be there: one that the line kept from an answer makes a skipped
    conversation, never a result. Judges' records may be missing (their votes are owed). Raises ValueError otherwise.
    """
    found = _Found(conversation, mode, records)
    own = [record for record in records.values() if record.call.judge is None]
    result: dict[str, Any] = {
        **provenance(conversation, own, facts),
        "conversationId": conversation.conversation_id,
        "em_model": facts.em_model,
        "mode": mode,
        "turns": [_turn_block(conversation, turn, found) for turn in conversation.turns],
        "post_conversation": post_block(conversation, found.post),
        "scores": dict(facts.scores),
        **taken(own),
    }
    return add_votes(result, records.values(), facts.judge_models)


def provenance(conversation: Conversation, records: Sequence[Record], facts: RunFacts) -> dict[str, Any]:
    """How a result came about: the first keys of its file. `records` are the evaluated model's own."""
    return {
        "schema_version": SCHEMA_VERSION,
        "provider": facts.provider,
        # The name alone: where the folder lay on somebody's disk is nobody's business.
        "source_file": PurePath(conversation.source_file).name,
        "source_sha256": conversation.source_sha256,
        "asked_sha256": conversation.asked_sha256,
        "em_model_reported": ", ".join(dict.fromkeys(name for record in records for name in record.models)) or None,
        "providers_reported": sorted({name for record in records for name in record.providers}),
        "run_timestamp": facts.run_timestamp,
        "attunebench_version": facts.attunebench_version,
        "prompt_set_sha256": facts.prompt_set_sha256,
        "codebook_sha256": facts.codebook_sha256,
        "parameters": dict(facts.parameters),
        "structured_used": sorted({record.structured for record in records if record.structured}),
        "adapted": {name: how for record in records for name, how in record.adapted.items()},
        "judge_models": [],
        "epoch": facts.epoch,
    }


def taken(records: Sequence[Record]) -> dict[str, Any]:
    """What a result took: the last keys of its file. `records` are the evaluated model's own."""
    timed = [record.seconds for record in records if record.seconds is not None]
    return {
        "calls": _counts(records),
        **_spent(records),
        # A sum with gaps would look like a duration.
        "duration_seconds": round(sum(timed), 3) if len(timed) == len(records) else None,
    }


def add_votes(result: Mapping[str, Any], records: Iterable[Record], judge_models: Sequence[str]) -> dict[str, Any]:
    """A result with the votes of the judges among `records` put in; `judge_models` names them by judge index.

    Votes and judges that the result has already stay, so a judge can be added to an older result. A judge that was not
    asked about a turn, or whose line failed, is missing there. The single-judge fields hold the first judge of the
    file's list. What judges took is added to `judge_usage` and `judge_api_cost` (USD, null once a part is unknown).
    """
    votes = [record for record in records if record.call.judge is not None]
    judges = list(dict.fromkeys([*(result.get("judge_models") or ()), *judge_models]))
    by_turn: dict[int, list[Record]] = {}
    for record in votes:
        by_turn.setdefault(record.call.turn, []).append(record)
    turns = [
        turn | _votes_block(turn, by_turn.get(turn["turnNumber"], []), judge_models, judges) for turn in result["turns"]
    ]
    return {**result, "judge_models": judges, "turns": turns} | _judges_spent(result, votes)


def with_votes_of(before: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """A result that was made anew, with the votes that the one before it has and it lacks, where the draft is the same.

    A vote that is in both is the new one's.
    """
    earlier = {turn.get("turnNumber"): turn for turn in before.get("turns") or ()}
    judges = list(dict.fromkeys([*(before.get("judge_models") or ()), *result["judge_models"]]))
    turns = []
    for turn in result["turns"]:
        old = earlier.get(turn["turnNumber"], {})
        same = old.get("em_drafted_response") == turn["em_drafted_response"]
        blocks = {
            name: {**((old.get(name) or {}) if same else {}), **turn[name]}
            for name in (SCORES_BY_JUDGE, BINARY_BY_JUDGE, SCALE_BY_JUDGE)
        }
        first = judges[0] if judges else ""
        turns.append(
            {
                **turn,
                **blocks,
                "em_draft_judge_scores": blocks[SCORES_BY_JUDGE].get(first, {}),
                "em_draft_binary_assessment": blocks[BINARY_BY_JUDGE].get(first, {}),
            }
        )
    spent = {key: before[key] for key in ("judge_usage", "judge_api_cost") if key in before}
    return {**spent, **result, "judge_models": judges, "turns": turns}


class _Found:
    """The records of one conversation by turn and kind."""

    def __init__(self, conversation: Conversation, mode: Mode, records: Mapping[str, Record]) -> None:
        self._prefix = f"{conversation.conversation_id}/{mode}"
        self._records = records
        owed = [
            self._id(turn.number, kind)
            for turn in conversation.turns
            for kind in _asked_kinds(turn)
            if self._id(turn.number, kind) not in records
        ]
        if self._id(0, "post") not in records:
            owed.append(self._id(0, "post"))
        if owed:
            raise ValueError(f"no result without an answer to {', '.join(owed)}")

    @property
    def post(self) -> Record:
        return self._records[self._id(0, "post")]

    def value(self, number: int, kind: Kind, key: str) -> Any:
        record = self._records.get(self._id(number, kind))
        return record.answer.values.get(key) if record else None

    def reasoning(self, number: int, kind: Kind, key: str = "reasoning") -> str | None:
        record = self._records.get(self._id(number, kind))
        return record.answer.reasoning.get(key) if record else None

    def _id(self, number: int, kind: Kind) -> str:
        return f"{self._prefix}/{number}/{kind}"


def _asked_kinds(turn: Turn) -> list[Kind]:
    kinds: list[Kind] = ["draft", "review"]
    if turn.applicable_questions:
        kinds.append("binary_hp")
    if askable_comparisons(turn):
        kinds.append("pairwise")
    return kinds


def _turn_block(conversation: Conversation, turn: Turn, found: _Found) -> dict[str, Any]:
    n = turn.number
    questions = bool(turn.applicable_questions)
    assignment = reply_assignment(conversation, turn)
    return {
        "turnNumber": n,
        "em_drafted_response": found.value(n, "draft", "drafted_response"),
        "response_reasoning": found.reasoning(n, "draft"),
        "em_emotion_tags": found.value(n, "review", "emotion_tags"),
        "review_reasoning": found.reasoning(n, "review"),
        "emotion_reasoning": found.reasoning(n, "review", "emotion_reasoning"),
        "em_binary_om_assessment": _block(found.value(n, "review", "binary_om_assessment"), questions),
        "em_binary_human_prediction": _block(found.value(n, "review", "binary_human_prediction"), questions),
        "binary_reasoning": found.reasoning(n, "review", "binary_reasoning"),
        "em_binary_om_assessment_hp": _block(found.value(n, "binary_hp", "binary_om_assessment"), questions),
        "em_binary_human_prediction_hp": _block(found.value(n, "binary_hp", "binary_human_prediction"), questions),
        "binary_hp_reasoning": found.reasoning(n, "binary_hp"),
        "reply_labels": dict(assignment.reply_labels),
        "pairwise_assignment": {index: dict(pair) for index, pair in assignment.pairwise_assignment.items()},
        "em_pairwise_selections": _block(
            found.value(n, "pairwise", "pairwise_selections"), bool(assignment.pairwise_assignment)
        ),
        "pairwise_reasoning": found.reasoning(n, "pairwise"),
    }


def _block(answered: Mapping[str, _T] | None, asked: bool) -> dict[str, _T] | None:
    """A map of answers for the file: {} where nothing was asked, None where nothing of what was asked was answered."""
    if not asked:
        return {}
    return dict(answered) if answered else None


def _votes_block(
    turn: Mapping[str, Any], records: Iterable[Record], judge_models: Sequence[str], judges: Sequence[str]
) -> dict[str, Any]:
    """The judge fields of a turn: what it had, and the new votes, each with its scale. A judge that was asked and said
    nothing usable has empty entries, so that its vote counts as cast and is not owed; no entry at all is a vote that is
    owed."""
    scores, binary, scales = (dict(turn.get(key) or {}) for key in (SCORES_BY_JUDGE, BINARY_BY_JUDGE, SCALE_BY_JUDGE))
    for record in records:
        if record.call.judge is None:
            continue
        judge, values = judge_models[record.call.judge], record.answer.values
        scores[judge] = {key: values[key] for key in RATINGS if values.get(key) is not None}
        binary[judge] = dict(values.get("draft_binary_assessment") or {})
        scales[judge] = record.call.asked.scale
    first = judges[0] if judges else ""
    return {
        "em_draft_judge_scores": scores.get(first, {}),
        SCORES_BY_JUDGE: scores,
        "em_draft_binary_assessment": binary.get(first, {}),
        BINARY_BY_JUDGE: binary,
        SCALE_BY_JUDGE: scales,
    }


def _counts(records: Sequence[Record]) -> dict[str, int]:
    """Per call, not per request: `reasked` are the calls that were asked again at least once."""
    expected = sum(len(expected_items(record.call.asked)) for record in records)
    return {
        "made": len(records),
        "reasked": sum(record.reasks > 0 for record in records),
        "mended": sum(record.answer.mended for record in records),
        "refused": sum(record.answer.outcome == "refused" for record in records),
        "truncated": sum(record.answer.outcome == "truncated" for record in records),
        "answered_items": expected - sum(len(record.answer.missing) for record in records),
        "expected_items": expected,
    }


def _spent(records: Sequence[Record]) -> dict[str, Any]:
    usage = sum((record.usage for record in records), Usage())
    costs = [record.cost for record in records]
    known = [cost for cost in costs if cost is not None]
    return {
        "usage": {name: getattr(usage, name) for name in Usage.__slots__},
        # A sum with an unknown part would look like a price.
        "api_cost": sum(known) if known and len(known) == len(costs) else None,
    }


def _judges_spent(result: Mapping[str, Any], votes: Sequence[Record]) -> dict[str, Any]:
    if not votes:
        return {}
    spent = _spent(votes)
    if not result.get("judge_usage"):
        return {"judge_usage": spent["usage"], "judge_api_cost": spent["api_cost"]}
    earlier = Usage(**{name: result["judge_usage"].get(name) for name in Usage.__slots__})
    usage = earlier + Usage(**spent["usage"])
    costs = (result.get("judge_api_cost"), spent["api_cost"])
    return {
        "judge_usage": {name: getattr(usage, name) for name in Usage.__slots__},
        "judge_api_cost": None if None in costs else sum(costs),
    }
