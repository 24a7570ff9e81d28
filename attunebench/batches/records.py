"""Records in the lines of a response file, however tools have laid them out: one a line, several, or one over many.

Pure: lines in, records out. What a record says is somebody else's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attunebench.backends.wire import parse_body

LONGEST = 64 * 1024 * 1024
"""Bytes of a record; nothing that a model says is as long, and what is longer must not fill the memory."""
CUT = b"cut"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_BETWEEN = b" \t\r\n,[]"
_TWO = re.compile(rb'\}\s*,?\s*\{\s*"')
"""Between two records. In a string the quote would have a backslash."""


def records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Each object in these lines, and each line that holds none.

    A record that was cut costs itself alone: the next line that is a record of ours by itself begins anew.
    """
    splitter = _Splitter()
    for line in lines:
        bare = line.strip()
        whole = bare[:1] == b"{" and bare[-1:] == b"}"
        if not splitter.inside and whole and not _TWO.search(bare):
            yield bare
        elif bare:
            if splitter.inside and whole and _is_ours(bare):
                yield splitter.give_up()
            yield from splitter.take(line)
    if splitter.inside:
        yield splitter.give_up()


def _is_ours(line: bytes) -> bool:
    try:
        data = parse_body(line)
    except ValueError:
        return False
    return isinstance(data, dict) and "custom_id" in data


class _Splitter:
    """Counts braces outside strings, and keeps what an open object has so far."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._depth = 0

    @property
    def inside(self) -> bool:
        """Whether an object is open."""
        return self._depth > 0

    def take(self, line: bytes) -> Iterator[bytes]:
        """The objects that end in this line; the line itself where it is not part of any."""
        start, found = 0, self.inside
        for match in _TOKEN.finditer(line):
            if match[0] == b"{":
                start, found = (match.start(), True) if not self._depth else (start, found)
                self._depth += 1
            elif match[0] == b"}" and self._depth:
                self._depth -= 1
                if not self._depth:
                    yield b"".join((*self._parts, line[start : match.end()]))
                    self._parts, self._size = [], 0
        if self._depth:
            self._parts.append(line[start:])
            self._size += len(line) - start
            if self._size > LONGEST:
                yield self.give_up()
        elif not found and line.strip(_BETWEEN):
            yield line

    def give_up(self) -> bytes:
        """What there is of the open object, which is not to be had whole."""
        parts, self._parts, self._size, self._depth = self._parts, [], 0, 0
        return b"".join(parts)[:1000].strip() or CUT
