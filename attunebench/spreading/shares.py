"""What each of several workers may take, so that together they never take more than the user gave the run. Pure."""

from __future__ import annotations

from attunebench.runner.settings import RunSettings


def share_of(settings: RunSettings, worker: int, workers: int, money: float | None) -> RunSettings:
    """The settings of one worker (1 to `workers`): its part of concurrency and rates, and what it may spend.

    Calls under way are divided in whole numbers, the first workers having one more, so there are no more workers than
    calls; requests and tokens a minute are divided evenly.
    """
    calls, over = divmod(settings.concurrency, workers)
    return settings.model_copy(
        update={
            "concurrency": calls + (worker <= over),
            "rpm": settings.rpm and settings.rpm / workers,
            "tpm": settings.tpm and settings.tpm / workers,
            "max_cost": money,
        }
    )


class Money:
    """What is left of --max-cost (None for no bound) while workers have parts of it.

    A worker that ends gives back what it has not spent. One that dies gives nothing back: nobody knows what was under
    way, so all that it had counts as spent.
    """

    def __init__(self, max_cost: float | None) -> None:
        self._left = max_cost

    def take(self, of: int) -> float | None:
        """One of `of` equal parts of what is left, in USD."""
        if self._left is None:
            return None
        part = self._left / of
        self._left -= part
        return part

    def give_back(self, part: float | None, spent: float) -> None:
        """The worker that had `part` is done and has spent so much of it."""
        if self._left is not None and part is not None:
            self._left += max(0.0, part - spent)

    @property
    def is_bound(self) -> bool:
        return self._left is not None

    @property
    def some_left(self) -> bool:
        """Whether anybody could still spend something."""
        return self._left is None or self._left > 0.0
