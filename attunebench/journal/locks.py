"""Who is at work in a results folder: locks of the operating system, which a crash releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from attunebench.errors import DataError


@contextmanager
def claim(folder: Path, provider: str, model: str, modes: Sequence[str], shard: str | None = None) -> Iterator[None]:
    """Hold the right to run this model in these modes into the folder. Raises DataError where another process has it.

    Other models, modes and shards share the folder.
    """
    with ExitStack() as held:
        for mode in sorted(set(modes)):
            identity = [provider, model, mode, shard or ""]
            name = sha256("\0".join(identity).encode("utf-8", "backslashreplace")).hexdigest()[:16]
            lock = try_lock(folder / f".attunebench-run-{name}.lock")
            if lock is None:
                raise DataError(
                    f"Another process is running {model} ({provider}, {mode}) into {folder} at this moment; "
                    "wait for it to end, or give another folder with --output."
                )
            held.callback(release, lock)
        yield


def try_lock(path: Path) -> FileLock | None:
    """The lock on this file, or None where another process (or another part of this one) holds it."""
    lock = FileLock(path, is_singleton=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except OSError as error:
        raise DataError(f"{path} cannot be locked ({error.strerror or error}); give another --output.") from error
    return lock


def release(lock: FileLock) -> None:
    """Give the lock back. Its file stays: taking it away would let two others lock two files of the same name."""
    lock.release()
