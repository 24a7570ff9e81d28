"""Shards as processes of their own against a server that counts: at once, killed, divided anew, and the whole after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from keys import KEY
from lines import Told
from reading import load_results
from shard_runs import Gate, predicted

import attunebench
from attunebench.codebook import default_codebook
from attunebench.errors import DataError
from attunebench.journal import Journal, claim, locks, store
from attunebench.runner import ModelSettings, Observer, RunSettings, RunSummary
from attunebench.runner.pricing import estimate_run
from attunebench.runner.settings import Shard
from attunebench.selftest.server import FakeServer, Status

TURNS, CONVERSATIONS, AT_ONCE = 2, 6, 3
PER_CONVERSATION = 4 * TURNS + 1
ALL = CONVERSATIONS * PER_CONVERSATION
Start = Callable[..., "subprocess.Popen[str]"]
Go = Callable[..., RunSummary]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", CONVERSATIONS, seed=5, turns=TURNS)


@pytest.fixture
def start(process: Start, server: FakeServer, data: Path, tmp_path: Path) -> Start:
    """`start(*options)`: a run of `m` as a process of its own."""
    words = ("-m", "attunebench.cli.main", "run", "local", "m", data, "--base-url", server.url, "-o", "results")
    return partial(process, *words, "--api-key", KEY, "--concurrency", AT_ONCE, TMPDIR=str(tmp_path))


@pytest.fixture
def go(server: FakeServer, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    """`go("1/2", …)`: a shard's run (or the whole one) in this process, which does not wait long for a lock."""
    for module in (locks, store):
        monkeypatch.setattr(module, "LOOK", 0.1)

    def run(shard: str | None = None, *, observer: Observer | None = None, **settings: Any) -> RunSummary:
        values = {"output": tmp_path / "results", "concurrency": AT_ONCE, "max_tries": 1, **settings}
        part = Shard.parse(shard) if shard else None
        em = ModelSettings(provider="local", model="m", base_url=server.url)
        return attunebench.run(data, RunSettings(em=em, shard=part, **values), observer=observer, run_again=f"{shard}")

    return run


def written(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in (folder / "results").glob("[!_.]*.json")}


def counted(server: FakeServer) -> int:
    """Calls that came since the last count."""
    count = len(server.bodies)
    server.asked.clear()
    return count


@pytest.mark.slow
def test_shards_at_once_do_the_whole_run_and_ask_nothing_twice(
    start: Start, go: Go, server: FakeServer, tmp_path: Path
) -> None:
    processes = [start("--shard", f"{number}/3") for number in (1, 2, 3)]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [0, 0, 0] == [process.returncode for process in processes], errors
    assert ALL == counted(server)
    assert any(f"all shards together: {CONVERSATIONS} of {CONVERSATIONS} results written." in err for err in errors)
    folder = tmp_path / "results"
    assert 3 == len(list(folder.glob("_calls.*-of-3-*.sqlite3"))) == len(list(folder.glob("_calls*")))
    sharded = predicted(folder)
    assert CONVERSATIONS == go().complete_before
    assert 0 == counted(server)
    folder.rename(tmp_path / "of shards")
    go()
    assert predicted(folder) == sharded
    assert CONVERSATIONS == len(load_results(tmp_path / "of shards").results)


def test_the_whole_after_its_shards_finds_every_reply_in_their_journals(
    go: Go, server: FakeServer, tmp_path: Path
) -> None:
    assert [(3, 6), (6, 6)] == [go(f"{number}/2").whole for number in (1, 2)]
    assert ALL == counted(server)
    for result in (tmp_path / "results").glob("[!_.]*.json"):
        result.unlink()
    assert CONVERSATIONS == go().written
    assert 0 == counted(server)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("then", [("1/2", "2/2"), ("1/3", "2/3", "3/3"), (None,)])
def test_what_a_killed_shard_has_bought_is_found_by_whatever_goes_on(
    start: Start, go: Go, server: FakeServer, tmp_path: Path, then: tuple[str | None, ...]
) -> None:
    free = PER_CONVERSATION + 4
    server.script = gate = Gate(free)
    process = start("--shard", "1/2")
    assert gate.held.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.script = None
    server.asked.clear()
    for shard in then:
        go(shard)
    assert CONVERSATIONS == len(written(tmp_path))
    # What was under way at the kill, and a reply that came and was not on the disk yet, is asked again.
    assert ALL - free <= counted(server) <= ALL - free + AT_ONCE


def test_a_shard_reads_what_an_unsharded_run_has_left(go: Go, server: FakeServer, tmp_path: Path) -> None:
    go(limit=3)
    assert 3 * PER_CONVERSATION == counted(server)
    for result in (tmp_path / "results").glob("[!_.]*.json"):
        result.unlink()
    for number in (1, 2):
        go(f"{number}/2", limit=4)
    assert (PER_CONVERSATION, 4) == (counted(server), len(written(tmp_path)))


@pytest.mark.parametrize(
    ("held", "asked", "refused"),
    [
        ("1-of-2", "1/2", True),
        ("1-of-2", "2/2", False),
        ("1-of-2", "2/3", True),
        ("1-of-2", None, True),
        (None, "1/2", True),
    ],
)
def test_nobody_else_asks_the_same_at_the_same_time(
    go: Go, tmp_path: Path, held: str | None, asked: str | None, refused: bool
) -> None:
    (tmp_path / "results").mkdir()
    with claim(tmp_path / "results", "local", "m", ["default"], held):
        if not refused:
            assert 1 == go(asked, limit=2).written
            return
        part = "shard 1 of 2 of " if held else ""
        with pytest.raises(DataError, match=rf"is running {part}m \(local, default\) into .*results at this moment"):
            go(asked, limit=2)


def test_a_journal_that_somebody_writes_to_is_not_read_and_that_is_said_where_it_may_matter(
    go: Go, tmp_path: Path
) -> None:
    go(limit=1)
    first, second = Told(), Told()
    with Journal.open(tmp_path / "results"):
        go("1/2", observer=first)
    with Journal.open(tmp_path / "results", shard="1-of-2-another"):
        go("2/2", observer=second)
        assert CONVERSATIONS == go().complete_before
    assert "_calls.sqlite3, so it cannot be read" in str(first.warnings)
    assert "so it cannot be read" not in str(second.warnings)


def test_every_shard_keeps_its_own_list_of_what_was_skipped_and_the_whole_clears_them_all(
    go: Go, server: FakeServer, tmp_path: Path
) -> None:
    server.script = lambda _: Status(502, {"error": {"message": "down"}})
    for number in (1, 2):
        go(f"{number}/2", concurrency=1)
    folder = tmp_path / "results"
    lists = sorted(path.name for path in folder.glob("_skipped_*.json"))
    assert ["_skipped_m~1-of-2.json", "_skipped_m~2-of-2.json"] == lists
    assert CONVERSATIONS == len(load_results(folder).skipped)
    assert {"1/2"} == {entry["run_again"] for entry in json.loads((folder / lists[0]).read_text())["skipped"]}
    server.script = None
    go("1/2")
    assert lists[1:] == [path.name for path in folder.glob("_skipped_*.json")]
    go()
    assert [] == list(folder.glob("_skipped_*.json"))


def test_a_dry_run_counts_the_shard_alone(data: Path, server: FakeServer, tmp_path: Path) -> None:
    def calls(shard: Shard | None) -> int:
        em = ModelSettings(provider="local", model="m", base_url=server.url)
        settings = RunSettings(em=em, shard=shard, output=tmp_path / "results")
        return estimate_run(list(attunebench.load_conversations(data)), settings, default_codebook()).calls

    assert ALL == calls(None) == calls(Shard(1, 2)) + calls(Shard(2, 2))
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_an_interrupted_shard_says_how_the_same_shard_goes_on(start: Start, server: FakeServer) -> None:
    server.script = gate = Gate(3)
    process = start("--shard", "2/3")
    assert gate.held.wait(60)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)  # two at once may be one
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (130, False) == (process.returncode, "Traceback" in err)
    assert f"Shard 2/3; all shards together: 0 of {CONVERSATIONS} results written." in err
    assert "--shard 2/3" in err.split("Resume with:")[1]
