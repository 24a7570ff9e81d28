"""Makes foreign text harmless for the place where it is shown: a terminal, a CSV cell, a markdown table.

Owns what is stripped and escaped; knows no report.
"""

from __future__ import annotations

import re
import unicodedata

# CSI and the string sequences (OSC, DCS, SOS, PM, APC) go as a whole: without the escape their rest would be noise.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_JOINERS = "\u200c\u200d"
_FORMULA = tuple("=+-@＝＋－＠")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_MARKDOWN = re.compile(r"[\\`*<>\[\]|~&]|(?<![^\W_])_|_(?![^\W_])")


def clean(text: str) -> str:
    """One line without control sequences, control characters and direction overrides; white space collapses."""
    text = _SEQUENCES.sub("", text)
    kept = (
        " " if char.isspace() else char
        for char in text
        if char.isspace() or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    return " ".join("".join(kept).split())


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: such beginnings get a leading apostrophe; numbers stay."""
    cleaned = clean(text)
    formula = cleaned[:1] in _FORMULA or text[:1] in ("\t", "\r")
    return f"'{cleaned}" if formula and not _NUMBER.fullmatch(cleaned) else cleaned


def markdown_text(text: str) -> str:
    """Text that markdown shows as it is, in a table too."""
    return _MARKDOWN.sub(lambda found: "&amp;" if found[0] == "&" else f"\\{found[0]}", clean(text))
