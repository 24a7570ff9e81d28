"""A run on a terminal: a block that tells how far it is, what it takes and what it waits for, at any width.

Knows what is shown and what gives way where there is little room; not how a cursor is moved.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from attunebench.cli.progress import words
from attunebench.cli.progress.news import News
from attunebench.cli.progress.screen import Line, Screen
from attunebench.cli.progress.tally import Tally

WIDEST_BAR = 60
NARROW = 60
"""Columns below which a line of the block may take three rows in place of two."""
ROOM_FOR_REASON = 24
"""Columns: in less than these the beginning of a reason says nothing."""
_BETWEEN = " · "


class Live:
    """Draws a tally at the foot of a screen, five times a second at most."""

    interval = 0.2

    def __init__(self, tally: Tally, screen: Screen) -> None:
        self._tally = tally
        self._screen = screen
        self._news = News(tally)
        self._opened = False

    def tick(self) -> None:
        """Draw."""
        self._tally.sample()
        above: list[str] = []
        if self._tally.plan is not None and not self._opened:
            self._opened = True
            above += words.opening(self._tally.plan, self._tally.settings)
        above += self._news.lines()
        self._screen.show(above, layout(self._tally, *self._screen.size))

    def close(self) -> None:
        """Say what is left to say, and take the block away: the closing lines tell how it ended."""
        self.tick()
        self._screen.show(self._news.rest(), ())


def layout(tally: Tally, width: int, height: int) -> list[Line]:
    """The block of a run, each line in `width` columns and no more than `height` of them; empty without calls.

    Where the rows do not suffice, troubles go first and tokens and money next; the bar and what the run waits for stay.
    """
    if tally.plan is None or not tally.planned:
        return []
    most = 3 if width < NARROW else 2
    spending = tally.plan.spending
    taken = [*words.tokens(spending.usage), words.money(tally), *words.split(spending)]
    last = f"last: {words.reason(tally.last_reason)}" if tally.last_reason else ""
    waits = [row for state in words.states(tally)[:3] for row in textwrap.wrap(state, width, subsequent_indent="  ")]
    done = _flow(_done(tally), width, most)
    costs = _flow(taken, width, most)
    trouble = _flow(words.troubles(tally), width, most, optional=last)
    room = height - 1 - len(waits)
    kept = _that_fit([done, costs, trouble], room)
    lines: list[Line] = [_bar(tally, width), *(((row, ""),) for row in kept), *(((row, "warn"),) for row in waits)]
    return lines[: max(1, height)]


def _done(tally: Tally) -> list[str]:
    plan, rate = tally.plan, tally.rate
    assert plan is not None
    return [
        f"{tally.calls:,}/{tally.planned:,} calls",
        f"{tally.results:,}/{plan.jobs - plan.complete:,} results",
        words.rate(rate) if rate else "",
        *words.pace(tally),
    ]


def _bar(tally: Tally, width: int) -> Line:
    """The bar, how much of the calls is done and how long the others will take."""
    share = min(1.0, tally.calls / tally.planned)
    left = tally.left
    # Rounded down: 100 % means all of it.
    says = f" {int(share * 100):3} %" + (f"{_BETWEEN}{words.duration(left)} left" if left is not None else "")
    room = min(WIDEST_BAR, width - cell_len(says))
    done = int(share * room)
    return (("━" * done, "good"), ("─" * (room - done), "dim"), (says, ""))


def _that_fit(blocks: Sequence[list[str]], room: int) -> list[str]:
    """The rows of the first blocks, as many blocks as fit into so many rows whole."""
    kept: list[str] = []
    for block in blocks:
        if len(kept) + len(block) > room:
            break
        kept += block
    return kept


def _flow(fragments: Sequence[str], width: int, most: int, *, optional: str = "") -> list[str]:
    """Fragments side by side in at most so many rows, broken between them; the optional one as far as there is room."""
    rows: list[str] = []
    for fragment in filter(None, fragments):
        longer = f"{rows[-1]}{_BETWEEN}{fragment}" if rows else fragment
        if not rows or cell_len(longer) > width:
            rows.append(fragment)
        else:
            rows[-1] = longer
    rows = rows[:most]
    room = width - cell_len(f"{rows[-1]}{_BETWEEN}") if rows else 0
    if rows and optional and room >= min(ROOM_FOR_REASON, cell_len(optional)):
        cut = optional if cell_len(optional) <= room else f"{set_cell_size(optional, room - 1).rstrip()}…"
        rows[-1] = f"{rows[-1]}{_BETWEEN}{cut}"
    return rows
