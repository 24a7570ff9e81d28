"""Records in response files, however tools have laid them out: plain or packed, in a folder, on stdin, cut; one record
a line, several, or one over many lines. Does not interpret them."""

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
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from attunebench.backends.wire import parse_body
from attunebench.errors import DataError

STDIN = Path("-")
LONGEST = 64 * 1024 * 1024  # characters of a record, to bound memory; no model output is as long
_PLAIN = (".jsonl", ".json", ".ndjson")
_NAMES = tuple(f"{plain}{packed}" for plain in _PLAIN for packed in ("", ".gz", ".bz2", ".xz"))
_PACKED: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_NO_LINES = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook: unpack it, or write the answers as JSON lines",
    b"PAR1": "a Parquet table: write it as JSON lines, in pandas with to_json(orient='records', lines=True)",
    b"\x28\xb5\x2f\xfd": "packed with Zstandard: unpack it",
    b"SQLite format 3": "an SQLite database: write the answers as JSON lines",
    b"%PDF": "a PDF: write the answers as JSON lines",
}
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]')
_BETWEEN = b" \t\r\n,[]"
_TWO = re.compile(rb'\}\s*,?\s*\{\s*"')  # between two records; in a string the quote would have a backslash


def response_files(paths: Sequence[Path]) -> list[Path]:
    """The files at these paths: each once, those of a folder by name. Raises DataError for what is missing, is empty or
    holds no lines of text."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            named = (each for each in path.rglob("*") if each.name.endswith(_NAMES) and each.is_file())
            shown = sorted(each for each in named if not any(part[0] == "." for part in each.relative_to(path).parts))
            if not shown:
                raise DataError(f"{path} holds no response files ({', '.join(_PLAIN)}, also with .gz, .bz2 or .xz).")
            files += shown
        elif path == STDIN or path.is_file():
            files.append(path)
        else:
            raise DataError(f"There is no response file {path}; pipe other sources into `attune-bench collect -`.")
    for path in files:
        if path != STDIN:
            with path.open("rb") as file:
                head = file.read(16)
            if what := next((what for magic, what in _NO_LINES.items() if head.startswith(magic)), None):
                raise DataError(f"{path} is {what}.")
    return list(dict.fromkeys(files))


def response_lines(path: Path) -> Iterator[bytes]:
    """The lines of a response file, as `lines_of` has them. A packed file that was cut gives what can be unpacked."""
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as plain:
            file: Any = plain  # `peek` is in no protocol
            head = file.peek(8)
            unpack = next((unpack for magic, unpack in _PACKED.items() if head.startswith(magic)), None)
            yield from lines_of(file if unpack is None else unpack(file))
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
        yield b"cut"


def lines_of(file: Any) -> Iterator[bytes]:
    """The lines in UTF-8, whatever Unicode encoding the file is in; of an absurdly long one its beginning."""
    text = io.TextIOWrapper(file, json.detect_encoding(file.peek(4)[:4]), errors="replace", newline="\n")
    try:
        while line := text.readline(LONGEST):
            yield line.encode()
            while not line.endswith("\n") and len(line) >= LONGEST:
                line = text.readline(LONGEST)
    finally:
        text.detach()


def records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Each object in these lines, and each line that holds none.

    A truncated record loses only itself: reading resumes at the next line that is a whole record of ours."""
    begun, size, depth = list[bytes](), 0, 0
    for line in filter(bytes.strip, lines):
        bare = line.strip()
        whole = bare[:1] == b"{" and bare[-1:] == b"}"
        if whole and (_is_ours(bare) if depth else not _TWO.search(bare)):
            yield from [_beginning(begun)] if depth else []
            yield bare
            begun, size, depth = [], 0, 0
            continue
        start, found = 0, depth > 0
        for match in _TOKEN.finditer(line):  # braces outside strings
            if match[0] == b"{":
                start, found = (start, found) if depth else (match.start(), True)
                depth += 1
            elif match[0] == b"}" and depth:
                depth -= 1
                if not depth:
                    yield b"".join((*begun, line[start : match.end()]))
                    begun, size = [], 0
        if depth:
            begun.append(line[start:])
            size += len(line) - start
        elif not found and line.strip(_BETWEEN):
            yield line
        if size > LONGEST:
            yield _beginning(begun)
            begun, size, depth = [], 0, 0
    if depth:
        yield _beginning(begun)


def _is_ours(line: bytes) -> bool:
    with suppress(ValueError):
        return isinstance(data := parse_body(line), dict) and "custom_id" in data
    return False


def _beginning(parts: Sequence[bytes]) -> bytes:
    """The beginning of an incomplete object."""
    return b"".join(parts)[:1000].strip() or b"cut"
