"""What the displays say, with a clock of the test's own and no terminal: any size, any storm."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from terminal import Terminal

from attunebench.cli.progress.board import Board
from attunebench.cli.progress.display import Display
from attunebench.progress.tally import Tally
from attunebench.protocol.calls import Answer, Asked, Call, Record, Usage
from attunebench.runner import ModelSettings, RunPlan, RunSettings
from attunebench.runner.budget import Budget

CALL = Call("c/default/1/draft", "c", "default", 1, "draft", (), Asked("draft"), {})
RECORD = Record(CALL, Answer({}, (), "answered"))
USAGE = Usage(1000, 600, 100, 20)
SETTINGS = RunSettings(em=ModelSettings(provider="openrouter", model="m"), concurrency=16)


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Run:
    """A tally with its clock, and a run of 1,000 calls in 40 conversations begun."""

    def __init__(self, settings: RunSettings = SETTINGS, **plan: Any) -> None:
        self.clock = Clock()
        self.tally = Tally(settings, self.clock, wake=lambda: None)
        self.spending = Budget()
        facts = {"jobs": 42, "complete": 2, "calls": 1000, "order": "in file order", "spending": self.spending}
        self.tally.started(RunPlan(**{**facts, **plan}))

    def answer(self, count: int, *, every: float = 0.0, cost: float | None = 0.01, judge: bool = False) -> None:
        """So many calls are answered, one each `every` seconds."""
        for _ in range(count):
            (self.spending.judges if judge else self.spending.model).add(USAGE, cost)
            self.tally.answered(CALL, RECORD)
            self.clock.now += every
            self.tally.sample()


class Screen(io.StringIO):
    """A terminal's stream."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def rows(self, width: int) -> list[str]:
        """What stands on a terminal of that width."""
        return Terminal(width).feed(self.getvalue()).rows


@contextmanager
def sized(width: int, height: int) -> Iterator[None]:
    """Every terminal has this size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setattr(Console, "size", property(lambda _: ConsoleDimensions(width, height)))
        yield


def shown(run: Run, width: int = 80, height: int = 24) -> list[str]:
    """The block as text."""
    run.tally.warned("above")
    out = Screen()
    with sized(width, height):
        Display(run.tally, Board(out)).tick()
    rows = out.rows(width)
    return rows[rows.index("above") + 1 :]


def test_a_block_tells_how_far_the_run_is_what_it_takes_and_what_goes_wrong() -> None:
    run = Run()
    run.answer(250, every=0.5)
    run.answer(250, judge=True)
    run.spending.wasted.add(USAGE, 0.02)
    run.tally.written("c", "default", Path("x"))
    run.tally.pacing("m", 5, 9, 16)
    run.tally.retrying(CALL, "503 overloaded.", 2.0)
    run.tally.reasking(CALL, 3)
    bar, done, taken, trouble = shown(run, 200)
    assert "50 % | 2 min | " in bar
    assert done.startswith("500/1,000 calls | 1/40 results | ")
    assert done.endswith("calls/s | 9 of 16 at once")
    tokens, money = taken.split(" | $5.00")
    assert "500.0k tokens in (60% cached) | 50.0k tokens out (20% reasoning)" == tokens
    assert " of about $10.00 | model $2.50 | judges $2.50 | wasted $0.0200" == money
    assert "1 retry | 1 re-prompt | last: 503 overloaded" == trouble


def test_the_time_left_follows_the_rate_of_late() -> None:
    run = Run()
    run.answer(200, every=0.1)
    run.clock.now += 100
    run.tally.sample()
    run.answer(200, every=1.0)
    assert 1.0 == pytest.approx(run.tally.rate, rel=0.05)
    assert 600 == pytest.approx(run.tally.left, rel=0.05)


def test_answers_from_the_journal_count_as_done_and_in_no_rate_and_no_cost() -> None:
    run = Run(journalled=400)
    run.spending.replayed = 400
    for _ in range(400):
        run.tally.answered(CALL, RECORD)
    assert (None, None) == (run.tally.rate, run.tally.left)
    run.answer(100, every=1.0, cost=0.01)
    assert 500 == pytest.approx(run.tally.left, rel=0.05)
    assert 6.0 == pytest.approx(run.tally.projected)


def test_before_there_are_enough_answers_the_estimate_is_the_projection() -> None:
    run = Run(price=(3.0, 9.0))
    run.answer(5, cost=1.0)
    assert 3.0 == run.tally.projected
    run.answer(95, cost=1.0)
    assert 1000.0 == pytest.approx(run.tally.projected)


@pytest.mark.parametrize(("cost", "says"), [(None, "cost unknown"), (0.0, "$0.00 of about $0.00")])
def test_unknown_is_not_free(cost: float | None, says: str) -> None:
    run = Run()
    run.answer(50, cost=cost)
    assert any(says in row for row in shown(run, 120))


def test_a_pause_counts_down_and_ends() -> None:
    run = Run()
    run.tally.pausing("m", "the server accepts no more requests for now", 30.0)
    run.clock.now += 2
    assert "waiting 28 s for m: the server accepts no more requests for now" == shown(run)[1]
    run.clock.now += 28
    assert not any("waiting" in row for row in shown(run))


def test_an_interruption_says_how_many_calls_are_under_way_and_how_long_they_get() -> None:
    run = Run()
    run.tally.interrupted(7, 10.0)
    run.answer(2, every=1.5)
    assert "5 calls in flight have 7 s" in shown(run)[1]
    run.tally.interrupted(5, 0.0)
    assert "Exiting now" in shown(run)[1]


@given(
    width=st.integers(4, 220),
    height=st.integers(2, 60),
    model=st.text(max_size=60),
    calls=st.integers(0, 1000),
    reason=st.text(max_size=300),
)
def test_a_block_fits_any_terminal_whatever_it_says(
    width: int, height: int, model: str, calls: int, reason: str
) -> None:
    run = Run(RunSettings(em=ModelSettings(provider="p", model=model), concurrency=16), headline="-")
    run.answer(calls)
    run.tally.pausing(model, reason, 30.0)
    run.tally.retrying(CALL, reason, 1.0)
    run.tally.interrupted(7, 10.0)
    out = Screen()
    with sized(width, height):
        Display(run.tally, Board(out)).tick()
    rows = out.rows(width)[1:]
    assert len(rows) < height
    assert all(cell_len(row) < width for row in rows)


def test_what_scrolls_away_stands_above_the_block_and_the_block_goes_without_a_trace() -> None:
    run, out = Run(), Screen()
    with sized(80, 24):
        display = Display(run.tally, board := Board(out))
        display.tick()
        run.tally.warned("first")
        run.answer(100)
        display.tick()
        rows = out.rows(80)
        assert rows.index("first") < next(index for index, row in enumerate(rows) if "100/1,000" in row)
        run.tally.warned("second")
        display.finish()
        board.close()
    terminal = Terminal(80).feed(out.getvalue())
    assert ["first", "second"] == terminal.rows[-2:]
    assert terminal.cursor_shown


def test_a_terminal_that_is_made_narrower_keeps_no_row_of_an_earlier_block() -> None:
    run, out = Run(headline="-"), Screen()
    run.answer(500, every=0.05)
    with sized(100, 24):
        display = Display(run.tally, board := Board(out))
        display.tick()
    # A terminal breaks the rows that stand there, and leaves the cursor behind the last one.
    broken = [row[start : start + 50] for row in out.rows(100) for start in range(0, len(row), 50)]
    out.seek(0)
    out.truncate()
    out.write("\n".join(broken))
    with sized(50, 24):
        run.answer(1)
        display.tick()
        assert 1 == sum("━" in row for row in out.rows(50))
        assert 1 == sum("calls" in row and "1,000" in row for row in out.rows(50))
        display.finish()
        board.close()
    assert ["-"] == out.rows(50)


def log(run: Run, *, quiet: bool = False) -> tuple[Display, io.StringIO]:
    """A display in plain lines, and where it writes."""
    out = io.StringIO()
    return Display(run.tally, Board(out, quiet=quiet)), out


def said(out: io.StringIO) -> list[str]:
    """The lines without their times."""
    return [line[9:] for line in out.getvalue().splitlines()]


def test_a_storm_of_retries_is_one_line_a_period() -> None:
    run = Run()
    display, out = log(run)
    display.tick()
    for number in range(10_000):
        run.tally.retrying(CALL, f"slow down, request req_{number}", 1.0)
    for _ in range(15):
        run.clock.now += 1
        display.tick()
    _, line = said(out)
    assert "10,000 retries, last: slow down, request req_9999" in line


def test_progress_lines_come_seldomer_in_a_long_run() -> None:
    run = Run()
    display, out = log(run)
    for _ in range(3 * 3600):
        run.clock.now += 1
        display.tick()
    assert 150 < sum("/1,000 calls" in line for line in said(out)) < 250


def test_a_progress_line_has_what_the_block_has() -> None:
    run = Run()
    display, out = log(run)
    display.tick()
    run.answer(500, every=0.05)
    display.tick()
    expected = (
        "500/1,000 calls, 0/40 results, 20.0 calls/s, 16 at once, 500.0k tokens in (60% cached), 50.0k tokens out (20% "
        "reasoning), $5.00 of about $10.00, 25 s, about 25 s left"
    )
    assert expected == said(out)[-1]


def test_a_thousand_skipped_conversations_are_a_few_lines() -> None:
    run = Run()
    display, out = log(run)
    for number in range(1000):
        run.tally.skipped(f"c{number}", "default", "draft: 503.")
    display.tick()
    display.finish()
    lines = said(out)
    assert 5 == sum(line.startswith("skipped c") for line in lines)
    assert "skipped 995 more, the last one: draft: 503" == lines[-1]


def test_a_pause_and_an_interruption_are_told_once_and_at_once() -> None:
    run = Run()
    display, out = log(run)
    run.tally.pausing("m", "busy", 30.0)
    run.tally.pausing("m", "busy", 31.0)
    run.tally.interrupted(7, 10.0)
    for _ in range(3):
        display.tick()
    _, stop, pause = said(out)
    assert "7 calls in flight have 10 s" in stop
    assert "waiting 31 s for m: busy" == pause


def test_the_opening_tells_what_it_will_take() -> None:
    run = Run(
        prompt_tokens=1_240_000, price=(3.1, 9.8), price_source="listed by openrouter", journalled=120, notes=["Note."]
    )
    display, out = log(run)
    display.tick()
    opening, journalled, price, note = said(out)
    assert "40 results pending (in file order), 2 complete, 1,000 calls, into results" in opening
    assert "120 of the calls" in journalled
    assert "About 1.24M prompt tokens, about $3.10 in all and $9.80 at worst (listed by openrouter)." == price
    assert "Note." == note


def test_quiet_says_warnings_and_interruptions_only() -> None:
    run = Run()
    display, out = log(run, quiet=True)
    run.tally.warned("A judge is given up.")
    run.tally.skipped("c", "default", "503")
    run.tally.interrupted(1, 10.0)
    display.tick()
    display.finish()
    warning, stop = out.getvalue().splitlines()
    assert "attune-bench: A judge is given up." == warning
    assert "1 call in flight has 10 s" in stop


def test_a_display_whose_stream_is_gone_disturbs_nobody() -> None:
    ticked = threading.Event()

    def gone() -> None:
        ticked.set()
        raise OSError("the terminal is gone")

    with Board(io.StringIO()).ticking(gone, lambda: None, 0.01):
        assert ticked.wait(60)


def test_a_board_ticks_as_soon_as_it_is_woken() -> None:
    ticked = threading.Event()
    board = Board(io.StringIO())
    with board.ticking(ticked.set, lambda: None, 3600.0):
        for _ in range(2):
            board.wake()
            assert ticked.wait(60)
            ticked.clear()
