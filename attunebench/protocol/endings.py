"""Why a reply ended, by meaning: servers spell it in many ways, and some say "stop" of a reply that was cut.

The one place that reads finish reasons, for every way on which replies come in."""

from __future__ import annotations

import re

LENGTH, FILTERED = "length", "content_filter"
TOO_LONG = "longer than any answer"
"""The finish reason that is kept with a text of which only the beginning was kept."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_CUT = frozenset(
    ("length", "truncated", "truncation", "incomplete", "cutoff", "maxlen", "maxlength", "maxtokens", "limit")
)
_WHOLE_LIMITS = frozenset(("max", "limit", "exceeded", "reached"))
_OF_A_LIMIT = frozenset(("token", "tokens", "length", "output", "completion", "context", "window", "len"))
_OTHER_LIMITS = frozenset(("rate", "quota", "usage", "content", "policy", "safety", "time"))
_BROKEN = ("error", "abort", "cancel", "interrupt", "fail", "network", "insufficient", "overload", "timeout", "timed")
"""Beginnings of the words by which services say that they broke off: the reply is a part of what was to come."""
_FILTERS = (
    "filter", "safety", "unsafe", "sensitive", "prohibit", "blocklist", "blocked", "block", "recitation", "spii",
    "refus", "guardrail", "policy", "policies", "moderat", "censor", "harm", "violat", "flagged", "copyright",
    "inappropriate", "inspection", "declined", "jailbreak", "disallowed", "forbidden", "banned", "csam", "pii",
    "toxic", "nsfw", "abus", "risk", "sexual", "violen",
)  # fmt: skip
"""Beginnings of the words by which services say that they held a reply back."""


def canonical(reason: str | None) -> str | None:
    """`LENGTH` or `FILTERED` where a finish reason means it, else the reason as it is."""
    if not reason or reason == "stop":
        return reason
    words = _words(reason)
    if any(word.startswith(_FILTERS) for word in words):
        return FILTERED
    known = set(words)
    cut = not _CUT.isdisjoint(known) or (not _WHOLE_LIMITS.isdisjoint(known) and not _OF_A_LIMIT.isdisjoint(known))
    return LENGTH if cut and _OTHER_LIMITS.isdisjoint(known) else reason


def is_broken(reason: str | None) -> bool:
    """Whether a finish reason means that the server broke off, for reasons of its own."""
    return canonical(reason) == reason and any(word.startswith(_BROKEN) for word in _words(reason or ""))


def _words(reason: str) -> list[str]:
    return [word for word in _NOT_A_WORD.split(_CAMEL.sub("_", reason).lower()) if word]


def fills_limit(completion: int | None, reasoning: int | None, limit: int | None) -> bool:
    """Whether a reply is as long as it was allowed to be, in tokens.

    Where the limit turns out not to count the reasoning tokens among the completion's, what is left of them decides.
    """
    if completion is None or not limit:
        return False
    return completion == limit or completion - (reasoning or 0) >= limit
