"""A new folder takes its place whole or not at all, and an old one gives way only when the new one stands ready.

Owns the hidden work folder beside the target, the lock in it, and the swap. Knows nothing of what is in the folders.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attunebench.conversations.loading import MANIFEST_NAME
from attunebench.datasets.choosing import conversation_number, is_companion
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.journal.locks import owner_file, try_lock

WORK_NAME = ".attunebench-get"
"""Hidden, so that whoever reads the data passes over it."""
_LOCK, _NEW, _OLD = "lock", "new", "old"
_LITTER = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))
_EXCHANGE = 2
_HERE = -100


class Workplace:
    """The work folder in `parent`, held by this process. `spent` says that no download in it is of use any more."""

    def __init__(self, parent: Path) -> None:
        self.folder = parent / WORK_NAME
        self.spent = False

    def new(self, name: str) -> Path:
        """An empty folder to build the new one in, on the same disk as its place."""
        place = self.folder / _NEW / name
        place.mkdir(parents=True)
        return place

    def place(self, new: Path, target: Path, *, replace: bool) -> None:
        """Let `new` take the place of `target`, which may be there with `replace`; a kill leaves one of the two, whole.

        Where the system cannot exchange two folders in one step, a kill between two renames leaves none, and the old
        one in the work folder, from where the next command brings it back.
        """
        _flush_files(new)
        _flush(new)
        # Somebody may have made the target since it was looked at.
        check_target(target, replace=replace)
        if not target.exists():
            new.rename(target)
        elif not _exchanged(new, target):
            old = self.folder / _OLD / target.name
            old.parent.mkdir(exist_ok=True)
            target.rename(old)
            try:
                new.rename(target)
            except OSError:
                old.rename(target)
                raise
        _flush(target.parent)

    def tidy(self) -> None:
        """Take away what was built or has given way; what was moved away and has no successor comes back."""
        old = self.folder / _OLD
        for moved in sorted(old.iterdir()) if old.is_dir() else ():
            if not (self.folder.parent / moved.name).exists():
                moved.rename(self.folder.parent / moved.name)
        for name in (_NEW, _OLD):
            shutil.rmtree(self.folder / name, ignore_errors=True)


@contextmanager
def workplace(parent: Path) -> Iterator[Workplace]:
    """A work folder in `parent` (made where it is missing), gone at the end but for a download to go on with.

    Raises DataError where another process is at work in it, or nothing can be written.
    """
    made = _make(parent)
    work = Workplace(parent)
    try:
        release = _lock(work.folder)
        try:
            work.tidy()
            yield work
        finally:
            work.tidy()
            if work.spent:
                shutil.rmtree(work.folder, ignore_errors=True)
            _leave(work.folder, release)
    finally:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()  # only where it is empty


def check_target(target: Path, *, replace: bool) -> None:
    """Raise where something is at the place that may not give way: anything at all without `replace`, and with it a
    file, a link, and a folder with files that are none of a data set's."""
    if not target.exists() and not target.is_symlink():
        return
    if not replace:
        raise UsageError(f"{target} is there already; --replace puts the new data in its place, --to names another.")
    if target.is_symlink() or not target.is_dir():
        raise DataError(f"{target} is a link or a file and is not replaced; name a folder with --to.")
    foreign = sorted(path.name for path in target.iterdir() if not _is_data(path))
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise DataError(
            f"{target} holds what is no part of a data set ({', '.join(foreign[:3])}{more}), and --replace would "
            "delete it; move it away, or name another folder with --to."
        )
    if target.resolve() in (Path.cwd(), *Path.cwd().parents):
        raise UsageError(f"You are in {target}, which is to be replaced; leave it, or name another folder with --to.")


def _is_data(path: Path) -> bool:
    name = path.name
    known = conversation_number(name) is not None or is_companion(name) or name in (MANIFEST_NAME, *_LITTER)
    return known and path.is_file()


def _make(parent: Path) -> list[Path]:
    """Make the folder and those above it; the ones that were not there, innermost first."""
    missing = [place for place in (parent, *parent.parents) if not place.exists()]
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{parent} cannot be made ({error.strerror or error}); name another place with --to.") from None
    return missing


def _lock(folder: Path) -> Callable[[], None]:
    try:
        folder.mkdir(exist_ok=True)
        release = try_lock(folder / _LOCK)
    except (OSError, AttuneBenchError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"Nothing can be written to {folder.parent} ({reason}); name another place with --to."
        ) from None
    # Whoever had it may have taken the folder away after we opened the file: then this is a lock on nothing.
    if release is not None and not (folder / _LOCK).exists():
        release()
        release = None
    if release is None:
        raise DataError(
            f"Another `attune-bench data` is at work in {folder.parent}; wait for it to end, or name another place "
            "with --to."
        )
    return release


def _leave(folder: Path, release: Callable[[], None]) -> None:
    """Give the lock back, and take it and the folder away where nothing else is in it."""
    if folder.is_dir() and {folder / _LOCK, owner_file(folder / _LOCK)}.issuperset(folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
    release()


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the disk cannot, and nothing has happened."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _flush_files(folder: Path) -> None:
    """Let the bytes of its files be on the disk; some disks say only now that they are full."""
    for path in folder.iterdir():
        with path.open("r+b") as file:
            os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Let the disk know of the folder's entries before the next step builds on them, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
