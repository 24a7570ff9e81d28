"""Where an object that is not strict JSON ends, and its structure: brackets, commas, colons, a number for each text, so
that a repair library is asked about the structure alone; what the model had left open is closed, with a mark. One pass,
linear in the text, that forgives what models get wrong; depth and oddities are bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from attunebench.protocol.read.decode import ABSENT, CUT, decode, mend
from attunebench.text import INVISIBLE

MAX_DEPTH = 32
MAX_ODDITIES = 64
"""Places that fit no grammar; past this the text is noise."""
MAX_TOKENS = 10_000
"""No answer has as many brackets, commas, colons, texts and numbers."""

_CLOSERS = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"', "‘": "‘’'", "’": "‘’'"}
_ENDS = {closers: re.compile(rf"\\.|[{closers}]", re.DOTALL) for closers in set(_CLOSERS.values())}
_SPACE = re.compile(rf"[\s{INVISIBLE}]*")
_BARE = re.compile(r'(?:[^,:{}\[\]\n"“”/#`，：]|/(?![/*]))+')
_AFTER_VALUE = re.compile(rf"[\s{INVISIBLE}]*(?:[,}}\]，]|//|/\*|#|```|\Z)")
_AFTER_COMMA_LESS = re.compile(r"""\s*(?:["'“][^"'“”\n]{1,80}["'”]\s*:|\([^()"“”]{0,200}\)\s*[,}\]])""")
"""What may follow a quote that may also be one of the text's own: a key without a comma before it, a remark."""
_BARE_INNER_QUOTE = re.compile(r'(?<!\\)"')
_LITERALS = {"true": "true", "false": "false", "null": "null", "none": "null"}
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_CLOSE = {"{": f', "{CUT}": null }}', "[": f', "{CUT}" ]'}
_FULL_WIDTH = {"，": ",", "：": ":"}
_PARTNER = {"}": "{", "]": "["}


@dataclass(slots=True)
class _Scanner:
    text: str
    end: int
    pos: int
    stack: list[str] = field(default_factory=list)
    at_value: list[bool] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    certain: set[str] = field(default_factory=set)
    safe: int = -1
    safe_stack: tuple[str, ...] = ()
    oddities: int = 0

    def value_done(self, end: int) -> None:
        """A value ends at `end`: where it belongs to a key or a list, all before it is safe from the cut."""
        self.pos = end
        if not self.stack:
            return
        if self.at_value[-1]:
            self.safe, self.safe_stack = len(self.tokens), tuple(self.stack)
        else:
            self.oddities += 1
        self.at_value[-1] = self.stack[-1] == "["

    def put(self, token: str) -> None:
        """The next token of the skeleton; a comma that the model left out goes before it."""
        if self.tokens and self.tokens[-1][0] not in "{[,:" and token[0] not in "}],:":
            self.tokens.append(",")
        self.tokens.append(token)

    def put_text(self, text: str) -> None:
        """A number in place of a text, so that no repairing can change it."""
        self.put(f'"{len(self.texts)}"')
        self.texts.append(text)

    def open(self, bracket: str) -> None:
        if self.at_value and not self.at_value[-1]:
            self.oddities = MAX_ODDITIES + 1  # in the place of a key: what belongs to what cannot be told
        self.put(bracket)
        self.stack.append(bracket)
        self.at_value.append(bracket == "[")
        self.pos += 1

    def close(self, bracket: str) -> None:
        partner = _PARTNER[bracket]
        if partner not in self.stack:
            self.oddities += 1
            self.pos += 1
            return
        while (opened := self.stack.pop()) != partner:
            self.at_value.pop()
            self.oddities += 1
            self.put("}" if opened == "{" else "]")
        self.at_value.pop()
        self.put(bracket)
        self.value_done(self.pos + 1)

    def string(self, quote: str) -> bool:
        """Take the string at `pos`; False if it never ends."""
        begin = self.pos + 1
        key = not self.at_value[-1]
        certain = True
        for match in _ENDS[_CLOSERS[quote]].finditer(self.text, begin, self.end):
            if match[0][0] == "\\":
                continue
            sure = key or _AFTER_VALUE.match(self.text, match.end(), self.end)
            if sure or _AFTER_COMMA_LESS.match(self.text, match.end(), self.end):
                self.take(self.text[begin : match.start()], certain and bool(sure))
                if key:
                    self.pos = match.end()
                else:
                    self.value_done(match.end())
                return True
            certain = False
            self.oddities += 1
            if self.oddities > MAX_ODDITIES:
                return False
        return False

    def take(self, raw: str, certain: bool) -> None:
        """The text between two quotes, of which one may stand for another where that is not `certain`."""
        plain = "\\" not in raw and '"' not in raw
        value = raw if plain else decode('"' + _BARE_INNER_QUOTE.sub(r"\"", raw.replace("\\'", "'")) + '"')
        if certain and value is not ABSENT:
            self.certain.add(value)
        self.put_text(raw if value is ABSENT else value)

    def bare(self) -> bool:
        """Take the bare word or number at `pos`; False if the text ends with it, since it may have been longer."""
        match = _BARE.match(self.text, self.pos, self.end)
        if match is None:
            self.oddities += 1
            self.pos += 1
            return True
        if match.end() == self.end:
            return False
        word = match[0].strip()
        if self.at_value[-1]:
            literal = word if _NUMBER.fullmatch(word) else _LITERALS.get(word.lower())
            if literal:
                self.put(literal.removeprefix("+"))
            else:
                self.put_text(word)
            self.value_done(match.end())
        else:
            self.pos = match.end()
            if self.text[self.pos] in ":：":
                self.put_text(word)
            else:
                self.oddities += 1
        return True

    def step(self) -> bool:
        """Take one token; False where the text ends before the object does."""
        char = _FULL_WIDTH.get(self.text[self.pos], self.text[self.pos])
        if char in "{[":
            self.open(char)
        elif char in "}]":
            self.close(char)
        elif char == ",":
            self.put(char)
            self.at_value[-1] = self.stack[-1] == "["
            self.pos += 1
        elif char == ":":
            self.put(char)
            self.oddities += self.at_value[-1]
            self.at_value[-1] = True
            self.pos += 1
        elif char == "#" or self.text.startswith(("//", "/*"), self.pos):
            closing = "*/" if self.text.startswith("/*", self.pos) else "\n"
            found = self.text.find(closing, self.pos, self.end)
            self.pos = found + len(closing)
            return found >= 0
        elif self.text.startswith("```", self.pos):
            return False
        elif char in _CLOSERS:
            return self.string(char)
        else:
            return self.bare()
        return True


def mended(text: str, start: int, limit: int) -> tuple[Any, int, frozenset[str]]:
    """The object or list that begins at `start`, looked at for at most `limit` characters, and the offset behind it.

    ABSENT for noise, and where nothing was closed. With it those of its texts whose two quotes leave no doubt.
    """
    scanner = _Scanner(text, min(len(text), start + limit), start)
    scanner.open(text[start])
    alive = True
    while alive and scanner.stack:
        space = _SPACE.match(text, scanner.pos, scanner.end)
        scanner.pos = space.end() if space else scanner.pos
        alive = scanner.pos < scanner.end and scanner.step()
        if len(scanner.stack) > MAX_DEPTH or scanner.oddities > MAX_ODDITIES or len(scanner.tokens) > MAX_TOKENS:
            return ABSENT, scanner.pos, frozenset()
    end, tokens = scanner.pos, scanner.tokens
    if scanner.stack:
        end = end if text.startswith("```", end) else scanner.end
        tokens = [*tokens[: max(scanner.safe, 0)], *(_CLOSE[bracket] for bracket in reversed(scanner.safe_stack))]
    # `"i"` stands for `texts[i]`.
    return mend(" ".join(tokens), scanner.texts) if tokens else ABSENT, end, frozenset(scanner.certain)
