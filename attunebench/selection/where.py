"""`--where`: a small language in which conversations are described, read into a condition.

    expression  all ("or" all)*
    all         some ("and" some)*
    some        "not" some | "(" expression ")" | field test
    test        ["is"] ["not"] ( < | <= | = | != | >= | > | "contains" ) value
                ["is"] ["not"] "in" "(" value ("," value)* ")"
                ["is"] ["not"] "between" number "and" number
                "is" ["not"] ( "known" | "missing" | value )

A value is a number, a text in quotes, or words up to the next word or sign of the language, which mean themselves in
quotes. Nothing is evaluated: there are fields, comparisons and no more. A text that nobody has is an error, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, cast

from attunebench.errors import UsageError
from attunebench.selection.conditions import Comparison, Condition, Joined, Operator, joined
from attunebench.selection.fields import Field, Fields, fold
from attunebench.text import printable

MOST_DEPTH = 50
"""Brackets and nots within each other."""

_TOKEN = re.compile(
    r"""
    (?:
        (?P<sign> <= | >= | != | <> | == | [<>=≤≥≠(),] )
      | (?P<quoted> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | “[^”]*” )
      | (?P<word> [^\s<>=≤≥≠(),!"'“”] [^\s<>=≤≥≠(),!"“”]* )
    )
    \s*""",
    re.VERBOSE | re.DOTALL,
)
_QUOTES = "\"'“"
_SIGNS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_COMPARISONS = ("<", "<=", "=", "!=", ">=", ">", "contains")
_ENDS = (*_COMPARISONS, "and", "or", "not", "in", "between", "is", "(", ")", ",", "")
"""What no value is made of, unless in quotes."""
_MOST_NAMED = 12


def parse_where(text: str, fields: Fields, *, option: str = "--where") -> Condition:
    """The condition that an expression states of these fields.

    UsageError where it is no expression, names no field or a text that nobody has, or is too deep; it says
    in which column. Of another `option`, whose value was put into an expression, it says the name alone.
    """
    if not text.strip():
        raise UsageError(f'{option} is empty; write for example --where "who_5 < 13 and not diagnosis = ADHD".')
    parser = _Parser(text, fields, option)
    condition = parser.expression()
    parser.expect("", "and, or, or the end")
    return condition


@dataclass(frozen=True)
class _Token:
    """A sign (normalised), a word, a quoted text, or "" at the end; `column` from 1."""

    text: str
    column: int
    quoted: bool = False

    def is_any(self, *words: str) -> bool:
        """Whether it is one of these words or signs of the language."""
        return not self.quoted and self.text.casefold() in words

    @property
    def shown(self) -> str:
        return f"“{printable(self.text, 40)}”" if self.text or self.quoted else "the end"


class _Parser:
    """Reads tokens from left to right, one function for each line of the grammar."""

    def __init__(self, text: str, fields: Fields, option: str) -> None:
        self._fields, self._option, self._place, self._depth = fields, option, 0, 0
        self._tokens = list(self._split(text))

    def _error(self, column: int, what: str) -> UsageError:
        place = f", column {column}" if self._option == "--where" else ""
        return UsageError(f"{self._option}{place}: {what}")

    def _split(self, text: str) -> Iterator[_Token]:
        position = len(text) - len(text.lstrip())
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                unclosed = "a quote is opened here and not closed"
                odd = f"“{printable(text[position])}” has no meaning here; put texts with operators in quotes"
                raise self._error(position + 1, f"{unclosed if text[position] in _QUOTES else odd}.")
            if quoted := found["quoted"]:
                piece = quoted[1:-1] if quoted[0] == "“" else re.sub(r"(?s)\\(.)", r"\1", quoted[1:-1])
            else:
                piece = found["word"] or _SIGNS.get(found["sign"], found["sign"])
            yield _Token(piece, position + 1, bool(quoted))
            position = found.end()
        yield _Token("", len(text) + 1)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        """The next token, which is then behind us; the end stays."""
        token = self._next
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _taken(self, *words: str) -> bool:
        """Whether the next token is one of these, which is then behind us."""
        return self._next.is_any(*words) and bool(self._take())

    def expect(self, word: str, what: str) -> None:
        """Take this word or sign; an error says `what` was expected."""
        if not self._next.is_any(word):
            raise self._error(self._next.column, f"expected {what}, found {self._next.shown}.")
        self._take()

    def expression(self) -> Condition:
        return self._joined("or", lambda: self._joined("and", self._some))

    def _joined(self, word: Literal["and", "or"], part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._taken(word):
            parts.append(part())
        return joined(word, parts)

    def _some(self) -> Condition:
        opened = self._next
        if not self._taken("not", "("):
            return self._test(self._field())
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(opened.column, f"more than {MOST_DEPTH} brackets and nots are nested.")
        if opened.is_any("not"):
            condition: Condition = Joined("not", (self._some(),))
        else:
            condition = self.expression()
            self.expect(")", f"and, or, or the “)” to the “(” in column {opened.column}")
        self._depth -= 1
        return condition

    def _field(self) -> Field:
        name = self._take()
        if name.quoted or name.is_any(*_ENDS):
            raise self._error(name.column, f"expected the name of a field, found {name.shown}.")
        try:
            return self._fields.named(name.text)
        except UsageError as error:
            hint = " Several values are written as gender in (Man, Woman)."
            raise self._error(name.column, f"{error}{hint}") from None

    def _test(self, field: Field) -> Condition:
        equals = self._taken("is")
        negated = self._taken("not")
        operator = self._next
        condition: Condition
        if equals and self._taken("known", "missing"):
            negated ^= operator.is_any("missing")
            condition = Comparison(field, "known")
        elif self._taken("in"):
            self.expect("(", "“(”")
            values = [self._value(field, "=")]
            while self._taken(","):
                values.append(self._value(field, "="))
            self.expect(")", "“,” or “)”")
            condition = Comparison(field, "=", tuple(dict.fromkeys(values)))
        elif self._taken("between"):
            low = self._value(field, ">=")
            self.expect("and", "and after the lower number")
            high = self._value(field, "<=")
            condition = joined("and", [Comparison(field, ">=", (low,)), Comparison(field, "<=", (high,))])
        elif self._taken(*_COMPARISONS) or equals:
            negated ^= operator.is_any("!=")
            sign = operator.text.casefold() if operator.is_any(*_COMPARISONS) else "="
            sign = cast(Operator, sign.replace("!", ""))
            condition = Comparison(field, sign, (self._value(field, sign),))
        else:
            what = f"expected {', '.join(_COMPARISONS)}, between, in or is after {field.name}, found {operator.shown}."
            raise self._error(operator.column, what)
        return Joined("not", (condition,)) if negated else condition

    def _value(self, field: Field, operator: Operator) -> str | float:
        first = self._take()
        if first.is_any(*_ENDS):
            hint = "; put keywords in quotes to use them as text" if first.text else ""
            raise self._error(first.column, f"expected a value, found {first.shown}{hint}.")
        words = [first.text]
        while not first.quoted and not self._next.quoted and not self._next.is_any(*_ENDS):
            words.append(self._take().text)
        try:
            return _checked(field, operator, " ".join(words))
        except UsageError as error:
            raise self._error(first.column, str(error)) from None


def _checked(field: Field, operator: Operator, typed: str) -> str | float:
    """A value as the data have it: a number, or a text in their spelling; UsageError says what there is instead."""
    if field.numbers:
        if operator == "contains":
            raise UsageError(f"{field.name} is a number; compare it with <, <=, =, >=, > or between.")
        try:
            number = float(typed)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise UsageError(f"{field.name} is compared with a number, not with “{printable(typed, 60)}”.")
        return number
    if operator not in ("=", "contains"):
        raise UsageError(f"{field.name} is not a number here; {_there_is(field, '')}.")
    if not fold(typed):
        raise UsageError(f"{field.name} is compared with a text that is not empty.")
    shown = {fold(value): value for value in field.counts()}
    if operator == "contains" and any(fold(typed) in value for value in shown):
        return typed
    if operator == "contains" or fold(typed) not in shown:
        what = f"{field.name} {'with ' if operator == 'contains' else ''}“{printable(typed, 60)}”"
        raise UsageError(f"no conversation here has {what}; {_there_is(field, typed)}.")
    return shown[fold(typed)]


def _there_is(field: Field, typed: str) -> str:
    """What the data have of a field of texts, the nearest first, with counts."""
    counts, wanted = field.counts(), fold(typed)[:200]
    ratio = {name: SequenceMatcher(None, wanted, fold(name)[:200]).ratio() for name in counts}
    ordered = sorted(counts, key=lambda name: (wanted not in fold(name), -ratio[name]))
    names = [f"{printable(name, 80)} ({counts[name]})" for name in ordered[:_MOST_NAMED]]
    more = f" and {len(ordered) - _MOST_NAMED} more (`--list-fields` shows all)" if len(ordered) > _MOST_NAMED else ""
    return f"there is {', '.join(names)}{more}" if names else f"nothing is known of {field.name}"
