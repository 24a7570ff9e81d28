"""What a run has done so far, added up call by call. Counts; decides nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attunebench.protocol.read import expected_items
from attunebench.results.served import worth_telling

if TYPE_CHECKING:
    from attunebench.protocol.calls import Record
    from attunebench.runner.spending import Spending


@dataclass(slots=True)
class Totals:
    """What has been done so far."""

    written: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    votes_owed: int = 0
    calls: int = 0
    reasks: int = 0
    retries: int = 0
    answered_items: int = 0
    expected_items: int = 0
    adapted: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, int] = field(default_factory=dict)
    models: dict[str, list[str]] = field(default_factory=dict)
    providers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def served(self) -> dict[str, list[str]]:
        """Model asked → the names that answered, where it was another one, several, or by several providers."""
        named = {model: worth_telling(model, names) for model, names in self.models.items()}
        several = {model: names if len(names) > 1 else [] for model, names in self.providers.items()}
        return {model: [*named[model], *several[model]] for model in named if named[model] or several[model]}

    def join(self, other: Totals) -> None:
        """Count what another part of the run has counted."""
        for name in ("written", "votes_owed", "calls", "reasks", "retries", "answered_items", "expected_items"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.skipped.update(other.skipped)
        self.adapted.update(other.adapted)
        for outcome, count in other.unanswered.items():
            self.unanswered[outcome] = self.unanswered.get(outcome, 0) + count
        for mine, theirs in ((self.models, other.models), (self.providers, other.providers)):
            for model, names in theirs.items():
                _join(mine.setdefault(model, []), names)

    def add(self, record: Record, model: str) -> None:
        """Count a call to this model that has its final answer."""
        self.calls += 1
        self.reasks += record.reasks
        self.retries += max(0, record.requests - 1 - record.reasks)
        self.adapted.update(record.adapted)
        for names, seen in ((record.models, self.models), (record.providers, self.providers)):
            _join(seen.setdefault(model, []), names)
        if record.call.judge is None:
            expected = len(expected_items(record.call.asked))
            self.expected_items += expected
            self.answered_items += expected - len(record.answer.missing)
            if record.answer.missing:
                outcome = record.answer.outcome
                self.unanswered[outcome] = self.unanswered.get(outcome, 0) + 1


def counted(totals: Totals, spending: Spending) -> dict[str, Any]:
    """The fields of a `RunSummary` that are the same sums whoever made the calls."""
    return {
        "calls": totals.calls,
        "reasks": totals.reasks,
        "retries": totals.retries,
        "answered_items": totals.answered_items,
        "expected_items": totals.expected_items,
        "prompt_tokens": spending.usage.prompt_tokens,
        "completion_tokens": spending.usage.completion_tokens,
        "cost": spending.cost,
        "spending": spending,
        "adapted": totals.adapted,
        "unanswered": totals.unanswered,
        "served": totals.served,
    }


def _join(known: list[str], names: Iterable[str]) -> None:
    known += [name for name in names if name not in known]
