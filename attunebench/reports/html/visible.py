"""Foreign text on its way into HTML: what cannot be seen, or turns what follows around, is made visible.

Escaping is the template engine's. The page's script does the same to texts that it shows (`assets/text.js`).
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control characters (but not tab and line feed), marks of direction, invisible signs, halves of surrogate pairs."""


def visible(text: str) -> str:
    """The text with each character that would not be seen as its code point: "a‹U+202E›b"."""
    return _UNSEEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)
