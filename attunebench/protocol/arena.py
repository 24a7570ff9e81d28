"""The two calls of an arena (spec 10): a supporter's reply to a history, and a judge's verdict on two replies.

Pure, and blind to who wrote what: a prompt is a function of the texts alone. Knows no file of an arena."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attunebench.prompts import fence, render
from attunebench.protocol.calls import Asked, Call, Message
from attunebench.protocol.schemas import schema_for

Order = Literal["left", "right"]
"""Which reply of a pair is shown first."""
Told = tuple[str, str]
"""A message of a history: seeker or supporter, and the text."""

REPLY_TEMPLATES = ("arena/respond", "arena/supporter", "reask")
VERDICT_TEMPLATES = ("arena/judge", "arena/verdict", "reask")
"""What the prompts of the two calls are made of."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a judge is shown, with what it is not: the kinds of the two authors. `Request.conversation` of a verdict,
    which only built-in judges look at."""

    history: tuple[Told, ...]
    first: str
    second: str
    first_kind: str = "model"
    second_kind: str = "model"


def plan_reply(history_id: str, history: Sequence[Told]) -> Call:
    """The call that asks the evaluated model for the supporter's next message."""
    prompt = render("arena/respond", history=_transcript(history))
    return _call(f"{history_id}/respond", history_id, Asked("respond"), "arena/supporter", prompt)


def plan_verdict(history_id: str, pair_id: str, order: Order, shown: Shown, judge: int) -> Call:
    """The call that asks a judge (0 is the first) which of two replies is better. `order`: which reply of the pair
    stands first in `shown`, whose texts are normalised here."""
    first, second = (fence("reply", normalised(text)[0]) for text in (shown.first, shown.second))
    prompt = render("arena/verdict", history=_transcript(shown.history), first=first, second=second)
    name = f"{pair_id}/{order}/verdict/{judge}"
    return _call(name, history_id, Asked("verdict"), "arena/judge", prompt, judge)


_FENCED = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n?", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$\n?", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_BULLET = re.compile(r"^([ \t]*)[*+•][ \t]+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]{1,500})\]\([^()\s]{1,500}\)")
_CODE = re.compile(r"`([^`\n]{1,1000})`")
_STRONG = re.compile(r"(?<![\w*])\*{1,3}(?=\S)([^*\n]{1,1000})(?<=\S)\*{1,3}(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)_{1,3}(?=\S)([^_\n]{1,1000})(?<=\S)_{1,3}(?!\w)")
_MARKS = (
    (_FENCED, ""), (_RULE, ""), (_HEADING, r"\1"), (_QUOTE, ""), (_BULLET, r"\1- "), (_LINK, r"\1"), (_CODE, r"\1"),
    (_STRONG, r"\1"), (_UNDERLINED, r"\1"),
)  # fmt: skip
_TRAILING = re.compile(r"[ \t\u00a0]+(?=\n|$)")
_RUNS = re.compile(r"(?<=\S)[ \t\u00a0]{2,}")
_BREAKS = re.compile(r"\n{3,}")


def normalised(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without markdown and with plain white space, as judges see all replies; and which of the two,
    "markdown" and "white space", it changed. Its words stay."""
    plain = text
    for mark, instead in _MARKS:
        plain = mark.sub(instead, plain)
    spaced = _BREAKS.sub("\n\n", _RUNS.sub(" ", _TRAILING.sub("", plain.replace("\r\n", "\n").replace("\r", "\n"))))
    spaced = spaced.strip()
    changes = {"markdown": plain != text, "white space": spaced != plain}
    return spaced, tuple(what for what, changed in changes.items() if changed)


def _transcript(history: Sequence[Told]) -> str:
    return "\n\n".join(fence("seeker" if role == "seeker" else "supporter", text) for role, text in history)


def _call(name: str, history_id: str, asked: Asked, system: str, prompt: str, judge: int | None = None) -> Call:
    shown = Message("system", render(system)), Message("user", prompt)
    return Call(name, history_id, "default", 0, asked.kind, shown, asked, schema_for(asked), judge)
