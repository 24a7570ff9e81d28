"""Locks for file systems that have none: a file beside the lock says which process holds it.

Such a file outlives a process that is killed. So it names the process with its machine and start, and whoever finds
that this one has ended takes the file away. What runs on another machine, or in another container, cannot be looked
at from here: that owner counts as alive.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

NO_LOCKS = frozenset((errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL))
"""What systems say of a file system that has no locks."""
_POLL = 0.02
_WRITTEN_WITHIN = 10.0
"""Seconds after which a file that says nothing was left by a process that was killed as it began."""


def has_record_locks(folder: Path) -> bool:
    """Whether files there have the locks that SQLite needs. True where that cannot be tried."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".attunebench-") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in NO_LOCKS
    return True


def owner_file(path: Path) -> Path:
    """The file that says who holds the lock `path`."""
    return path.with_name(f"{path.name}.owner")


def try_owner(path: Path, patience: float) -> Callable[[], None] | None:
    """What gives the lock back, or None where a process that may be alive holds it for longer than `patience` seconds.

    Raises OSError where the folder cannot be written.
    """
    owner, until = owner_file(path), time.monotonic() + patience
    while True:
        with suppress(FileExistsError):
            _create(owner, json.dumps(_process(os.getpid())))
            return partial(owner.unlink, missing_ok=True)
        if not _take_away_if_dead(owner):
            if time.monotonic() >= until:
                return None
            time.sleep(_POLL)


def _take_away_if_dead(owner: Path) -> bool:
    """Whether it is worth trying again at once. One process at a time looks and takes away."""
    if not _is_dead(owner):
        return not owner.exists()
    guard = owner.with_name(f"{owner.name}.check")
    try:
        _create(guard, "")
    except FileExistsError:
        if _age(guard) > _WRITTEN_WITHIN:
            guard.unlink(missing_ok=True)
        return False
    try:
        if _is_dead(owner):
            owner.unlink(missing_ok=True)
    finally:
        guard.unlink(missing_ok=True)
    return True


def _is_dead(owner: Path) -> bool:
    try:
        told = json.loads(owner.read_text("utf-8"))
        pid, there = int(told["pid"]), dict(told)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return _age(owner) > _WRITTEN_WITHIN
    here = _process(pid)
    if there.get("machine") != here["machine"]:
        return False
    if there.get("boot") != here["boot"]:  # the machine was started anew since
        return bool(here["boot"])
    if there.get("space") != here["space"]:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # another user's
        pass
    return there.get("start") != here["start"]


def _process(pid: int) -> dict[str, object]:
    """What tells a process of this machine from all others, as far as the system says it."""
    space = ""
    with suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return {
        "pid": pid,
        "machine": f"{platform.node()} {_read('/etc/machine-id')}".strip(),
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "space": space,
        "start": _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19:20],
    }


def _create(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: str) -> str:
    with suppress(OSError, ValueError):
        return Path(path).read_text("utf-8").strip()
    return ""
