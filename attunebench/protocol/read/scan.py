"""Where an object that is not strict JSON ends, and what of it was closed before the text was cut.

A tokenizer that forgives what models get wrong (single and smart quotes, comments, bare words, unescaped quotes). It
builds no values: it finds the end, or cuts the text back to its last closed value and closes the brackets, with a mark
in each that the model had left open. One pass, linear in the text; depth and oddities are bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from attunebench.protocol.read.decode import ABSENT, CUT, decode, stand_in

MAX_DEPTH = 32
MAX_ODDITIES = 64
"""Places that fit no grammar; past this the text is noise, on which repair libraries take quadratic time."""

_CLOSERS = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"', "‘": "‘’'", "’": "‘’'"}
_ENDS = {closers: re.compile(rf"\\.|[{closers}]", re.DOTALL) for closers in set(_CLOSERS.values())}
_SPACE = re.compile(r"\s*")
_BARE = re.compile(r'(?:[^,:{}\[\]\n"“”/#`]|/(?![/*]))+')
_AFTER_VALUE = re.compile(r"\s*(?:[,}\]]|//|/\*|#|```|\Z)")
_BARE_INNER_QUOTE = re.compile(r'(?<!\\)"')
_CLOSE = {"{": f',"{CUT}":null}}', "[": f',"{CUT}"]'}
_PARTNER = {"}": "{", "]": "["}


@dataclass(frozen=True, slots=True)
class Span:
    """An object or list in a text.

    `end`: offset behind it. `text`: as written where it was closed, else up to the last closed value and completed
    with marks (empty if nothing was closed). `strings`: the values whose two quotes leave no doubt; `text` has a
    stand-in for each.
    """

    end: int
    text: str
    strings: tuple[str, ...]


@dataclass(slots=True)
class _Scanner:
    text: str
    start: int
    end: int
    pos: int = 0
    stack: list[str] = field(default_factory=list)
    at_value: list[bool] = field(default_factory=list)
    safe: int = -1
    safe_stack: tuple[str, ...] = ()
    safe_copy: tuple[int, int] = (0, 0)
    strings: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    copied: int = 0
    oddities: int = 0

    def value_done(self, end: int) -> None:
        """A value ends at `end`: where it belongs to a key or a list, all before it is safe from the cut."""
        self.pos = end
        if not self.stack:
            return
        if self.at_value[-1]:
            self.safe, self.safe_stack, self.safe_copy = end, tuple(self.stack), (len(self.parts), self.copied)
        else:
            self.oddities += 1
        self.at_value[-1] = self.stack[-1] == "["

    def open(self, bracket: str) -> None:
        self.stack.append(bracket)
        self.at_value.append(bracket == "[")
        self.pos += 1

    def close(self, bracket: str) -> None:
        partner = _PARTNER[bracket]
        if partner not in self.stack:
            self.oddities += 1
            self.pos += 1
            return
        while self.stack.pop() != partner:
            self.at_value.pop()
            self.oddities += 1
        self.at_value.pop()
        self.value_done(self.pos + 1)

    def string(self, quote: str) -> bool:
        """Take the string at `pos`; False if it never ends."""
        begin = self.pos + 1
        key = not self.at_value[-1]
        certain = True
        for match in _ENDS[_CLOSERS[quote]].finditer(self.text, begin, self.end):
            if match[0][0] == "\\":
                continue
            if key or _AFTER_VALUE.match(self.text, match.end(), self.end):
                if key:
                    self.pos = match.end()
                    return True
                if certain:
                    self.stand_in(begin, match.start())
                self.value_done(match.end())
                return True
            certain = False
            self.oddities += 1
            if self.oddities > MAX_ODDITIES:
                return False
        return False

    def stand_in(self, begin: int, end: int) -> None:
        """Copy the text so far with a stand-in for the string between the quotes before `begin` and at `end`."""
        raw = self.text[begin:end].replace("\\'", "'")
        value = decode('"' + _BARE_INNER_QUOTE.sub(r"\"", raw) + '"')
        if value is not ABSENT:
            self.parts.append(f'{self.text[self.copied : begin - 1]}"{stand_in(len(self.strings))}"')
            self.strings.append(value)
            self.copied = end + 1

    def bare(self) -> bool:
        """Take the bare word or number at `pos`; False if the text ends with it, since it may have been longer."""
        match = _BARE.match(self.text, self.pos, self.end)
        if match is None:
            self.oddities += 1
            self.pos += 1
            return True
        if match.end() == self.end:
            return False
        if self.at_value[-1]:
            self.value_done(self.pos + len(match[0].rstrip()))
        else:
            self.pos = match.end()
            self.oddities += self.text[self.pos] != ":"
        return True

    def comment(self) -> bool:
        """Skip the comment at `pos`; False if it never ends."""
        closing = "*/" if self.text.startswith("/*", self.pos) else "\n"
        found = self.text.find(closing, self.pos, self.end)
        self.pos = found + len(closing)
        return found >= 0

    def step(self) -> bool:
        """Take one token; False where the text ends before the object does."""
        char = self.text[self.pos]
        if char in "{[":
            self.open(char)
        elif char in "}]":
            self.close(char)
        elif char == ",":
            self.at_value[-1] = self.stack[-1] == "["
            self.pos += 1
        elif char == ":":
            self.oddities += self.at_value[-1]
            self.at_value[-1] = True
            self.pos += 1
        elif char == "#" or self.text.startswith(("//", "/*"), self.pos):
            return self.comment()
        elif self.text.startswith("```", self.pos):
            return False
        elif char in _CLOSERS:
            return self.string(char)
        else:
            return self.bare()
        return True


def scan(text: str, start: int, limit: int) -> Span:
    """The object or list that begins at `start`, looked at for at most `limit` characters; noise has an empty text."""
    scanner = _Scanner(text, start, min(len(text), start + limit), pos=start, copied=start)
    scanner.open(text[start])
    alive = True
    while alive and scanner.stack:
        space = _SPACE.match(text, scanner.pos, scanner.end)
        scanner.pos = space.end() if space else scanner.pos
        alive = scanner.pos < scanner.end and scanner.step()
        if len(scanner.stack) > MAX_DEPTH or scanner.oddities > MAX_ODDITIES:
            return Span(scanner.pos, "", ())
    return _span(scanner)


def _span(scanner: _Scanner) -> Span:
    if not scanner.stack:
        text = "".join([*scanner.parts, scanner.text[scanner.copied : scanner.pos]])
        return Span(scanner.pos, text, tuple(scanner.strings))
    end = scanner.pos if scanner.text.startswith("```", scanner.pos) else scanner.end
    if scanner.safe < 0:
        return Span(end, "", ())
    count, copied = scanner.safe_copy
    closing = [_CLOSE[bracket] for bracket in reversed(scanner.safe_stack)]
    text = "".join([*scanner.parts[:count], scanner.text[copied : scanner.safe], *closing])
    return Span(end, text, tuple(scanner.strings))
