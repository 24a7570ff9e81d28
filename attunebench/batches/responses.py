"""Response files as they lie about: plain or packed, in a folder, on stdin, cut in the middle of a line.

Owns how lines are got out of files. What a line says is somebody else's business.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attunebench.batches.records import CUT, LONGEST
from attunebench.errors import DataError

STDIN = Path("-")
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


def response_files(paths: Sequence[Path]) -> list[Path]:
    """The files meant: each once, those of a folder by name. Raises DataError for what is not there or empty."""
    files: list[Path] = []
    for path in paths:
        if path == STDIN or path.is_file():
            files.append(path)
        elif path.is_dir():
            found = sorted(each for each in path.rglob("*") if each.name.endswith(_NAMES) and _is_visible(each, path))
            if not found:
                raise DataError(f"{path} holds no response files ({', '.join(_PLAIN)}, also with .gz, .bz2 or .xz).")
            files += found
        elif path.exists():
            raise DataError(f"{path} is no file; pipe what it says into `attune-bench collect -`.")
        else:
            raise DataError(f"There is no response file {path}.")
    for path in files:
        _refuse(path)
    return list(dict.fromkeys(files))


def _refuse(path: Path) -> None:
    """Raises DataError for a file that holds no lines of text, before anything is read."""
    if path == STDIN:
        return
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}).") from error
    if what := next((what for magic, what in _NO_LINES.items() if head.startswith(magic)), None):
        raise DataError(f"{path} is {what}.")


def response_lines(paths: Iterable[Path]) -> Iterator[bytes]:
    """The lines of response files, one after the other; of a line that is absurdly long only its beginning.

    A packed file that was cut gives what can be unpacked. Raises DataError for a file that cannot be read.
    """
    for path in paths:
        try:
            if path == STDIN:
                if sys.stdin is None:  # started without one, as services are
                    raise DataError("There is no stdin to read answers from; name a file.")
                yield from _lines(sys.stdin.buffer)
                continue
            with path.open("rb") as file:
                head = file.peek(8)
                packed = next((opened for magic, opened in _PACKED.items() if head.startswith(magic)), None)
                yield from _unpacked(packed(file)) if packed is not None else _lines(file)
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


def _is_visible(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
