"""What `--from` names: a folder, an archive on this machine, or the address of one; and how the first two are opened.

Knows a kind of archive by its first bytes, whatever its name, and what else people give by mistake.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from attunebench.datasets import bounds
from attunebench.datasets.archives import TarSource, ZipSource
from attunebench.datasets.entries import Entry, Source, shown
from attunebench.errors import DataError, UsageError
from attunebench.text import printable

REPOSITORY = "https://github.com/Thoughtful-Lab/attunebench"
"""The page that people open in a browser."""
PUBLISHED = "https://codeload.github.com/Thoughtful-Lab/attunebench/zip/HEAD"
"""The public repository of the published benchmark, its default branch as an archive."""
REMEDY = "give a folder, a zip, a tar or another address with --from"

_HEAD_BYTES = 512
_PIECE = 1 << 16
_OTHER_KINDS = {b"7z\xbc\xaf": "7-Zip", b"Rar!": "RAR", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class Address:
    """An address of an archive. `url` is what is asked; it may hold a password or a signature, and no repr shows it."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        """The address as it may be shown: without user, password, and what follows a question mark."""
        parts = urlsplit(self.url)
        return printable(f"{parts.scheme}://{_host(parts)}{parts.path}")

    @property
    def host(self) -> str:
        """The host with its port, without user and password."""
        return shown(_host(urlsplit(self.url)))


def parse_source(text: str) -> Path | Address:
    """The folder, file or address that is meant. Raises UsageError where it is none of these."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme is None:
        if not text.strip():
            raise UsageError(f"--from is empty; {REMEDY}.")
        path = Path(text).expanduser()
        if not path.exists():
            raise UsageError(f"There is no {shown(text)}; {REMEDY}.")
        return path
    if scheme[1].lower() not in ("http", "https"):
        raise UsageError(
            f"{shown(scheme[1])}:// is no way to get data; give an http(s) address, or a path, with --from."
        )
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0) and text.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise UsageError("The address of --from has no host that can be read; give it as https://host/path.")
    return Address(text)


def open_source(path: Path, label: str) -> Source:
    """The source at a path. Raises DataError where it is neither a folder nor an archive that is read here."""
    if path.is_dir():
        return FolderSource(path, label)
    try:
        if not path.is_file():
            raise DataError(f"{label} is no file and no folder; {REMEDY}.")
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise DataError(f"{label} cannot be read ({error.strerror or error}).") from None
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return ZipSource(path, label)
    if head[:2] == b"\x1f\x8b":
        return TarSource(path, label, gzipped=True)
    if head[257:262] == b"ustar":
        return TarSource(path, label, gzipped=False)
    raise DataError(f"{label} {_taken_for(head)}.")


class FolderSource:
    """A folder of this machine. Links in it are followed, since caches of data deposits are made of them."""

    def __init__(self, path: Path, label: str) -> None:
        self.label = label
        self._path = path

    def entries(self) -> Sequence[Entry]:
        """All visible regular files; see `Source`."""
        found = []
        for place, name in self._walk():
            try:
                status = os.stat(Path(place, name))  # noqa: PTH116 (many files)
            except OSError:
                continue  # a link that leads nowhere is no file
            if stat.S_ISREG(status.st_mode):
                found.append(Entry(Path(place, name).relative_to(self._path).as_posix(), status.st_size))
        return found

    def contents(self, wanted: Collection[str]) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """The wanted files; see `Source`."""
        for entry in self.entries():
            if entry.path in wanted:
                yield entry, self._pieces(entry)

    def _pieces(self, entry: Entry) -> Iterator[bytes]:
        taken = 0
        try:
            with (self._path / entry.path).open("rb") as file:
                while piece := file.read(_PIECE):
                    taken += len(piece)
                    if taken > bounds.MOST_FILE_BYTES:
                        raise DataError(
                            f"{shown(entry.path)} in {self.label} is larger than "
                            f"{bounds.megabytes(bounds.MOST_FILE_BYTES)}, which no conversation is."
                        )
                    yield piece
        except OSError as error:
            raise DataError(
                f"{shown(entry.path)} in {self.label} cannot be read ({error.strerror or error})."
            ) from None

    def _walk(self) -> Iterator[tuple[str, str]]:
        seen: set[tuple[int, int]] = set()
        count = 0
        for place, folders, names in os.walk(self._path, followlinks=True, onerror=_refuse_folder):
            status = os.stat(place)  # noqa: PTH116 (many folders)
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
            count += len(folders) + len(names)
            bounds.check_sum(self.label, count, 0)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from ((place, name) for name in sorted(names) if not name.startswith("."))


def _refuse_folder(error: OSError) -> NoReturn:
    raise DataError(f"{error.filename}: this folder cannot be read ({error.strerror}).")


def _taken_for(head: bytes) -> str:
    """What a file is that is no archive of ours, as far as its beginning tells."""
    start = head.lstrip()[:200].lower()
    for magic, kind in _OTHER_KINDS.items():
        if head.startswith(magic):
            return f"is packed by {kind}, which is not read here; unpack it, and give the folder with --from"
    if not head:
        return "is empty; fetch it again"
    if start.startswith(b"<"):
        return "is a web page and no archive; give the address of the file itself (the one behind its download button)"
    if start.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS and not the archive; fetch it with `git lfs pull`"
    if start.startswith((b"{", b"[")):
        return "is JSON and no archive; give the folder that it lies in, or the address of the archive itself"
    return f"is neither a zip nor a tar (.tar, .tar.gz); {REMEDY}"


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
