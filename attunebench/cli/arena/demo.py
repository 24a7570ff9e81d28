"""`attune-bench arena demo`: the whole arena on the bundled conversations, offline."""

from __future__ import annotations


def demo() -> None:
    """Run the whole arena on the bundled conversations. Requires no key and no network."""
