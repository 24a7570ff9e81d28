"""A process that may have few files open keeps every reply that it was given."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from factory import write_conversations
from pydantic import ValidationError

from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer, FakeServer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")

CALLS = 20 * (4 * 2 + 1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 20, seed=5, turns=2)


def run(limit: str, server: FakeServer, data: Path, concurrency: int = 160) -> subprocess.CompletedProcess[str]:
    command = f"ulimit {limit} && exec {sys.executable} -m attunebench.cli.main run local m {data} -o results"
    options = f"--base-url {server.url} --concurrency {concurrency}"
    return subprocess.run(
        ["bash", "-c", f"{command} {options}"],
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "results" / "_calls.sqlite3")) as journal:
        return int(journal.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.slow
def test_calls_under_way_follow_a_limit_that_cannot_be_raised(
    fake_server: FakeServer, data: Path, tmp_path: Path
) -> None:
    fake_server.script = lambda _: Answer(delay=0.5)
    ended = run("-n 128", fake_server, data)
    assert (0, CALLS, CALLS) == (ended.returncode, len(fake_server.bodies), kept(tmp_path)), ended.stderr
    [told] = re.findall(r"at most (\d+) calls", ended.stderr)
    assert 10 < fake_server.most_at_once <= int(told) < 128


@pytest.mark.slow
def test_a_limit_that_may_be_raised_is_and_nobody_needs_to_know(
    fake_server: FakeServer, data: Path, tmp_path: Path
) -> None:
    fake_server.script = lambda _: Answer(delay=0.5)
    ended = run("-S -n 128", fake_server, data)
    assert (0, CALLS, CALLS) == (ended.returncode, len(fake_server.bodies), kept(tmp_path)), ended.stderr
    assert "ulimit" not in ended.stderr
    assert 128 < fake_server.most_at_once


@pytest.mark.slow
def test_with_hardly_any_files_one_call_goes_after_the_other(
    fake_server: FakeServer, data: Path, tmp_path: Path
) -> None:
    ended = run("-n 48", fake_server, data)
    assert (0, CALLS, 1) == (ended.returncode, kept(tmp_path), fake_server.most_at_once), ended.stderr


def test_calls_at_once_are_bounded(fake_server: FakeServer, data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        RunSettings(em=ModelSettings(provider="local", model="m"), concurrency=10**9)
    ended = run("-n 128", fake_server, data, concurrency=10**9)
    assert (2, []) == (ended.returncode, fake_server.asked)
    assert "--concurrency" in ended.stderr
