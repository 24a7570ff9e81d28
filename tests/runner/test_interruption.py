"""Runs that are stopped in the middle, as a process of their own: nothing that was written is lost or asked again."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations

import attunebench
from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer

TURNS, CONVERSATIONS, AT_ONCE = 3, 4, 4
PER_CONVERSATION = 4 * TURNS + 1


Start = Callable[..., "subprocess.Popen[str]"]


class Gate:
    """A script that answers `free` requests, holds as many as go at once, and says when the first is held."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.held = threading.Event()

    def __call__(self, asked: Asked) -> Behaviour:
        if not self.free <= asked.number < self.free + AT_ONCE:
            return Answer()
        self.held.set()
        return Answer(delay=1.0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", CONVERSATIONS, seed=5, turns=TURNS)


@pytest.fixture
def start(process: Start, server: FakeServer, data: Path) -> Start:
    """`start()`: the run as a process of its own."""
    words = ("-m", "attunebench.cli.main", "run", "local", "m", data, "--base-url", server.url, "-o", "results")
    return partial(process, *words, "--concurrency", AT_ONCE)


def written(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in (folder / "results").glob("[!_.]*.json")}


def stopped(server: FakeServer, start: Start, how: signal.Signals, free: int) -> tuple[int, str]:
    """Exit status and stderr of a run that got the signal once `free` requests were answered and more were waiting."""
    gate = Gate(free)
    server.script = gate
    process = start()
    assert gate.held.wait(60)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def go_on(server: FakeServer, data: Path, folder: Path) -> int:
    """The same run in this process; how many calls it sent."""
    server.script = None
    asked = len(server.bodies)
    em = ModelSettings(provider="local", model="m", base_url=server.url)
    attunebench.run(data, RunSettings(em=em, output=folder / "results", concurrency=AT_ONCE))
    assert CONVERSATIONS == len(written(folder))
    return len(server.bodies) - asked


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on_with_the_missing_calls(
    server: FakeServer, start: Start, data: Path, tmp_path: Path, how: signal.Signals
) -> None:
    status, err = stopped(server, start, how, free=2 * PER_CONVERSATION)
    if how is signal.SIGINT:
        assert (130, True) == (status, "Resume with: attune-bench run local m" in err)
    assert "Traceback" not in err
    asked, before = len(server.bodies), written(tmp_path)
    assert asked <= 2 * PER_CONVERSATION + AT_ONCE
    for result in before.values():
        assert result["calls"]["expected_items"] == result["calls"]["answered_items"]
    answered = 2 * PER_CONVERSATION - 1  # of the first requests one was for the price list
    missing = CONVERSATIONS * PER_CONVERSATION - answered
    assert missing - AT_ONCE <= go_on(server, data, tmp_path) <= missing + AT_ONCE
    assert before == {name: result for name, result in written(tmp_path).items() if name in before}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_keeps_what_is_under_way(
    server: FakeServer, start: Start, data: Path, tmp_path: Path, how: signal.Signals
) -> None:
    gate = Gate(PER_CONVERSATION)
    server.script = gate
    inherited = signal.signal(how, signal.SIG_DFL)  # the tests themselves may run under nohup
    process = start()
    signal.signal(how, inherited)
    assert gate.held.wait(60)
    for _ in range(2):  # as shells and supervisors do
        process.send_signal(how)
        time.sleep(0.1)
    _, err = process.communicate(timeout=60)
    assert (130, True) == (process.returncode, "Resume with: attune-bench run local m" in err)
    assert "Traceback" not in err
    asked = len(server.bodies)
    assert CONVERSATIONS * PER_CONVERSATION == asked + go_on(server, data, tmp_path)
    assert 0 < asked < CONVERSATIONS * PER_CONVERSATION


@pytest.mark.slow
def test_under_nohup_a_closed_terminal_ends_nothing(server: FakeServer, start: Start, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        status, _ = stopped(server, start, signal.SIGHUP, free=3)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (0, CONVERSATIONS) == (status, len(written(tmp_path)))
