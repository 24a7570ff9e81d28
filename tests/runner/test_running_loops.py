"""A run works where an event loop is running already, as in a notebook."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import attunebench
from attunebench import ModelSettings, RunSettings, eventloop
from attunebench.conversations.loading import demo_folder


def test_a_run_inside_a_running_loop_writes_its_results(tmp_path: Path) -> None:
    settings = RunSettings(em=ModelSettings(provider="baseline", model="majority"), output=tmp_path, limit=1)

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
