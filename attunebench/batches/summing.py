"""What a run by batches is about to do and what it has done, over all of its rounds. Counts; decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench.runner.estimate import estimate_run
from attunebench.runner.events import Observer, RunPlan, RunSummary, Stop
from attunebench.runner.order import order_words, sample_words
from attunebench.runner.results import now
from attunebench.runner.run import choose
from attunebench.runner.skipped import SkippedFile
from attunebench.runner.totals import Totals, counted

if TYPE_CHECKING:
    from attunebench.backends.prices import Prices
    from attunebench.batches.gathering import GivenUp
    from attunebench.batches.rounds import Round, ToAsk
    from attunebench.batches.till import Till
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.events import Observer
    from attunebench.runner.pricing import KnownPrices
    from attunebench.runner.settings import RunSettings
    from attunebench.runner.task import Task

Pair = tuple[str, str]
"""(conversation id, mode)"""


class Sums(Observer):
    """Adds up a run's rounds. It is the rounds' observer, and passes on to `observer` which results were written."""

    def __init__(
        self, settings: RunSettings, conversations: Sequence[Conversation], till: Till, observer: Observer, task: Task
    ) -> None:
        self.skips: dict[str, str] = {}
        self._settings = settings
        self._conversations = conversations
        self._till = till
        self._observer = observer
        self._task = task
        self._totals = Totals()
        self._unfinished = Totals()
        self._results: set[Pair] = set()
        self._open: set[Pair] = set()
        self._votes = 0
        self._complete = 0
        self._jobs = 0

    def plan(
        self, codebook: Codebook, known: KnownPrices, live: Sequence[Prices | None], notes: Sequence[str]
    ) -> RunPlan:
        """What the run is about to do, at a batch's prices and, beside it, at those of live calls.

        Raises DataError where results of other settings are in the folder.
        """
        settings, estimate = self._settings, estimate_run(self._conversations, self._settings, codebook, self._task)
        self._jobs, self._complete = estimate.jobs + estimate.complete, estimate.complete
        price = estimate.price(known.prices, settings.max_tokens) if estimate.jobs else None
        at_live = estimate.price(live, settings.max_tokens) if estimate.jobs else None
        chosen, of_all = len(choose(self._conversations, settings)), len(self._conversations)
        return RunPlan(
            jobs=self._jobs,
            complete=self._complete,
            calls=estimate.calls,
            order=order_words(chosen, of_all, settings.order_seed),
            spending=self._till.spending,
            prompt_tokens=estimate.counted.prompt_tokens if estimate.jobs else None,
            price=price,
            price_source=known.source,
            notes=[*_live_note(price, at_live), *notes],
        )

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        """A result is on disk; with its judges' votes it may be written once more."""
        self._results.add((conversation_id, mode))
        self._observer.written(conversation_id, mode, path)

    def begin(self) -> None:
        """A round begins: what was open before is looked at anew."""
        self._open.clear()
        self._votes = 0

    def open(self, asks: Sequence[ToAsk]) -> None:
        """These are open in this round."""
        for each in asks:
            if each.open.who:
                self._votes += 1
            else:
                self._open.add((each.open.call.conversation_id, each.open.call.mode))

    def end(self, round_: Round) -> None:
        """All asks of a round were taken."""
        self._totals.join(round_.writing.totals)
        self._unfinished = round_.unfinished

    def skip(self, given_up: Mapping[str, GivenUp], run_again: str) -> None:
        """Note in the results folder what is given up."""
        settings, em = self._settings, self._settings.em
        skipped = SkippedFile(settings.output, em.provider, em.model, self._task.name)
        for each in given_up.values():
            row = each.row
            name = f"{row.conversation_id} ({row.mode})"
            if row.judge is not None or name in self.skips:
                continue
            self.skips[name] = each.reason
            skipped.add(
                row.conversation_id, row.mode, reason=each.reason, tries=each.batches, when=now(), again=run_again
            )
            self._observer.skipped(row.conversation_id, row.mode, each.reason)

    def summary(self, stopped: Stop, seconds: float) -> RunSummary:
        """How the run ended."""
        settings, spending = self._settings, self._till.spending
        totals = Totals()
        totals.join(self._totals)
        totals.join(self._unfinished)
        unreached = len([pair for pair in self._open if f"{pair[0]} ({pair[1]})" not in self.skips])
        spending.replayed = max(0, totals.calls + totals.reasks - self._till.replies)
        done = (self._jobs - unreached - len(self.skips)) // len(settings.modes)
        of_all = len(self._conversations)
        return RunSummary(
            **counted(totals, spending),
            jobs=self._jobs,
            written=len(self._results),
            complete_before=self._complete,
            skipped=self.skips,
            votes_owed=self._votes,
            seconds=seconds,
            interrupted=stopped == "interrupted",
            output=settings.output,
            stopped=stopped,
            unreached=unreached,
            sample=sample_words(done, of_all, settings.order_seed) if stopped and done > 0 else "",
        )


def _live_note(price: tuple[float, float] | None, live: tuple[float, float] | None) -> list[str]:
    if price is None or live is None or price == live:
        return []
    expected, worst = (f"${value:,.2f}" if value >= 0.1 else f"${value:.4f}" for value in live)
    return [f"The same calls made live: about {expected} in all and {worst} at worst."]
