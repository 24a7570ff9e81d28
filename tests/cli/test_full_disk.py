"""A full disk: one sentence, exit status 2, nothing is taken for a broken line, and what was answered is kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from batch_server import BatchServer
from factory import write_conversations

from attunebench.selftest.server import FakeServer

COMMAND = f"{sys.executable} -m attunebench.cli.main"
Shell = Callable[[int, str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 6, seed=3, turns=2)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """`shell(kb, line)`: a line where `small` is a disk of so many kB, which nobody else sees."""
    (tmp_path / "small").mkdir()

    def call(kb: int, line: str) -> subprocess.CompletedProcess[str]:
        mount = f"mount -t tmpfs -o size={kb}k none small"
        return subprocess.run(
            ["unshare", "-m", "bash", "-c", f"{mount} && {line}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    if shutil.which("unshare") is None or call(64, "true").returncode:
        pytest.skip("needs the right to mount a small disk")
    return call


def told(ended: subprocess.CompletedProcess[str]) -> None:
    """One sentence of a full disk."""
    [line] = [line for line in ended.stderr.splitlines() if line.startswith("attune-bench: ") and "PW16" not in line]
    assert 2 == ended.returncode, ended.stderr
    assert "full" in line or "No space left" in line or "disk I/O error" in line
    assert "space" in line
    assert "move it away" not in line


@pytest.mark.slow
@pytest.mark.parametrize("kb", [4, 40, 90, 150, 240])
def test_a_run_says_that_the_disk_is_full(shell: Shell, data: Path, server: FakeServer, kb: int) -> None:
    told(shell(kb, f"{COMMAND} run local m {data} --base-url {server.url} -o small/results -q"))


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 8, 40])
def test_a_rejudge_says_that_the_disk_is_full(shell: Shell, data: Path, server: FakeServer, left: int) -> None:
    run = f"{COMMAND} run local m {data} --base-url {server.url} -o small/results -q"
    fill = f"head -c $(( ($(df --output=avail -k small | tail -1) - {left}) * 1024 )) /dev/zero > small/filler"
    judge = f"{COMMAND} rejudge -r small/results -d {data} -M judge --judge-provider local -q"
    told(shell(4000, f"{run} 2>/dev/null && {fill} && {judge} --judge-base-url {server.url}"))


@pytest.mark.slow
@pytest.mark.parametrize("kb", [20, 60, 140])
def test_a_run_by_batches_says_that_the_disk_is_full(shell: Shell, data: Path, kb: int) -> None:
    with BatchServer() as server:
        line = f"{COMMAND} run local fake-model {data} --base-url {server.url} -o small/results -q"
        told(shell(kb, f"{line} --batch --poll-interval 0"))
        assert sum(asked.endswith("/content") for asked in server.asked) <= 1
