"""The watchdog: says that nothing happens, what is waited for, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from lines import Told, now
from virtual_time import run_virtual

from attunebench.runner.watchdog import Watchdog


def test_silence_is_told_after_a_minute_and_whenever_it_has_doubled() -> None:
    async def story() -> list[tuple[str, float]]:
        told = Told()
        async with Watchdog(told, lambda: f"a call, at {now():.0f} s"):
            await asyncio.sleep(400)
        return told.stalls

    assert [("a call, at 60 s", 60), ("a call, at 120 s", 120), ("a call, at 240 s", 240)] == run_virtual(story())


def test_every_event_begins_the_minute_anew() -> None:
    async def story() -> list[float]:
        told = Told()
        async with Watchdog(told, lambda: "") as watchdog:
            for _ in range(10):
                await asyncio.sleep(50)
                watchdog.touch()
            await asyncio.sleep(130)
            watchdog.touch()
            await asyncio.sleep(70)
        return [seconds for _, seconds in told.stalls]

    assert [60, 120, 60] == run_virtual(story())


def test_nothing_of_it_is_left_when_the_work_ends_by_an_error_or_a_cancellation() -> None:
    async def work(error: BaseException | None) -> None:
        async with Watchdog(Told(), lambda: ""):
            if error is not None:
                raise error
            await asyncio.sleep(1000)

    async def story() -> int:
        with pytest.raises(ValueError, match="broken"):
            await work(ValueError("broken"))
        task = asyncio.ensure_future(work(None))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert 1 == run_virtual(story())


def test_a_touch_before_the_start_does_no_harm() -> None:
    Watchdog(Told(), lambda: "").touch()
