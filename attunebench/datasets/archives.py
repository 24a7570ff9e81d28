"""Zip and tar archives: their conversations and papers, unpacked under names of ours and within bounds."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from attunebench.datasets.subsets import belongs_to_data
from attunebench.errors import DataError
from attunebench.jsonfile import MAX_BYTES
from attunebench.text import printable

# The bounds leave room for many times the published data; they keep out what fills the disk or the memory.
MOST_ARCHIVE_BYTES = 1_000_000_000
MOST_UNPACKED_BYTES = 4_000_000_000
MOST_FILE_BYTES = MAX_BYTES
"""Of one file that is taken: a larger conversation could not be read."""
MOST_ENTRIES = 100_000
MOST_RATIO = 200
"""Unpacked to packed bytes. Conversations pack about 1:10; only what repeats without end goes beyond 1:200."""
RATIO_FROM_BYTES = 1_000_000
MOST_HEADER_BYTES = 16 << 20
"""Of an archive's own lists and headers, which Python's readers take in one piece of any size they claim."""

_UNSAFE_NAME = re.compile(r"/|[A-Za-z]:|.*[\\\x00-\x1f\x7f-\x9f]|(?:.*/)?\.\.(?:/|\Z)", re.DOTALL)
_LONGEST_NAME = 4096
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP = b"\x1f\x8b"
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    LookupError,
    RuntimeError,
)
"""What Python's readers raise over bytes that are not a sound archive; `_members` adds ValueError for an unsafe one."""


_Member = tuple[str, int, IO[bytes]]
"""Name, size and content."""


def unpack(path: Path, label: str, folder: Path) -> dict[PurePosixPath, Path]:
    """Unpack the conversations and papers of a zip, tar or tar.gz into numbered files of `folder`, by their names.

    `label` names the archive in errors. Raises DataError: not an archive; damaged, encrypted or larger than the bounds;
    or with an entry that is a link, a device, or named so that it could be written outside its folder.
    """
    files: dict[PurePosixPath, Path] = {}
    try:
        for name, size, content in _members(path):
            inner = PurePosixPath(name)
            if belongs_to_data(inner, size):
                if size > MOST_FILE_BYTES:
                    raise ValueError(f"'{name}' is larger than {megabytes(MOST_FILE_BYTES)}")
                files[inner] = folder / str(len(files))
                with content, files[inner].open("xb") as copy:
                    shutil.copyfileobj(content, copy)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the archive
        raise DataError(
            f"{label} cannot be used: {printable(str(error), 200) or type(error).__name__}. Nothing was unpacked. "
            "Download it again, or, if you trust it, unpack it yourself and give the folder with --from."
        ) from None
    return files


def megabytes(count: int) -> str:
    """Bytes for people: "0.4 MB", "12 MB"."""
    return f"{count / 1_000_000:,.1f}".removesuffix(".0") + " MB"


def _members(path: Path) -> Iterator[_Member]:
    """The regular files of an archive; ValueError for what no archive of this data has."""
    with path.open("rb", buffering=0) as file:
        start = file.read(512)
        limit = min(MOST_UNPACKED_BYTES, max(RATIO_FROM_BYTES, MOST_RATIO * path.stat().st_size))
        file.seek(0)
        if start.startswith(_ZIP):
            members = _zip_members(_Guarded(file, limit))
        elif start.startswith(_GZIP):
            members = _tar_members(_Guarded(gzip.GzipFile(fileobj=file), limit))
        elif start[257:262] == b"ustar":
            members = _tar_members(_Guarded(file, limit))
        else:
            raise ValueError(f"it is {_kind_of(start)}")
        seen, unpacked = set(), 0
        for name, size, content in members:
            key = PurePosixPath(name).as_posix().casefold()
            if len(name) > _LONGEST_NAME or _UNSAFE_NAME.match(name):
                raise ValueError(f"the entry '{name[:80]}' could be written outside its folder")
            if key in seen:
                raise ValueError(f"it has '{name}' twice, letter case aside")
            seen.add(key)
            unpacked += size
            if len(seen) > MOST_ENTRIES:
                raise ValueError(f"it has more than {MOST_ENTRIES:,} files")
            if unpacked > limit:
                raise ValueError(
                    f"it would unpack to more than {megabytes(limit)}, far more than plausible for its size"
                )
            yield name, size, content


def _zip_members(file: io.BufferedReader) -> Iterator[_Member]:
    with file, zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ValueError(f"'{info.filename}' is a link or a device")
            if info.flag_bits & 0x2041:
                raise ValueError("it is encrypted")
            # The other methods may ask for any amount of memory.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"'{info.filename}' uses an unsupported compression")
            if not info.filename.endswith("/"):
                # `filename` is cut at a NUL already.
                yield info.orig_filename, info.file_size, archive.open(info)


def _tar_members(file: io.BufferedReader) -> Iterator[_Member]:
    with file, tarfile.TarFile(fileobj=file) as archive:
        while (info := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # else every header stays in memory
            if not (info.isdir() or info.isreg()) or info.issparse():
                raise ValueError(f"'{info.name}' is a link or a device")
            content = archive.extractfile(info)
            if content is not None:  # None is a folder
                yield info.name, info.size, content
        # The reader takes a damaged header for the end; behind the real one are zeros, and the checksum of gzip.
        file.seek(archive.offset)
        if any(file.read(tarfile.BLOCKSIZE)):
            raise ValueError("a header is damaged")
        while file.read(1 << 16):
            pass


class _Guarded(io.BufferedReader):
    """A file that gives no more in one piece, and no more in all, than a sound archive asks for."""

    def __init__(self, raw: io.RawIOBase | gzip.GzipFile, limit: int) -> None:
        super().__init__(raw)
        self._limit = limit + MOST_HEADER_BYTES

    def read(self, size: int | None = -1, /) -> bytes:
        whole = size is None or size < 0
        data = super().read(MOST_HEADER_BYTES + 1 if whole else min(size or 0, MOST_HEADER_BYTES + 1))
        if len(data) > MOST_HEADER_BYTES or self.tell() > self._limit:
            raise ValueError("a list or header is far larger than its size allows")
        return data


def _kind_of(start: bytes) -> str:
    """What a file is that is not an archive of ours, as far as its beginning tells."""
    text = start.lstrip().lower()
    if not start:
        return "empty"
    if text.startswith(b"<"):
        return "a web page; give the address behind its download button"
    if text.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer; fetch the file with `git lfs pull`"
    return "neither a zip nor a tar (.tar, .tar.gz)"
