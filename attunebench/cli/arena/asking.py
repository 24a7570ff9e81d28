"""`attune-bench arena respond` and `arena judge`: models reply to histories, judges compare replies."""

from __future__ import annotations


def respond() -> None:
    """Have a model reply to every history."""


def judge() -> None:
    """Have judges compare the replies of every pair."""
