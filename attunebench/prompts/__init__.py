"""The wording of every prompt, as text files that people read as they are; filling them in; fences for foreign text.

A template has two marks. `{{name}}` is filled in. A line that begins with `[word]` belongs to the prompts where that
condition holds, one with `[!word]` to those where it does not; `[one !two]` asks for both. What a value says is never
looked at, so nothing that a person or a model wrote is expanded. Knows no conversation, call or model.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources

from attunebench.text import encodable, levelled

__all__ = ["fence", "prompt_set_sha256", "render", "template_names"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_CONDITION = re.compile(r"\[((?:!?[a-z]\w*)(?: !?[a-z]\w*)*)\] ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_CLOSING = r"<\s*/\s*{tag}\s*(?:-\s*(\d{{1,9}}))?"


def render(name: str, conditions: Mapping[str, bool] | None = None, /, **values: str) -> str:
    """The template `name` with its conditions decided and its placeholders filled in, without a final line break.

    Raises ValueError where the conditions or values are not exactly those that the template knows: a wrong name is a
    bug in this package, and no prompt may be sent with a gap in it.
    """
    conditions = conditions or {}
    _, known, placeholders = _parse(name)
    for what, wanted, given in (("conditions", known, set(conditions)), ("values", placeholders, set(values))):
        if wanted != given:
            raise ValueError(f"prompt template {name}: {what} {sorted(given)} given, {sorted(wanted)} known")
    template = _select(name, frozenset(word for word, holds in conditions.items() if holds))
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def fence(tag: str, text: str) -> str:
    """`text` between `<tag>` and `</tag>`, each on a line of its own.

    Where the text holds something that could be read as the closing tag, in any case or spacing and in look-alike
    letters too, the tag carries the lowest number from 2 for which that is not so. Lone surrogates, which no request
    can carry, become U+FFFD.
    """
    text = encodable(text)
    # Folding only looks: the text itself stays as it is.
    seen = levelled(text)
    if "<" in seen:
        seen = "".join(c for c in unicodedata.normalize("NFKD", seen) if unicodedata.category(c) not in ("Cf", "Mn"))
        if closing := re.findall(_CLOSING.format(tag=re.escape(tag)), seen, re.IGNORECASE):
            taken = {int(number) for number in closing if number}
            tag += f"-{next(number for number in range(2, len(taken) + 3) if number not in taken)}"
    return f"<{tag}>\n{text}\n</{tag}>"


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
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(file.removesuffix(".txt") for file in files if file.endswith(".txt")))


def _text(name: str) -> str:
    # As bytes: a checkout with other line endings must give the same prompts and the same digest.
    return (resources.files(__name__) / f"{name}.txt").read_bytes().decode("utf-8").replace("\r\n", "\n")


@cache
def _parse(name: str) -> tuple[list[tuple[list[str], str]], set[str], set[str]]:
    """Each line with the conditions in front of it; all conditions; all placeholders."""
    text = _text(name)
    lines = []
    for line in text.split("\n"):
        mark = _CONDITION.match(line)
        lines.append((mark[1].split(), line[mark.end() :]) if mark else ([], line))
    return lines, {word.lstrip("!") for words, _ in lines for word in words}, set(_PLACEHOLDER.findall(text))


@cache
def _select(name: str, on: frozenset[str]) -> str:
    """The template with the lines that hold under `on`, before anything is filled in."""
    lines, _, _ = _parse(name)
    kept = (line for words, line in lines if all((word.lstrip("!") in on) != word.startswith("!") for word in words))
    return _BLANK_LINES.sub("\n\n", "\n".join(kept)).strip("\n")
