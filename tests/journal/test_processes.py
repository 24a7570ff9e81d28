"""Several processes, and processes that end badly: what was acknowledged is there, and the folder is free again."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from entries import an_entry, keep

from attunebench.errors import DataError
from attunebench.journal import Journal, claim

KEEPER = Path(__file__).parents[1] / "support" / "entries.py"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(process: Start) -> Start:
    """`start(script or code, *words)`: a Python process that finds the support of these tests."""
    path = str(KEEPER.parent)
    return lambda code, *words: process(*([] if isinstance(code, Path) else ["-c"]), code, *words, PYTHONPATH=path)


def lines_until(process: subprocess.Popen[str], last: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if lines[-1] == last:
            return lines
    raise AssertionError(f"ended before {last}: {lines}")


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("acknowledged", [0, 1, 6, 20, 150])
def test_all_that_was_acknowledged_before_a_kill_is_there(tmp_path: Path, start: Start, acknowledged: int) -> None:
    process = start(KEEPER, tmp_path, 100_000)
    assert process.stdout is not None
    printed = [int(process.stdout.readline()) for _ in range(acknowledged + 1)]
    process.send_signal(signal.SIGKILL)
    printed += [int(line) for line in process.communicate()[0].splitlines() if line.strip()]
    with Journal.open(tmp_path) as journal:
        for number in printed:
            assert an_entry(number) == journal.find(an_entry(number).request_hash)
        assert tmp_path / "_calls.sqlite3" == journal.path


def test_a_second_process_writes_a_file_of_its_own_and_readers_see_both(tmp_path: Path, start: Start) -> None:
    first = start(KEEPER, tmp_path, 20, "held")
    lines_until(first, "held")
    with Journal.open(tmp_path) as second:
        assert tmp_path / "_calls.2.sqlite3" == second.path
        assert an_entry(7) == second.find(an_entry(7).request_hash)
        with Journal.open(tmp_path) as third:
            assert tmp_path / "_calls.3.sqlite3" == third.path
    keep(tmp_path, an_entry(100))
    with Journal.read(tmp_path) as reader:
        assert {*range(20), 100} == {int(entry.request_hash, 16) for entry in reader.entries()}
    first.communicate()
    assert 0 == first.returncode
    with Journal.open(tmp_path) as after:
        assert tmp_path / "_calls.sqlite3" == after.path
        assert 21 == after.count()


FULL = """
import asyncio, resource, sys
from pathlib import Path
from entries import an_entry
from attunebench.errors import DataError
from attunebench.journal import Journal

async def main(folder):
    with Journal.open(folder) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        for number in range(1000):
            try:
                await journal.keep(an_entry(number))
            except DataError as error:
                print("full", error, flush=True)
                return
            print(number, flush=True)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_full_disk_is_a_sentence_and_loses_nothing_that_was_acknowledged(tmp_path: Path, start: Start) -> None:
    process = start(FULL, tmp_path)
    out, err = process.communicate()
    assert (0, "") == (process.returncode, err)
    *numbers, last = out.splitlines()
    assert last.startswith(f"full The call journal {tmp_path / '_calls.sqlite3'} cannot be written")
    assert "what was written before is kept" in last
    assert 10 < len(numbers)
    with Journal.open(tmp_path) as journal:
        assert list(map(int, numbers)) == [int(entry.request_hash, 16) for entry in journal.entries()]
    keep(tmp_path, an_entry(5000))


HOLDER = """
import sys
from pathlib import Path
from attunebench.journal import claim
with claim(Path(sys.argv[1]), "local", "m", ["default", "verbose"]):
    print("held", flush=True)
    sys.stdin.read()
"""


def claimed(folder: Path, provider: str = "local", model: str = "m", modes: tuple[str, ...] = ("default",)) -> bool:
    try:
        with claim(folder, provider, model, modes):
            return True
    except DataError:
        return False


def test_the_same_run_is_refused_while_another_process_is_at_it_and_others_share(tmp_path: Path, start: Start) -> None:
    holder = start(HOLDER, tmp_path)
    lines_until(holder, "held")
    with (
        pytest.raises(DataError, match=f"m .local, default. into {tmp_path} .*another results folder"),
        claim(tmp_path, "local", "m", ["default"]),
    ):
        pass
    assert not claimed(tmp_path, modes=("omniscient", "verbose"))
    assert claimed(tmp_path, modes=("omniscient",))
    assert claimed(tmp_path, model="other")
    assert claimed(tmp_path, provider="openai")
    holder.kill()
    holder.communicate()
    assert claimed(tmp_path, modes=("default", "verbose"))


@pytest.mark.skipif(os.name == "nt", reason="nobody else reads or writes a locked file there")
def test_who_is_at_it_is_named_where_the_lock_file_says_so(tmp_path: Path, start: Start) -> None:
    holder = start(HOLDER, tmp_path)
    lines_until(holder, "held")
    told = rf"process \(pid {holder.pid}, since 2\d\d\d-.* UTC\) is running m "
    with pytest.raises(DataError, match=told), claim(tmp_path, "local", "m", ["default"]):
        pass
    for lock in tmp_path.glob(".attunebench-run-*.lock"):
        lock.write_bytes(b"\xff\x1b[31m")
    told = "Another process is running m "
    with pytest.raises(DataError, match=told), claim(tmp_path, "local", "m", ["default"]):
        pass


def test_a_refused_claim_holds_nothing(tmp_path: Path, start: Start) -> None:
    with claim(tmp_path, "local", "m", ["verbose"]):
        assert not claimed(tmp_path, modes=("default", "verbose"))
        assert claimed(tmp_path, modes=("default",))
    assert claimed(tmp_path, modes=("default", "verbose"))
