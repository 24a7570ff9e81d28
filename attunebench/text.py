"""Text on its way out: how numbers and lists are written, and foreign text made harmless.

Nothing in the text of a model, a server or data may steer a terminal, stop an encoder or be markup. Knows neither where
a text comes from nor which document it is put into.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

UNDEFINED = "–"

# CSI and the string sequences (OSC, DCS, SOS, PM, APC) go as a whole: without the escape their rest would be noise.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_MARKDOWN = re.compile(r"[\\`*<>\[\]|~&]|(?<![^\W_])_|_(?![^\W_])|(?<=:)/(?=/)|(?<=[wW]{3})\.")
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control characters (but not tab and line feed), marks of direction, invisible signs, halves of surrogate pairs."""
_JOINERS = "\u200c\u200d"
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
"""Characters that show nothing, for a class in a regular expression: soft hyphen, zero-width and direction marks."""
_SENTENCE = re.compile(r"(?<=[.]) (?=[A-Z0-9“])")
_FORMULA = re.compile(
    r"""(?:^|(?<=;))                                              # where half the world's spreadsheets part cells, too
        (?!\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*(?:;|$))  # numbers stay
        (?=[\s"']*[=+@＝＋－＠-])""",
    re.VERBOSE,
)
_UNSEEN = re.compile(f"[{INVISIBLE}]+")
_LOOK_ALIKES = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹘", "-"),
        **dict.fromkeys("‘’‚‛ʼ′", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("⁄∕", "/"),
        **dict.fromkeys("‹〈⟨", "<"),
        **dict.fromkeys("›〉⟩", ">"),
        "\u2800": " ",
        **dict(zip("АВЕЅІЈКМНОРСТУХаеѕіјкорсухһԁԛԝ", "ABESIJKMHOPCTYXaesijkopcyxhdqw", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοѵ", "ABEZHIKMNOPTYXov", strict=True)),
    }
)
"""After NFKC, which knows full-width letters and spaces: other dashes and quotes, Cyrillic and Greek letters."""


def clean(text: str) -> str:
    """One line without control sequences, control characters and direction overrides; white space collapses."""
    text = _SEQUENCES.sub("", text)
    kept = (
        " " if char.isspace() else char
        for char in text
        if char.isspace() or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    return " ".join("".join(kept).split())


def levelled(text: str) -> str:
    """The text for comparing: without invisible characters, with plain letters, dashes, quotes and spaces for those
    that look like them."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).translate(_LOOK_ALIKES)


def markdown_text(text: str) -> str:
    """Clean text that markdown shows as it is, in a table too."""
    return _MARKDOWN.sub(lambda found: "&amp;" if found[0] == "&" else f"\\{found[0]}", clean(text))


def visible(text: str) -> str:
    """The text with each character that would not be seen as its code point: "a‹U+202E›b"."""
    return _UNSHOWN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs, which no request and no file can carry, as U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str, limit: int = 500) -> str:
    """`clean` text of at most `limit` characters, the last one an ellipsis where something was cut."""
    cleaned = clean(text[: limit * 8])
    return cleaned if len(cleaned) <= limit else f"{cleaned[: limit - 1]}…"


def address_text(url: str) -> str:
    """An address as it may be shown: no user, password, query or fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    return printable(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, whole or in parts: such beginnings get an apostrophe."""
    cleaned = _FORMULA.sub("'", clean(text))
    return f"'{cleaned}" if text[:1] in ("\t", "\r") and cleaned[:1] != "'" else cleaned


def number(value: float | None, digits: int = 3, *, sign: bool = False, undefined: str = UNDEFINED) -> str:
    """Rounded for display; None and NaN are undefined, and a zero that was rounded has no minus."""
    if value is None or math.isnan(value):
        return undefined
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def sentences_of(text: str) -> list[str]:
    """The sentences of a text; joined by a space they are the text again."""
    return _SENTENCE.split(text) if text else []


def p_value(p: float) -> str:
    """With three digits; below 0.001 only that it is."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """ "1 model", "1,100 models"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Iterable[str], *, most: int = 6) -> str:
    """ "a, b and c"; "a, b, c and 8 more" where there are too many."""
    names = list(names)
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
