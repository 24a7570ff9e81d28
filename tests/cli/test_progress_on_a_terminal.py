"""What `run` leaves on a real terminal: a pseudo-terminal here, read byte by byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from terminal import Terminal

from attunebench.selftest.server import Asked, Behaviour, FakeServer, Hang, Status

HIDE_CURSOR = "\x1b[?25l"

pty = pytest.importorskip("pty")


@contextmanager
def started(
    *words: str | Path, cwd: Path, **variables: str
) -> Iterator[tuple[subprocess.Popen[bytes], Iterator[bytes]]]:
    """`attune-bench` with these words and a terminal as its stderr: the process, and what it writes there."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**inherited, "TERM": "xterm", "COLUMNS": "100", "NO_PROXY": "127.0.0.1", **variables}
    command = [sys.executable, "-m", "attunebench.cli.main", *map(str, words)]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, cwd=cwd, env=environment) as running:
        os.close(theirs)
        # The end of a pseudo-terminal is an error on Linux and an empty read elsewhere.
        yield running, iter(lambda: _read(ours), b"")
        running.wait(timeout=60)
    os.close(ours)


def on_terminal(*words: str | Path, cwd: Path, **variables: str) -> str:
    """All that `attune-bench` with these words writes to a terminal as its stderr."""
    with started(*words, cwd=cwd, **variables) as (_, pieces):
        return b"".join(pieces).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


@pytest.mark.slow
def test_an_error_in_a_run_stands_on_a_line_of_its_own_and_the_cursor_is_back(data: Path, tmp_path: Path) -> None:
    with FakeServer([Status(401, {"error": {"message": "no"}})]) as server:
        shown = on_terminal("run", "local", "m", data, "--base-url", server.url, cwd=tmp_path)
    assert HIDE_CURSOR in shown
    screen = Terminal(100).feed(shown)
    assert screen.cursor_shown
    assert 1 == sum(row.startswith("attune-bench: ") for row in screen.rows)


@pytest.mark.slow
def test_the_block_is_gone_when_the_run_is_over(data: Path, tmp_path: Path) -> None:
    shown = on_terminal("run", "baseline", "majority", data, cwd=tmp_path)
    assert "calls |" in shown
    assert [] == [row for row in Terminal(100).feed(shown).rows if "━" in row or "calls |" in row]


@pytest.mark.slow
def test_a_run_with_nothing_left_to_do_draws_no_block(data: Path, tmp_path: Path) -> None:
    command = ("run", "baseline", "majority", data)
    assert HIDE_CURSOR in on_terminal(*command, cwd=tmp_path)
    again = on_terminal(*command, cwd=tmp_path)
    assert "0 results pending" in again
    assert HIDE_CURSOR not in again


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "value"), [("TERM", "dumb"), ("PYTHONIOENCODING", "ascii"), ("PYTHONIOENCODING", "latin-1")]
)
def test_lesser_terminals_get_what_they_can_show(data: Path, tmp_path: Path, variable: str, value: str) -> None:
    shown = on_terminal("run", "baseline", "majority", data, cwd=tmp_path, **{variable: value})
    assert shown.isascii()
    assert ("\x1b" in shown) is (variable != "TERM")
    assert "3 results written" in shown


@pytest.mark.slow
def test_no_color_leaves_the_colours_out(data: Path, tmp_path: Path) -> None:
    command = ("run", "baseline", "majority", data, "--replace")
    coloured = Terminal(100).feed(on_terminal(*command, cwd=tmp_path))
    plain = Terminal(100).feed(on_terminal(*command, "-o", "other", cwd=tmp_path, NO_COLOR="1"))
    assert ({"32"}, set()) == (coloured.styles & {"31", "32", "33"}, plain.styles & {"31", "32", "33"})


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_says_at_once_what_happens_and_a_second_one_leaves(data: Path, tmp_path: Path, presses: int) -> None:
    def script(asked: Asked) -> Behaviour:
        if asked.method != "POST":  # the price list
            return Status(404)
        running.send_signal(signal.SIGINT)
        return Hang()

    with FakeServer(script) as server:
        words = ("run", "local", "m", data, "--base-url", server.url, "--concurrency", "1")
        with started(*words, "--call-timeout", "3", cwd=tmp_path) as (running, pieces):
            shown = b""
            for piece in pieces:
                shown += piece
                if presses == 2 and b"exits now" in shown:
                    presses = 0
                    running.send_signal(signal.SIGINT)
    assert 130 == running.returncode
    assert b"Stopping: no new calls; 1 call in flight has" in shown
    rows = Terminal(100).feed(shown.decode()).rows
    closing = next(number for number, row in enumerate(rows) if row.startswith("Interrupted: "))
    assert any(row.startswith("Resume with: attune-bench run") for row in rows[closing:])


@pytest.mark.slow
def test_the_end_of_a_run_and_of_scoring_name_the_next_command(data: Path, tmp_path: Path) -> None:
    spaced = data.rename(tmp_path / "my data")
    assert f"Next: attune-bench score --results results --ground-truth '{spaced}'" in " ".join(
        on_terminal("run", "baseline", "majority", spaced, "--limit", "1", cwd=tmp_path).split()
    )
    assert "Next: attune-bench report --scores scores.json" in on_terminal("score", "-d", spaced, cwd=tmp_path)
