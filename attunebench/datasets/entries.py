"""What a folder or an archive offers: files by name, their bytes on demand; and which names are refused.

Nothing is ever written under a name that comes from here: files are taken by their number. Names are refused all the
same, since an archive that tries to leave its folder is not the data that it claims to be.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from attunebench.errors import DataError
from attunebench.text import printable

_LONGEST_NAME = 4096
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file in a source. `path` is relative, with `/` between its parts; `size` in bytes, as declared."""

    path: str
    size: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def folders(self) -> tuple[str, ...]:
        """The parts of the path before the name."""
        return PurePosixPath(self.path).parts[:-1]

    @property
    def hidden(self) -> bool:
        """Whether a part begins with a dot, or is what macOS adds to archives."""
        return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(self.path).parts)


class Source(Protocol):
    """Files that conversations can be taken from. `label` names it in sentences."""

    label: str

    def entries(self) -> Sequence[Entry]:
        """All regular files, in the source's own order. Raises DataError for what is unsafe, too large or broken."""

    def contents(self, wanted: Collection[str]) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """Each file of `wanted` (paths) with its bytes in pieces, in the source's own order.

        The pieces of a file are to be used before the next one is asked for. Raises DataError as `entries` does.
        """


def checked_path(label: str, name: str) -> str:
    """The name without `.` parts. Raises DataError where it could lie outside the folder that it is unpacked into."""
    if reason := _unsafe(name):
        raise DataError(f"{label} holds the entry '{shown(name)}', {reason}; nothing was unpacked.")
    return PurePosixPath(name).as_posix()


def check_distinct(label: str, paths: Iterable[str]) -> None:
    """Raise DataError where two files would be one on a system that ignores letter case, or are one already."""
    seen: dict[str, str] = {}
    for path in paths:
        key = unicodedata.normalize("NFC", path).casefold()
        if key in seen:
            raise DataError(
                f"{label} holds '{shown(path)}' twice"
                + (f" (also as '{shown(seen[key])}')" if seen[key] != path else "")
                + "; which of them is meant cannot be known, and nothing was unpacked."
            )
        seen[key] = path


def shown(name: str) -> str:
    """A foreign name as it may stand in a sentence."""
    return printable(name, _SHOWN)


def _unsafe(name: str) -> str | None:
    if not name or name in (".", "./"):
        return None
    if len(name) > _LONGEST_NAME:
        return "whose name is longer than any file's"
    if any(unicodedata.category(character) == "Cc" for character in name):
        return "whose name has control characters"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "which names a place on the machine and not in the archive"
    if "\\" in name:
        return "whose name has a backslash"
    if ".." in name.split("/"):
        return "which would lie outside its folder"
    return None
