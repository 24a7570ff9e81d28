"""A file system without locks: a living owner is respected, a dead one is noticed."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from factory import write_conversations

from attunebench.journal.locks import left_by, owner_file
from attunebench.selftest.server import Answer, FakeServer, Hang

SOURCE = Path(__file__).parents[1] / "support" / "nolocks.c"
LOCKING = """
import os, signal, sys
from pathlib import Path
from attunebench.journal.locks import try_lock
lock = try_lock(Path(sys.argv[1]))
print("refused" if lock is None else "held", flush=True)
{then}
"""
HOLDS, DIES, LEAVES = "sys.stdin.read()", "os.kill(os.getpid(), signal.SIGKILL)", "lock and lock()"
Lock = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What takes locks away from the processes that load it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler")
    made = tmp_path_factory.mktemp("nolocks") / "nolocks.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def without_locks(library: Path, folder: Path, error: int) -> dict[str, str]:
    return {"LD_PRELOAD": str(library), "NOLOCK_DIR": str(folder), "NOLOCK_ERRNO": str(error)}


@pytest.fixture(params=["ENOSYS", "ENOLCK"])
def environment(request: pytest.FixtureRequest, library: Path, tmp_path: Path) -> dict[str, str]:
    return without_locks(library, tmp_path, getattr(errno, request.param))


@pytest.fixture
def lock(process: Lock, environment: dict[str, str], tmp_path: Path) -> Lock:
    """`lock(then)`: a process that takes the lock, says how that went and then does so."""
    return lambda then: process("-c", LOCKING.format(then=then), tmp_path / "x.lock", **environment)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.slow
def test_a_living_owner_is_respected_until_it_leaves(lock: Lock) -> None:
    first = lock(f"{HOLDS}; {LEAVES}")
    assert "held" == said(first)
    assert "refused" == said(lock(LEAVES))
    first.communicate(timeout=60)
    assert "held" == said(lock(LEAVES))


@pytest.mark.slow
def test_a_dead_owner_is_noticed_each_time(lock: Lock) -> None:
    for _ in range(3):
        process = lock(DIES)
        assert ("held", -9) == (said(process), process.wait(60))
    last = lock(LEAVES)
    assert ("held", "") == (said(last), last.communicate(timeout=60)[1])


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_one_that_lives_is_not_disturbed(
    process: Lock, library: Path, tmp_path: Path, server: FakeServer
) -> None:
    data = write_conversations(tmp_path / "data", 1, seed=3, turns=1)
    words = ("-m", "attunebench.cli.main", "run", "local", "m", data, "--base-url", server.url, "-o", "results")
    start = partial(process, *words, **without_locks(library, tmp_path / "results", errno.ENOLCK))
    # 2 of 5 calls are answered, after the price list.
    server.script = lambda asked: Answer() if asked.number < 3 else Hang()
    first = start()
    while len(server.bodies) < 5:
        assert first.poll() is None
        time.sleep(0.05)
    second = start()
    err = second.communicate(timeout=60)[1]
    assert (2, True) == (second.returncode, f"pid {first.pid}" in err), err
    first.kill()
    first.communicate()
    server.script = None
    third = start()
    err = third.communicate(timeout=60)[1]
    assert (0, False) == (third.returncode, "Warning" in err), err
    assert 5 + 3 == len(server.bodies)
    assert not list((tmp_path / "results").glob(".*owner*"))


@pytest.mark.slow
def test_an_owner_on_another_machine_is_respected_and_its_file_is_named(lock: Lock, tmp_path: Path) -> None:
    first = lock(HOLDS)
    assert "held" == said(first)
    owner = owner_file(tmp_path / "x.lock")
    pid, _, *start = owner.read_text("utf-8").splitlines()
    first.kill()
    first.communicate()
    owner.write_text("\n".join([pid, "another-machine", *start, ""]), encoding="utf-8")
    assert "refused" == said(lock(LEAVES))
    assert str(owner) in left_by(tmp_path / "x.lock")
    owner.unlink()
    assert "held" == said(lock(LEAVES))
    assert "" == left_by(tmp_path / "y.lock")
