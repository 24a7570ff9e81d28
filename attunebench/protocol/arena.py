"""The two calls of an arena (spec 10): a supporter's reply to a history, and a judge's verdict on two replies.

Pure, and blind to who wrote what: a prompt is a function of the texts alone. Knows no file of an arena."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
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


_MARKS = tuple(
    (re.compile(mark, re.MULTILINE), instead)
    for mark, instead in (
        (r"^[ \t]*(?:```|~~~)[^\n]*\n?", ""),  # fences
        (r"^[ \t]*(?:[-*_][ \t]*){3,}$\n?", ""),  # rules
        (r"^[ \t]{0,3}(?:#{1,6}|>)[ \t]+(?=\S)", ""),  # headings and quotes
        (r"^([ \t]{0,20})[*+•][ \t]+(?=\S)", r"\1- "),  # bullets
        (r"!?\[([^\[\]\n]{1,500})\]\([^()\s]{1,500}\)", r"\1"),  # links
        (r"`([^`\n]{1,1000})`", r"\1"),
        (r"(?<![\w*])\*{1,3}(?=[^\s*])([^*\n]{1,1000})(?<=\S)\*{1,3}(?![\w*])", r"\1"),
        (r"(?<!\w)_{1,3}(?=[^\s_])([^_\n]{1,1000})(?<=\S)_{1,3}(?!\w)", r"\1"),
    )
)
_RUNS = re.compile(r"(?<=\S)[ \t\u00a0]{2,}")
_BREAKS = re.compile(r"\n{3,}")
_LABEL = r"\A\s*(?:\*\*)?(?:{names})(?:\*\*)?\s{{0,3}}:(?:\*\*)?\s+"
_SPEAKERS = ("supporter", "assistant", "ai", "response", "reply")
_NESTED = 20  # marks inside marks, as far as they are removed
NAME = "[name]"
"""What stands in a text where it named its author."""


@lru_cache(maxsize=1024)
def normalised(text: str, names: tuple[str, ...] = ()) -> tuple[str, tuple[str, ...]]:
    """The text as judges see all replies, and which of "names", "markdown" and "white space" that changed.

    Without markdown, with plain white space, without the name of a speaker in front, and without the author's `names`
    where these are no words (`vendor/model-4o`, and `model-4o` with it). The words stay.
    """
    changed = dict.fromkeys(("names", "markdown", "white space"), False)
    for _ in range(_NESTED):  # what one pass uncovers, the next one removes
        before, unnamed = text, _without_names(text, names)
        plain = unnamed
        for mark, instead in _MARKS:
            plain = mark.sub(instead, plain)
        lines = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        text = _BREAKS.sub("\n\n", _RUNS.sub(" ", "\n".join(line.rstrip() for line in lines))).strip()
        for what, (one, other) in zip(changed, pairwise((before, unnamed, plain, text)), strict=True):
            changed[what] |= one != other
        if text == before:
            break
    return text, tuple(filter(changed.get, changed))


def _without_names(text: str, names: Sequence[str]) -> str:
    known = {part for name in names for part in (name, name.rpartition("/")[2]) if part}
    labels = "|".join(map(re.escape, sorted((*known, *_SPEAKERS), key=len, reverse=True)))
    text = re.sub(_LABEL.format(names=labels), "", text, count=1, flags=re.IGNORECASE)
    for name in sorted(known, key=len, reverse=True):
        if not name.isalpha():
            named = rf"(?<![\w/.-])(?:[\w.-]{{1,100}}/)?{re.escape(name)}(?![\w/-])"
            text = re.sub(named, NAME, text, flags=re.IGNORECASE)
    return text


def _transcript(history: Sequence[Told]) -> str:
    return "\n\n".join(fence("seeker" if role == "seeker" else "supporter", text) for role, text in history)


def _call(name: str, history_id: str, asked: Asked, system: str, prompt: str, judge: int | None = None) -> Call:
    shown = Message("system", render(system)), Message("user", prompt)
    return Call(name, history_id, "default", 0, asked.kind, shown, asked, schema_for(asked), judge)
