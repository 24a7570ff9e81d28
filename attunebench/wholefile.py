"""Files appear whole or not at all: written beside their place, flushed to disk, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write into; what was written takes the place of `target` when the block ends without an error.

    Until then, and after an error, `target` is as it was. Raises OSError where the folder cannot be written.
    """
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner may read; results are shared.
        Path(beside).chmod(0o644)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
