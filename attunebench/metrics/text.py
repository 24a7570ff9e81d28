"""How strings compare: trimmed, case-folded, white space collapsed; and the word overlap of two texts.

Knows nothing of questions, drafts or models.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from functools import lru_cache

_WORD = re.compile(r"\w+")
_WORDS_OF_ASCII = bytes(code if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(128)).ljust(256)


@lru_cache(maxsize=4096)
def normalised(text: str) -> str:
    """The form in which two strings compare: trimmed, case-folded, white space collapsed to single spaces."""
    return " ".join(text.split()).casefold()


def tokens(text: str) -> frozenset[str]:
    r"""The set of `\w+` matches of the NFKC-normalised, case-folded text. Source: spec 4, conventions."""
    if text.isascii():  # the same words at a quarter of the time, which is a good part of what a draft takes to score
        return frozenset(text.lower().encode().translate(_WORDS_OF_ASCII).decode().split())
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def jaccard(one: Set[str], other: Set[str]) -> float:
    """|one ∩ other| / |one ∪ other|, in [0, 1]; both empty 1, exactly one empty 0."""
    if not one and not other:
        return 1.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
