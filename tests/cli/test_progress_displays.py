"""What the displays say, with a clock of the test's own and no terminal: any size, any storm."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from terminal import Terminal

from attunebench.cli.progress.live import Live, layout
from attunebench.cli.progress.plain import Plain, Quiet
from attunebench.cli.progress.screen import Screen
from attunebench.cli.progress.tally import Tally
from attunebench.cli.progress.ticker import Ticker
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
        self.tally = Tally(settings, self.clock)
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


def shown(run: Run, width: int = 79, height: int = 23) -> list[str]:
    """The block as text."""
    return ["".join(text for text, _ in line) for line in layout(run.tally, width, height)]


def test_a_block_tells_how_far_the_run_is_what_it_takes_and_what_goes_wrong() -> None:
    run = Run()
    run.answer(250, every=0.5)
    run.answer(250, judge=True)
    run.spending.wasted.add(USAGE, 0.02)
    run.tally.written("c", "default", Path("x"))
    run.tally.pacing("m", 5, 9, 16)
    run.tally.retrying(CALL, "503 overloaded.", 2.0)
    run.tally.reasking(CALL, 3)
    bar, done, taken, money, trouble = shown(run)
    assert "50 %" in bar
    assert done.startswith("500/1,000 calls · 1/40 results · ")
    assert done.endswith("calls/s · 9 of 16 at once")
    assert "500.0k tokens in (60% cached) · 50.0k tokens out (20% reasoning)" == taken
    assert "$5.00 of about $10.00 · model $2.50 · judges $2.50 · wasted $0.0200" == money
    assert "1 retry · 1 reask · last: 503 overloaded" == trouble


def test_on_a_wide_terminal_the_block_is_shorter() -> None:
    run = Run()
    run.answer(250)
    assert len(shown(run, 199)) < len(shown(run, 39))


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
    assert any(says in row for row in shown(run))


def test_a_pause_counts_down_and_ends() -> None:
    run = Run()
    run.tally.pausing("m", "the server takes no more requests for now", 30.0)
    run.clock.now += 2
    assert "waiting 28 s for m: the server takes no more requests for now" == shown(run)[-1]
    run.clock.now += 28
    assert not any("waiting" in row for row in shown(run))


def test_an_interruption_says_what_happens_and_counts_what_is_under_way() -> None:
    run = Run()
    run.tally.interrupted(7, 10.0)
    run.answer(2, every=1.5)
    expected = "Stopping: sending nothing more; 5 calls under way get 7 s. Ctrl-C again leaves at once."
    assert expected == " ".join(row.strip() for row in shown(run)[-2:])
    run.tally.interrupted(5, 0.0)
    assert "Leaving at once; every finished call is kept." == shown(run)[-1]


@given(
    width=st.integers(1, 220),
    height=st.integers(1, 60),
    model=st.text(max_size=60),
    calls=st.integers(0, 1000),
    reason=st.text(max_size=300),
)
def test_a_block_fits_any_terminal_whatever_it_says(
    width: int, height: int, model: str, calls: int, reason: str
) -> None:
    run = Run(RunSettings(em=ModelSettings(provider="p", model=model), concurrency=16))
    run.answer(calls)
    run.tally.pausing(model, reason, 30.0)
    run.tally.retrying(CALL, reason, 1.0)
    run.tally.interrupted(7, 10.0)
    screen = Terminal(width + 1)
    out = Stream()
    Screen(out, lambda: (width + 1, height + 1), colour=True).show((), layout(run.tally, width, height))
    rows = screen.feed(out.getvalue()).rows
    assert len(rows) <= height
    assert all(cell_len(row) <= width for row in rows)


class Stream(io.StringIO):
    """A terminal's stream."""

    encoding = "utf-8"


def test_what_scrolls_away_stands_above_the_block_and_the_block_goes_without_a_trace() -> None:
    run, out = Run(), Stream()
    live = Live(run.tally, Screen(out, lambda: (80, 24), colour=False))
    live.tick()
    run.tally.warned("first")
    run.answer(100)
    live.tick()
    run.tally.warned("second")
    rows = Terminal(80).feed(out.getvalue()).rows
    assert ["first"] == [row for row in rows if row in ("first", "second")]
    assert rows.index("first") < next(index for index, row in enumerate(rows) if "100/1,000" in row)
    live.close()
    terminal = Terminal(80).feed(out.getvalue())
    assert ["first", "second"] == terminal.rows[-2:]
    assert terminal.cursor_shown


def test_a_screen_that_shows_the_same_again_writes_nothing() -> None:
    run, out = Run(), Stream()
    live = Live(run.tally, Screen(out, lambda: (80, 24), colour=False))
    live.tick()
    before = out.getvalue()
    live.tick()
    assert before == out.getvalue()


def plain(run: Run) -> tuple[Plain, io.StringIO]:
    """A plain display, and where it writes."""
    out = io.StringIO()
    return Plain(run.tally, out), out


def said(out: io.StringIO) -> list[str]:
    """The lines without their times."""
    return [line[9:] for line in out.getvalue().splitlines()]


def test_a_storm_of_retries_is_one_line_a_period() -> None:
    run = Run()
    display, out = plain(run)
    display.tick()
    for number in range(10_000):
        run.tally.retrying(CALL, f"slow down, request req_{number}" if number % 4 else "503", 1.0)
    for _ in range(15):
        run.clock.now += 1
        display.tick()
    lines = said(out)
    assert 3 == len(lines)
    assert "10,000 retries in the last 15 s, mostly: slow down, request req_9999" == lines[-1]


def test_retries_are_counted_anew_in_each_period() -> None:
    run = Run()
    display, out = plain(run)
    display.tick()
    for _ in range(2):
        run.tally.retrying(CALL, "503", 1.0)
        run.clock.now += 15
        display.tick()
    assert 2 == sum("1 retry in the last 15 s, mostly: 503" == line for line in said(out))


def test_progress_lines_come_seldomer_in_a_long_run() -> None:
    run = Run()
    display, out = plain(run)
    for _ in range(3 * 3600):
        run.clock.now += 1
        display.tick()
    assert 150 < sum("of 1,000 calls" in line for line in said(out)) < 250


def test_a_progress_line_has_what_the_block_has() -> None:
    run = Run()
    display, out = plain(run)
    display.tick()
    run.answer(500, every=0.05)
    display.tick()
    expected = (
        "500 of 1,000 calls (50%), 0 of 40 results, 20.0 calls/s, 500.0k tokens in (60% cached), 50.0k tokens out (20% "
        "reasoning), $5.00 of about $10.00, 16 at once, about 25 s left"
    )
    assert expected == said(out)[-1]


def test_a_thousand_skipped_conversations_are_a_few_lines() -> None:
    run = Run()
    display, out = plain(run)
    for number in range(1000):
        run.tally.skipped(f"c{number}", "default", "draft: 503.")
    display.tick()
    display.close()
    lines = said(out)
    assert 5 == sum(line.startswith("skipped c") for line in lines)
    assert "skipped 995 more, the last one: draft: 503" == lines[-1]


def test_a_pause_and_an_interruption_are_told_once_and_at_once() -> None:
    run = Run()
    display, out = plain(run)
    run.tally.pausing("m", "busy", 30.0)
    run.tally.pausing("m", "busy", 31.0)
    run.tally.interrupted(7, 10.0)
    for _ in range(3):
        display.tick()
    assert [
        "waiting 31 s for m: busy",
        "Stopping: sending nothing more; 7 calls under way get 10 s. Ctrl-C again leaves at once.",
    ] == said(out)[1:]


def test_the_opening_tells_what_it_will_take() -> None:
    run = Run(
        prompt_tokens=1_240_000, price=(3.1, 9.8), price_source="listed by openrouter", journalled=120, notes=["Note."]
    )
    display, out = plain(run)
    display.tick()
    assert [
        "m (openrouter), default: 40 results to make (in file order), 2 complete, 1,000 calls, into results",
        "120 of the calls have an answer in the journal and are not sent again.",
        "About 1.24M prompt tokens, about $3.10 in all and $9.80 at worst (listed by openrouter).",
        "Note.",
    ] == said(out)


def test_quiet_says_warnings_and_interruptions_only() -> None:
    run, out = Run(), io.StringIO()
    display = Quiet(run.tally, out)
    run.tally.warned("A judge is given up.")
    run.tally.skipped("c", "default", "503")
    run.tally.interrupted(1, 10.0)
    display.tick()
    display.close()
    assert [
        "attune-bench: A judge is given up.",
        "attune-bench: Stopping: sending nothing more; 1 call under way gets 10 s. Ctrl-C again leaves at once.",
    ] == out.getvalue().splitlines()


def test_a_display_whose_stream_is_gone_disturbs_nobody() -> None:
    def gone() -> None:
        raise OSError("the terminal is gone")

    ticker = Ticker(gone, 0.01)
    ticker.wake()
    ticker.close()
    ticker.wake()


def test_a_ticker_ticks_as_soon_as_it_is_woken() -> None:
    import threading

    ticked = threading.Event()
    ticker = Ticker(ticked.set, 3600.0)
    ticker.wake()
    assert ticked.wait(60)
    ticked.clear()
    ticker.wake()
    assert ticked.wait(60)
    ticker.close()
