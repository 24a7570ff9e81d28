"""One parsed JSON value → one `Conversation`, or the errors that forbid it. Settles aliases, spellings and totals.

Touches no file. The rules of spec 2.1 about the turns are in `turns`, those about single values in `block`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from attunebench import coerce
from attunebench.codebook import default_codebook
from attunebench.coerce import folded, in_range
from attunebench.conversations.block import Block
from attunebench.conversations.issues import Notes
from attunebench.conversations.schema import (
    Conversation,
    ConversationWide,
    Demographics,
    Panas,
    ParticipantProfile,
)
from attunebench.conversations.turns import read_turns

MAX_ID_LENGTH = 150

_CODEBOOK = default_codebook()
_POSITIVE = tuple(item.lower() for item in _CODEBOOK.panas_positive)
_NEGATIVE = tuple(item.lower() for item in _CODEBOOK.panas_negative)


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
    known = ("country", "education", "gender", "age_range", "english_proficiency")
    numbers = {
        name: scores.number(scores.at(name), value, -coerce.MOST, coerce.MOST)
        for name, value in scores.raw.items()
        if value is not None
    }
    demographics = {name: person.label(name) for name in known}
    labels = ("schema_version", "participant_id", "profile_type", "conversation_topic_attitude")
    return ParticipantProfile(
        demographics=Demographics(
            work_edu_background=person.texts("work_edu_background"),
            diagnoses=person.texts("diagnoses"),
            **demographics,
            **person.extras(Demographics),
        ),
        computed_scores={name: float(number) for name, number in numbers.items() if number is not None},
        **{name: block.label(name) for name in labels},
        **block.extras(ParticipantProfile),
    )


def _panas(block: Block) -> Panas:
    level = next((key for key in ("responses", "items") if block.raw.get(key) is not None), None)
    block.read.update(("responses", "items"))
    given = block if level is None else block.block(level)
    names = [key for key in given.raw if level is not None or folded(key) in _CODEBOOK.display_names]
    block.read.update(names)
    items: dict[str, float] = {}
    unknown: dict[str, Any] = {}
    for key in names:
        item, path, value = folded(key), given.at(key), given.raw[key]
        if item not in _CODEBOOK.display_names:
            unknown[key] = value
            block.notes.warn(path, "this is none of the 20 PANAS items and is not used")
        elif value is None:
            block.notes.no_truth(path)
        else:
            number = block.number(path, value, 1, 7)
            if number is not None and items.setdefault(item, number) != number:
                block.notes.error(path, "this item stands here twice with different values")
    totals = ("totalPositiveAffect", "totalNegativeAffect")
    return Panas(
        items=items,
        positive=_total(block, totals[0], items, _POSITIVE),
        negative=_total(block, totals[1], items, _NEGATIVE),
        stated=(in_range(block.raw.get(totals[0]), 10, 70), in_range(block.raw.get(totals[1]), 10, 70)),
        **block.extras(Panas),
        **({"responses": unknown} if unknown else {}),
    )


def _total(block: Block, name: str, items: Mapping[str, float], side: tuple[str, ...]) -> float | None:
    """Items beat totals: the sum where all ten are known, else the file's total, else None."""
    path, value = block.get(name)
    stated = None if value is None else block.number(path, value, 10, 70)
    known = [items[item] for item in side if item in items]
    if len(known) == len(side):
        if stated is not None and abs(stated - sum(known)) > 1e-6:
            sentence = f"the file says {stated:g}, its items sum to {sum(known):g}; the items count"
            block.notes.warn(path, sentence, "total")
        return sum(known)
    if known and stated is not None:
        block.notes.warn(path, f"only {len(known)} of the ten items are known, so the file's total counts", "total")
    if value is None:
        block.notes.no_truth(path, "neither all ten items nor a total")
    return stated


def _wide(block: Block) -> ConversationWide:
    given = block.block("fourBranchScores")
    branches: dict[str, float] = {}
    for branch in _CODEBOOK.branches:
        path, value = given.get(branch)
        number = None if value is None else block.number(path, value, 1, 7)
        if number is not None:
            branches[branch] = number
        elif value is None:
            block.notes.no_truth(path)
    unknown = given.extras(ConversationWide)
    for key in unknown:
        block.notes.warn(given.at(key), "this is none of the four branches and is not used")
    q3 = _choice(block, _CODEBOOK.q3_options, "q3_modelFit", "Q3")
    return ConversationWide(
        four_branch=branches,
        q1=_goals(block),
        q2=_choice(block, _CODEBOOK.q2_options, "q2_emotionClarity", "Q2"),
        q3=q3,
        follow_up=_follow_up(block, q3),
        **block.extras(ConversationWide),
        **({"fourBranchScores": unknown} if unknown else {}),
    )


def _goals(block: Block) -> tuple[str, ...] | None:
    path, value = block.get("q1_lookingFor", "Q1")
    if value is None:
        block.notes.no_truth(path)
        return None
    if not isinstance(value, list):
        block.notes.expected(path, "a list of options", value)
        return None
    goals = [block.option(f"{path}[{i}]", entry, _CODEBOOK.q1_options) for i, entry in enumerate(value)]
    return tuple(dict.fromkeys(goal for goal in goals if goal is not None))


def _choice(block: Block, options: tuple[str, ...], *names: str) -> str | None:
    path, value = block.get(*names)
    if value is None or value == "":
        block.notes.no_truth(path)
        return None
    return block.option(path, value, options)


def _follow_up(block: Block, q3: str | None) -> tuple[str, ...] | None:
    """Absent beside a positive Q3 it is empty; absent beside a negative or unknown one it is unknown."""
    path, value = block.get("q3_followUp_whatFeltOff")
    positive = q3 is not None and q3 not in _CODEBOOK.q3_negative
    if value is None:
        if not positive:
            block.notes.no_truth(path)
        return () if positive else None
    texts = block.texts("q3_followUp_whatFeltOff")
    if texts and positive:
        block.notes.warn(path, "this is filled in although q3_modelFit is positive")
    return texts
