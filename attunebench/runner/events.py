"""What the engine tells whoever watches; it never prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from attunebench.protocol.calls import Call, Record
from attunebench.protocol.read import expected_items
from attunebench.results.schema import worth_telling
from attunebench.runner.budget import Budget

Stop = Literal["", "interrupted", "max-cost", "outage", "cancelled"]
"""Why a run ends before its time; "" where it does not."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run is about to do, counted before anything is sent. A job is one conversation in one mode."""

    jobs: int
    complete: int
    calls: int
    order: str  # of the conversations, in words
    spending: Budget = field(default_factory=Budget)  # grows while the run goes on: read it when something is shown
    prompt_tokens: int | None = None  # of all prompts to be sent, estimated
    price: tuple[float, float] | None = None  # USD expected, and at worst; None where no prices are known
    price_source: str = ""  # where the prices come from, in words
    journalled: int = 0  # of `calls`, those whose first reply the journal has
    notes: Sequence[str] = ()  # what else the user should know first (why calls are new, who pays)
    headline: str = ""  # what is about to be done, in words, where it is no run of a model over conversations


@dataclass(slots=True)
class RunSummary:
    """How a run ended; counted while it goes on. Items and `unanswered` are of calls to the evaluated model. `stopped`:
    why it ended before its time; `sample`: what part of the set is done then, and what kind of sample that is."""

    output: Path
    spending: Budget = field(default_factory=Budget)
    jobs: int = 0  # of this shard, where there is one
    complete_before: int = 0
    written: int = 0
    skipped: dict[str, str] = field(default_factory=dict)  # "conversation (mode)" → reason
    votes_owed: int = 0
    calls: int = 0
    reasks: int = 0
    retries: int = 0
    answered_items: int = 0
    expected_items: int = 0
    seconds: float = 0.0
    stopped: Stop = ""
    unreached: int = 0  # jobs that were neither written nor skipped: not begun, or begun and kept in the journal
    sample: str = ""
    adapted: dict[str, str] = field(default_factory=dict)  # what servers did not take: {"temperature": "not accepted"}
    unanswered: Counter[str] = field(default_factory=Counter)  # outcome ("refused", "truncated" …) → calls
    shard: str = ""  # "2/8"; "" for the whole of a run
    whole: tuple[int, int] = (0, 0)  # of a shard: results of the whole run in the folder at its end, and in all
    models: dict[str, dict[str, None]] = field(default_factory=dict)  # model asked → names under which servers answered
    providers: dict[str, dict[str, None]] = field(default_factory=dict)  # model asked → the providers that answered

    @property
    def served(self) -> dict[str, list[str]]:
        """Model asked → the names that answered, where it was another one, several, or by several providers."""
        served = {}
        for model, names in self.models.items():
            providers = [*self.providers.get(model, ())]
            if named := [*worth_telling(model, names), *(providers if len(providers) > 1 else ())]:
                served[model] = named
        return served

    @property
    def cost(self) -> float | None:
        return self.spending.cost

    @property
    def answered_rate(self) -> float | None:
        """Items answered over items expected; None where none was asked."""
        return self.answered_items / self.expected_items if self.expected_items else None

    def add(self, record: Record, model: str) -> None:
        """Count a call to this model that is done."""
        self.calls += 1
        self.reasks += record.reasks
        self.retries += max(0, record.requests - 1 - record.reasks)
        self.adapted.update(record.adapted)
        self.models.setdefault(model, {}).update(dict.fromkeys(record.models))
        self.providers.setdefault(model, {}).update(dict.fromkeys(record.providers))
        if record.call.judge is None:
            expected, missing = len(expected_items(record.call.asked)), len(record.answer.missing)
            self.expected_items += expected
            self.answered_items += expected - missing
            self.unanswered.update([record.answer.outcome] if missing else ())


class Observer:
    """Told of everything that happens, in the engine's own thread: be quick. By itself it does nothing."""

    def started(self, plan: RunPlan) -> None: ...  # before the first call
    def retrying(self, call: Call, reason: str, wait: float) -> None: ...  # the next try follows after `wait` seconds
    def reasking(self, call: Call, missing: int) -> None: ...  # a reply lacked `missing` items
    def answered(self, call: Call, record: Record) -> None: ...  # the call is done, however incomplete its answer
    def written(self, conversation_id: str, mode: str, path: Path) -> None: ...  # a result file is whole on disk
    def skipped(self, conversation_id: str, mode: str, reason: str) -> None: ...  # given up for this run
    def warned(self, message: str) -> None: ...  # something that the user should know once
    def pausing(self, model: str, reason: str, seconds: float) -> None: ...  # nothing is sent to it for so long

    def looked(self, batches: Sequence[Any], seconds: float) -> None:
        """The batches under way (`batches.ledger.Submission`) were checked; the next check is in so many seconds."""

    def pacing(self, model: str, under_way: int, limit: int, ceiling: int) -> None:
        """The number of calls to this model that may be in flight has changed to `limit`."""

    def interrupted(self, under_way: int, grace: float) -> None:
        """Nothing more is sent: so many calls are in flight and get `grace` seconds to finish; 0 ends them now."""
