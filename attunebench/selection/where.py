"""`--where`: a small language in which conversations are described, read into a condition.

    expression  all ("or" all)*
    all         some ("and" some)*
    some        "not" some | "(" expression ")" | test
    test        field ( < | <= | = | != | >= | > ) value
                field "between" number "and" number
                field ["not"] "in" "(" value ("," value)* ")"
                field ["not"] "contains" value
                field "is" ["not"] ( "known" | "missing" | value | "in" "(" value ("," value)* ")" )

A value is a number, a text in quotes, or words up to the next word or sign of the language, which mean themselves in
quotes. Nothing is evaluated: there are fields, comparisons and no more. Every error is a UsageError that names the
column (from 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from attunebench.errors import UsageError
from attunebench.selection import checked
from attunebench.selection.conditions import Condition, Known, Not, Operator, all_of, any_of
from attunebench.selection.fields import Field, fold
from attunebench.selection.known import Fields
from attunebench.text import printable

MOST_CHARACTERS = 20_000
MOST_DEPTH = 50
"""Brackets and nots within each other."""

_TOKEN = re.compile(
    r"""
    (?P<sign> <= | >= | != | <> | == | [<>=≤≥≠(),] )
  | (?P<double> "(?:[^"\\]|\\.)*" )
  | (?P<single> '(?:[^'\\]|\\.)*' )
  | (?P<curly> “[^”]*” )
  | (?P<word> [^\s<>=≤≥≠(),!"'“”] [^\s<>=≤≥≠(),!"“”]* )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SIGNS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_COMPARISONS = ("<", "<=", "=", "!=", ">=", ">")
_LANGUAGE = ("and", "or", "not", "in", "contains", "between", "is")
_TESTS = "<, <=, =, !=, >=, >, between, in, contains or is"


@dataclass(frozen=True)
class _Token:
    """A piece of the text: a sign (normalised), a word, a quoted text, or the end; `column` from 1."""

    kind: str
    text: str
    column: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words of the language."""
        return self.kind == "word" and self.text.casefold() in words

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else f"“{printable(self.text, 40)}”"


def parse_where(text: str, fields: Fields) -> Condition:
    """The condition that an expression states of these fields.

    UsageError where it is no expression, names no field or a value that nobody has, or is too long or too deep.
    """
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"--where takes at most {MOST_CHARACTERS} characters, and this has {len(text)}.")
    if not text.strip():
        raise UsageError('--where is empty; write for example --where "who_5 < 13 and not diagnosis = ADHD".')
    parser = _Parser(tuple(_tokens(text)), fields)
    condition = parser.expression()
    parser.end()
    return condition


def _tokens(text: str) -> Iterator[_Token]:
    position = _SPACE.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _error(position + 1, _odd(text[position]))
        kind, piece = str(found.lastgroup), found.group()
        if kind == "sign":
            yield _Token("sign", _SIGNS.get(piece, piece), position + 1)
        elif kind == "word":
            yield _Token("word", piece, position + 1)
        else:
            inner = piece[1:-1]
            yield _Token("quoted", inner if kind == "curly" else _ESCAPED.sub(r"\1", inner), position + 1)
        position = _SPACE.match(text, found.end()).end()  # type: ignore[union-attr]
    yield _Token("end", "", len(text) + 1)


def _odd(char: str) -> str:
    if char in "\"'“":
        return "a quote is opened here and not closed."
    return f"“{printable(char)}” has no meaning here; put texts with signs in quotes."


class _Parser:
    """Reads tokens from left to right, one function for each line of the grammar."""

    def __init__(self, tokens: tuple[_Token, ...], fields: Fields) -> None:
        self._tokens, self._fields, self._place, self._depth = tokens, fields, 0, 0

    def expression(self) -> Condition:
        return any_of(self._separated("or", lambda: all_of(self._separated("and", self._some))))

    def end(self) -> None:
        """UsageError where anything is left."""
        token = self._next
        if token.is_sign(")"):
            raise _error(token.column, "this “)” closes nothing.")
        if token.kind != "end":
            raise _expected("and, or, or the end", token)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _taken(self, accept: Callable[[_Token], bool]) -> bool:
        """Whether the next token was this one, which is then behind us."""
        found = accept(self._next)
        self._place += found
        return found

    def _separated(self, word: str, part: Callable[[], Condition]) -> list[Condition]:
        parts = [part()]
        while self._taken(lambda token: token.is_word(word)):
            parts.append(part())
        return parts

    @contextmanager
    def _deeper(self, column: int) -> Iterator[None]:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise _error(column, f"there are more than {MOST_DEPTH} brackets and nots within each other.")
        yield
        self._depth -= 1

    def _some(self) -> Condition:
        token = self._next
        if self._taken(lambda token: token.is_word("not")):
            with self._deeper(token.column):
                return Not(self._some())
        if self._taken(lambda token: token.is_sign("(")):
            with self._deeper(token.column):
                inner = self.expression()
            self._close(token)
            return inner
        return self._test()

    def _close(self, opened: _Token) -> None:
        if self._next.kind == "end":
            raise _error(opened.column, "the “(” here is not closed.")
        self._sign(")", "and, or, or “)”")

    def _test(self) -> Condition:
        name = self._take()
        if name.kind != "word":
            raise _expected("the name of a field", name)
        follows = self._next
        known = follows.is_sign(*_COMPARISONS) or follows.is_word("between", "not", "in", "contains", "is")
        with _at(name):
            try:
                field = self._fields.named(name.text)
            except UsageError:
                if known or follows.kind == "word":
                    raise
                # `gender = Man or Woman`: the second value stands where a test is expected.
                raise UsageError(
                    f"expected a test such as who_5 < 13, found {name.shown}; several values are written as "
                    "gender in (Man, Woman), and a text with “and” or “or” in quotes."
                ) from None
        return self._comparison(field)

    def _comparison(self, field: Field) -> Condition:
        token = self._take()
        if token.is_sign("="):
            return self._equal(field)
        if token.is_sign("!="):
            return Not(self._equal(field))
        if token.is_sign(*_COMPARISONS):
            operator: Operator = token.text  # type: ignore[assignment]
            return self._made(field, lambda value: checked.compared(field, operator, value, self._fields))
        if token.is_word("is"):
            return self._is(field)
        if token.is_word("between"):
            return self._between(field)
        if token.is_word("not"):
            return Not(self._listing(field, self._take(), "in or contains"))
        return self._listing(field, token, _TESTS)

    def _listing(self, field: Field, token: _Token, expected: str) -> Condition:
        if token.is_word("contains"):
            return self._made(field, lambda value: checked.contains(self._fields, field, value))
        if not token.is_word("in"):
            raise _expected(expected, token, f" after {field.name}", where_first=True)
        self._sign("(", "“(”")
        parts = [self._equal(field)]
        while self._taken(lambda token: token.is_sign(",")):
            parts.append(self._equal(field))
        self._sign(")", "“,” or “)”")
        return checked.merged(parts)

    def _is(self, field: Field) -> Condition:
        negated = self._taken(lambda token: token.is_word("not"))
        if self._taken(lambda token: token.is_word("known")):
            found: Condition = Known(field)
        elif self._taken(lambda token: token.is_word("missing")):
            found = Not(Known(field))
        elif self._next.is_word("in"):
            found = self._listing(field, self._take(), "in")
        else:
            found = self._equal(field)
        return Not(found) if negated else found

    def _between(self, field: Field) -> Condition:
        low = self._value()
        if not self._taken(lambda token: token.is_word("and")):
            raise _expected("and", self._next, " after the lower number", where_first=True)
        with _at(low):
            return checked.between(field, low.text, self._value().text, self._fields)

    def _equal(self, field: Field) -> Condition:
        return self._made(field, lambda value: checked.equal(self._fields, field, (value,)))

    def _made(self, field: Field, make: Callable[[str], Condition]) -> Condition:
        value = self._value()
        try:
            return make(value.text)
        except UsageError as error:
            hint = " A text with “and” or “or” in it stands in quotes." if self._cut_short(field, value) else ""
            raise _error(value.column, f"{error}{hint}") from None

    def _cut_short(self, field: Field, value: _Token) -> bool:
        """Whether the value is what comes before an "and" or "or" that belongs to a value of the data."""
        begun = fold(f"{value.text} {self._next.text}")
        return self._next.is_word("and", "or") and any(known.startswith(begun) for known in self._fields.shown(field))

    def _value(self) -> _Token:
        first = self._take()
        if first.kind == "quoted":
            return first
        if first.kind != "word" or first.is_word(*_LANGUAGE):
            hint = "; words of the language mean themselves in quotes" if first.kind == "word" else ""
            raise _expected("a value", first, hint)
        words = [first.text]
        while self._goes_on():
            words.append(self._take().text)
        return _Token("word", " ".join(words), first.column)

    def _goes_on(self) -> bool:
        """Whether the next word still belongs to the value: not where it is the field of a test with a sign."""
        word = self._next
        if word.kind != "word" or word.is_word(*_LANGUAGE):
            return False
        return not self._tokens[self._place + 1].is_sign(*_COMPARISONS)

    def _sign(self, sign: str, expected: str) -> None:
        if not self._taken(lambda token: token.is_sign(sign)):
            raise _expected(expected, self._next)


def _expected(what: str, found: _Token, hint: str = "", *, where_first: bool = False) -> UsageError:
    """What should stand where something else does; the hint stands behind what was expected, or at the end."""
    first, last = (hint, "") if where_first else ("", hint)
    return _error(found.column, f"expected {what}{first}, found {found.shown}{last}.")


def _error(column: int, what: str) -> UsageError:
    return UsageError(f"--where, column {column}: {what}")


@contextmanager
def _at(token: _Token) -> Iterator[None]:
    """Errors of what is done with a token say where it is."""
    try:
        yield
    except UsageError as error:
        if str(error).startswith("--where, column"):
            raise
        raise _error(token.column, str(error)) from None
