"""One raw JSON value → one answer (yes/no, letter, number, tags, prose), None if it is none. Whole tokens, never
substrings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from attunebench import coerce
from attunebench.protocol.read.decode import CUT, Obj, is_cut
from attunebench.text import encodable, levelled

_YES_NO_TOKEN = re.compile(r"n\.\s?a\b|[0-9]+\.[0-9]+|[^\W_]+(?:['/-][^\W_]+)*")
_WHOLE = re.compile(r"\b([0-9]+)\.0+\b")
_WORD = re.compile(r"[^\W_]+")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_NUMBER = re.compile(
    r"(?P<value>[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?)(?:\s*/\s*(?P<top>[0-9]{1,9}(?:\.0{1,9})?))?(?P<rest>$|[^\w.,/].*|[.,](?!\w).*)",
    re.DOTALL,
)
_DIGIT = re.compile(r"\d")
_NEUTRAL = frozenset({"neutral", "none", "no change"})
_NAME_KEYS = frozenset({"emotion", "name", "tag", "label"})
_STRENGTH_KEYS = frozenset({"intensity", "score", "value", "rating", "strength"})
LONGEST_REMARK = 20_000
"""Characters of a reason that are kept in a result, which must be small enough to be read again."""
_NOT_A_NAME = re.compile(r"[^a-z0-9]")
_MARKUP = " \t\r\n\"'`*_"

_NOUNS = frozenset({"response", "reply", "option", "candidate", "answer", "choice", "text", "version"})
_NO_CHOICE = frozenset({"tie", "tied", "both", "neither", "either", "none", "equal", "equally", "draw", "same"})
_TURNS_AWAY = frozenset({"not", "than", "over", "against", "versus", "vs", "nor", "beats", "isn", "t", "never"})
_AFTER_NAME = frozenset(
    {"is", "was", "because", "since", "as", "for", "by", "and", "it", "in", "on", "of", "would", "does", "has"}
)
_LABEL = re.compile(r"\breply[ _]*(\d{1,3})\b", re.IGNORECASE)


def yes_no(value: Any) -> Literal["yes", "no"] | None:
    """`"yes"` or `"no"`: the first token decides, unless one of the other polarity stands in the same value."""
    plain = coerce.yes_no(value)
    if plain is not None or not isinstance(value, str):
        return plain
    tokens = _YES_NO_TOKEN.findall(_WHOLE.sub(r"\1", levelled(value).casefold()))
    first = coerce.YES_NO.get(tokens[0]) if tokens else None
    if first is None or any(coerce.YES_NO.get(token, first) != first for token in tokens):
        return None
    return first


def letter(value: Any, sides: tuple[str, str] | None) -> Literal["A", "B"] | None:
    """`"A"` or `"B"`. `sides`: the labels behind A and B ("Reply 2", "Reply 1"), where they are known."""
    if not isinstance(value, str):
        return None
    core = _EDGES.sub("", levelled(value))
    if core.casefold() in ("a", "b"):
        return coerce.letter(core)
    words = _WORD.findall(core)
    if len(words) == 2 and words[0].casefold() in _NOUNS and words[1] in ("a", "b"):
        return coerce.letter(words[1])
    named = _letters_named(core, words) | _labels_named(core, sides)
    return named.pop() if len(named) == 1 else None  # type: ignore[return-value]


def _letters_named(text: str, words: list[str]) -> set[str]:
    """The capitals A and B among the words of running text; {"?"} with it where the sentence does not choose."""
    lowered = [word.casefold() for word in words]
    named = {word for word in words if word in ("A", "B")}
    if not _NO_CHOICE.isdisjoint(lowered):
        return {"?", "A"}
    turned = any(word in ("A", "B") and i and lowered[i - 1] in _TURNS_AWAY for i, word in enumerate(words))
    return {"?", *named} if turned or _is_article(text) else named


def _is_article(text: str) -> bool:
    """Whether the text begins with the article "A": a lower-case word follows that is no verb ("A warm reply …")."""
    match = re.match(r"A\s+([a-z]+)", text)
    if match is None or match[1] in _AFTER_NAME:
        return False
    return not match[1].endswith("s") or match[1].endswith(("ss", "us"))


def _labels_named(text: str, sides: tuple[str, str] | None) -> set[str]:
    """The sides that are named by label; {"?"} for a label behind neither or both."""
    numbers = set(_LABEL.findall(text))
    if not numbers:
        return set()
    names: set[str] = set()
    for number in numbers:
        behind = [side for side, label in zip("AB", sides or (), strict=False) if label.split()[1:] == [number]]
        names.add(behind[0] if len(behind) == 1 else "?")
    return names if "?" not in names else names | {"A", "B"}


def number(value: Any, low: int, high: int) -> float | None:
    """A number in [low, high], an int where it is integral; fractions stay. Text may follow if it holds no digit."""
    if isinstance(value, str):
        match = _NUMBER.match(levelled(value).strip(_MARKUP))
        if match is None or "%" in match["rest"] or _DIGIT.search(match["rest"]):
            return None
        if match["top"] is not None and float(match["top"]) != high:
            return None
        value = float(match["value"])
    known = coerce.in_range(value, low, high)
    return int(known) if known is not None and known == int(known) else known


def intensity(value: Any) -> float | None:
    """A tag's intensity, 1–7: a number, or mild, moderate, intense."""
    word = coerce.intensity_word(_EDGES.sub("", levelled(value)).casefold()) if isinstance(value, str) else None
    return number(value if word is None else word, 1, 7)


def remark(value: Any) -> str | None:
    """A text of the model's that is for the record alone: as `prose`, and of a very long one the beginning."""
    text = prose(value)
    return text if text is None or len(text) <= LONGEST_REMARK else f"{text[: LONGEST_REMARK - 1]}…"


_CHOICE = re.compile(
    r"(?:(?:reply|response|option|candidate|answer|message)\s*)?[\[(#]*([12])(?:\.0+)?[\])]*(?:\s+is)?"
    r"(?:[\s_,:;(-]+(?:(much|slightly)[\s_-]+)?(?:better|wins))?\)?(?:\s+than\s+(?:(?:reply|response)\s*)?#?[12])?"
    r"(?P<reason>$|\s*[-,;:.(].*)",
    re.DOTALL,
)
_OTHER_CHOICE = re.compile(
    rf"\d|\b(?:not|worse)\b|\b(?:much|slightly)[\s_-]+better\b|\b(?:{'|'.join(sorted(_NO_CHOICE))})\b"
)
_SAME = re.compile(
    rf"{'|'.join(sorted(_NO_CHOICE))}|(?:about )?the same|(?:both )?(?:are )?equally good"
    "|no (?:clear )?(?:preference|difference)"
)


def _choice(value: Any) -> tuple[str, str | None] | None:
    """Which of two replies a text names, and "much" or "slightly", or ("same", None). A reason may follow that names no
    other choice."""
    text = plain(str(value)) if isinstance(value, str) or type(value) in (int, float) else ""
    if _SAME.fullmatch(text):
        return "same", None
    found = _CHOICE.fullmatch(text)
    return (found[1], found[2]) if found and not _OTHER_CHOICE.search(found["reason"]) else None


def side(value: Any) -> Literal["1", "2", "same"] | None:
    """Which of two replies is better: "1", "2" or "same"."""
    choice = _choice(value)
    return choice[0] if choice else None  # type: ignore[return-value]


def preference(value: Any) -> str | None:
    """Which of two replies is better and by how much, in the words of `PREFERENCES`; a side alone says too little."""
    match _choice(value):
        case ("same", _):
            return "same"
        case (reply, str() as strength):
            return f"{reply} {strength} better"
    return None


def plain(text: str) -> str:
    """A name for comparing: levelled, no case, no white space around or doubled, no quotes, markdown or final stop."""
    return " ".join(levelled(text).casefold().split()).strip(_MARKUP + ".:")


def squeezed(text: str) -> str:
    """A text for comparing with an option: levelled, no case, no white space, no final stop."""
    return "".join(levelled(text).casefold().split()).strip(_MARKUP + ".")


def prose(value: Any) -> str | None:
    """A text of the model's, trimmed; None if empty or no text. Lone surrogates, which no file holds, become U+FFFD."""
    if not isinstance(value, str):
        return None
    return encodable(value.strip()) or None


def key_name(key: str) -> str:
    """A key of the answer format for comparing: neither case nor `_`, `-` and spaces matter."""
    return _NOT_A_NAME.sub("", levelled(key).casefold())


def tags(value: Any, display: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """`[{emotion, intensity}]` in the order given, [] for neutral, None if unreadable.

    `display`: lower-case name → display form. An intensity that is no 1–7 is None; of an emotion that stands twice the
    highest intensity counts, as it does in the labels. Words outside `display` are dropped, but a list that holds
    nothing else is unreadable.
    """
    if is_cut(value) or not isinstance(value, (str, list, Obj)):
        return None
    entries = list(_entries(value))
    if not entries:
        return [] if value == [] else None
    said = [(plain(name), strength) for name, strength in entries if isinstance(name, str)]
    neutral = [name in _NEUTRAL for name, _ in said]
    if any(neutral):
        return [] if all(neutral) else None
    found: dict[str, float | None] = {}
    for name, strength in said:
        emotion = display.get(name)
        if emotion is not None:
            levels = (found.get(emotion), intensity(strength))
            found[emotion] = max((level for level in levels if level is not None), default=None)
    return [{"emotion": emotion, "intensity": level} for emotion, level in found.items()] or None


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """(name, strength) of each entry; a name of None is an entry that names nothing, or two things."""
    if isinstance(value, str):
        yield value, None
    elif isinstance(value, Obj):
        if any(key_name(key) in _NAME_KEYS for key, _ in value):
            yield _field(value, _NAME_KEYS), _field(value, _STRENGTH_KEYS)
        else:
            yield from ((key, item) for key, item in value if key is not CUT)
    else:
        for entry in value:
            if isinstance(entry, (str, Obj)):
                yield from _entries(entry)
            else:
                yield None, None


def _field(entry: Obj, keys: frozenset[str]) -> Any:
    found = [item for key, item in entry if key_name(key) in keys]
    return found[0] if found and all(item == found[0] for item in found) else None
