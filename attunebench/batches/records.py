"""Records in response files, however tools have laid them out: plain or packed, in a folder, on stdin, cut; one record
a line, several, or one over many.

What a record says is somebody else's business.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attunebench.backends.wire import parse_body
from attunebench.errors import DataError

STDIN = Path("-")
LONGEST = 64 * 1024 * 1024
"""Bytes of a record; nothing that a model says is as long, and what is longer must not fill the memory."""
CUT = b"cut"
_PLAIN = (".jsonl", ".json", ".ndjson")
_NAMES = tuple(f"{plain}{packed}" for plain in _PLAIN for packed in ("", ".gz", ".bz2", ".xz"))
_PACKED: dict[bytes, Callable[[BinaryIO], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""By their first bytes."""
_NO_LINES = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook: unpack it, or write the answers as JSON lines",
    b"PAR1": "a Parquet table: write it as JSON lines, in pandas with to_json(orient='records', lines=True)",
    b"\x28\xb5\x2f\xfd": "packed with Zstandard: unpack it",
    b"SQLite format 3": "an SQLite database: write the answers as JSON lines",
    b"%PDF": "a PDF: write the answers as JSON lines",
}
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_BETWEEN = b" \t\r\n,[]"
_TWO = re.compile(rb'\}\s*,?\s*\{\s*"')
"""Between two records. In a string the quote would have a backslash."""


def response_files(paths: Sequence[Path]) -> list[Path]:
    """The files meant: each once, those of a folder by name. Raises DataError for what is not there, is empty or holds
    no lines of text."""
    files: list[Path] = []
    for path in paths:
        if path == STDIN or path.is_file():
            files.append(path)
        elif path.is_dir():
            named = (each for each in path.rglob("*") if each.name.endswith(_NAMES) and each.is_file())
            found = sorted(each for each in named if not re.search(r"(^|[/\\])\.", str(each.relative_to(path))))
            if not found:
                raise DataError(f"{path} holds no response files ({', '.join(_PLAIN)}, also with .gz, .bz2 or .xz).")
            files += found
        elif path.exists():
            raise DataError(f"{path} is no file; pipe what it says into `attune-bench collect -`.")
        else:
            raise DataError(f"There is no response file {path}.")
    for path in files:
        _refuse_binary(path)
    return list(dict.fromkeys(files))


def _refuse_binary(path: Path) -> None:
    if path == STDIN:
        return
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}).") from error
    if what := next((what for magic, what in _NO_LINES.items() if head.startswith(magic)), None):
        raise DataError(f"{path} is {what}.")


def response_lines(path: Path) -> Iterator[bytes]:
    """The lines of a response file in UTF-8; of a line that is absurdly long only its beginning.

    A packed file that was cut gives what can be unpacked. Raises DataError for a file that cannot be read.
    """
    try:
        if path == STDIN:
            if sys.stdin is None:  # started without one, as services are
                raise DataError("There is no stdin to read answers from; name a file.")
            yield from _lines(sys.stdin.buffer)
            return
        with path.open("rb") as file:
            head = file.peek(8)
            unpack = next((opened for magic, opened in _PACKED.items() if head.startswith(magic)), None)
            yield from _lines(file) if unpack is None else _unpacked(unpack(file))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}).") from error


def _unpacked(packed: Any) -> Iterator[bytes]:
    try:
        with packed as unpacked:
            yield from _lines(io.BufferedReader(unpacked))
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
        yield CUT


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines in UTF-8, whatever Unicode encoding the file is in."""
    head = file.peek(4)[:4] if isinstance(file, io.BufferedReader) else b""
    encoding = json.detect_encoding(head)
    if not encoding.startswith("utf-8"):
        text = io.TextIOWrapper(file, encoding, errors="replace", newline="\n")
        try:
            while said := text.readline(LONGEST):
                yield said.encode("utf-8", "replace").removeprefix(b"\xef\xbb\xbf")
        finally:
            text.detach()
        return
    while line := file.readline(LONGEST):
        yield line
        while not line.endswith(b"\n") and len(line) >= LONGEST:
            line = file.readline(LONGEST)


def records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Each object in these lines, and each line that holds none.

    A record that was cut costs itself alone: the next line that is a record of ours by itself begins anew.
    """
    object_ = _OpenObject()
    for line in lines:
        bare = line.strip()
        whole = bare[:1] == b"{" and bare[-1:] == b"}"
        if object_.depth and whole and _is_ours(bare):
            yield object_.give_up()
        if not object_.depth and whole and not _TWO.search(bare):
            yield bare
        elif bare:
            yield from object_.take(line)
    if object_.depth:
        yield object_.give_up()


def _is_ours(line: bytes) -> bool:
    try:
        data = parse_body(line)
    except ValueError:
        return False
    return isinstance(data, dict) and "custom_id" in data


class _OpenObject:
    """What there is so far of an object over several lines; counts braces outside strings."""

    def __init__(self) -> None:
        self.depth = 0
        self._parts: list[bytes] = []
        self._size = 0

    def take(self, line: bytes) -> Iterator[bytes]:
        """The objects that end in this line; the line itself where it is not part of any."""
        start, found = 0, self.depth > 0
        for match in _TOKEN.finditer(line):
            if match[0] == b"{":
                start, found = (match.start(), True) if not self.depth else (start, found)
                self.depth += 1
            elif match[0] == b"}" and self.depth:
                self.depth -= 1
                if not self.depth:
                    yield b"".join((*self._parts, line[start : match.end()]))
                    self._parts, self._size = [], 0
        if self.depth:
            self._parts.append(line[start:])
            self._size += len(line) - start
            if self._size > LONGEST:
                yield self.give_up()
        elif not found and line.strip(_BETWEEN):
            yield line

    def give_up(self) -> bytes:
        """The beginning of the object, which is not to be had whole."""
        parts, self._parts, self._size, self.depth = self._parts, [], 0, 0
        return b"".join(parts)[:1000].strip() or CUT
