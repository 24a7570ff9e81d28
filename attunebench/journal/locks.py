"""Who is at work in a results folder: locks of the operating system, which a crash releases.

Whether a lock is held is found out by taking it for a moment. So two who look at the same time see each other: looking
and taking are tried again for a second before somebody else is said to hold it.
"""

from __future__ import annotations

import errno
import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attunebench.errors import DataError
from attunebench.journal.owners import NO_LOCKS, owner_file, try_owner

_NATIVE_ONLY: dict[str, Any] = (
    {"fallback_to_soft": False} if "fallback_to_soft" in inspect.signature(FileLock.__init__).parameters else {}
)
"""Newer releases of the package have files of their own in place of locks, into which `_sign` would write."""
LOOK = 1.0
"""Seconds after which a lock that is not to be had is held by somebody who does more than look."""


@contextmanager
def claim(
    folder: Path, provider: str, model: str, modes: Sequence[str], shard: str | None = None, *, task: str = ""
) -> Iterator[None]:
    """Hold the right to run this model in these modes into the folder. Raises DataError where another process has it.

    Other models, modes and tasks share the folder, and so do shards of one division ("1-of-3", "2-of-3"). Shards of
    another division are refused, and so is the whole beside its shards: they would ask the same. Who starts all shards
    holds "0-of-3".
    """
    with ExitStack() as held:
        for mode in sorted(set(modes)):
            identity = [provider, model, mode, "", *filter(None, [task])]
            digest = sha256(chr(0).join(identity).encode("utf-8", "backslashreplace")).hexdigest()[:16]
            stem = f".attunebench-run-{digest}"
            path = folder / f"{stem}{f'.{shard}' if shard else ''}.lock"
            release = try_lock(path, LOOK if shard else 0.0)
            busy: Path | None = path
            if release is not None:
                held.callback(release)
                with suppress(OSError):  # for people only: what counts is the lock, which some systems let nobody pass
                    path.write_text(f"{os.getpid()} {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC\n", "ascii")
                others = (other for other in sorted(folder.glob(f"{stem}*.lock")) if _excludes(path, other, stem))
                busy = next((other for other in others if is_held(other, LOOK)), None)
            if busy is not None:
                shard = _shard_of(busy, stem).replace("-of-", " of ")
                part = f"shard {shard} of " if shard and shard[0] != "0" else ""
                raise DataError(
                    f"Another process{_holder(busy)} is running {part}{model} "
                    f"({provider}, {mode}) into {folder} at this moment; wait for it to end, or use another results "
                    f"folder.{left_by(busy)}"
                )
        yield


def try_lock(path: Path, patience: float = 0.0) -> Callable[[], None] | None:
    """What gives the lock on this file back, or None where another process (or another part of this one) holds it.

    It is waited for `patience` seconds. Where the file system has no locks, a file says who holds it. The locked file
    stays when the lock is given back: taking it away would let two others lock two files of the same name.
    """
    lock = FileLock(path, is_singleton=False, **_NATIVE_ONLY)
    try:
        try:
            lock.acquire(timeout=patience, poll_interval=0.02)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, Timeout) or getattr(error, "errno", errno.ENOSYS) not in NO_LOCKS:
                raise
            return try_owner(path, patience)
    except Timeout:
        return None
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} cannot be locked ({reason}); use another results folder.") from error
    return lock.release


def is_held(path: Path, patience: float = 0.0) -> bool:
    """Whether somebody holds the lock on this file for longer than so many seconds."""
    if not path.exists():
        return False
    release = try_lock(path, patience)
    if release is not None:
        release()
    return release is None


def left_by(path: Path) -> str:
    """What to do about an owner that cannot be looked at from here, in a sentence; "" where the system has the lock."""
    owner = owner_file(path)
    return f" If it has ended on another machine, delete {owner}." if owner.exists() else ""


def _holder(path: Path) -> str:
    """Who has the lock, as " (pid 4711, since …)"; "" where that cannot be read."""
    with suppress(OSError, ValueError):
        if told := re.fullmatch(r"(\d+) ([\d: -]+ UTC)\s*", path.read_text(encoding="ascii")):
            return f" (pid {told[1]}, since {told[2]})"
    return ""


def _shard_of(path: Path, stem: str) -> str:
    """The shard that a lock is on; "" for the whole."""
    return path.name.removeprefix(stem).removesuffix(".lock").removeprefix(".")


def _excludes(mine: Path, other: Path, stem: str) -> bool:
    """Whether two locks on one model in one mode may not be held at once: all but two shards of the same division."""
    divisions = [_shard_of(path, stem).partition("-of-")[2] for path in (mine, other)]
    return mine != other and not (divisions[0] and divisions[0] == divisions[1])
