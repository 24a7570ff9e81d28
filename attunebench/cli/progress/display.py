"""What a run says while it goes: how far it is, what it takes, what it waits for, and what went wrong, in doses."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from attunebench.cli.progress import words
from attunebench.cli.progress.board import Board
from attunebench.cli.progress.tally import Stop, Tally
from attunebench.text import printable

DOSE = 5
"""Skipped conversations that are named in one period; the others of it are told in sum."""
SOONEST, LATEST = 15.0, 60.0
"""Seconds of a period, after which a log gets a line of progress: the first, growing with the run to the second."""
GROWTH = 20
"""A period is the run's own time divided by this."""
PAUSE_WORTH_A_LINE = 5.0
"""Seconds: shorter pauses are not told by themselves in a log."""


class Display:
    """Tells on a board what is new in a tally, each time that it is asked to `tick`; `finish` tells the rest."""

    def __init__(self, tally: Tally, board: Board) -> None:
        self._tally = tally
        self._board = board
        self._opened = False
        self._due = 0.0
        self._named = 0
        self._paused: set[str] = set()
        self._warned: set[str] = set()
        self._stop: Stop | None = None

    def tick(self) -> None:
        """Say what is new, and draw the block."""
        self._tally.sample()
        lines = [*self._warnings()] if self._board.quiet else [*self._opening(), *self._warnings(), *self._skips()]
        if not self._board.live:
            lines += self._log()
        self._board.show(lines, block(self._tally, self._board) if self._board.live else ())

    def finish(self) -> None:
        """Say what is left to say, and take the block away: the closing lines tell how it ended."""
        self.tick()
        self._board.show([] if self._board.quiet else [*self._unnamed()])

    def _opening(self) -> Iterator[str]:
        tally = self._tally
        if tally.plan is not None and not self._opened:
            self._opened, self._due = True, tally.clock() + SOONEST
            yield from words.opening(tally.plan, tally.settings)

    def _warnings(self) -> Iterator[str]:
        while self._tally.warnings:
            warning = printable(self._tally.warnings.popleft())
            if warning not in self._warned:
                self._warned.add(warning)
                yield warning

    def _skips(self) -> Iterator[str]:
        """Skipped conversations, the first ones of a period by name."""
        news = self._tally.skipped_news
        while news and self._named < DOSE:
            self._named += 1
            name, mode, why = news.popleft()
            yield f"skipped {printable(name)} ({mode}): {words.reason(why)}"
        if self._opened and self._tally.clock() >= self._due:
            self._named = 0
            yield from self._unnamed()
            if self._board.live:
                self._next_period()

    def _unnamed(self) -> Iterator[str]:
        if news := self._tally.skipped_news:
            yield f"skipped {len(news):,} more, the last one: {words.reason(news[-1][2])}"
            news.clear()

    def _log(self) -> Iterator[str]:
        """What a block would show: an interruption, long pauses once a period, and how far the run is."""
        tally = self._tally
        if tally.stop is not self._stop:
            self._stop = tally.stop
            yield words.stopping(tally)
        if self._board.quiet or not self._opened:
            return
        now, pauses = tally.clock(), tally.pauses_now()
        for pause in pauses:
            if pause.model not in self._paused and pause.until - now >= PAUSE_WORTH_A_LINE:
                self._paused.add(pause.model)
                yield words.waiting(pause, now)
        if now >= self._due and tally.planned:
            left = tally.left
            parts = [*words.done(tally), *words.taken(tally), *words.troubles(tally), words.duration(tally.elapsed)]
            yield ", ".join([*parts, *([f"about {words.duration(left)} left"] if left is not None else ())])
            self._paused &= {pause.model for pause in pauses}
            self._next_period()

    def _next_period(self) -> None:
        period = min(LATEST, max(SOONEST, self._tally.elapsed / GROWTH))
        self._due = self._tally.clock() + period


def block(tally: Tally, board: Board) -> list[RenderableType]:
    """The block of a run, the most pressing first: a low terminal shows its beginning. Empty without calls."""
    if not tally.planned:
        return []
    left = f" · {words.duration(tally.left)} left" if tally.left is not None else ""
    # Rounded down: 100 % means all of it.
    says = f" {100 * tally.calls // tally.planned:3} % · {words.duration(tally.elapsed)}{left}"
    bar = Table.grid(expand=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True)
    bar.add_row(
        ProgressBar(tally.planned, tally.calls, style="dim", complete_style="green", finished_style="green"),
        board.text(says),
    )
    rows = (words.done(tally), words.taken(tally), words.troubles(tally))
    states = [Text(board.text(state), "yellow") for state in words.states(tally)[:3]]
    return [bar, *states, *(Text(board.text(" · ".join(row))) for row in rows if row)]
