"""Response files as they lie about: plain or packed, in a folder, on stdin, cut in the middle of a line.

Owns how lines are got out of files. What a line says is somebody else's business.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from attunebench.errors import DataError

STDIN = Path("-")
_NAMES = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")
_LONGEST = 64 * 1024 * 1024
"""Bytes of a line; nothing that a model says is as long, and what is longer must not fill the memory."""
_PACKED = b"\x1f\x8b"


def response_files(paths: Sequence[Path]) -> list[Path]:
    """The files meant: each once, those of a folder by name. Raises DataError for what is not there or empty."""
    files: list[Path] = []
    for path in paths:
        if path == STDIN or path.is_file():
            files.append(path)
        elif path.is_dir():
            found = sorted(each for each in path.rglob("*") if each.name.endswith(_NAMES) and _is_visible(each, path))
            if not found:
                raise DataError(f"{path} holds no response files ({', '.join(_NAMES[:3])}, or these with .gz).")
            files += found
        elif path.exists():
            raise DataError(f"{path} is no file; pipe what it says into `attune-bench collect -`.")
        else:
            raise DataError(f"There is no response file {path}.")
    return list(dict.fromkeys(files))


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
                packed = file.read(2) == _PACKED
                file.seek(0)
                yield from _unpacked(file) if packed else _lines(file)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror or error}).") from error


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    try:
        with gzip.open(file) as unpacked:
            yield from _lines(unpacked)  # type: ignore[arg-type]
    except (EOFError, zlib.error, gzip.BadGzipFile):
        yield b"cut"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST):
        yield line
        while not line.endswith(b"\n") and len(line) >= _LONGEST:
            line = file.readline(_LONGEST)


def _is_visible(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
