"""A block of lines that is drawn over and over at the foot of a terminal, and lines that scroll away above it.

Owns cursor movements and nothing else: what the lines say is the caller's. The terminal may be resized at any time.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console

Span = tuple[str, str]
"""A text and its style: "" or a key of `_STYLES`."""
Line = tuple[Span, ...]

_STYLES = {"dim": "2", "good": "32", "warn": "33"}
_COLOURS = frozenset(("good", "warn"))
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_TO_LINE_END, _WHOLE_LINE, _TO_SCREEN_END = "\x1b[K", "\x1b[2K", "\x1b[J"
_DOWN = "\x1b[B"
_PLAIN = str.maketrans({"━": "#", "─": "-", "·": "-", "…": "...", "–": "-"})


class Screen:
    """Draws on a stream. `size` gives columns and rows, `colour` False leaves colours out (never dimming).

    Between two drawings the cursor stands at the beginning of the block's last line, so that a ^C which the terminal
    echoes there does no harm.
    """

    def __init__(self, stream: TextIO, size: Callable[[], tuple[int, int]], *, colour: bool) -> None:
        self._stream = stream
        self._size = size
        self._colour = colour
        self._block: list[Line] = []
        self._drawn_width = 0
        self.utf = (stream.encoding or "").lower().replace("-", "").startswith("utf")
        """Whether the stream takes every character; what it does not take is replaced."""

    @classmethod
    def of(cls, stream: TextIO) -> Screen | None:
        """A screen on this stream, or None where it is no terminal, or one that cannot move its cursor."""
        if not stream.isatty():
            return None
        console = Console(file=stream)
        if console.is_dumb_terminal or console.legacy_windows:
            return None
        colour = not console.no_color and console.color_system is not None
        return cls(stream, lambda: console.size, colour=colour)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows that a block may take: one less of both than there are, so that nothing wraps or scrolls."""
        columns, rows = self._size()
        return max(1, columns - 1), max(1, rows - 1)

    def show(self, above: Sequence[str], block: Sequence[Line]) -> None:
        """Let texts scroll away above the block, and draw the block anew; an empty one is no block."""
        width = self.size[0]
        lines = [_cut(line, width) for line in block]
        if not above and lines == self._block and width == self._drawn_width:
            return
        parts = [self._to_top(width)]
        for text in above:
            wrapped = textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
            parts += [f"{piece}{_TO_LINE_END}\n" for piece in wrapped or [""]]
        parts.append("\n".join(self._styled(line) + _TO_LINE_END for line in lines))
        parts.append(_TO_SCREEN_END + ("\r" if lines else ""))
        if lines and not self._block:
            parts.insert(0, _HIDE_CURSOR)
        elif self._block and not lines:
            parts.append(_SHOW_CURSOR)
        self._block, self._drawn_width = lines, width
        self._write("".join(parts))

    def close(self) -> None:
        """Take the block away and leave the terminal as it was; safe at any time."""
        self.show((), ())

    def _to_top(self, width: int) -> str:
        """To the first column of the block's first row.

        A narrower terminal has broken the lines that were drawn, and terminals remember which lines they have broken:
        what was drawn at another width is wiped row by row (wiping the screen's rest would save it to the scrollback).
        """
        rows = [max(1, -(-_cells(line) // (width + 1))) for line in self._block]
        top = "\r" + _up(sum(rows[:-1]))
        if width == self._drawn_width:
            return top
        return top + f"{_WHOLE_LINE}{_DOWN}" * sum(rows) + _up(sum(rows))

    def _styled(self, line: Line) -> str:
        return "".join(
            f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
            if text and style and (self._colour or style not in _COLOURS)
            else text
            for text, style in line
        )

    def _write(self, text: str) -> None:
        if not self.utf:
            encoding = self._stream.encoding or "ascii"
            text = text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
        self._stream.write(text)
        self._stream.flush()


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""


def _cells(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def _cut(line: Line, width: int) -> Line:
    """The line in at most so many columns; a character may take two of them."""
    kept: list[Span] = []
    for text, style in line:
        room = width - _cells(tuple(kept))
        if cell_len(text) > room:
            if room > 0:
                kept.append((set_cell_size(text, room - 1) + "…", style))
            break
        kept.append((text, style))
    return tuple(kept)
