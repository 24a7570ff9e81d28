"""A terminal small enough to read: what stands on the screen after bytes with the few sequences that our display uses.

Anything else raises, so that a new sequence is met here before it is met on somebody's screen.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|(\r\n|\r|\n)|([^\x1b\r\n])")


class Terminal:
    """Feed it text. `rows` are the lines ever written, scrolled ones included; a line too long breaks."""

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.cursor_shown = True
        self.styles: set[str] = set()
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0

    @property
    def rows(self) -> list[str]:
        """The lines without trailing blanks, and without empty ones at the end."""
        lines = ["".join(row).rstrip() for row in self._rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def feed(self, text: str) -> Terminal:
        """Take more bytes, decoded."""
        position = 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            assert token is not None, f"not understood: {text[position : position + 12]!r}"
            position = token.end()
            parameter, command, end, character = token.groups()
            if character:
                self._put(character)
            elif end:
                self._row += end != "\r"
                self._column = 0
                self._grow()
            else:
                self._sequence(parameter, command)
        return self

    def _put(self, character: str) -> None:
        if self._column == self.width:
            self._row, self._column = self._row + 1, 0
            self._grow()
        row = self._rows[self._row]
        row += " " * (self._column + 1 - len(row))
        row[self._column] = character
        self._column += 1

    def _sequence(self, parameter: str, command: str) -> None:
        if command == "A":
            self._row = max(0, self._row - int(parameter or 1))
        elif command == "B":
            self._row = min(len(self._rows) - 1, self._row + int(parameter or 1))
        elif command == "K":
            del self._rows[self._row][0 if parameter == "2" else self._column :]
        elif command == "J":
            del self._rows[self._row][self._column :], self._rows[self._row + 1 :]
        elif command == "m":
            self.styles.add(parameter)
        elif (parameter, command) in (("?25", "h"), ("?25", "l")):
            self.cursor_shown = command == "h"
        else:
            raise AssertionError(f"not understood: {parameter}{command}")

    def _grow(self) -> None:
        while len(self._rows) <= self._row:
            self._rows.append([])
