"""Where progress is shown: lines, and on a terminal a block at its foot that is drawn anew. Knows nothing of runs.

A thread of its own draws. So a terminal that is slow or held by Ctrl-S holds up nothing but the picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment
from rich.text import Text

from attunebench.cli.emitting import folded

_WIPE_ROW = (ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))


class _Rows:
    """A block, and how wide each of its rows was when it was drawn last."""

    def __init__(self) -> None:
        self.parts: Sequence[RenderableType] = ()
        self.widths: list[int] = []

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Room for a ^C that the terminal echoes at the end of the last row.
        narrower = options.update(width=max(1, options.max_width - 3), height=None)
        rows = [row for part in self.parts for row in console.render_lines(part, narrower, pad=False)]
        rows = rows[: max(1, console.height - 1)]
        self.widths = [Segment.get_line_length(row) for row in rows]
        for row in rows:
            yield from row
            yield Segment.line()


class Board:
    """Shows on a stream. `live`: it is a terminal that takes a block; else lines bear the time (`quiet`: our name)."""

    def __init__(self, out: TextIO, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._out = out
        self._console = Console(file=out, markup=False, highlight=False, emoji=False)
        able = not (self._console.is_dumb_terminal or self._console.legacy_windows or self._console.is_jupyter)
        self.live = out.isatty() and able and not quiet
        self._rows = _Rows()
        self._block: Live | None = None
        self._woken = threading.Event()

    def wake(self) -> None:
        """Have `ticking` tick at once. Returns at once."""
        self._woken.set()

    def show(self, lines: Sequence[str], block: Sequence[RenderableType] = ()) -> None:
        """Let lines scroll away above the block, and draw it anew; only a live board has one."""
        if not self.live:
            stamp = "attune-bench:" if self.quiet else time.strftime("%H:%M:%S")
            for line in lines:
                print(f"{stamp} {line}", file=self._out, flush=True)
            return
        self._wipe_broken_rows()
        if block and self._block is None:
            self._block = Live(
                self._rows,
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._block.start()
        self._rows.parts = block
        if lines:
            self._console.print(Text("\n".join(folded(line) for line in lines)), soft_wrap=True)
        if self._block is not None:
            self._block.refresh()

    def close(self) -> None:
        """Take the block away and leave the terminal as it was."""
        if self._block is not None:
            self.show(())
            self._block.stop()
            self._block = None

    @contextmanager
    def ticking(self, tick: Callable[[], None], finish: Callable[[], None], interval: float) -> Iterator[None]:
        """Calls `tick` every `interval` seconds and whenever it is woken, and `finish` at the end.

        An output that is gone ends it silently: a display is no reason to disturb what it shows.
        """
        closed = threading.Event()

        def go() -> None:
            while not closed.is_set():
                self._woken.clear()
                try:
                    tick()
                except (OSError, ValueError):
                    return
                self._woken.wait(interval)

        thread = threading.Thread(target=go, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            closed.set()
            self._woken.set()
            thread.join()
            with suppress(OSError, ValueError):
                finish()
                self.close()

    def _wipe_broken_rows(self) -> None:
        """A terminal that was made narrower has broken rows in two: the cursor goes up by those that rich does not know
        of, and wipes them."""
        more = sum(max(0, -(-cells // self._console.width) - 1) for cells in self._rows.widths)
        if self._block is not None and more:
            self._console.control(Control(*_WIPE_ROW * more))
