"""What each call shows: a conversation and a turn in, messages out. System message and transcript come first and only
ever grow, so that a provider's prefix cache serves them. Reads of the truth only what spec 01 lets a model see; a test
changes every label and looks whether a prompt moves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import groupby, permutations
from typing import get_args

from attunebench.codebook import Codebook
from attunebench.conversations.schema import (
    Comparison,
    Conversation,
    Demographics,
    Panas,
    ParticipantProfile,
    Turn,
    Variant,
)
from attunebench.judging import JudgeScale
from attunebench.prompts import fence, render
from attunebench.protocol.calls import BLIND, CHANGES, Asked, Message

_UNKNOWN = "unknown"
_ORDERS: tuple[tuple[Variant, ...], ...] = tuple(permutations(get_args(Variant)))
_JUDGING: Mapping[JudgeScale, str] = {"relative": "judge", "quality": "judging/quality"}
"""Scale → the template of what a judge is asked."""


class Thread:
    """The transcript of one conversation, rendered once: every prompt is a part of it and then its own step."""

    def __init__(self, conversation: Conversation, *, background: str | None) -> None:
        self._head = [render("transcript")] if background is None else [background, render("transcript")]
        self._open = [_turn(turn, replied=False) for turn in conversation.turns]
        self._closed = [_turn(turn, replied=True) for turn in conversation.turns]

    def until(self, position: int, *, replied: bool) -> str:
        """Everything up to the HP message of the turn at `position` (0-based), with its reply where `replied`."""
        last = (self._closed if replied else self._open)[position]
        return "\n\n".join([*self._head, *self._closed[:position], last])


def messages(system: str, thread: str, step: str) -> tuple[Message, ...]:
    """A whole prompt; `system` names the template of the first message."""
    return Message("system", render(system)), Message("user", f"{thread}\n\n{step}")


def background(conversation: Conversation, codebook: Codebook) -> str:
    """What omniscient modes are told before the first turn: profile, attitude and mood before; nothing else."""
    profile, mood = conversation.profile, conversation.pre_panas
    mood_known = bool(mood.items) or mood.positive is not None or mood.negative is not None
    return render(
        "background",
        {"known": profile is not None, "mood": mood_known},
        profile=fence("profile", _profile(profile, codebook)) if profile else "",
        mood=_mood(mood, codebook),
    )


def has_reference(turn: Turn) -> bool:
    """Whether a judge can be shown a reply that the HP edited."""
    return bool(turn.human_edited and turn.human_edited.strip())


def askable_comparisons(turn: Turn) -> dict[str, Comparison]:
    """Index in the data → comparison, where both replies have a text; whether a winner is known plays no part."""
    shown = {variant for variant, text in turn.variants.items() if text and text.strip()}
    return {str(i): c for i, c in enumerate(turn.comparisons) if c.a in shown and c.b in shown}


def reply_labels(conversation: Conversation, turn: Turn) -> dict[str, Variant]:
    """ "Reply 1" … → variant, in the order shown, which only the conversation's id and the turn's number decide."""
    digest = hashlib.sha256(f"{conversation.conversation_id}\n{turn.number}".encode("utf-8", "surrogatepass")).digest()
    order = _ORDERS[int.from_bytes(digest, "big") % len(_ORDERS)]
    texts = turn.variants
    shown = [variant for variant in order if (texts[variant] or "").strip()]
    return {f"Reply {place}": variant for place, variant in enumerate(shown, 1)}


def turn_step(conversation: Conversation, turn: Turn, asked: Asked, codebook: Codebook) -> str:
    """What a call of a turn asks for; a judge's draft is put in behind it."""
    verbose, number = {"verbose": asked.verbose}, str(turn.number)
    questions = "\n".join(f"{question_id}: {text}" for question_id, text in asked.questions.items())
    if asked.kind == "review":
        on = {**verbose, "questions": bool(questions)}
        return render("review", on, number=number, emotions=", ".join(codebook.panas), questions=questions)
    if asked.kind == "binary_hp":
        return render("binary_hp", verbose, number=number, questions=questions)
    if asked.kind == "pairwise":
        labels, texts = reply_labels(conversation, turn), turn.variants
        replies = "\n".join(f"{label}\n{fence('reply', texts[variant] or '')}" for label, variant in labels.items())
        comparisons = _grouped(turn, asked, codebook)
        return render("pairwise", verbose, number=number, replies=replies, comparisons=comparisons)
    if asked.kind == "judge":
        on = {"reference": has_reference(turn), "questions": bool(questions)}
        reference = fence("reference", turn.human_edited or "")
        return render(_JUDGING[asked.scale], on, number=number, reference=reference, questions=questions) + "\n"
    return render("draft", verbose, number=number)


def post_step(conversation: Conversation, asked: Asked, codebook: Codebook) -> str:
    """Asks for the mood afterwards and about the whole conversation."""
    wide, mood = codebook.wide, conversation.pre_panas
    return render(
        "post",
        {"verbose": asked.verbose, "change": asked.panas in CHANGES, "totals": asked.panas not in BLIND},
        positive=", ".join(codebook.panas_positive),
        negative=", ".join(codebook.panas_negative),
        positive_total=_number(mood.positive),
        negative_total=_number(mood.negative),
        q1=wide["q1_lookingFor"].observer_text,
        q1_options=_bullets(codebook.q1_options),
        q2=wide["q2_emotionClarity"].observer_text,
        q2_options=_bullets(codebook.q2_options),
        q3=wide["q3_modelFit"].observer_text,
        q3_options=_bullets(codebook.q3_options),
        q3_negative="; ".join(f'"{option}"' for option in codebook.q3_negative),
        follow_up=wide["q3_followUp_whatFeltOff"].observer_text,
        follow_up_options=_bullets(codebook.follow_up_options),
        branches=_bullets(f"{name}: {branch.definition}" for name, branch in codebook.branches.items()),
    )


def _turn(turn: Turn, *, replied: bool) -> str:
    return render(
        "turn",
        {"replied": replied},
        number=str(turn.number),
        message=fence("hp", turn.user_message),
        reply=fence("om", turn.llm_response),
    )


def _grouped(turn: Turn, asked: Asked, codebook: Codebook) -> str:
    """The comparisons under their questions, each with its number and what is A and B; questions in order of need."""
    comparisons = askable_comparisons(turn)
    order = list(dict.fromkeys(c.question_id for c in comparisons.values()))
    indices = sorted(asked.comparisons, key=lambda index: (order.index(comparisons[index].question_id), int(index)))
    lines = []
    for question_id, group in groupby(indices, key=lambda index: comparisons[index].question_id):
        lines.append(codebook.pairwise.get(question_id) or question_id)
        lines += [f"{index}: A = {a}, B = {b}" for index, (a, b) in ((i, asked.comparisons[i]) for i in group)]
    return "\n".join(lines)


def _profile(profile: ParticipantProfile, codebook: Codebook) -> str:
    facts = {name: _words(getattr(profile.demographics, name)) for name in Demographics.model_fields}
    facts["attitude"] = _words(profile.conversation_topic_attitude)
    facts["scales"] = "\n".join(_scale(name, value, codebook) for name, value in profile.computed_scores.items())
    return render("profile", {name: bool(text) for name, text in facts.items()}, **facts)


def _scale(name: str, value: float, codebook: Codebook) -> str:
    scale = codebook.scales.get(name)
    if scale is None:
        return f"{_words(name)}: {_number(value)}"
    return f"{scale.label}: {_number(value)} ({scale.range}; {scale.meaning})"


def _mood(mood: Panas, codebook: Codebook) -> str:
    items = [f"{item} {_number(mood.items[item.lower()])}" for item in codebook.panas if item.lower() in mood.items]
    return render(
        "mood",
        {"items": bool(items)},
        positive_total=_number(mood.positive),
        negative_total=_number(mood.negative),
        items=", ".join(items),
    )


def _words(value: str | Iterable[str] | None) -> str:
    """On one line, so that no fact can pass for another."""
    parts = [value] if isinstance(value, str) else list(value or ())
    return "; ".join(" ".join(part.split()) for part in parts)


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:g}"


def _bullets(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)
