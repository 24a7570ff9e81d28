"""Fixtures that several areas share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from keys import files_with_a_key

from attunebench.selftest.server import FakeServer

# Read when numpy and torch are first imported, which none of the above does. Otherwise each worker spins on every core
# for the others' threads, which costs up to ten times what the small products of tests do.
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Runs sync each answer to the disk, for which tests would wait most of their time. No test is about a loss of power, so
# their files lie in memory where there is enough of it; TMPDIR says otherwise.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    tempfile.tempdir = str(MEMORY)

# A property is judged by its truth, never by the time that a busy machine takes for an example.
settings.register_profile("untimed", deadline=None)
# CI judges the change at hand, so it draws the same examples every time; runs by hand go on searching.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "untimed")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A running server that answers every call completely; give it a `script` to make it behave otherwise."""
    with FakeServer() as server:
        yield server


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`process(*words, NAME=value)`: Python with these words, in tmp_path and a changed environment; its streams are
    read here. What still runs after the test is ended."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: object, **environment: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command, env = [sys.executable, *map(str, words)], {**os.environ, "NO_COLOR": "1", **environment}
        started.append(subprocess.Popen(command, cwd=tmp_path, env=env, text=True, **pipes))
        return started[-1]

    yield begin
    for each in started:
        each.kill()
        each.communicate()


@pytest.fixture(scope="session", autouse=True)
def no_key_is_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """At the end no file that the tests wrote holds any key: no result, journal, list of skipped ones or report."""
    yield
    assert [] == files_with_a_key(tmp_path_factory.getbasetemp())
