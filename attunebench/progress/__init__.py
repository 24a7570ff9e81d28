"""What a run tells while it goes, counted (`tally`) and in words (`words`), and the line by which the library shows it.

The commands have displays of their own, which are drawn from the same counts and words.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attunebench.progress import words
from attunebench.progress.tally import Tally
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call, Record
    from attunebench.runner import RunSettings

__all__ = ["ProgressLine", "shown"]

_WARNINGS = 5
"""So many of the latest warnings stand above the line."""


class ProgressLine(Tally):
    """An observer that keeps a line up to date: an output of a notebook's cell, or lines on stderr."""

    def __init__(self, settings: RunSettings) -> None:
        super().__init__(settings, wake=self.show)
        self._kept: deque[str] = deque(maxlen=_WARNINGS)
        self._handle = _display("")
        self._interval = 15.0 if self._handle is None else 0.5
        self._due = self.clock()

    def answered(self, call: Call, record: Record) -> None:
        super().answered(call, record)
        self._show_when_due()

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        super().retrying(call, reason, wait)
        self._show_when_due()

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        super().pausing(model, reason, seconds)
        self._show_when_due()

    def show(self) -> None:
        """Show where the run is now, and what it warned of."""
        self._due = self.clock() + self._interval
        self.sample()
        fresh = [printable(self.warnings.popleft()) for _ in range(len(self.warnings))]
        self._kept.extend(fresh)
        line = [self._line()] if self.plan is not None else []
        if self._handle is not None:
            self._handle.update({"text/plain": "\n".join([*self._kept, *line])}, raw=True)
        elif fresh or line:
            print(*fresh, *line, sep="\n", file=sys.stderr, flush=True)

    def _show_when_due(self) -> None:
        if self.clock() >= self._due:
            self.show()

    def _line(self) -> str:
        left = [f"about {words.duration(self.left)} left"] if self.left and self.calls < self.planned else []
        facts = (*words.done(self), *words.taken(self), *words.troubles(self), *words.states(self))
        return f"{printable(self.settings.em.model)}: {', '.join([*facts, words.duration(self.elapsed), *left])}"


@contextmanager
def shown(settings: RunSettings) -> Iterator[ProgressLine]:
    """An observer that shows a run; how far it came is shown when it ends, however that is."""
    line = ProgressLine(settings)
    try:
        yield line
    finally:
        line.show()


def _display(text: str) -> Any:
    """The handle of an output in the notebook that runs this; None outside of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return import_module("IPython.display").display({"text/plain": text}, raw=True, display_id=True)
