"""Collects answers in a process of its own, which somebody kills."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench import api

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess
    from multiprocessing.synchronize import Event


def begun(responses: Path, results: Path) -> ForkServerProcess:
    """A process that has begun to collect these."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["attunebench.api"])
    started = context.Event()
    process = context.Process(target=_collect, args=(responses, results, started))
    process.start()
    assert started.wait(120)
    return process


def _collect(responses: Path, results: Path, started: Event) -> None:
    started.set()
    api.collect([responses], results)
