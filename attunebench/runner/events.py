"""What the engine tells whoever watches. It reports and never prints; a display is somebody else's file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call, Record


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run is about to do, counted before anything is sent. A job is one conversation in one mode."""

    jobs: int
    complete: int
    calls: int
    order: str
    """How the conversations are ordered, in words."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended. `skipped` maps "conversation (mode)" to the reason."""

    jobs: int
    written: int
    complete_before: int
    skipped: dict[str, str]
    votes_owed: int
    calls: int
    reasks: int
    retries: int
    answered_items: int
    expected_items: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float
    interrupted: bool
    output: Path

    @property
    def answered_rate(self) -> float | None:
        """Items answered over items expected in this run's calls to the evaluated model; None where none was asked."""
        return self.answered_items / self.expected_items if self.expected_items else None


class Observer(Protocol):
    """Told of everything that happens, in the engine's own thread: be quick."""

    def started(self, plan: RunPlan) -> None:
        """Before the first call."""

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        """A try failed for a transient reason; the next one follows after `wait` seconds."""

    def reasking(self, call: Call, missing: int) -> None:
        """A reply lacked `missing` items and is asked for again."""

    def answered(self, call: Call, record: Record) -> None:
        """A call has its final answer, however incomplete."""

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        """A result file is whole on disk."""

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        """A conversation is given up for this run; a later run asks again."""

    def warned(self, message: str) -> None:
        """Something that the user should know once."""

    def finished(self, summary: RunSummary) -> None:
        """After the last call."""


class Silent:
    """The observer of those who do not watch."""

    def started(self, plan: RunPlan) -> None: ...
    def retrying(self, call: Call, reason: str, wait: float) -> None: ...
    def reasking(self, call: Call, missing: int) -> None: ...
    def answered(self, call: Call, record: Record) -> None: ...
    def written(self, conversation_id: str, mode: str, path: Path) -> None: ...
    def skipped(self, conversation_id: str, mode: str, reason: str) -> None: ...
    def warned(self, message: str) -> None: ...
    def finished(self, summary: RunSummary) -> None: ...
