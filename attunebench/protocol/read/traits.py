"""One raw value → the answer to one trait of a profile, in the words of `conversations.traits`.

Whole answers only, never parts of a text; what declines to say is an answer of its own (`CANNOT_TELL`)."""

from __future__ import annotations

import re
from typing import Any

from attunebench.conversations.groups import ANXIETY_DEPRESSION, ASD_ADHD, NONE
from attunebench.conversations.traits import CANNOT_TELL, GENDERS, NEGATIVE, POSITIVE, Trait
from attunebench.protocol.read.decode import is_cut
from attunebench.protocol.read.shapes import container
from attunebench.protocol.read.values import number, squeezed
from attunebench.text import levelled

_DECLINED = frozenset({"cannottell", "can'ttell", "canttell", "cannotsay", "cannotbetold", "unabletotell", "unknown"})
_ALIASES = {
    "positive": POSITIVE, "negative": NEGATIVE, "female": GENDERS[0], "male": GENDERS[1],
    "anxiety": ANXIETY_DEPRESSION, "depression": ANXIETY_DEPRESSION,
    "asd": ASD_ADHD, "autism": ASD_ADHD, "adhd": ASD_ADHD,
}  # fmt: skip
"""Other names of an answer, which count where the trait has that answer."""
_DASHES = dict.fromkeys(map(ord, "-_"), "")
_ASIDE = re.compile(r"\s*\([^()]*\)\s*$")
_BETWEEN = re.compile(r"[,;/]| and ")


def trait_answer(trait: Trait, raw: Any) -> str | list[str] | float | None:
    """One of the trait's answers or `CANNOT_TELL`; for groups a list, in the order of the trait; else a number."""
    raw = container(raw)
    if trait.form == "groups":
        return _groups(trait, raw)
    if isinstance(raw, list) and len(raw) == 1 and not is_cut(raw):
        raw = raw[0]
    if _declines(raw):
        return CANNOT_TELL
    if trait.form in ("scale", "age"):
        return number(raw, trait.low, trait.high)
    return _option(trait, raw)


def _groups(trait: Trait, raw: Any) -> str | list[str] | None:
    """None too for what contradicts itself: no diagnosis beside one, or an answer beside none given."""
    if isinstance(raw, str):
        raw = [raw] if _declines(raw) or _option(trait, raw) else _BETWEEN.split(raw)
    if not isinstance(raw, list) or not raw or is_cut(raw):
        return None
    if all(map(_declines, raw)):
        return CANNOT_TELL
    named = {_option(trait, entry) for entry in raw}
    if None in named or (NONE in named and len(named) > 1):
        return None
    return [option for option in trait.options if option in named]


def _option(trait: Trait, raw: Any) -> str | None:
    if not isinstance(raw, str):
        return None
    said = _levelled(raw)
    meant = next((option for option in trait.options if _levelled(option) == said), _ALIASES.get(said))
    return meant if meant in trait.options else None


def _declines(raw: Any) -> bool:
    return isinstance(raw, str) and _levelled(raw) in _DECLINED


def _levelled(text: str) -> str:
    """Without case, white space, dashes, quotes around it and a closing remark in brackets."""
    return squeezed(_ASIDE.sub("", levelled(text)).translate(_DASHES))
