"""One parsed JSON value → one `Conversation`, or the errors that forbid it. Settles aliases, spellings and totals.
The rules of spec 2.1 about the turns are in `turns`, those about single values in `block`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from attunebench.codebook import default_codebook
from attunebench.coerce import MOST, folded, in_range
from attunebench.conversations import block as kinds
from attunebench.conversations.block import Block, Notes
from attunebench.conversations.schema import Conversation, ConversationWide, Demographics, Panas, ParticipantProfile
from attunebench.conversations.turns import read_turns

MAX_ID_LENGTH = 150

_CODEBOOK = default_codebook()
_SIDES = {"totalPositiveAffect": _CODEBOOK.panas_positive, "totalNegativeAffect": _CODEBOOK.panas_negative}
_LABELS = ("schema_version", "participant_id", "profile_type", "conversation_topic_attitude")
_OF_PERSON = ("country", "education", "gender", "age_range", "english_proficiency")
_TOTAL, _SCORE = kinds.number_in(10, 70), kinds.number_in(-MOST, MOST)
_GOALS = kinds.Kind(kinds.LIST.read, "a list of options", (None,), label=True)
_Q1 = kinds.option_of(_CODEBOOK.q1_options)
_Q2, _Q3 = (kinds.option_of(options, None, "") for options in (_CODEBOOK.q2_options, _CODEBOOK.q3_options))


def read_conversation(
    raw: Mapping[str, Any], file: str = "", *, source: str = "", sha256: str = ""
) -> tuple[Conversation | None, Notes]:
    """The conversation in a parsed file, and what was noted on the way; None where there is an error.

    `file` names the file in the notes; `source` and `sha256` go into the conversation as they are.
    """
    notes = Notes(file)
    top = Block(raw, "", notes)
    profile = top.block("participant_profile")
    parts: dict[str, Any] = {
        "conversation_id": _conversation_id(top),
        "metadata": top.block("metadata").raw,
        "profile": None if raw.get("participant_profile") is None else _profile(profile),
        "pre_panas": _panas(top.block("prePanas")),
        "post_panas": _panas(top.block("postPanas")),
        "wide": _wide(top.block("conversationWideQuestions")),
        "turns": read_turns(top),
        "source_file": source,
        "source_sha256": sha256,
    }
    return None if notes.errors else Conversation(**parts, **top.extras(Conversation)), notes


def _conversation_id(top: Block) -> str:
    path, value = top.get("conversationId")
    if not isinstance(value, str) or not value.strip():
        top.notes.expected(path, "a text that is not empty", value)
        return ""
    if "/" in value or "\\" in value or ".." in value or any(unicodedata.category(c) == "Cc" for c in value):
        top.notes.expected(path, "no path separator, '..' or control character", value)
    if len(value) > MAX_ID_LENGTH:
        top.notes.expected(path, f"at most {MAX_ID_LENGTH} characters", value)
    return value


def _profile(block: Block) -> ParticipantProfile:
    person, scores = block.block("demographics"), block.block("computed_scores")
    numbers = {name: scores.value(_SCORE, name) for name in scores.raw}
    demographics: dict[str, Any] = {name: person.value(kinds.LABEL, name) for name in _OF_PERSON}
    demographics |= {name: person.value(kinds.TEXTS, name) or () for name in ("work_edu_background", "diagnoses")}
    profile: dict[str, Any] = {name: block.value(kinds.LABEL, name) for name in _LABELS}
    return ParticipantProfile(
        demographics=Demographics(**demographics, **person.extras(Demographics)),
        computed_scores={name: float(number) for name, number in numbers.items() if number is not None},
        **profile,
        **block.extras(ParticipantProfile),
    )


def _panas(block: Block) -> Panas:
    level = next((key for key in ("responses", "items") if block.raw.get(key) is not None), None)
    block.read.update(("responses", "items"))
    given = block if level is None else block.block(level)
    items: dict[str, float] = {}
    unknown: dict[str, Any] = {}
    for key, value in given.raw.items():
        item, path = folded(key), given.at(key)
        if item in _CODEBOOK.display_names:
            number = given.value(kinds.RATING, key)
            if number is not None and items.setdefault(item, number) != number:
                block.notes.error(path, "this item occurs twice with different values")
        elif level is not None:
            unknown[key] = value
            block.notes.warn(path, "this is not one of the 20 PANAS items and is ignored")
    positive, negative = (_total(block, name, items) for name in _SIDES)
    stated = [in_range(block.raw.get(name), 10, 70) for name in _SIDES]
    extras = block.extras(Panas) | ({"responses": unknown} if unknown else {})
    return Panas(items=items, positive=positive, negative=negative, stated=(stated[0], stated[1]), **extras)


def _total(block: Block, name: str, items: Mapping[str, float]) -> float | None:
    """Items beat totals: the sum where all ten are known, else the file's total, else None."""
    stated, path, side = block.value(_TOTAL, name), block.at(name), _SIDES[name]
    known = [items[item.lower()] for item in side if item.lower() in items]
    if len(known) == len(side):
        if stated is not None and abs(stated - sum(known)) > 1e-6:
            sentence = f"the file states {stated:g}, but its items sum to {sum(known):g}; the items are used"
            block.notes.warn(path, sentence, "total")
        return sum(known)
    if known and stated is not None:
        block.notes.warn(path, f"only {len(known)} of the ten items are known, so the file's total is used", "total")
    if block.raw.get(name) is None:
        block.notes.no_truth(path, "neither all ten items nor a total")
    return stated


def _wide(block: Block) -> ConversationWide:
    given = block.block("fourBranchScores")
    branches = {branch: given.value(kinds.RATING, branch) for branch in _CODEBOOK.branches}
    unknown = given.extras(ConversationWide)
    for key in unknown:
        block.notes.warn(given.at(key), "this is not one of the four branches and is ignored")
    path, value = block.get("q1_lookingFor", "Q1")
    goals = None
    if (chosen := block.checked(_GOALS, path, value)) is not None:
        found = [block.checked(_Q1, f"{path}[{i}]", entry) for i, entry in enumerate(chosen)]
        goals = tuple(dict.fromkeys(goal for goal in found if goal is not None))
    q3 = block.value(_Q3, "q3_modelFit", "Q3")
    return ConversationWide(
        four_branch={branch: rating for branch, rating in branches.items() if rating is not None},
        q1=goals,
        q2=block.value(_Q2, "q2_emotionClarity", "Q2"),
        q3=q3,
        follow_up=_follow_up(block, q3),
        **block.extras(ConversationWide),
        **({"fourBranchScores": unknown} if unknown else {}),
    )


def _follow_up(block: Block, q3: str | None) -> tuple[str, ...] | None:
    """Absent beside a positive Q3 it is empty; absent beside a negative or unknown one it is unknown."""
    path, value = block.get("q3_followUp_whatFeltOff")
    positive = q3 is not None and q3 not in _CODEBOOK.q3_negative
    if value is None:
        if not positive:
            block.notes.no_truth(path)
        return () if positive else None
    texts = block.checked(kinds.TEXTS, path, value) or ()
    if texts and positive:
        block.notes.warn(path, "this is filled in, but q3_modelFit is positive")
    return texts
