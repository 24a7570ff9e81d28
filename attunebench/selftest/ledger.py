"""What the self-test and its server tell each other: what comes next, and the book of what was asked and answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Next:
    """What comes next, as `/selftest/phase` is told it.

    After `after` answers the process `pid` gets the `event`, or (`state`) the money has ended; `dead` is the key of
    the call that a dead server refuses.
    """

    event: str = ""
    state: str = ""
    after: int = 0
    pid: int = 0
    dead: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One request: of which call it is, how often it came, and how often its answer went out whole."""

    call: str
    asked: int
    whole: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """The server's book: request key → page, and the faults that were handed out."""

    pages: Mapping[str, Page] = field(default_factory=dict)
    faults: int = 0
