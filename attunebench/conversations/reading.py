"""One parsed JSON value → one `Conversation`, or the errors that forbid it. Settles aliases, spellings and totals.

Touches no file. The rules of spec 2.1 about the turns are in `turns`, those about single values in `values`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from attunebench.codebook import default_codebook
from attunebench.coerce import folded, in_range
from attunebench.conversations import values
from attunebench.conversations.issues import Notes
from attunebench.conversations.schema import (
    Conversation,
    ConversationWide,
    Demographics,
    Panas,
    ParticipantProfile,
)
from attunebench.conversations.turns import read_turns
from attunebench.conversations.values import Object, extras_of

MAX_ID_LENGTH = 150

_CODEBOOK = default_codebook()
_POSITIVE = tuple(item.lower() for item in _CODEBOOK.panas_positive)
_NEGATIVE = tuple(item.lower() for item in _CODEBOOK.panas_negative)


def read_conversation(
    raw: Object, file: str = "", *, source: str = "", sha256: str = ""
) -> tuple[Conversation | None, Notes]:
    """The conversation in a parsed file, and what was noted on the way; None where there is an error.

    `file` names the file in the notes; `source` and `sha256` go into the conversation as they are.
    """
    notes = Notes(file)
    profile = raw.get("participant_profile")
    if profile is not None and not isinstance(profile, dict):
        notes.expected("participant_profile", "an object or null", profile)
        profile = None
    known = {
        "conversationId",
        "metadata",
        "participant_profile",
        "prePanas",
        "postPanas",
        "conversationWideQuestions",
        "turns",
    }
    parts: dict[str, Any] = {
        "conversation_id": _conversation_id(raw, notes),
        "metadata": values.member(raw, "metadata", "", notes),
        "profile": None if profile is None else _profile(profile, notes),
        "pre_panas": _panas(raw, "prePanas", notes),
        "post_panas": _panas(raw, "postPanas", notes),
        "wide": _wide(raw, notes),
        "turns": read_turns(raw, notes),
        "source_file": source,
        "source_sha256": sha256,
    }
    if notes.errors:
        return None, notes
    return Conversation(**parts, **extras_of(raw, known, Conversation)), notes


def _conversation_id(raw: Object, notes: Notes) -> str:
    value = raw.get("conversationId")
    if not isinstance(value, str) or not value.strip():
        notes.expected("conversationId", "a text that is not empty", value)
        return ""
    unsafe = "/" in value or "\\" in value or ".." in value or any(unicodedata.category(c) == "Cc" for c in value)
    if unsafe:
        notes.expected("conversationId", "no path separator, '..' or control character", value)
    if len(value) > MAX_ID_LENGTH:
        notes.expected("conversationId", f"at most {MAX_ID_LENGTH} characters", value)
    return value


def _profile(raw: Object, notes: Notes) -> ParticipantProfile:
    path = "participant_profile"
    person = values.member(raw, "demographics", path, notes)
    known = {
        "schema_version",
        "participant_id",
        "profile_type",
        "demographics",
        "computed_scores",
        "conversation_topic_attitude",
    }
    return ParticipantProfile(
        schema_version=_label(raw, "schema_version", path, notes),
        participant_id=_label(raw, "participant_id", path, notes),
        profile_type=_label(raw, "profile_type", path, notes),
        demographics=_demographics(person, f"{path}.demographics", notes),
        computed_scores=_scores(raw, path, notes),
        conversation_topic_attitude=_label(raw, "conversation_topic_attitude", path, notes),
        **extras_of(raw, known, ParticipantProfile),
    )


def _demographics(raw: Object, path: str, notes: Notes) -> Demographics:
    lists = ("work_edu_background", "diagnoses")
    parts: dict[str, Any] = {name: values.texts(raw, name, path, notes) for name in lists}
    for name in Demographics.model_fields:
        if name not in lists:
            parts[name] = _label(raw, name, path, notes)
    return Demographics(**parts, **extras_of(raw, Demographics.model_fields, Demographics))


def _label(raw: Object, name: str, path: str, notes: Notes) -> str | None:
    """A describing text; a number there (an id, a version, an age) is taken as its digits."""
    value = raw.get(name)
    if type(value) in (int, float):
        return str(value)
    return values.optional_text(raw, path, notes, name)


def _scores(raw: Object, path: str, notes: Notes) -> dict[str, float]:
    given = values.member(raw, "computed_scores", path, notes)
    scores = {}
    for name, value in given.items():
        number = None if value is None else values.finite(value, f"{path}.computed_scores.{name}", notes)
        if number is not None:
            scores[name] = number
    return scores


def _panas(raw: Object, name: str, notes: Notes) -> Panas:
    block = values.member(raw, name, "", notes)
    level = next((key for key in ("responses", "items") if block.get(key) is not None), None)
    path = name if level is None else f"{name}.{level}"
    given = {k: v for k, v in block.items() if folded(k) in _CODEBOOK.display_names}
    if level is not None:
        given = dict(values.member(block, level, name, notes))
    items, unknown = _items(given, path, notes)
    totals = ("totalPositiveAffect", "totalNegativeAffect")
    known = {*totals, "responses", "items", *given}
    return Panas(
        items=items,
        positive=_total(block, f"{name}.totalPositiveAffect", items, _POSITIVE, notes),
        negative=_total(block, f"{name}.totalNegativeAffect", items, _NEGATIVE, notes),
        stated=(_stated(block, totals[0]), _stated(block, totals[1])),
        **extras_of(block, known, Panas),
        **({"responses": unknown} if unknown else {}),
    )


def _stated(block: Object, name: str) -> float | None:
    return in_range(block.get(name), 10, 70)


def _items(given: Object, path: str, notes: Notes) -> tuple[dict[str, float], dict[str, Any]]:
    items: dict[str, float] = {}
    unknown: dict[str, Any] = {}
    for key, value in given.items():
        item, place = folded(key), f"{path}.{key}"
        if item not in _CODEBOOK.display_names:
            unknown[key] = value
            notes.warn(place, "this is none of the 20 PANAS items and is not used")
        elif value is None:
            notes.no_truth(place)
        else:
            number = values.bounded(value, 1, 7, place, notes)
            if number is not None and items.setdefault(item, number) != number:
                notes.error(place, "this item stands here twice with different values")
    return items, unknown


def _total(block: Object, path: str, items: Mapping[str, float], side: tuple[str, ...], notes: Notes) -> float | None:
    """Items beat totals: the sum where all ten are known, else the file's total, else None."""
    value = block.get(path.rpartition(".")[2])
    stated = None if value is None else values.bounded(value, 10, 70, path, notes)
    known = [items[item] for item in side if item in items]
    if len(known) == len(side):
        if stated is not None and abs(stated - sum(known)) > 1e-6:
            notes.warn(path, f"the file says {stated:g}, its items sum to {sum(known):g}; the items count", "total")
        return sum(known)
    if known and stated is not None:
        notes.warn(path, f"only {len(known)} of the ten items are known, so the file's total counts", "total")
    if stated is None and value is None:
        notes.no_truth(path, "neither all ten items nor a total")
    return stated


def _wide(raw: Object, notes: Notes) -> ConversationWide:
    path = "conversationWideQuestions"
    block = values.member(raw, path, "", notes)
    branches, unknown = _branches(block, path, notes)
    q3 = _choice(block, path, notes, _CODEBOOK.q3_options, "q3_modelFit", "Q3")
    known = {
        "fourBranchScores",
        "q1_lookingFor",
        "q2_emotionClarity",
        "q3_modelFit",
        "Q1",
        "Q2",
        "Q3",
        "q3_followUp_whatFeltOff",
    }
    return ConversationWide(
        four_branch=branches,
        q1=_goals(block, path, notes),
        q2=_choice(block, path, notes, _CODEBOOK.q2_options, "q2_emotionClarity", "Q2"),
        q3=q3,
        follow_up=_follow_up(block, q3, path, notes),
        **extras_of(block, known, ConversationWide),
        **({"fourBranchScores": unknown} if unknown else {}),
    )


def _branches(block: Object, path: str, notes: Notes) -> tuple[dict[str, float], dict[str, Any]]:
    given = values.member(block, "fourBranchScores", path, notes)
    path = f"{path}.fourBranchScores"
    scores: dict[str, float] = {}
    for branch in _CODEBOOK.branches:
        if given.get(branch) is None:
            notes.no_truth(f"{path}.{branch}")
            continue
        number = values.bounded(given[branch], 1, 7, f"{path}.{branch}", notes)
        if number is not None:
            scores[branch] = number
    unknown = {key: value for key, value in given.items() if key not in _CODEBOOK.branches}
    for key in unknown:
        notes.warn(f"{path}.{key}", "this is none of the four branches and is not used")
    return scores, unknown


def _goals(block: Object, path: str, notes: Notes) -> tuple[str, ...] | None:
    name, value = values.pick(block, "q1_lookingFor", "Q1")
    path = f"{path}.{name}"
    if value is None:
        notes.no_truth(path)
        return None
    if not isinstance(value, list):
        notes.expected(path, "a list of options", value)
        return None
    found = [values.option(v, _CODEBOOK.q1_options, f"{path}[{i}]", notes) for i, v in enumerate(value)]
    return tuple(dict.fromkeys(goal for goal in found if goal is not None))


def _choice(block: Object, path: str, notes: Notes, options: tuple[str, ...], *names: str) -> str | None:
    name, value = values.pick(block, *names)
    if value is None or value == "":
        notes.no_truth(f"{path}.{name}")
        return None
    return values.option(value, options, f"{path}.{name}", notes)


def _follow_up(block: Object, q3: str | None, path: str, notes: Notes) -> tuple[str, ...] | None:
    """Absent beside a positive Q3 it is empty; absent beside a negative or unknown one it is unknown."""
    name = "q3_followUp_whatFeltOff"
    positive = q3 is not None and q3 not in _CODEBOOK.q3_negative
    if block.get(name) is None:
        if not positive:
            notes.no_truth(f"{path}.{name}")
        return () if positive else None
    found = values.texts(block, name, path, notes)
    if found and positive:
        notes.warn(f"{path}.{name}", "this is filled in although q3_modelFit is positive")
    return found
