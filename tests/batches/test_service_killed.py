"""No request is paid twice, whatever is killed and whatever breaks: every line is answered by exactly one batch."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from batch_runs import predictions, run_by_batches, settings_at, start_run
from batch_server import BatchServer
from factory import write_conversations

from attunebench.errors import ConfigurationError, UsageError
from attunebench.selftest.server import Asked, Behaviour, Hang, Raw, Status

JUDGES = ("judge-a",)
FIRST_BATCH = 6
"""Requests until the first batch is done with: upload, make, look twice, download, delete."""
CALLS = 6


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One conversation of one turn: five calls, and a judge's."""
    return write_conversations(tmp_path / "data", 1, seed=3, turns=1)


def at_request(number: int, act: Callable[[], Behaviour]) -> Callable[[Asked], Behaviour | None]:
    """A hook that acts at one request alone, counted from 0."""
    count = iter(range(1_000_000))
    return lambda _: act() if next(count) == number else None


MOMENTS = [
    *(("before", number) for number in range(FIRST_BATCH)),
    *(("after", number) for number in range(FIRST_BATCH)),
    *(("after", FIRST_BATCH + number) for number in range(2)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "number"), [("before", 1), *(("after", number) for number in (0, 1, 3, 4, 5, FIRST_BATCH + 1))]
)
def test_a_run_that_is_killed_at_a_request_pays_each_call_once(
    data: Path, tmp_path: Path, side: str, number: int
) -> None:
    """`before` or `after` the request has had its effect; the answer never arrives."""
    started = threading.Event()

    def kill() -> Behaviour:
        started.wait()
        process.kill()
        return Raw(b"")

    with BatchServer() as server:
        setattr(server, side, at_request(number, kill))
        process = start_run(data, server.url, tmp_path / "results", JUDGES)
        started.set()
        process.join()
        assert -9 == process.exitcode
        setattr(server, side, lambda _: None)
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results", judges=JUDGES))
        assert [1] * CALLS == list(server.billed.values())
        assert 2 == len(server.made)
    assert (0, 0) == (run.summary.unreached, run.summary.votes_owed)
    assert 1 == len(predictions(tmp_path / "results"))


@pytest.mark.parametrize(("side", "number"), MOMENTS)
def test_a_run_that_is_interrupted_at_a_request_pays_each_call_once(
    data: Path, tmp_path: Path, side: str, number: int
) -> None:
    def interrupt() -> Behaviour:
        os.kill(os.getpid(), signal.SIGINT)
        return Hang()

    with BatchServer() as server:
        setattr(server, side, at_request(number, interrupt))
        settings = settings_at(server.url, tmp_path / "results", judges=JUDGES)
        run = run_by_batches(data, settings, interruptible=True)
        assert "interrupted" == run.summary.stopped
        setattr(server, side, lambda _: None)
        run = run_by_batches(data, settings)
        assert [1] * CALLS == list(server.billed.values())
        assert 2 == len(server.made)
    assert (0, 0) == (run.summary.unreached, run.summary.votes_owed)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize(
    "behaviour", [Raw(b""), Status(503, "<html>Bad gateway</html>"), Status(200, "<html>Log in</html>")]
)
def test_a_line_that_breaks_at_every_request_costs_nothing(
    data: Path, tmp_path: Path, side: str, behaviour: Behaviour
) -> None:
    """Each request fails at its first try, before or after it has had its effect."""
    with BatchServer() as server:
        fails: set[str] = set()
        # A page in place of the very first answer is an address that is wrong.
        skip = "/v1/files" if isinstance(behaviour, Status) and behaviour.status == 200 else ""

        def fail(asked: Asked) -> Behaviour | None:
            new = (asked.method + asked.path) not in fails and asked.path != skip
            fails.add(asked.method + asked.path)
            return behaviour if new else None

        setattr(server, side, fail)
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results", judges=JUDGES))
        assert [1] * CALLS == list(server.billed.values())
        assert 2 == len({made.file for made in server.made})
    assert (1, 0, "") == (run.summary.written, run.summary.votes_owed, run.summary.stopped)


def test_a_batch_that_was_made_without_our_hearing_of_it_is_found_on_a_later_page(data: Path, tmp_path: Path) -> None:
    """Others' batches stand before it in the list."""
    with BatchServer(page=2) as server:
        others = 0

        def lose(asked: Asked) -> Behaviour | None:
            nonlocal others
            if asked.method == "POST" and asked.path == "/v1/batches" and not others:
                others = 5
                for _ in range(others):
                    server._create(asked)
                    server.made[-1].metadata, server.made[-1].file = None, "file-of-others"
                return Raw(b"")
            return None

        server.after = lose
        run_by_batches(data, settings_at(server.url, tmp_path / "results"))
        assert 5 == len(server.billed)
        assert 1 + others == len(server.made)


def test_a_batch_that_is_not_known_later_is_not_sent_again(data: Path, tmp_path: Path) -> None:
    """The first process ends while it is in progress; the service knows it not the second time, and the third."""
    with BatchServer(course=lambda _: ["in_progress"] * 2 + ["completed"]) as server:
        settings = settings_at(server.url, tmp_path / "results")
        for status, says in ((401, "to collect them"), (404, "with --cancel")):
            server.before = lambda asked, s=status: Status(s, {}) if asked.path == "/v1/batches/batch_1" else None  # type: ignore[misc]
            with pytest.raises(ConfigurationError, match=says):
                run_by_batches(data, settings)
        server.before = lambda _: None
        run = run_by_batches(data, settings)
        assert 1 == len(server.made)
        assert [1] * 5 == list(server.billed.values())
    assert 1 == run.summary.written


def test_batches_at_another_address_are_neither_forgotten_nor_looked_for_here(data: Path, tmp_path: Path) -> None:
    with BatchServer() as server, BatchServer() as other:
        settings = settings_at(server.url, tmp_path / "results")
        server.after = lambda asked: Status(401, {}) if asked.path == "/v1/batches/batch_1" else None
        with pytest.raises(ConfigurationError):
            run_by_batches(data, settings)
        with pytest.raises(UsageError, match=f"batch_1.* {server.url}"):
            run_by_batches(data, settings_at(other.url, tmp_path / "results"))
        assert [] == other.asked
        server.after = lambda _: None
        assert 1 == run_by_batches(data, settings).summary.written
        assert [1] * 5 == list(server.billed.values())


def test_a_list_that_cannot_be_had_stops_before_anything_is_sent_again(data: Path, tmp_path: Path) -> None:
    """Nobody knows whether the batch was made."""
    with BatchServer() as server:

        def broken(asked: Asked) -> Behaviour | None:
            if (asked.method, asked.path) == ("POST", "/v1/batches"):
                return Raw(b"")
            return Status(404, {"error": {"message": "Not found"}}) if asked.path.startswith("/v1/batches?") else None

        server.after = broken
        for _ in range(2):
            with pytest.raises(ConfigurationError, match="It is unknown whether"):
                run_by_batches(data, settings_at(server.url, tmp_path / "results"))
        assert 1 == len(server.made)
        server.after = lambda asked: broken(asked) if "?" in asked.path else None
        run_by_batches(data, settings_at(server.url, tmp_path / "results"), cancel=True)
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results"))
        assert 2 == len(server.made)
    assert 1 == run.summary.written
