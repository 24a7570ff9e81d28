"""Makes foreign text harmless where a report shows it: a CSV cell, a markdown table. Knows no report."""

from __future__ import annotations

import re

from attunebench.text import clean

_FORMULA = tuple("=+-@＝＋－＠")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_MARKDOWN = re.compile(r"[\\`*<>\[\]|~&]|(?<![^\W_])_|_(?![^\W_])")


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: such beginnings get a leading apostrophe; numbers stay."""
    cleaned = clean(text)
    formula = cleaned[:1] in _FORMULA or text[:1] in ("\t", "\r")
    return f"'{cleaned}" if formula and not _NUMBER.fullmatch(cleaned) else cleaned


def markdown_text(text: str) -> str:
    """Text that markdown shows as it is, in a table too."""
    return _MARKDOWN.sub(lambda found: "&amp;" if found[0] == "&" else f"\\{found[0]}", clean(text))
