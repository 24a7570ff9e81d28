"""Fills a template in one pass and puts foreign text into fences that it cannot close.

Owns the marks of a template and the shape of a fence. What a value says is never looked at, so nothing that a person
or a model wrote is expanded. Refuses to know which templates there are, or what they ask.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources

from attunebench.text import encodable, levelled

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_CONDITION = re.compile(r"\[((?:!?[a-z]\w*)(?: !?[a-z]\w*)*)\] ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_CLOSING = r"<\s*/\s*{tag}\s*(?:-\s*(\d{{1,9}}))?"


def render(name: str, conditions: Mapping[str, bool] | None = None, /, **values: str) -> str:
    """The template `name` with its conditions decided and its placeholders filled in, without a final line break.

    Raises ValueError where the conditions or values are not exactly those that the template knows: a wrong name is a
    slip in this package, and no prompt may go out with a hole in it.
    """
    conditions = conditions or {}
    _require(name, "conditions", _conditions_of(name), set(conditions))
    on = frozenset(word for word, holds in conditions.items() if holds)
    _require(name, "values", _placeholders_of(name), set(values))
    return _PLACEHOLDER.sub(lambda match: values[match[1]], _selected(name, on))


def fence(tag: str, text: str) -> str:
    """`text` between `<tag>` and `</tag>`, each on a line of its own.

    Where the text holds something that could be read as the closing tag, in any case or spacing and in look-alike
    letters too, the tag carries the lowest number from 2 for which that is not so. Lone surrogates, which no request
    can carry, become U+FFFD.
    """
    text = encodable(text)
    name = _free_tag(tag, text)
    return f"<{name}>\n{text}\n</{name}>"


@cache
def prompt_set_sha256(names: tuple[str, ...] = ()) -> str:
    """One digest over the names and texts of these templates, without any of the benchmark's own.

    Line endings do not matter.
    """
    digest = hashlib.sha256()
    for name in names or template_names():
        for part in (name.encode(), _text(name).encode()):
            digest.update(f"{len(part)}:".encode() + part)
    return digest.hexdigest()


@cache
def template_names() -> tuple[str, ...]:
    """The names of the benchmark's templates, sorted. Those that are no part of its digest are in folders,
    `folder/name`: other tasks', and judges' on scales that came later, whose calls have a digest of their own."""
    files = (entry.name for entry in resources.files(__package__ or "").iterdir())
    return tuple(sorted(file.removesuffix(".txt") for file in files if file.endswith(".txt")))


@cache
def _text(name: str) -> str:
    # As bytes: a checkout with other line endings must give the same prompts and the same digest.
    raw = (resources.files(__package__ or "") / f"{name}.txt").read_bytes()
    return raw.decode("utf-8").replace("\r\n", "\n")


@cache
def _lines(name: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Each line with the conditions in front of it."""
    lines = []
    for line in _text(name).split("\n"):
        mark = _CONDITION.match(line)
        lines.append((tuple(mark[1].split()), line[mark.end() :]) if mark else ((), line))
    return tuple(lines)


@cache
def _conditions_of(name: str) -> frozenset[str]:
    return frozenset(word.lstrip("!") for words, _ in _lines(name) for word in words)


@cache
def _placeholders_of(name: str) -> frozenset[str]:
    return frozenset(_PLACEHOLDER.findall(_text(name)))


@cache
def _selected(name: str, on: frozenset[str]) -> str:
    """The template with the lines that hold under `on`, before anything is filled in."""

    def holds(word: str) -> bool:
        return word[1:] not in on if word.startswith("!") else word in on

    kept = (line for words, line in _lines(name) if all(map(holds, words)))
    return _BLANK_LINES.sub("\n\n", "\n".join(kept)).strip("\n")


def _require(name: str, what: str, known: frozenset[str], given: set[str]) -> None:
    if known != given:
        raise ValueError(f"prompt template {name}: {what} {sorted(given)} given, {sorted(known)} known")


def _free_tag(tag: str, text: str) -> str:
    # Folding only looks: the text itself stays as it is.
    seen = levelled(text)
    if "<" not in seen:
        return tag
    seen = "".join(c for c in unicodedata.normalize("NFKD", seen) if unicodedata.category(c) not in ("Cf", "Mn"))
    closing = re.findall(_CLOSING.format(tag=re.escape(tag)), seen, re.IGNORECASE)
    if not closing:
        return tag
    taken = {int(number) for number in closing if number}
    number = 2
    while number in taken:
        number += 1
    return f"{tag}-{number}"
