"""How many files this process may have open, and how many calls at once fit under that beside all else.

Where connections use up the descriptors, replies that are paid for cannot be written. So the limit is raised as far as
the system allows, and where that is not enough, fewer calls go out at once.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

RESERVE = 64
"""Descriptors for what is not a connection: files that are being written, name look-ups, second tries to connect."""
_OPEN_AT_FIRST = 32
"""Descriptors that are taken to be open where the system does not tell."""


def calls_that_fit(wanted: int, models: int) -> tuple[int, int]:
    """How many calls may be under way at once to each of so many models, at most `wanted` and at least 1; and the
    limit of open files, which is raised for them where that is allowed (0 where there is none)."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted, 0
    limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return wanted, 0
    taken = _open_now() + RESERVE
    needed = taken + wanted * models
    if limit < needed:
        raised = needed if ceiling == resource.RLIM_INFINITY else min(needed, ceiling)
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, ceiling))
            limit = raised
    return min(wanted, max(1, (limit - taken) // max(1, models))), limit


def _open_now() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return sum(1 for _ in Path(folder).iterdir())
    return _OPEN_AT_FIRST
