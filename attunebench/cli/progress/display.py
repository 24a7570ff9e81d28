"""What a run says while it goes: how far it is, what it takes, what it waits for, and what went wrong, in doses."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from attunebench.cli.progress.board import Board
from attunebench.progress import words
from attunebench.progress.tally import Stop, Tally
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
        tally, board = self._tally, self._board
        tally.sample()
        lines = [*self._warnings()] if board.quiet else [*self._opening(), *self._warnings()]
        over = self._opened and tally.clock() >= self._due
        if not board.quiet:
            lines += self._skips(over)
        if not board.live and tally.stop is not self._stop:
            self._stop = tally.stop
            lines.append(words.stopping(tally))
        if not (board.live or board.quiet) and self._opened:
            lines += self._log(over)
        if over:
            self._due = tally.clock() + min(LATEST, max(SOONEST, tally.elapsed / GROWTH))
        board.show(lines, self._block() if board.live else ())

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

    def _skips(self, over: bool) -> Iterator[str]:
        """Skipped conversations, the first ones of a period by name."""
        news = self._tally.skipped_news
        while news and self._named < DOSE:
            self._named += 1
            name, mode, why = news.popleft()
            yield f"skipped {printable(name)} ({mode}): {words.reason(why)}"
        if over:
            self._named = 0
            yield from self._unnamed()

    def _unnamed(self) -> Iterator[str]:
        if news := self._tally.skipped_news:
            yield f"skipped {len(news):,} more, the last one: {words.reason(news[-1][2])}"
            news.clear()

    def _pauses(self, over: bool) -> Iterator[str]:
        """Long pauses, once a period."""
        now, pauses = self._tally.clock(), self._tally.pauses_now()
        for pause in pauses:
            if pause.model not in self._paused and pause.until - now >= PAUSE_WORTH_A_LINE:
                self._paused.add(pause.model)
                yield words.waiting(pause, now)
        if over:
            self._paused &= {pause.model for pause in pauses}

    def _log(self, over: bool) -> Iterator[str]:
        """What a block would show: long pauses, and at the end of a period how far the run is."""
        tally = self._tally
        yield from self._pauses(over)
        if over and tally.planned:
            left = [f"about {words.duration(tally.left)} left"] if tally.left is not None else []
            facts = (*words.done(tally), *words.taken(tally), *words.troubles(tally))
            yield ", ".join([*facts, words.duration(tally.elapsed), *left])

    def _block(self) -> list[RenderableType]:
        """The most pressing first: a low terminal shows its beginning. Empty without calls."""
        tally = self._tally
        if not tally.planned:
            return []
        left = f" | {words.duration(tally.left)} left" if tally.left is not None else ""
        bar = Table.grid(expand=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True)
        bar.add_row(
            ProgressBar(tally.planned, tally.calls, style="dim", complete_style="green", finished_style="green"),
            # Rounded down: 100 % means all of it.
            f" {100 * tally.calls // tally.planned:3} % | {words.duration(tally.elapsed)}{left}",
        )
        states = [Text(state, "yellow") for state in words.states(tally)[:3]]
        rows = (words.done(tally), words.taken(tally), words.troubles(tally))
        return [bar, *states, *(Text(" | ".join(row)) for row in rows if row)]
