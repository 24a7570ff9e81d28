"""Locks on a results folder: those of the operating system, which a crash releases. Where a file system has none, a
file beside the lock names the process that holds it, and the next one on this machine removes it once that has ended.
Checking a lock takes it for a moment: both checking and locking retry for a second before it counts as held."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from attunebench.errors import DataError
from attunebench.journal.entries import name_digest

LOOK = 1.0  # seconds after which an unavailable lock counts as held, not just checked
# Errors of a file system that has no locks.
_NO_LOCKS = frozenset((errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL))
_POLL = 0.02


@contextmanager
def claim(
    folder: Path, provider: str, model: str, modes: Sequence[str], shard: str | None = None, *, task: str = ""
) -> Iterator[None]:
    """Lock the folder for runs of this model in these modes. Raises DataError where another process holds it.

    Other models, modes and tasks share the folder, and so do shards of one division ("1-of-3", "2-of-3"; the parent of
    all of them holds "0-of-3"). Another division, or the whole beside its shards, would send the same calls: refused.
    """
    with ExitStack() as held:
        for mode in sorted(set(modes)):
            stem = f".attunebench-run-{name_digest(provider, model, mode, '', *filter(None, [task]))[:16]}"
            path = folder / f"{stem}{f'.{shard}' if shard else ''}.lock"
            release = try_lock(path, LOOK if shard else 0.0)
            busy: Path | None = path
            if release is not None:
                held.callback(release)
                with suppress(OSError):  # for people only: the lock counts, and some systems block writing to it
                    path.write_text(f"{os.getpid()} {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC\n", "ascii")
                siblings = f"-of-{shard.partition('-of-')[2]}.lock" if shard else path.name
                others = [each for each in sorted(folder.glob(f"{stem}*.lock")) if not each.name.endswith(siblings)]
                busy = next((other for other in others if is_held(other, LOOK)), None)
            if busy is not None:
                held_shard = busy.name.removeprefix(stem).removesuffix(".lock").removeprefix(".")
                part = f"shard {held_shard.replace('-of-', ' of ')} of " if held_shard and held_shard[0] != "0" else ""
                raise DataError(
                    f"Another process{_holder(busy)} is running {part}{model} ({provider}, {mode}) into {folder} at "
                    f"this moment; wait for it to end, or use another results folder.{left_by(busy)}"
                )
        yield


def _holder(lock: Path) -> str:
    with suppress(OSError, ValueError):
        if told := re.fullmatch(r"(\d+) ([\d: -]+ UTC)\s*", lock.read_text(encoding="ascii")):
            return f" (pid {told[1]}, since {told[2]})"
    return ""


def try_lock(path: Path, patience: float = 0.0) -> Callable[[], None] | None:
    """A function that releases the lock on this file, or None where another process (or part of this one) holds it for
    `patience` seconds. The file stays: deleting it would let two others lock two files of the same name."""
    lock: FileLock | SoftFileLock = FileLock(path, fallback_to_soft=False)
    try:
        try:
            lock.acquire(timeout=patience, poll_interval=_POLL)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, Timeout) or getattr(error, "errno", errno.ENOSYS) not in _NO_LOCKS:
                raise
            lock = SoftFileLock(owner_file(path))
            # Where the system cannot exchange two files, the first try removes a dead owner and the next one locks.
            lock.acquire(timeout=max(patience, 5 * _POLL), poll_interval=_POLL)
    except Timeout:
        return None
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} cannot be locked ({reason}); use another results folder.") from error
    return lock.release


def is_held(path: Path, patience: float = 0.0) -> bool:
    """Whether somebody holds the lock on this file for longer than so many seconds."""
    if not (path.exists() or owner_file(path).exists()):
        return False
    release = try_lock(path, patience)
    if release is not None:
        release()
    return release is None


def has_record_locks(folder: Path) -> bool:
    """Whether files there have the locks that SQLite needs. True where that cannot be tried."""
    try:
        import fcntl

        with tempfile.TemporaryFile(dir=folder, prefix=".attunebench-") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return True
    except OSError as error:
        return error.errno not in _NO_LOCKS
    return True


def owner_file(path: Path) -> Path:
    """The file that names the holder of the lock `path` on a file system without locks."""
    return path.with_name(f"{path.name}.owner")


def left_by(path: Path) -> str:
    """What to do about an owner that cannot be checked from here, in a sentence; "" where the system has the lock."""
    owner = owner_file(path)
    return f" If that process has ended, delete {owner}." if owner.exists() else ""
