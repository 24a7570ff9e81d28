"""Who is at work in a results folder: locks of the operating system, which a crash releases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from attunebench.errors import DataError


@contextmanager
def claim(
    folder: Path, provider: str, model: str, modes: Sequence[str], shard: str | None = None, *, task: str = ""
) -> Iterator[None]:
    """Hold the right to run this model in these modes into the folder. Raises DataError where another process has it.

    Other models, modes, shards and tasks share the folder.
    """
    with ExitStack() as held:
        for mode in sorted(set(modes)):
            identity = [provider, model, mode, shard or "", *filter(None, [task])]
            name = sha256("\0".join(identity).encode("utf-8", "backslashreplace")).hexdigest()[:16]
            path = folder / f".attunebench-run-{name}.lock"
            lock = try_lock(path)
            if lock is None:
                raise DataError(
                    f"Another process{_holder(path)} is running {model} ({provider}, {mode}) into {folder} at this "
                    "moment; wait for it to end, or use another results folder."
                )
            held.callback(release, lock)
            _sign(path)
        yield


def try_lock(path: Path) -> FileLock | None:
    """The lock on this file, or None where another process (or another part of this one) holds it."""
    lock = FileLock(path, is_singleton=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except OSError as error:
        raise DataError(f"{path} cannot be locked ({error.strerror or error}); use another results folder.") from error
    return lock


def release(lock: FileLock) -> None:
    """Give the lock back. Its file stays: taking it away would let two others lock two files of the same name."""
    lock.release()


def _sign(path: Path) -> None:
    """Leave word of who has the lock. For people only: what counts is the lock, which some systems let nobody pass."""
    with suppress(OSError):
        path.write_text(f"{os.getpid()} {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC\n", encoding="ascii")


def _holder(path: Path) -> str:
    """Who has the lock, as " (pid 4711, since …)"; "" where that cannot be read."""
    with suppress(OSError, ValueError):
        if told := re.fullmatch(r"(\d+) ([\d: -]+ UTC)\s*", path.read_text(encoding="ascii")):
            return f" (pid {told[1]}, since {told[2]})"
    return ""
