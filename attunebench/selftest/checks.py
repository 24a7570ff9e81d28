"""What must hold after a scenario: pure comparisons, each with sentences for what does not hold, none where all does.

Knows result files, scores files and the server's ledger; no process, no socket, no clock.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attunebench.protocol.read import expected_items
from attunebench.results.schema import KEYS_OF_CALL

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call

COMPARED = ("turns", "post_conversation", "scores", "calls.answered_items", "calls.expected_items", "calls.reasked")
"""The parts of a result that come from answers alone."""
_MENDED = ("mended", "mended_rate", "calls.reasked", "reasked")
"""What tells how neatly answers were typed and how often they were asked for, and not what they say."""
_RUN = ("em_model", "source_file", "usage", "api_cost", "duration_seconds")
"""What tells two models' scores apart, and what a run took: faults take time and tokens."""
_OF_HITS = ("emotion_intensity_mae",)
"""Means over right answers alone: where nothing is answered there is nothing to be a mean of."""
_TOLERANCE = 1e-12
_Results = Mapping[str, Mapping[str, Any]]


@dataclass(slots=True)
class Ledger:
    """The server's book by request key: how often a request came, how often its answer went out whole, and which call
    it is of."""

    asked: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    calls: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Ledger:
        """The book as it is now."""
        return Ledger(self.asked.copy(), self.whole.copy(), self.calls.copy())


def same_predictions(
    expected: _Results, found: _Results, *, mended: bool = False, unanswered: Sequence[Call] = (), partly: bool = False
) -> Iterator[str]:
    """Every result is there, and says what it says in the undisturbed run, to the last field of `COMPARED`.

    What the `unanswered` calls ask for must be empty instead, and nothing else. `mended`: how many replies had to be
    repaired may differ. `partly`: results may be missing. Results go by their conversation.
    """
    if set(expected) != set(found) and not (partly and set(found) < set(expected)):
        yield f"results that are missing or too many: {', '.join(sorted(set(expected) ^ set(found)))}"
    for name in sorted(set(expected) & set(found)):
        calls = [call for call in unanswered if call.conversation_id == name]
        want, have = _answers(expected[name], calls), _answers(found[name], calls)
        for call in calls:
            for key in KEYS_OF_CALL[call.kind]:
                want["blocks"][call.turn][key] = None
        if calls and want["calls.answered_items"] == want["calls.expected_items"]:
            want["calls.answered_items"] -= sum(len(expected_items(call.asked)) for call in calls)
        yield from _told_apart(name, want, have, _MENDED if mended else ())


def same_scores(
    expected: Mapping[str, Any], found: Mapping[str, Any], *, mended: bool = False, values: bool = True
) -> Iterator[str]:
    """Every number of `score` is that of the undisturbed run, to 1e-12; without `values` every n is.

    Both are one model's part of a scores file.
    """
    ignored = (*_RUN, *(_MENDED if mended else ()), *(() if values else _OF_HITS))
    yield from _told_apart("scores", _numbers(expected, values), _numbers(found, values), ignored)


def nothing_lost(ledger: Ledger, kept: Mapping[str, int], calls: Mapping[str, Call]) -> Iterator[str]:
    """Every call was asked, and what was answered is in the journal. `kept`: request key → replies in the journal."""
    if unasked := set(calls) - set(ledger.calls.values()):
        yield f"{len(unasked)} calls were never asked, among them {calls[min(unasked)].id}"
    if lost := set(ledger.whole) - set(kept):
        yield f"{len(lost)} answers are not in the journal"


def asked_again(before: Ledger, after: Ledger, kept: Collection[str]) -> Iterator[str]:
    """No command sent a request whose reply the journal had at its start (`kept`).

    Only for where no two asks of a call are the same: a second re-prompt for the same items is.
    """
    if again := [key for key in kept if after.asked[key] != before.asked[key]]:
        yield f"{len(again)} requests were sent again although the journal had their replies"


def unkept(before: Ledger, after: Ledger, kept_before: Counter[str], kept_after: Counter[str]) -> int:
    """The answers that went out whole to one command and gave the journal no new reply: paid for nothing.

    That is what is lost on its way, and what is asked for although the journal has it.
    """
    return ((after.whole - before.whole) - (kept_after - kept_before)).total()


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
        if not numbers or not math.isclose(expected, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            yield path, expected, found
    elif expected != found or type(expected) is not type(found):
        yield path, expected, found


def _told_apart(name: str, expected: Any, found: Any, ignored: Collection[str]) -> Iterator[str]:
    return (f"{name}: {path} is {b!r}, not {a!r}" for path, a, b in differences(expected, found, ignored))


def _answers(result: Mapping[str, Any], unanswered: Sequence[Call]) -> dict[str, Any]:
    """What is compared of a result: blocks by turn (0: the whole conversation) and counts; what says nothing to the
    calls that are never answered is None, and then scores, which follow from them, are left out."""
    blocks = {0: dict(result["post_conversation"]), **{turn["turnNumber"]: dict(turn) for turn in result["turns"]}}
    for call in unanswered:
        for key in KEYS_OF_CALL[call.kind]:
            value = blocks[call.turn].get(key)
            blocks[call.turn][key] = None if _is_empty(value) else value
    counts = {name: result["calls"][name.removeprefix("calls.")] for name in COMPARED if "." in name}
    return {"blocks": blocks, "scores": None if unanswered else result["scores"], **counts}


def _is_empty(value: Any) -> bool:
    """Whether nothing is said anywhere in it."""
    return all(map(_is_empty, value.values())) if isinstance(value, Mapping) else value is None or value == []


def _numbers(scores: Mapping[str, Any], values: bool) -> Any:
    if values:
        return {name: scores.get(name) for name in ("conversations", "aggregates")}
    groups = scores.get("aggregates") or ()
    counts = [{name: metric["n"] for name, metric in group["metrics"].items()} for group in groups]
    return {"n": counts, "coverage": [group["coverage"] for group in groups]}
