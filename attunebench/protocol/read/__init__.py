"""The reader of replies: (what was asked, reply text) → the typed answer, with what was missing, mended, refused.

The only place that parses model text (spec 3.4). Pure, and it never raises, whatever the text or the types inside.

find ─▶ thoughts        what is not the answer, whatever marks it
     ─▶ decode, scan    the objects in the text; strictly first, mended where that fails
shapes                  which value is given for which item
values, traits          what a value means
kinds                   one reader per kind of call
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attunebench.codebook import Codebook, default_codebook
from attunebench.protocol.calls import DRAFTS, Answer, Asked, Outcome
from attunebench.protocol.endings import FILTERED, LENGTH, TOO_LONG, canonical, fills_limit
from attunebench.protocol.read.decode import Obj
from attunebench.protocol.read.find import Found, find
from attunebench.protocol.read.kinds import FORMATS, Reading, remarks
from attunebench.protocol.read.shapes import sources, unwrapped
from attunebench.protocol.read.thoughts import has_unknown_marks
from attunebench.protocol.read.values import key_name
from attunebench.protocol.schemas import FOLLOW_UP, Q3, WIDE, expected_items, item_at, missing_items

if TYPE_CHECKING:
    from attunebench.backends.base import Reply

__all__ = ["expected_items", "merge_answers", "read_reply"]

_REASONING = ("reasoning", "emotion_reasoning", "binary_reasoning")


def read_reply(asked: Asked, reply: Reply, codebook: Codebook, *, limit: int | None = None) -> Answer:
    """The answer in a reply's text, which had `limit` tokens where that is known.

    A finish reason that means a limit or a filter counts, and so does a `refusal`: a refused reply answers nothing,
    whatever else it holds, and is never told by its wording. The reasoning field is never read as the answer.
    """
    reason, usage = canonical(reply.finish_reason), reply.usage
    if reason in (None, "stop") and fills_limit(usage.completion_tokens, usage.reasoning_tokens, limit):
        reason = LENGTH
    form, knows = FORMATS[asked.kind], _knower(asked, codebook)
    if reply.refusal or reason == FILTERED:
        nothing = form.read(Reading(asked, codebook, ()))
        return Answer(nothing, missing_items(nothing, asked), "refused")

    def worth_mending(value: Any) -> bool:
        """A bare list may be the answer where its items have names of their own."""
        inner = unwrapped(value, knows)
        return any(knows(one) if isinstance(one, Obj) else isinstance(one, list) and form.namer for one in inner)

    def mentions(part: str) -> bool:
        return any(key in part.casefold() for key in form.keys)

    found = find((reply.text or "") if reason != TOO_LONG else "", worth_mending, mentions)
    reading = _last_word(asked, found, codebook, knows) or Reading(
        asked, codebook, sources(found.objects, knows), _bare_draft(asked, found, reason)
    )
    answered = form.read(reading)
    missing = missing_items(answered, asked)
    return Answer(
        values=answered,
        missing=missing,
        outcome=_outcome(missing, reading, found, was_cut=reason == LENGTH),
        mended=any(one.intact is not None for one in found.objects),
        reasoning=remarks(reading.givens, _REASONING),
    )


def merge_answers(asked: Asked, first: Answer, later: Answer) -> Answer:
    """An answer and the one to its reask: the first valid answer of each item stands.

    What nobody answered keeps the later reply's reason: truncated, or refused where nothing at all was read.
    """
    merged = _first_of(first.values, later.values)
    wide, negative = merged.get(WIDE), default_codebook().q3_negative
    if wide and wide[Q3] in negative and item_at(first.values, (WIDE, FOLLOW_UP)) is None:
        agreed = item_at(later.values, (WIDE, Q3)) in (None, *negative)
        # an empty follow-up beside a positive Q3 may only have been inferred from that Q3, which does not stand
        merged = merged if agreed or wide[FOLLOW_UP] else {**merged, WIDE: {**wide, FOLLOW_UP: None}}
    missing = missing_items(merged, asked)
    return Answer(
        values=merged,
        missing=missing,
        outcome=_merged_outcome(asked, missing, first.outcome, later.outcome),
        mended=first.mended or later.mended,
        reasoning={**later.reasoning, **first.reasoning},
    )


def _first_of(first: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key in (*first, *(key for key in later if key not in first)):
        one, other = first.get(key), later.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            merged[key] = _first_of(one, other)
        else:
            merged[key] = other if one is None else one
    return merged


def _merged_outcome(asked: Asked, missing: tuple[str, ...], first: Outcome, later: Outcome) -> Outcome:
    if not missing:
        return "answered"
    if later == "truncated":
        return "truncated"
    if len(missing) < len(expected_items(asked)):
        return "incomplete"
    return first if later == "unreadable" and first != "truncated" else later


def _knower(asked: Asked, codebook: Codebook) -> Callable[[Obj], bool]:
    """Whether an object has a key of the call's answer format, or names its items directly where that is clear."""
    form = FORMATS[asked.kind]
    keys = frozenset(map(key_name, form.keys))
    namer = form.namer(asked, codebook) if form.namer else None
    return lambda value: any(key_name(key) in keys or (namer and namer.find(key)) for key, _ in value)


def _last_word(asked: Asked, found: Found, codebook: Codebook, knows: Callable[[Obj], bool]) -> Reading | None:
    """The last object of the answer format, where others stand before it and it is complete: it alone counts."""
    objects = [one for one in sources(found.objects, knows) if isinstance(one.value, Obj) and knows(one.value)]
    # One choice alone is no sign of that: every object that makes it is complete, and the two may only disagree.
    if len(objects) < 2 or (asked.kind not in DRAFTS and len(expected_items(asked)) == 1):
        return None
    last = (objects[-1],)
    answered = FORMATS[asked.kind].read(Reading(asked, codebook, last))
    return None if missing_items(answered, asked) else Reading(asked, codebook, last)


def _bare_draft(asked: Asked, found: Found, reason: str | None) -> str | None:
    """The reply's text where it may be the draft itself: no fence, no JSON in front, no draft elsewhere, not cut, and
    no marks of thoughts that nobody knows."""
    text = found.prose.strip()
    if asked.kind not in DRAFTS or found.fenced or found.hint or reason == LENGTH:
        return None
    unfit = text[:1] in ("{", "[") or "drafted_response" in text.casefold() or has_unknown_marks(text)
    return None if unfit else text


def _outcome(missing: tuple[str, ...], reading: Reading, found: Found, *, was_cut: bool) -> Outcome:
    if found.reasoning_open or (was_cut and missing):
        return "truncated"
    if not missing:
        return "answered"
    if reading.given and reading.contradicted == reading.given:
        return "unreadable"
    something = found.hint or reading.given or any(isinstance(one.value, Obj) for one in found.objects)
    return "incomplete" if something else "unreadable"
