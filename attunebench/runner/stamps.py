"""When is a result that is there the one that this run would make? Hashes of what was asked, and the differences.

What changes no prompt and no parameter re-buys nothing: a corrected label leaves these hashes as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any

import attunebench
from attunebench.journal import call_digest
from attunebench.judging import (
    BINARY_BY_JUDGE,
    JUDGE_SCALES,
    SCALE_BY_JUDGE,
    SCORES_BY_JUDGE,
    UNNAMED_SCALE,
    JudgeScale,
    scale_of,
)
from attunebench.protocol.calls import Call

SCALE = "judge scale"
"""How `other_scale` begins."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a result says about how it was made. The two call hashes cover ids, messages and answer schemas."""

    parameters: Mapping[str, Any]
    prompt_set_sha256: str
    codebook_sha256: str
    calls_sha256: str
    judge_calls_sha256: str | None
    """None where the run has no judges."""
    judge_scale: JudgeScale
    plan_sha256: str = ""
    """Of what the calls are made of (`Planning`), by which equal calls are known without being made."""


class Planning:
    """Tells that a conversation's calls would come out as they did, without planning them.

    Planning is pure: the same file, templates, codebook, strategy and code make the same calls. Where any of these is
    another one, the calls themselves decide.
    """

    def __init__(self, *others: str) -> None:
        self._made_of = sha256(b"".join(_code())).hexdigest(), *others

    def __call__(self, source_sha256: str) -> str:
        """The digest for the conversation in the file with this digest."""
        return sha256("\0".join([source_sha256, *self._made_of]).encode()).hexdigest()


class Stamping:
    """Stamps what one run makes. `others`: what its plans depend on beside conversation, templates and codebook."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *others: str,
        prompt_set_sha256: str,
        codebook_sha256: str,
        judged: bool,
        judge_scale: JudgeScale,
    ) -> None:
        self.planning = Planning(prompt_set_sha256, codebook_sha256, *others)
        self._parameters = parameters
        self._prompt_set = prompt_set_sha256
        self._codebook = codebook_sha256
        self._judged = judged
        self._judge_scale = judge_scale

    def __call__(self, calls: Sequence[Call], source_sha256: str) -> Stamp:
        """The stamp of these calls, all that are planned of the conversation in the file with this digest."""
        # Every judge is asked the same; one judge's calls stand for all, so that their number changes nothing.
        judges = calls_sha256(call for call in calls if call.judge == 0) if self._judged else None
        own = calls_sha256(call for call in calls if call.judge is None)
        return self._stamp(own, judges, source_sha256)

    def unplanned(self, calls_sha256: str, source_sha256: str) -> Stamp:
        """The stamp of the file's calls where these are known to have that digest; judges' calls aside."""
        return self._stamp(calls_sha256, None, source_sha256)

    def _stamp(self, calls: str, judges: str | None, source_sha256: str) -> Stamp:
        return Stamp(
            parameters=self._parameters,
            prompt_set_sha256=self._prompt_set,
            codebook_sha256=self._codebook,
            calls_sha256=calls,
            judge_calls_sha256=judges,
            judge_scale=self._judge_scale,
            plan_sha256=self.planning(source_sha256),
        )


def _code() -> Iterator[bytes]:
    """The sources of everything between a conversation's file and its calls."""
    package = Path(attunebench.__file__).parent
    parts = [package / name for name in ("protocol", "prompts", "conversations")]
    files = [file for part in parts for file in sorted(part.rglob("*.py"))]
    for file in (*files, package / "codebook.py", package / "constants.py", package / "text.py"):
        yield file.read_bytes()


def calls_sha256(calls: Iterable[Call]) -> str:
    """A digest of what is asked, in an order of its own (by call id)."""
    digests = sorted((call.id, call_digest(call)) for call in calls)
    return sha256("".join(digest for _, digest in digests).encode()).hexdigest()


def stamped(result: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """A result with the hashes by which a later run knows it again."""
    marks = {"calls_sha256": stamp.calls_sha256, "plan_sha256": stamp.plan_sha256}
    if stamp.judge_calls_sha256 is not None:
        marks[judge_calls_key(stamp.judge_scale)] = stamp.judge_calls_sha256
    return {**result, **marks}


def judge_calls_key(scale: JudgeScale) -> str:
    """The key under which a result states the digest of what judges were asked on this scale."""
    return "judge_calls_sha256" if scale == UNNAMED_SCALE else f"judge_calls_sha256_{scale}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a later run has to know of a result that is there; a folder of them is held without their texts.

    `voted`: judge → turn with a vote → its scale; `drafted`: the turns with a draft. `whole` is False for a file that
    somebody has edited into a shape that votes cannot be added to. `answered`: whether every item was.
    """

    parameters: Mapping[str, Any]
    prompt_set_sha256: Any
    codebook_sha256: Any
    calls_sha256: Any
    judge_calls_sha256: Mapping[JudgeScale, Any]
    plan_sha256: Any
    drafted: frozenset[int]
    voted: Mapping[str, Mapping[int, JudgeScale]]
    whole: bool
    answered: bool


def found_in(result: Mapping[str, Any]) -> Found:
    """The facts of a result file by which `differences` and `missing_votes` decide."""
    whole = _is_whole(result)
    parameters, calls = result.get("parameters"), result.get("calls")
    drafted: set[int] = set()
    voted: dict[str, dict[int, JudgeScale]] = {}
    for turn in (result.get("turns") or ()) if whole else ():
        if turn.get("em_drafted_response") is not None:
            drafted.add(turn["turnNumber"])
        scales = turn.get(SCALE_BY_JUDGE) or {}
        for judge in {**(turn.get(SCORES_BY_JUDGE) or {}), **(turn.get(BINARY_BY_JUDGE) or {})}:
            voted.setdefault(judge, {})[turn["turnNumber"]] = scale_of(scales.get(judge))
    counts = calls if isinstance(calls, Mapping) else {}
    return Found(
        parameters=parameters if isinstance(parameters, Mapping) else {},
        prompt_set_sha256=result.get("prompt_set_sha256"),
        codebook_sha256=result.get("codebook_sha256"),
        calls_sha256=result.get("calls_sha256"),
        judge_calls_sha256={scale: result.get(judge_calls_key(scale)) for scale in JUDGE_SCALES},
        plan_sha256=result.get("plan_sha256"),
        drafted=frozenset(drafted),
        voted=voted,
        whole=whole,
        answered=counts.get("answered_items") == counts.get("expected_items"),
    )


def differences(found: Found, wanted: Stamp, *, judged: bool) -> list[str]:
    """The settings in which an existing result differs from what this run would make, each with both values.

    Empty means that the result is this run's own, but for votes on another scale (`other_scale`). Votes matter only
    where the run has judges and the file has votes on its scale.
    """
    if not found.whole:
        return ["turns (damaged in the file)"]
    theirs = found.parameters
    named = [
        f"{key} ({_shown(theirs.get(key))} there, {_shown(value)} now)"
        for key, value in wanted.parameters.items()
        if theirs.get(key) != value or key not in theirs
    ]
    if found.calls_sha256 != wanted.calls_sha256:
        named += _why_calls_differ(found, wanted)
    scale = wanted.judge_scale
    on_scale = any(scale in votes.values() for votes in found.voted.values())
    if judged and on_scale and found.judge_calls_sha256[scale] != wanted.judge_calls_sha256:
        named.append("judge prompts or reference replies")
    return named


def other_scale(found: Found, judges: Sequence[str], wanted: JudgeScale) -> str | None:
    """That votes of these judges are on another scale than is wanted, as `differences` would say it."""
    others = {scale for judge in judges for scale in found.voted.get(judge, {}).values()} - {wanted}
    return f"{SCALE} ({', '.join(sorted(others))} there, {wanted} now)" if others else None


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
    votes = [turn.get(key) for key in (SCORES_BY_JUDGE, BINARY_BY_JUDGE, SCALE_BY_JUDGE)]
    return (
        type(turn.get("turnNumber")) is int
        and (draft is None or isinstance(draft, str))
        and all(block is None or isinstance(block, Mapping) for block in votes)
    )


def _why_calls_differ(found: Found, wanted: Stamp) -> list[str]:
    if found.calls_sha256 is None:
        return ["prompts (the file does not record which were used)"]
    named = [
        name
        for name, key in (("prompt templates", "prompt_set_sha256"), ("codebook", "codebook_sha256"))
        if getattr(found, key) != getattr(wanted, key)
    ]
    return named or ["conversation texts"]


def missing_votes(found: Found, judges: Sequence[str], turns: Iterable[int], scale: JudgeScale) -> dict[str, set[int]]:
    """Judge → the turns whose vote is still owed: of `turns`, those with a draft and without an entry of this judge on
    this scale."""
    asked = found.drafted.intersection(turns)
    votes = {judge: found.voted.get(judge, {}) for judge in judges}
    owed = {judge: {turn for turn in asked if votes[judge].get(turn) != scale} for judge in judges}
    return {judge: numbers for judge, numbers in owed.items() if numbers}


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
