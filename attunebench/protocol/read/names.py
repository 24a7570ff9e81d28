"""Which item a key means: question IDs or their texts, indices of comparisons, emotions, branches.

Exact names only, after levelling case, spaces and punctuation at the edges; where two items fit, none is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attunebench.protocol.read.shapes import Namer, key_name
from attunebench.protocol.read.values import plain
from attunebench.text import levelled

_COMPARISON = re.compile(r"\s*(?:(?:comparison|pair|item|index)[\s_\-#:]*|#)?([0-9]{1,4})[\s.:]*", re.IGNORECASE)
_QUESTION = re.compile(r"(?:question[\s_:]*)?([a-z]{1,4}[0-9]{1,4})(?![0-9a-z])[\s.:)\]-]*(.*)", re.DOTALL)


def words(names: Iterable[str]) -> Namer:
    """Names that are plain words ("Proud", "perceiving")."""
    table = {plain(name): name for name in names}
    return lambda key: table.get(plain(key))


def keys(names: Iterable[str]) -> Namer:
    """Names that are keys of an answer format ("who_5"), however they are punctuated ("WHO-5")."""
    table = {key_name(name): name for name in names}
    return lambda key: table.get(key_name(key))


def comparisons(indices: Iterable[str]) -> Namer:
    """Indices: `0`, `comparison_0`, `#0`."""
    known = frozenset(indices)

    def name(key: str) -> str | None:
        if key in known:
            return key
        match = _COMPARISON.fullmatch(levelled(key))
        return match[1] if match and match[1] in known else None

    return name


def questions(texts: Mapping[str, str]) -> Namer:
    """Question IDs, alone or before their text, or the text alone where only one question has it."""
    by_id = {key.casefold(): key for key in texts}
    by_text: dict[str, str | None] = {}

    def fill() -> None:
        for key, text in texts.items():
            name = plain(text)
            if name:
                by_text[name] = None if name in by_text else key

    def name(key: str) -> str | None:
        if key in texts:
            return key
        name = plain(key)
        if name in by_id:
            return by_id[name]
        match = _QUESTION.fullmatch(name)
        found = by_id.get(match[1]) if match else None
        if match and found is not None:
            return found if match[2] in ("", plain(texts[found])) else None
        if not by_text:
            fill()
        return by_text.get(name)

    return name
