"""Shows a run while it goes, on stderr: a live block on a terminal, plain lines elsewhere, next to nothing with `-q`.

The engine's events are counted by `tally`; a thread of our own looks at the counts now and then and draws. So an event
costs the engine a few additions, and a terminal that is slow or held by Ctrl-S holds up nothing but the picture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from attunebench.cli.progress.live import Live
from attunebench.cli.progress.plain import Plain, Quiet
from attunebench.cli.progress.screen import Screen
from attunebench.cli.progress.tally import Tally
from attunebench.cli.progress.ticker import Ticker
from attunebench.runner import Observer, RunSettings

__all__ = ["shown"]


@contextmanager
def shown(settings: RunSettings, *, quiet: bool) -> Iterator[Observer]:
    """The display that suits where stderr goes. However the run ends, the terminal is left as it was."""
    tally = Tally(settings)
    display = _display(tally, quiet)
    ticker = Ticker(display.tick, display.interval)
    tally.wake = ticker.wake
    try:
        yield tally
    finally:
        ticker.close()
        display.close()


def _display(tally: Tally, quiet: bool) -> Quiet | Plain | Live:
    if quiet:
        return Quiet(tally, sys.stderr)
    screen = Screen.of(sys.stderr)
    return Plain(tally, sys.stderr) if screen is None else Live(tally, screen)
