"""What must hold after a scenario: pure comparisons of result files, scores and the server's books, each with sentences
for what does not hold."""

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
class Books:
    """The books as a command left them, by request key: how often the server was asked and how often its answer went
    out whole, and the replies in the journal. `results` go by their conversation."""

    asked: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    results: _Results = field(default_factory=dict)


def same_predictions(
    expected: _Results, found: _Results, *, mended: bool = False, unanswered: Sequence[Call] = (), partly: bool = False
) -> Iterator[str]:
    """Every result is there, and says what it says in the undisturbed run, to the last field of `COMPARED`.

    What the `unanswered` calls ask for must be empty instead, and nothing else. `mended`: how many replies had to be
    repaired may differ. `partly`: results may be missing.
    """
    if set(expected) != set(found) and not (partly and set(found) < set(expected)):
        yield f"results that are missing or too many: {', '.join(sorted(set(expected) ^ set(found)))}"
    for name in sorted(set(expected) & set(found)):
        calls = [call for call in unanswered if call.conversation_id == name]
        want, have = _compared(expected[name]), _compared(found[name])
        for block, key in ((call.turn, key) for call in calls for key in KEYS_OF_CALL[call.kind]):
            want["blocks"][block].pop(key, None)
            if _is_empty(have["blocks"][block].get(key)):
                have["blocks"][block].pop(key, None)
        want["calls.answered_items"] -= sum(len(expected_items(call.asked)) for call in calls)
        # The result's own scores follow from what is not answered.
        ignored = (*(_MENDED if mended else ()), *(("scores",) if calls else ()))
        yield from _differing(name, want, have, ignored)


def same_scores(
    expected: Mapping[str, Any], found: Mapping[str, Any], *, mended: bool = False, values: bool = True
) -> Iterator[str]:
    """Every number of `score` is that of the undisturbed run, to 1e-12; without `values` every n is.

    Both are one model's part of a scores file.
    """
    ignored = (*_RUN, *(_MENDED if mended else ()), *(() if values else _OF_HITS))
    yield from _differing("scores", _numbers(expected, values), _numbers(found, values), ignored)


def nothing_lost(books: Books, calls: Mapping[str, Call]) -> Iterator[str]:
    """Every call (by its key) was asked, and what was answered is in the journal."""
    if unasked := set(calls) - {key.partition("-")[0] for key in books.asked}:
        yield f"{len(unasked)} calls were never asked, among them {calls[min(unasked)].id}"
    if lost := set(books.whole) - set(books.kept):
        yield f"{len(lost)} answers are not in the journal"


def asked_again(before: Books, after: Books) -> Iterator[str]:
    """No command sent a request whose reply the journal had at its start.

    Only for where no two asks of a call are the same: a second re-prompt for the same items is.
    """
    if again := [key for key in before.kept if after.asked[key] != before.asked[key]]:
        yield f"{len(again)} requests were sent again although the journal had their replies"


def unkept(before: Books, after: Books) -> int:
    """The answers that went out whole to one command and gave the journal no new reply: paid for nothing.

    That is what is lost on its way, and what is asked for although the journal has it.
    """
    return ((after.whole - before.whole) - (after.kept - before.kept)).total()


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


def _differing(name: str, expected: Any, found: Any, ignored: Collection[str]) -> Iterator[str]:
    return (f"{name}: {path} is {b!r}, not {a!r}" for path, a, b in differences(expected, found, ignored))


def _compared(result: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of a result: blocks by turn (0: the whole conversation), scores and counts."""
    blocks = {0: dict(result["post_conversation"]), **{turn["turnNumber"]: dict(turn) for turn in result["turns"]}}
    counts = {name: result["calls"][name.removeprefix("calls.")] for name in COMPARED if "." in name}
    return {"blocks": blocks, "scores": result["scores"], **counts}


def _is_empty(value: Any) -> bool:
    """Whether nothing is said anywhere in it."""
    return all(map(_is_empty, value.values())) if isinstance(value, Mapping) else value is None or value == []


def _numbers(scores: Mapping[str, Any], values: bool) -> Any:
    if values:
        return {name: scores.get(name) for name in ("conversations", "aggregates")}
    groups = scores.get("aggregates") or ()
    counts = [{name: metric["n"] for name, metric in group["metrics"].items()} for group in groups]
    return {"n": counts, "coverage": [group["coverage"] for group in groups]}
