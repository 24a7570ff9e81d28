"""The keys that tests use, and the search for what is left of them: no key may be in any file that a test run writes.

They are put together from parts, so that no scanner of secrets takes them for real ones.
"""

from __future__ import annotations

from pathlib import Path

KEY = "-".join(("sk", "test-4f9c2b7d81e05a63"))
OPENROUTER_KEY = "-".join(("sk", "or-v1-7be0c4d19a52f368"))
TELLING = tuple(key[-12:].encode() for key in (KEY, OPENROUTER_KEY))
"""A part of each key that stands for all of it."""


def files_with_a_key(folder: Path) -> list[str]:
    """The files below the folder that hold a part of a key, but for stand-ins of a provider's own settings file."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and ".prime" not in path.parts and _has_key(path)
    )


def _has_key(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except PermissionError:  # a test has closed it
        return False
    return any(part in content for part in TELLING)
