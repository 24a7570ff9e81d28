"""Text of models and data on its way to a terminal: untrusted, so nothing in it may steer the screen."""

from __future__ import annotations

import unicodedata


def printable(text: str, limit: int = 500) -> str:
    """`text` on one line, without control, format (bidirectional marks too) and surrogate characters, cut at `limit`."""
    line = " ".join(text[: limit * 4].split())
    clean = "".join(character for character in line if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co"))
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"
