"""A process that may have few files open keeps every reply that it was given."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from factory import write_conversations
from pydantic import ValidationError

from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer, FakeServer

if TYPE_CHECKING:
    from conftest import Command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")

CALLS = 20 * (4 * 2 + 1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 20, seed=5, turns=2)


def run(limit: str, server: FakeServer, data: Path) -> subprocess.CompletedProcess[str]:
    words = f"attunebench.cli.main run local m {data} -o results --base-url {server.url} --concurrency 160"
    command = ["bash", "-c", f"ulimit {limit} && exec {sys.executable} -m {words}"]
    return subprocess.run(command, cwd=data.parent, capture_output=True, text=True, timeout=120, check=False)


def kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "results" / "_calls.sqlite3")) as journal:
        return int(journal.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "told"), [("-n 128", True), ("-S -n 128", False)])
def test_calls_under_way_follow_a_limit_that_cannot_be_raised_and_no_other(
    limit: str, told: bool, server: FakeServer, data: Path, tmp_path: Path
) -> None:
    server.script = lambda _: Answer(delay=0.5)
    ended = run(limit, server, data)
    assert (0, CALLS, CALLS) == (ended.returncode, len(server.bodies), kept(tmp_path)), ended.stderr
    most = [int(number) for number in re.findall(r"at most (\d+) calls", ended.stderr)]
    assert told == bool(most)
    assert 10 < server.most_at_once <= most[0] < 128 if told else 128 < server.most_at_once


@pytest.mark.slow
def test_with_hardly_any_files_one_call_goes_after_the_other(server: FakeServer, data: Path, tmp_path: Path) -> None:
    ended = run("-n 48", server, data)
    assert (0, CALLS, 1) == (ended.returncode, kept(tmp_path), server.most_at_once), ended.stderr


def test_calls_at_once_are_bounded(command: Command, server: FakeServer) -> None:
    with pytest.raises(ValidationError):
        RunSettings(em=ModelSettings(provider="local", model="m"), concurrency=10**9)
    ended = command(server, "--concurrency", str(10**9))
    assert (2, [], True) == (ended.status, server.asked, "--concurrency" in ended.read)
