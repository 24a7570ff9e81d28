"""Files appear whole or not at all: written beside their place, flushed to disk, then renamed into it.

The rename happens where a link points to, and keeps the mode of a file that is there; a new file gets the mode that the
umask leaves. What is no file (a device, a pipe, a descriptor such as /dev/stdout) is never replaced, but written to.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import BinaryIO, NoReturn

from attunebench.errors import DataError

_DESCRIPTOR = re.compile(r"/(?:dev|proc/(?:self|thread-self|\d+))/fd/(\d+)")


@contextmanager
def atomic_write(target: Path) -> Iterator[BinaryIO]:
    """A file to write into; what was written takes the place of `target` when the block ends without an error.

    Until then, and after an error, `target` is as it was. Raises OSError where the folder cannot be written.
    """
    place = _end_of_links(target)
    if stream := _opened_in_place(place):
        with stream as file:
            yield file
        return
    beside = place.with_name(f".{place.name[:50]}.{secrets.token_hex(4)}.part")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            before = place.stat()
            if hasattr(os, "chown"):
                with suppress(OSError):  # only root may give files away
                    os.chown(beside, before.st_uid, before.st_gid)
            beside.chmod(stat.S_IMODE(before.st_mode))
        beside.replace(place)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def _refuse(error: OSError) -> NoReturn:
    raise DataError(f"{error.filename}: this folder cannot be read ({error.strerror}).")


def visible_files(folder: Path, onerror: Callable[[OSError], object] = _refuse) -> Iterator[Path]:
    """Every file below the folder that is not hidden. Links to folders are followed, each folder once, so that loops
    end; `onerror` is told of a folder that cannot be read, which is a DataError without it."""
    seen: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=onerror):
        status = Path(place).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in names if not name.startswith("."))


def shipped(name: str) -> Path:
    """A file or folder that comes with the package. Raises DataError where the installation lacks it."""
    # An editable install does not see files that the wheel takes from outside the package: look in the checkout.
    checkout = Path(__file__).resolve().parent.parent
    packaged = Path(str(resources.files("attunebench") / "_data" / name))
    for place in (packaged, checkout / name, checkout / "Test Samples" / name):
        if place.exists():
            return place
    raise DataError(f"{name} is missing from this installation; install attunebench again.")


def replaces_a_file(path: Path) -> bool:
    """Whether writing there takes away what a file holds."""
    return path.is_file() and not _DESCRIPTOR.fullmatch(str(_end_of_links(path).absolute()))


def _end_of_links(path: Path) -> Path:
    """Where links lead to; a descriptor of this process stays what it is, though it looks like a link to a file."""
    for _ in range(40):
        if _DESCRIPTOR.fullmatch(str(path.absolute())) or not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    return path


def _opened_in_place(path: Path) -> BinaryIO | None:
    """What is there, opened for writing, where that is no file that could be replaced."""
    if own := _DESCRIPTOR.fullmatch(str(path.absolute())):
        for printed in filter(None, (sys.stdout, sys.stderr)):
            printed.flush()
        # As it was handed over: opened anew, a redirected file would be written from its beginning.
        return os.fdopen(os.dup(int(own[1])), "wb")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISREG(mode) else path.open("wb")
