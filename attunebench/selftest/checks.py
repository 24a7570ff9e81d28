"""What must hold after a scenario: pure comparisons, each with sentences for what does not hold, none where all does.

Knows result files, scores files and the server's book; no process, no socket, no clock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attunebench.protocol.read import expected_items
from attunebench.results.schema import KEYS_OF_CALL
from attunebench.selftest.ledger import Ledger, Page

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call

COMPARED = ("turns", "post_conversation", "scores", "calls.answered_items", "calls.expected_items", "calls.reasked")
"""The parts of a result that come from answers alone."""
_OF_HITS = ("emotion_intensity_mae",)
"""Means over right answers alone: where nothing is answered there is nothing to be a mean of."""
_NAMES = ("em_model", "source_file")
"""What tells two models' scores apart."""
_TAKEN = ("usage", "api_cost", "duration_seconds")
"""What a run took: faults take time and tokens."""
MENDED = ("mended", "mended_rate", "calls.reasked", "reasked")
"""What tells how neatly answers were typed and how often they were asked for, and not what they say."""
TOLERANCE = 1e-12
_Results = Mapping[str, Mapping[str, Any]]


def same_predictions(
    expected: _Results, found: _Results, *, mended: bool = False, unanswered: Sequence[Call] = (), partly: bool = False
) -> Iterator[str]:
    """Every result is there, and says what it says in the undisturbed run, to the last field of `COMPARED`.

    What the `unanswered` calls ask for must be empty instead, and nothing else. `mended`: how many replies had to be
    mended may differ. `partly`: results may be missing. Results go by their conversation.
    """
    ignored = MENDED if mended else ()
    if set(expected) != set(found) and not (partly and set(found) < set(expected)):
        yield f"results that are missing or too many: {', '.join(sorted(set(expected) ^ set(found)))}"
    for name in sorted(set(expected) & set(found)):
        calls = [call for call in unanswered if call.conversation_id == name]
        want, have = _told(expected[name]), _told(found[name])
        if calls:
            want, have = _without(want, calls), _without(have, calls)
            yield from (
                f"{name}: {call.kind} of turn {call.turn} is answered" for call in _answered(found[name], calls)
            )
        yield from (f"{name}: {path} is {b!r}, not {a!r}" for path, a, b in differences(want, have, ignored))


def same_scores(
    expected: Mapping[str, Any], found: Mapping[str, Any], *, mended: bool = False, values: bool = True
) -> Iterator[str]:
    """Every number of `score` is that of the undisturbed run, to 1e-12; without `values` every n is.

    Both are one model's part of a scores file.
    """
    want, have = _scored(expected, values), _scored(found, values)
    ignored = (*_NAMES, *_TAKEN, *(MENDED if mended else ()), *(() if values else _OF_HITS))
    yield from (f"scores: {path} is {b!r}, not {a!r}" for path, a, b in differences(want, have, ignored))


def nothing_lost(ledger: Ledger, kept: Mapping[str, int], calls: Mapping[str, Call]) -> Iterator[str]:
    """Every call was asked, and what was answered is in the journal. `kept`: request key → replies in the journal."""
    if unasked := set(calls) - {page.call for page in ledger.pages.values()}:
        yield f"{len(unasked)} calls were never asked, among them {calls[min(unasked)].id}"
    if lost := [key for key, page in ledger.pages.items() if page.whole and key not in kept]:
        yield f"{len(lost)} answers are not in the journal"


def asked_again(before: Ledger, after: Ledger, kept: Collection[str]) -> Iterator[str]:
    """No command sent a request whose reply the journal had at its start (`kept`).

    Only for where no two asks of a call are the same: a second reask for the same items is.
    """
    if again := [key for key in kept if after.pages[key].asked != before.pages[key].asked]:
        yield f"{len(again)} requests were sent again although the journal had their replies"


def unkept(before: Ledger, after: Ledger, kept_before: Mapping[str, int], kept_after: Mapping[str, int]) -> int:
    """The answers that went out whole to one command and gave the journal no new reply: paid for nothing.

    That is what is lost on its way, and what is asked for although the journal has it.
    """
    none = Page("", 0, 0)
    return sum(
        max(0, page.whole - before.pages.get(key, none).whole - (kept_after.get(key, 0) - kept_before.get(key, 0)))
        for key, page in after.pages.items()
    )


def differences(
    expected: Any, found: Any, ignored: Collection[str] = (), path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """The places where two JSON values differ, numbers by more than 1e-12: path, expected, found."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in (key for key in {**expected, **found} if key not in ignored):
            yield from differences(expected.get(key), found.get(key), ignored, f"{path}.{key}" if path else str(key))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (a, b) in enumerate(zip(expected, found, strict=True)):
            yield from differences(a, b, ignored, f"{path}[{index}]")
    elif isinstance(expected, float) or isinstance(found, float):
        numbers = isinstance(expected, int | float) and isinstance(found, int | float)
        if not numbers or not math.isclose(expected, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield path, expected, found
    elif expected != found or type(expected) is not type(found):
        yield path, expected, found


def _told(result: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {name: result[name] for name in COMPARED if "." not in name}
    return told | {name: result["calls"][name.partition(".")[2]] for name in COMPARED if "." in name}


def _without(told: Mapping[str, Any], calls: Sequence[Call]) -> dict[str, Any]:
    """What is told but for the answers of these calls; what follows from them (scores) goes as well."""
    turns = [
        {key: value for key, value in turn.items() if key not in _fields(calls, turn["turnNumber"])}
        for turn in told["turns"]
    ]
    post = {key: value for key, value in told["post_conversation"].items() if key not in _fields(calls, 0)}
    items = sum(len(expected_items(call.asked)) for call in calls)
    full = told["calls.answered_items"] == told["calls.expected_items"]
    answered = told["calls.answered_items"] - items * full
    return {**told, "turns": turns, "post_conversation": post, "calls.answered_items": answered, "scores": None}


def _answered(result: Mapping[str, Any], calls: Sequence[Call]) -> Iterator[Call]:
    turns = {turn["turnNumber"]: turn for turn in result["turns"]}
    for call in calls:
        block = turns[call.turn] if call.turn else result["post_conversation"]
        if not all(_empty(block.get(name)) for name in KEYS_OF_CALL[call.kind]):
            yield call


def _fields(calls: Sequence[Call], turn: int) -> set[str]:
    return {name for call in calls if call.turn == turn for name in KEYS_OF_CALL[call.kind]}


def _empty(value: Any) -> bool:
    """Whether nothing is said anywhere in it."""
    if isinstance(value, Mapping):
        return all(map(_empty, value.values()))
    return value is None or value == []


def _scored(scores: Mapping[str, Any], values: bool) -> Any:
    if values:
        return {name: scores.get(name) for name in ("conversations", "aggregates")}
    groups = scores.get("aggregates") or ()
    counts = [{name: metric["n"] for name, metric in group["metrics"].items()} for group in groups]
    return {"n": counts, "coverage": [group["coverage"] for group in groups]}
