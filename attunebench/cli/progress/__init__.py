"""Shows a run while it goes, on stderr: a live block on a terminal, plain lines elsewhere, next to nothing with `-q`.

The engine's events are counted by `tally`, at the cost of a few additions; a thread of the board's looks at the counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from attunebench.cli.progress.board import Board
from attunebench.cli.progress.display import Display
from attunebench.cli.progress.stream import EventStream
from attunebench.progress.tally import Tally
from attunebench.runner import RunSettings

__all__ = ["shown"]


@contextmanager
def shown(settings: RunSettings, *, quiet: bool, events: EventStream | None = None) -> Iterator[Tally]:
    """The display that suits where stderr goes, or the stream of events. However the run ends, the terminal is left as
    it was."""
    if events is not None:
        with events.following(settings) as tally:
            yield tally
        return
    board = Board(sys.stderr, quiet=quiet)
    tally = Tally(settings, wake=board.wake)
    display = Display(tally, board)
    with board.ticking(display.tick, display.finish, 0.25 if board.live else 1.0):
        yield tally
