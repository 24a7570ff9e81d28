"""Time in which this process or its machine slept counts against nobody: no call, no conversation, no server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from hypothesis import given
from hypothesis import strategies as st
from lines import NoJitter, Told, trouble
from model_clients import client_at, first_ask, settings_for
from talks import parsed, small_file
from virtual_time import VirtualLoop

from attunebench import eventloop
from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.errors import TransientError, Trouble
from attunebench.eventloop import BEAT, LATE, NAP, AwakeClock
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.pacing import RateLimiter
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Raw

ASK = first_ask(plan_conversation(parsed(small_file()), "default", default_codebook())[0])
REPLY = Reply("an answer")
CALL_TIMEOUT, AT_ONCE = 3.0, 4
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@dataclass
class Machine:
    """A monotonic clock, and one that also counts the time in which the machine was suspended."""

    now: float = 0.0
    suspended: float = 0.0
    clock: AwakeClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = AwakeClock(lambda: self.now, lambda: self.now + self.suspended)

    def wait(self, seconds: float, asleep: float = 0.0, suspended: float = 0.0) -> None:
        self.clock.begin_wait(seconds)
        self.now += seconds + asleep
        self.suspended += suspended
        self.clock.end_wait()


@given(
    st.lists(
        st.tuples(st.floats(0, BEAT), st.floats(LATE + 0.01, NAP - 0.01) | st.floats(NAP + 0.01, 1e6) | st.just(0.0)),
        max_size=20,
    )
)
def test_the_clock_counts_every_wait_and_nothing_of_a_sleep(waits: list[tuple[float, float]]) -> None:
    machine = Machine()
    for seconds, asleep in waits:
        machine.wait(seconds, asleep)
    assert sum(seconds for seconds, _ in waits) == pytest.approx(machine.clock.read(), abs=1e-3)
    assert sum(asleep > NAP for _, asleep in waits) == machine.clock.naps


@given(st.lists(st.floats(0, LATE - 0.01), max_size=20))
def test_a_clock_that_is_read_now_and_then_is_the_monotonic_one(steps: list[float]) -> None:
    machine = Machine()
    for step in steps:
        machine.now += step
        assert machine.now == machine.clock.read()
    assert 0 == machine.clock.naps


def test_a_sleep_between_two_looks_at_the_clock_is_none_of_its_time() -> None:
    machine = Machine()
    machine.now += 600
    assert (0.0, 1) == (machine.clock.read(), machine.clock.naps)
    machine.now += 0.1
    assert (pytest.approx(0.1), 1) == (machine.clock.read(), machine.clock.naps)


def test_a_suspended_machine_is_noticed_though_its_clock_stood_still() -> None:
    machine = Machine()
    machine.wait(BEAT, suspended=600)
    machine.wait(BEAT)
    assert (2 * BEAT, 1) == (machine.clock.read(), machine.clock.naps)


def test_a_blocked_loop_lets_no_timer_be_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eventloop, "LATE", 0.1)

    async def story() -> str:
        waiting = asyncio.ensure_future(asyncio.wait_for(asyncio.sleep(0.02, "in time"), 0.1))
        await asyncio.sleep(0)
        time.sleep(0.3)
        return await waiting

    assert "in time" == eventloop.run(story())


def test_no_traceback_of_asyncios_own_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        async def fail() -> None:
            raise ValueError("nobody asks")

        forgotten = asyncio.ensure_future(fail())
        await asyncio.sleep(0)
        del forgotten
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    eventloop.run(story())
    assert ("", "") == capfd.readouterr()


def tried(
    send: Callable[[int], Awaitable[Reply]], **settings: object
) -> tuple[Reply | Exception | None, int, Told, RateLimiter]:
    """What became of one call to a server that does this at the n-th try, and how many there were, in virtual time."""
    told, tries = Told(), 0

    def send_next() -> Awaitable[Reply]:
        nonlocal tries
        tries += 1
        return send(tries)

    async def story() -> tuple[Reply | Exception | None, RateLimiter]:
        line = RateLimiter("m", 4, observer=told, rng=NoJitter())
        try:
            return (await client_at(line, send_next, settings_for(**settings), told).ask(ASK)).reply, line
        except TransientError as error:
            return error, line

    loop = VirtualLoop()
    loop.naps = 0  # type: ignore[attr-defined]
    try:
        outcome, line = loop.run_until_complete(story())
    finally:
        loop.finish()
    return outcome, tries, told, line


def sleeps_and_fails(kind: Trouble, times: int) -> Callable[[int], Awaitable[Reply]]:
    """The machine sleeps during each of the first tries, which then fail."""

    async def send(number: int) -> Reply:
        if number > times:
            return REPLY
        asyncio.get_running_loop().naps += 1  # type: ignore[attr-defined]
        raise trouble(kind)

    return send


@pytest.mark.parametrize("kind", ["line", "timeout", "connect", "body"])
def test_a_try_that_was_lost_to_a_sleep_takes_no_try_no_wait_and_blames_nobody(kind: Trouble) -> None:
    outcome, tries, told, line = tried(sleeps_and_fails(kind, 1), max_tries=1)
    assert (REPLY, 2) == (outcome, tries)
    assert ([], [], 0.0) == (told.waits, told.pauses, line.outage)


def test_a_second_sleep_excuses_no_more() -> None:
    outcome, tries, _, _ = tried(sleeps_and_fails("line", 2), max_tries=1)
    assert (TransientError, 2) == (type(outcome), tries)


def test_a_sleep_gives_no_time_back_that_a_call_had_used_up_awake() -> None:
    async def send(_: int) -> Reply:
        asyncio.get_running_loop().naps += 1  # type: ignore[attr-defined]
        await asyncio.sleep(1000)
        return REPLY

    outcome, tries, _, _ = tried(send, call_timeout=1000, total_timeout=600)
    assert (TransientError, 1) == (type(outcome), tries)


@pytest.mark.parametrize("kind", ["rate", "money", "server"])
def test_what_a_server_says_counts_though_the_machine_slept(kind: Trouble) -> None:
    _, _, told, _ = tried(sleeps_and_fails(kind, 1))
    assert 1 == len(told.waits)


class Sleeper:
    """A run as a process of its own, stopped while every place is under way, for longer than a call may take.

    The server does its `behaviour` to what is under way by then; after that it answers.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._under_way = threading.Semaphore(0)
        self._awake = False

    def __call__(self, asked: Asked) -> Behaviour:
        if self._awake or "chat" not in asked.path:
            return Answer()
        self._under_way.release()
        return self._behaviour

    def put_to_sleep(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        for _ in range(AT_ONCE):
            assert self._under_way.acquire(timeout=60)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(CALL_TIMEOUT + 1)
        self._awake = True
        os.kill(process.pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
        return process.returncode, err


@posix
@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "sent_again"),
    [(Answer(delay=CALL_TIMEOUT - 0.5), 0), (Raw(delay=CALL_TIMEOUT - 0.5), AT_ONCE)],
    ids=["answers meanwhile", "hangs up meanwhile"],
)
def test_a_run_that_was_stopped_for_longer_than_a_call_may_take_goes_on_as_if_nothing_was(
    behaviour: Behaviour, sent_again: int, process: Callable[..., Any], server: FakeServer, tmp_path: Path
) -> None:
    data = write_conversations(tmp_path / "data", 2, seed=5, turns=3)
    words = ["-m", "attunebench.cli.main", "run", "local", "m", data, "--base-url", server.url, "-o", "results"]
    server.script = sleeper = Sleeper(behaviour)
    started = process(*words, "--concurrency", AT_ONCE, "--call-timeout", CALL_TIMEOUT)
    status, err = sleeper.put_to_sleep(started)
    assert 0 == status, err
    assert not [word for word in ("Traceback", "never retrieved", "closed", "again", "outage") if word in err]
    assert 2 * 13 + sent_again == len(server.bodies)
    assert 2 == len([path for path in (tmp_path / "results").glob("[!_.]*.json") if json.loads(path.read_text())])
