"""Zip and tar files as sources of data: listed and read within bounds, without unpacking anything by its own name.

Owns what may be in an archive (regular files and folders), how it is bounded, and which trouble of Python's readers
means that it is broken. What is taken from it, and where that goes, is decided elsewhere.
"""

from __future__ import annotations

import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from attunebench.datasets import bounds
from attunebench.datasets.entries import Entry, check_distinct, checked_path, shown
from attunebench.errors import DataError

_PIECE = 1 << 16
_BLOCK = 512
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
    NotImplementedError,
)
"""What Python's readers raise over bytes that are no sound archive."""


class ZipSource:
    """A zip file. Only stored and deflated entries are read: the other methods may ask for any amount of memory."""

    def __init__(self, path: Path, label: str) -> None:
        self.label = label
        self._path = path

    def entries(self) -> Sequence[Entry]:
        """All files; see `Source`."""
        with self._opened() as archive:
            return [Entry(path, info.file_size) for path, info in self._files(archive)]

    def contents(self, wanted: Collection[str]) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """The wanted files; see `Source`."""
        with self._opened() as archive:
            for path, info in self._files(archive):
                if path in wanted:
                    yield Entry(path, info.file_size), self._pieces(archive, info, path)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with self._path.open("rb") as file:
            with _sound(self.label):
                archive = zipfile.ZipFile(_Measured(file, self.label))
            with archive:
                yield archive

    def _files(self, archive: zipfile.ZipFile) -> list[tuple[str, zipfile.ZipInfo]]:
        infos = archive.infolist()
        bounds.check_sum(self.label, len(infos), sum(info.file_size for info in infos))
        files = [(path, info) for info in infos if (path := self._checked(info)) and not info.filename.endswith("/")]
        check_distinct(self.label, (path for path, _ in files))
        return files

    def _checked(self, info: zipfile.ZipInfo) -> str:
        # `filename` is cut at a NUL already.
        path = checked_path(self.label, info.orig_filename)
        kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _no_file(self.label, path)
        if info.flag_bits & 0x2041:
            raise DataError(f"{self.label} is encrypted; unpack it with its password, and give the folder with --from.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                f"{self.label} packs '{shown(path)}' in a way that is not read here; unpack it, and give the folder "
                "with --from."
            )
        bounds.check_entry(self.label, shown(path), info.file_size, info.compress_size)
        return path

    def _pieces(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> Iterator[bytes]:
        with _sound(self.label), archive.open(info) as file:
            yield from _bounded_pieces(file, self.label, path)


class TarSource:
    """A tar file, plain or packed by gzip."""

    def __init__(self, path: Path, label: str, *, gzipped: bool) -> None:
        self.label = label
        self._path = path
        self._gzipped = gzipped

    def entries(self) -> Sequence[Entry]:
        """All files; see `Source`. Reads to the end, so that a cut archive is found before anything is taken."""
        with self._opened() as (archive, file):
            found = [entry for entry, _ in self._files(archive)]
            with _sound(self.label):
                self._check_end(archive, file)
        check_distinct(self.label, (entry.path for entry in found))
        return found

    def contents(self, wanted: Collection[str]) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """The wanted files; see `Source`."""
        with self._opened() as (archive, _):
            for entry, info in self._files(archive):
                if entry.path in wanted:
                    yield entry, self._pieces(archive, info, entry.path)

    @contextmanager
    def _opened(self) -> Iterator[tuple[tarfile.TarFile, _Measured]]:
        with self._path.open("rb") as packed:
            size = self._path.stat().st_size
            limit = min(bounds.MOST_UNPACKED_BYTES, max(bounds.RATIO_FROM_BYTES, bounds.MOST_RATIO * size))
            inner: IO[bytes] = gzip.GzipFile(fileobj=packed) if self._gzipped else packed  # type: ignore[assignment]
            file = _Measured(inner, self.label, limit if self._gzipped else None)
            with _sound(self.label):
                archive = tarfile.TarFile(fileobj=file)  # type: ignore[arg-type]
            with archive:
                yield archive, file

    def _files(self, archive: tarfile.TarFile) -> Iterator[tuple[Entry, tarfile.TarInfo]]:
        count = unpacked = 0
        while True:
            with _sound(self.label):
                info = archive.next()
            if info is None:
                return
            # The list of members would keep every header in memory.
            archive.members = []  # type: ignore[attr-defined]
            count, unpacked = count + 1, unpacked + info.size
            bounds.check_sum(self.label, count, unpacked)
            path = checked_path(self.label, info.name)
            if info.isdir():
                continue
            if not info.isreg() or info.issparse():
                raise _no_file(self.label, path)
            yield Entry(path, info.size), info

    def _pieces(self, archive: tarfile.TarFile, info: tarfile.TarInfo, path: str) -> Iterator[bytes]:
        with _sound(self.label):
            file = archive.extractfile(info)
            assert file is not None  # None is for what is no regular file
            with file:
                yield from _bounded_pieces(file, self.label, path)

    def _check_end(self, archive: tarfile.TarFile, file: _Measured) -> None:
        """The reader takes a damaged header in the middle for the end; behind the real one there are zeros only."""
        file.seek(archive.offset)
        if any(file.read(_BLOCK)):
            raise tarfile.ReadError("a header is damaged")
        while file.read(_PIECE):  # gzip has its checksum at the end
            pass


class _Measured:
    """A file of which no reader takes more than it may: lists and headers come in one piece of any size they claim.

    `limit` is the last byte that may be reached, in unpacked bytes; None leaves that to the file.
    """

    def __init__(self, file: IO[bytes], label: str, limit: int | None = None) -> None:
        self._file = file
        self._label = label
        self._limit = limit

    def read(self, size: int = -1) -> bytes:
        if size > bounds.LARGEST_PIECE:
            raise self._refusal("a list or header")
        self._reach(self.tell() + max(size, 0))
        data = self._file.read(size if size >= 0 else bounds.LARGEST_PIECE + 1)
        if len(data) > bounds.LARGEST_PIECE:
            raise self._refusal("a list or header")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 0:
            self._reach(offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def _reach(self, position: int) -> None:
        # A reader asks for more than is there; the piece that it asks for last is no reason to refuse.
        if self._limit is not None and position > self._limit + _PIECE:
            raise self._refusal("content")

    def _refusal(self, what: str) -> DataError:
        return DataError(
            f"{self._label} holds {what} far larger than its size allows, as only an archive made to fill a machine "
            "does; nothing was unpacked."
        )


def _bounded_pieces(file: Any, label: str, path: str) -> Iterator[bytes]:
    taken = 0
    while piece := file.read(_PIECE):
        taken += len(piece)
        if taken > bounds.MOST_FILE_BYTES:
            raise DataError(
                f"{label}: '{shown(path)}' is larger than {bounds.megabytes(bounds.MOST_FILE_BYTES)}, which no "
                "conversation is; nothing was unpacked."
            )
        yield piece


@contextmanager
def _sound(label: str) -> Iterator[None]:
    """Trouble of the reader becomes a sentence about the archive."""
    try:
        yield
    except DataError:
        raise
    except _BROKEN as error:
        raise DataError(
            f"{label} is no sound archive ({shown(str(error)) or type(error).__name__}): it may have been cut or "
            "damaged on its way; fetch it again."
        ) from None


def _no_file(label: str, path: str) -> DataError:
    return DataError(
        f"{label} holds '{shown(path)}', which is a link or a device and no file; nothing was unpacked. Unpack it "
        "yourself where that is meant, and give the folder with --from."
    )
