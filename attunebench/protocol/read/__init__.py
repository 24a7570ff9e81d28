"""The reader of replies: (what was asked, reply text) → the typed answer, with what was missing, mended, refused.

The only place that parses model text (spec 3.4). Pure, and it never raises, whatever the text or the types inside.

find ─▶ thoughts        what is not the answer, whatever marks it
     ─▶ decode, scan    the objects in the text; strictly first, mended where that fails
shapes, names           which value is given for which item
values, tags            what a value means
kinds                   one reader per kind of call
items                   which items were asked, and which are missing
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attunebench.codebook import Codebook, default_codebook
from attunebench.protocol.calls import PREDICTED_PROFILE, RATINGS, Answer, Asked, Outcome
from attunebench.protocol.endings import FILTERED, LENGTH, TOO_LONG, canonical, fills_limit
from attunebench.protocol.read import items, names, values
from attunebench.protocol.read.decode import Obj
from attunebench.protocol.read.find import Found, find
from attunebench.protocol.read.items import expected_items
from attunebench.protocol.read.kinds import READERS, Reading
from attunebench.protocol.read.shapes import Groups, fields, interest, key_name, sources
from attunebench.protocol.read.thoughts import has_unknown_marks

if TYPE_CHECKING:
    from attunebench.backends.base import Reply

__all__ = ["expected_items", "merge_answers", "read_reply", "read_text"]

_REASONING = ("reasoning", "emotion_reasoning", "binary_reasoning")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "draft": ("drafted_response",),
    "judge": (*RATINGS, items.JUDGE_MAP),
    "review": ("emotion_tags", *items.BINARY_MAPS),
    "binary_hp": items.BINARY_MAPS,
    "pairwise": ("pairwise_selections",),
    "post": ("predicted_post_panas", "predicted_panas_delta", items.WIDE),
    "profile": (PREDICTED_PROFILE,),
}
_FLAT_POST = (items.Q1, items.Q2, items.Q3, items.FOLLOW_UP, items.FOUR_BRANCH)


def read_reply(asked: Asked, reply: Reply, codebook: Codebook, *, limit: int | None = None) -> Answer:
    """The answer that a reply gives, which had `limit` tokens where that is known.

    Its reasoning field is for the record and is never read as the answer.
    """
    reason, usage = canonical(reply.finish_reason), reply.usage
    if reason in (None, "stop") and fills_limit(usage.completion_tokens, usage.reasoning_tokens, limit):
        reason = LENGTH
    return read_text(asked, reply.text, codebook, finish_reason=reason, refusal=reply.refusal)


def read_text(
    asked: Asked,
    text: str | None,
    codebook: Codebook,
    *,
    finish_reason: str | None = None,
    refusal: str | None = None,
) -> Answer:
    """The answer in a reply's text. A `finish_reason` that means a limit or a filter counts; so does a `refusal` text.

    A refused reply answers nothing, whatever else it holds; a refusal is never told by its wording.
    """
    reason = canonical(finish_reason)
    if refusal or reason == FILTERED:
        return _answer(asked, Reading(asked, codebook, ()), "refused")
    knows = _knower(asked, codebook)
    flat_list = asked.kind in ("pairwise", "judge", "post", "profile")
    found = find((text or "") if reason != TOO_LONG else "", interest(knows, flat_list, _KEYS[asked.kind]))
    cut = found.reasoning_open or reason == LENGTH
    if (last := _last_word(asked, found, codebook, knows)) is not None:
        return _answer(asked, last, None, found, cut=cut)
    reading = Reading(asked, codebook, sources(found.groups, knows), _bare_draft(asked, found, reason))
    return _answer(asked, reading, None, found, cut=cut)


def merge_answers(asked: Asked, first: Answer, later: Answer, codebook: Codebook | None = None) -> Answer:
    """An answer and the one to its reask: the first valid answer of each item stands.

    What nobody answered keeps the later reply's reason: truncated, or refused where nothing at all was read.
    """
    book = codebook or default_codebook()
    merged = _first_of(first.values, later.values)
    wide = merged.get(items.WIDE)
    if wide and wide[items.Q3] in book.q3_negative and items.at(first.values, (items.WIDE, items.FOLLOW_UP)) is None:
        agreed = items.at(later.values, (items.WIDE, items.Q3)) in (None, *book.q3_negative)
        # an empty follow-up beside a positive Q3 may only have been inferred from that Q3, which does not stand
        merged = merged if agreed or wide[items.FOLLOW_UP] else {**merged, items.WIDE: {**wide, items.FOLLOW_UP: None}}
    missing = items.missing(merged, asked, book)
    return Answer(
        values=merged,
        missing=missing,
        outcome=_merged_outcome(asked, missing, first.outcome, later.outcome, book),
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


def _merged_outcome(
    asked: Asked, missing: tuple[str, ...], first: Outcome, later: Outcome, codebook: Codebook
) -> Outcome:
    if not missing:
        return "answered"
    if later == "truncated":
        return "truncated"
    if len(missing) < len(expected_items(asked, codebook)):
        return "incomplete"
    return first if later == "unreadable" and first != "truncated" else later


def _knower(asked: Asked, codebook: Codebook) -> Callable[[Obj], bool]:
    """Whether an object has a key of the call's answer format, or names its items directly where that is clear."""
    keys = frozenset(map(key_name, _KEYS[asked.kind] + (_FLAT_POST if asked.kind == "post" else ())))
    namers = []
    if asked.kind == "pairwise":
        namers = [names.comparisons(asked.comparisons)]
    elif asked.kind == "judge":
        namers = [names.questions(asked.questions)]
    elif asked.kind == "post":
        namers = [names.words((*codebook.panas, *codebook.branches, "items"))]
    elif asked.kind == "profile":
        namers = [names.keys(trait.id for trait in asked.traits)]

    def knows(value: Obj) -> bool:
        return any(key_name(key) in keys or any(namer(key) for namer in namers) for key, _ in value)

    return knows


def _last_word(asked: Asked, found: Found, codebook: Codebook, knows: Callable[[Obj], bool]) -> Reading | None:
    """The last object of the answer format, where others stand before it and it is complete: it alone counts.

    One choice alone is no sign of that: every object that makes it is complete, and the two may only disagree.
    """
    groups = sources((tuple(sorted(found.roots, key=lambda root: root.at)),), knows)
    objects = [given for given in groups[0] if isinstance(given.value, Obj) and knows(given.value)]
    if len(objects) < 2 or (asked.kind != "draft" and len(expected_items(asked, codebook)) == 1):
        return None
    last = ((objects[-1],),)
    return (
        None
        if items.missing(READERS[asked.kind](Reading(asked, codebook, last)), asked, codebook)
        else Reading(asked, codebook, last)
    )


def _bare_draft(asked: Asked, found: Found, reason: str | None) -> str | None:
    """The reply's text where it may be the draft itself: no fence, no JSON in front, no draft elsewhere, not cut, and
    no marks of thoughts that nobody knows."""
    text = found.prose.strip()
    if asked.kind != "draft" or found.fenced or found.hint or reason == LENGTH:
        return None
    unfit = text[:1] in ("{", "[") or "drafted_response" in text.casefold() or has_unknown_marks(text)
    return None if unfit else text


def _answer(
    asked: Asked, reading: Reading, outcome: Outcome | None, found: Found | None = None, *, cut: bool = False
) -> Answer:
    answered = READERS[asked.kind](reading)
    missing = items.missing(answered, asked, reading.codebook)
    return Answer(
        values=answered,
        missing=missing,
        outcome=outcome or _outcome(missing, reading, found, cut),
        mended=any(root.mended for root in found.roots) if found else False,
        reasoning=_reasoning(reading.groups),
    )


def _outcome(missing: tuple[str, ...], reading: Reading, found: Found | None, cut: bool) -> Outcome:
    if cut and (missing or (found and found.reasoning_open)):
        return "truncated"
    if not missing:
        return "answered"
    something = found is not None and (found.hint or any(isinstance(root.value, Obj) for root in found.roots))
    tally = reading.tally
    if tally.given and tally.contradicted == tally.given:
        return "unreadable"
    return "incomplete" if something or tally.given else "unreadable"


def _reasoning(groups: Groups) -> dict[str, str]:
    """The texts of verbose modes, as far as they were given."""
    texts: dict[str, str] = {}
    for key in _REASONING:
        given = [one for group in fields(groups, key_name(key)) for one in group]
        text = next((text for one in given if (text := values.remark(one.value)) is not None), None)
        if text is not None:
            texts[key] = text
    return texts
