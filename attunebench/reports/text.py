"""Makes foreign text harmless in a CSV cell. Knows no report."""

from __future__ import annotations

import re

from attunebench.text import clean

_FORMULA = re.compile(
    r"""(?:^|(?<=;))                                              # where half the world's spreadsheets part cells, too
        (?!\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*(?:;|$))  # numbers stay
        (?=[\s"']*[=+@＝＋－＠-])""",
    re.VERBOSE,
)


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, whole or in parts: such beginnings get an apostrophe."""
    cleaned = _FORMULA.sub("'", clean(text))
    return f"'{cleaned}" if text[:1] in ("\t", "\r") and cleaned[:1] != "'" else cleaned
