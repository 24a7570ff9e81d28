"""One conversation in one mode whose calls somebody else makes: what can be asked now, and what came of it.

The engine asks as it goes; a batch file, a service or another framework asks in waves. Both follow the rules of
`replay`, and a judge's call waits for its draft in both. Pure: it looks up what is known and knows no file or network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attunebench.protocol.plan import with_draft
from attunebench.runner.replay import Ask, Fold

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call
    from attunebench.runner.engine import Job

Known = Callable[["Call", Ask], "Entry | None"]
"""What came back for an ask, as far as anybody knows: `Journal.find` behind a hash, say."""


@dataclass(frozen=True, slots=True)
class Open:
    """An ask that can be put to a model now. `call` is complete: a judge's has its draft in it."""

    call: Call
    ask: Ask

    @property
    def who(self) -> int:
        """0 for the evaluated model; judges count from 1."""
        return 0 if self.call.judge is None else self.call.judge + 1


class Walk:
    """Walks through a job. Calls that are done have their record in `job.records`.

    `known` gives replies that are there already, and is asked for each ask in turn. With `again` a call whose answer is
    final and incomplete is asked once more (`--retry-unanswered`).
    """

    def __init__(
        self,
        job: Job,
        codebook: Codebook,
        *,
        max_tokens: int,
        max_reasks: int,
        known: Known | None = None,
        again: bool = False,
    ) -> None:
        self.job = job
        self._codebook = codebook
        self._limits = {"max_tokens": max_tokens, "max_reasks": max_reasks}
        self._known = known
        self._again = again
        self._folds: dict[str, Fold] = {}
        self._open: dict[str, Open] = {}
        self._waiting: dict[str, list[Call]] = {}
        for call in job.calls:
            if call.needs is None:
                self._begin(call)
            elif (draft := job.drafts.get(call.turn)) is not None:
                self._begin(with_draft(call, draft))
            else:
                self._waiting.setdefault(call.needs, []).append(call)
        # A draft may be planned behind its judges, and may be known already.
        for record in tuple(job.records.values()):
            self._release(record.call)

    @property
    def open(self) -> tuple[Open, ...]:
        """What can be asked now, in the order of the plan."""
        return tuple(self._open.values())

    @property
    def waiting(self) -> tuple[Call, ...]:
        """Judges' calls whose draft is not there yet."""
        return tuple(call for calls in self._waiting.values() for call in calls)

    @property
    def answered(self) -> bool:
        """Whether every call to the evaluated model is done: a result can be made, whatever judges still owe."""
        return not any(each.who == 0 for each in self._open.values())

    @property
    def done(self) -> bool:
        """Whether every call is done."""
        return not self._open and not self._waiting

    def add(self, entry: Entry) -> None:
        """Take what came back for the open ask of the call `entry.call_id`. Raises KeyError where none is open."""
        asked = self._open.pop(entry.call_id)
        self._folds[asked.call.id].add(entry)
        self._again = False
        self._go_on(asked.call)

    def _begin(self, call: Call) -> None:
        self._folds[call.id] = Fold(call, self._codebook, **self._limits)
        self._go_on(call)

    def _go_on(self, call: Call) -> None:
        """Take what is known of the call; then it is open or done."""
        fold = self._folds[call.id]
        while True:
            ask = fold.next()
            if ask is None and fold.complete:
                break
            done, ask = ask is None, ask or fold.once_more()
            entry = self._known(call, ask) if self._known is not None else None
            if entry is not None:
                fold.add(entry)
                continue
            if done and not self._again:
                break
            self._open[call.id] = Open(call, ask)
            return
        self.job.records[call.id] = fold.record()
        self._release(call)

    def _release(self, call: Call) -> None:
        """A draft frees its judges; no draft, nothing to judge."""
        if call.kind != "draft":
            return
        draft = self.job.records[call.id].answer.values.get("drafted_response")
        for judge_call in self._waiting.pop(call.id, ()):
            if draft is not None:
                self._begin(with_draft(judge_call, draft))
