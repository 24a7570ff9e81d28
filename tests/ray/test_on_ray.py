"""A run on a real Ray cluster with two workers: the same results, and nothing lost when one dies or the user stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keys import KEY
from pydantic import SecretStr

import attunebench
from attunebench.errors import ConfigurationError
from attunebench.runner import ModelSettings, Observer, RunSettings, RunSummary
from attunebench.selftest.server import Answer, Asked, Doing, FakeServer, Status
from attunebench.spreading.on_ray import run_on_ray

pytest.importorskip("ray", reason="a run on a cluster needs Ray, the extra `ray`")
pytestmark = pytest.mark.filterwarnings("ignore")

TURNS, CONVERSATIONS, AT_ONCE = 2, 6, 4
PER_CONVERSATION = 4 * TURNS + 1
ALL = CONVERSATIONS * PER_CONVERSATION
TOOK_PLACE = ("run_timestamp", "duration_seconds", "usage", "api_cost")
Go = Callable[..., RunSummary]


class Heard(Observer):
    """Counts what the driver's observer is told, and notes when."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.results: list[str] = []
        self.warnings: list[str] = []

    def answered(self, call: Any, record: Any) -> None:
        self.calls.append(call.id)

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self.results.append(conversation_id)

    def warned(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture
def settings(server: FakeServer, tmp_path: Path) -> Callable[..., RunSettings]:
    def make(**values: Any) -> RunSettings:
        em = ModelSettings(provider="local", model="m", base_url=server.url, api_key=SecretStr(KEY))
        return RunSettings(
            **{"em": em, "output": tmp_path / "results", "concurrency": AT_ONCE, "max_tries": 1, **values}
        )

    return make


@pytest.fixture
def go(cluster: str, data: Path, settings: Callable[..., RunSettings]) -> Go:
    """`go(observer=…, …)`: a run by two workers."""

    def run(observer: Observer | None = None, **values: Any) -> RunSummary:
        return run_on_ray(attunebench.load_conversations(data), settings(**values), workers=2, observer=observer)

    return run


def predicted(folder: Path) -> dict[str, str]:
    """Everything in the results that does not tell of one run's own time."""
    found = {path.name: json.loads(path.read_text()) for path in folder.glob("[!_.]*.json")}
    return {name: json.dumps({key: r[key] for key in r if key not in TOOK_PLACE}) for name, r in found.items()}


def test_two_workers_make_the_results_that_one_process_makes(
    go: Go, server: FakeServer, data: Path, settings: Callable[..., RunSettings], tmp_path: Path
) -> None:
    heard = Heard()
    summary = go(heard, modes=("default", "omniscient"))
    here = settings(output=tmp_path / "here", modes=("default", "omniscient"))
    asked = len(server.bodies)
    alone = attunebench.run(data, here)
    assert (2 * ALL, 2 * ALL) == (asked, len(server.bodies) - asked)
    assert predicted(tmp_path / "here") == predicted(tmp_path / "results")
    fields = ("jobs", "written", "calls", "answered_items", "expected_items", "prompt_tokens", "completion_tokens")
    assert [getattr(alone, name) for name in fields] == [getattr(summary, name) for name in fields]
    assert (2 * ALL, 2 * CONVERSATIONS) == (len(set(heard.calls)), len(heard.results))
    assert server.most_at_once <= AT_ONCE
    journals = sorted(path.name for path in (tmp_path / "results").glob("_calls*"))
    assert ["_calls.ray-1-", "_calls.ray-2-"] == [name[:13] for name in journals]
    asked = len(server.bodies)
    attunebench.run(data, settings(modes=("default", "omniscient")))
    assert asked == len(server.bodies)
    assert [] == list((tmp_path / "results").glob(".attunebench-probe-*"))


def worker_pids() -> list[int]:
    """The processes that work on this machine for the cluster of these tests."""
    ours = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if b"ray::Worker" in cmdline(folder)]
    return [pid for pid in ours if os.getpid() in ancestors(pid)]


def cmdline(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def ancestors(pid: int) -> list[int]:
    parents = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        parents.append(pid)
    return parents


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_worker_that_is_killed_is_replaced_and_buys_nothing_again(go: Go, server: FakeServer, tmp_path: Path) -> None:
    killed = threading.Event()

    def script(asked: Asked) -> Doing:
        if asked.number >= ALL // 2 and not killed.is_set():
            killed.set()
            os.kill(worker_pids()[0], signal.SIGKILL)
        return Answer(delay=0.02)

    server.script = script
    heard = Heard()
    summary = go(heard)
    assert killed.is_set()
    assert (CONVERSATIONS, "") == (summary.written, summary.stopped)
    assert ALL <= len(server.bodies) <= ALL + AT_ONCE // 2
    assert ALL == len(heard.calls)
    assert any(
        "died: its process is gone, or its machine. Another one goes on from its journal." in each
        for each in heard.warnings
    )
    assert CONVERSATIONS == len(predicted(tmp_path / "results"))


def test_a_refused_key_ends_all_workers_with_one_sentence(go: Go, server: FakeServer) -> None:
    server.script = lambda _: Status(401, {"error": {"message": "wrong key"}})
    with pytest.raises(ConfigurationError, match="key") as refused:
        go()
    assert "ray" not in str(refused.value).lower()
    assert len(server.bodies) <= AT_ONCE


def test_what_is_skipped_is_noted_by_the_driver_alone(
    go: Go, server: FakeServer, data: Path, settings: Callable[..., RunSettings], tmp_path: Path
) -> None:
    server.script = lambda _: Status(502, {"error": {"message": "down"}})
    assert CONVERSATIONS == len(go(concurrency=2).skipped)
    assert ["_skipped_m.json"] == [path.name for path in (tmp_path / "results").glob("_skipped*")]
    server.script = None
    attunebench.run(data, settings())
    assert [] == list((tmp_path / "results").glob("_skipped*"))


def test_workers_together_spend_no_more_than_the_user_gave(go: Go, server: FakeServer) -> None:
    prices = {"price_in": 1.0, "price_out": 10.0}
    summary = go(max_cost=0.08, max_tokens=500, **prices)
    assert "max-cost" == summary.stopped
    assert 0.02 < (summary.cost or 0.0) <= 0.08


def test_ctrl_c_stops_all_workers_and_the_same_command_goes_on(
    cluster: str, server: FakeServer, data: Path, settings: Callable[..., RunSettings], tmp_path: Path
) -> None:
    held = threading.Event()

    def script(asked: Asked) -> Doing:
        if asked.number <= PER_CONVERSATION:
            return Answer()
        held.set()
        return Answer(delay=0.5)

    server.script = script
    words = ["run", "local", "m", str(data), "--base-url", server.url, "--concurrency", str(AT_ONCE)]
    words += ["--executor", "ray", "--ray-address", cluster, "--workers", "2", "--api-key", KEY]
    process = subprocess.Popen(
        [sys.executable, "-m", "attunebench.cli.main", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert held.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (130, "", False) == (process.returncode, out, "Traceback" in err), err
    assert "Go on with: attune-bench run local m" in err
    assert KEY not in err
    server.script = None
    attunebench.run(data, settings())
    assert CONVERSATIONS == len(predicted(tmp_path / "results"))
    assert ALL == len(server.bodies)


def test_a_key_is_in_no_file_of_the_cluster(cluster: str) -> None:
    import ray

    session = Path(ray._private.worker.global_worker.node.get_session_dir_path())
    texts = [path for path in session.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert [] == texts
