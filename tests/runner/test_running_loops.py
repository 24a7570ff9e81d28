"""A run where an event loop is running already, as in a notebook: blocking it, beside it, cancelled, resumed."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from openai import AsyncOpenAI

import attunebench
from attunebench import ModelSettings, RunSettings, eventloop
from attunebench.conversations.loading import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.runner import Observer
from attunebench.selftest.server import Answer, FakeServer

BASELINE = ModelSettings(provider="baseline", model="majority")


class Seen(Observer):
    """Sets events when the run starts and when a call is answered; remembers the thread of its calls."""

    def __init__(self) -> None:
        self.begun, self.answer = threading.Event(), threading.Event()
        self.threads: set[int] = set()

    def started(self, plan: Any) -> None:
        self.begun.set()

    def answered(self, call: Any, record: Any) -> None:
        self.threads.add(threading.get_ident())
        self.answer.set()


def test_a_run_inside_a_running_loop_writes_its_results(tmp_path: Path) -> None:
    settings = RunSettings(em=BASELINE, output=tmp_path, limit=1)

    async def cell() -> int:
        return attunebench.run(demo_folder(), settings).written

    assert 1 == asyncio.run(cell())


def test_an_error_inside_a_running_loop_reaches_the_caller() -> None:
    async def fail() -> None:
        raise KeyError("that")

    async def cell() -> None:
        eventloop.run(fail())

    with pytest.raises(KeyError):
        asyncio.run(cell())


def test_run_async_takes_what_run_takes() -> None:
    ran, awaited = (inspect.signature(each).parameters for each in (attunebench.run, attunebench.run_async))
    assert [*ran.values()] == [*awaited.values()]


def test_run_async_leaves_the_loop_free(tmp_path: Path) -> None:
    settings, seen = RunSettings(em=BASELINE, output=tmp_path, limit=2), Seen()

    async def cell() -> tuple[int, int]:
        turns = 0
        run = asyncio.ensure_future(attunebench.run_async(demo_folder(), settings, observer=seen))
        while not run.done():
            turns += 1
            await asyncio.sleep(0.001)
        return run.result().written, turns

    written, turns = asyncio.run(cell())
    assert 2 == written
    assert turns > 1
    assert threading.get_ident() not in seen.threads


def test_an_error_of_run_async_reaches_whoever_awaits_it(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        asyncio.run(attunebench.run_async(tmp_path / "none", RunSettings(em=BASELINE, output=tmp_path)))


def test_runs_of_several_models_go_on_at_the_same_time(tmp_path: Path) -> None:
    async def cell() -> list[int]:
        models = [ModelSettings(provider="baseline", model=name) for name in ("majority", "random")]
        runs = [RunSettings(em=em, output=tmp_path, limit=1) for em in models]
        return [s.written for s in await asyncio.gather(*(attunebench.run_async(demo_folder(), r) for r in runs))]

    assert [1, 1] == asyncio.run(cell())


# Cancelled and resumed, against a server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 3, turns=1)


@pytest.fixture
def settings(tmp_path: Path, server: FakeServer) -> RunSettings:
    em = ModelSettings(provider="local", model="fake-model", base_url=server.url)
    return RunSettings(em=em, output=tmp_path / "results", concurrency=2)


async def cancelled_after_an_answer(data: Path, settings: RunSettings, **options: Any) -> None:
    seen = Seen()
    run = asyncio.ensure_future(attunebench.run_async(data, settings, observer=seen, **options))
    await asyncio.to_thread(seen.answer.wait, 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


def test_a_cancelled_run_has_let_go_of_its_folder_and_is_resumed(
    data: Path, settings: RunSettings, server: FakeServer
) -> None:
    server.script = lambda _: Answer(delay=0.05)

    async def cell() -> int:
        await cancelled_after_an_answer(data, settings)
        server.script = None
        return (await attunebench.run_async(data, settings)).written

    assert 3 == asyncio.run(cell())
    assert 15 <= len(server.bodies) <= 15 + settings.concurrency  # asked again: those in flight when it was cancelled


def test_a_time_limit_ends_a_run_whose_server_does_not_answer(
    data: Path, settings: RunSettings, server: FakeServer
) -> None:
    server.script = lambda _: Answer(delay=30.0)

    async def cell() -> None:
        await asyncio.wait_for(attunebench.run_async(data, settings), 0.3)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(cell())
    server.script = None
    assert 3 == attunebench.run(data, settings).written


def test_a_run_that_is_cancelled_before_its_loop_runs_sends_nothing(
    data: Path, settings: RunSettings, server: FakeServer
) -> None:
    async def cell() -> None:
        run = asyncio.ensure_future(attunebench.run_async(data, settings))
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cell())
    assert [] == server.bodies


def test_an_interrupted_cell_raises_at_once_and_is_resumed(
    data: Path, settings: RunSettings, server: FakeServer
) -> None:
    server.script = lambda _: Answer(delay=5.0)
    main, seen = threading.get_ident(), Seen()

    def interrupt() -> None:
        seen.begun.wait(10)
        signal.pthread_kill(main, signal.SIGINT)

    async def cell() -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as a kernel has it
        try:
            attunebench.run(data, settings, observer=seen)
        finally:
            signal.signal(signal.SIGINT, before)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    thread.join()
    server.script = None
    assert 3 == attunebench.run(data, settings).written


def test_a_client_serves_runs_one_after_the_other_and_not_two_at_once(
    data: Path, settings: RunSettings, server: FakeServer, tmp_path: Path
) -> None:
    client = AsyncOpenAI(api_key="key", base_url=server.url)
    other = settings.model_copy(update={"output": tmp_path / "other", "limit": 1})

    async def cell() -> list[Any]:
        await cancelled_after_an_answer(data, settings, client=client)
        first = await attunebench.run_async(data, settings, client=client)
        both = (attunebench.run_async(data, one, client=client) for one in (other, other.model_copy()))
        ended = await asyncio.gather(*both, return_exceptions=True)
        return [first.written, *ended]

    server.script = lambda _: Answer(delay=0.02)
    written, *ended = asyncio.run(cell())
    assert 3 == written
    assert 1 == sum(isinstance(one, UsageError) for one in ended)
    assert not client.is_closed()
    eventloop.run(client.close(), owner=client)


# Progress


def test_progress_is_shown_on_stderr_outside_of_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attunebench.run(demo_folder(), RunSettings(em=BASELINE, output=tmp_path, limit=1), progress=True)
    out, err = capsys.readouterr()
    assert "" == out
    assert "1/1 results" in err


def test_progress_takes_no_observer_beside_it(tmp_path: Path) -> None:
    settings = RunSettings(em=BASELINE, output=tmp_path)
    with pytest.raises(UsageError):
        attunebench.run(demo_folder(), settings, progress=True, observer=Observer())
