"""A run on a real Ray cluster with two workers: what docs/clusters.md promises of it, against a server that counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from keys import KEY, files_with_a_key
from pydantic import SecretStr
from shard_runs import Gate, predicted

import attunebench
from attunebench.errors import ConfigurationError, DataError, UsageError
from attunebench.journal import claim
from attunebench.runner import ModelSettings, Observer, RunSettings, RunSummary, on_ray
from attunebench.runner.on_ray import run_on_ray
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

pytest.importorskip("ray", reason="a run on a cluster needs Ray, the extra `ray`")
pytestmark = pytest.mark.filterwarnings("ignore")
kills = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

TURNS, CONVERSATIONS, AT_ONCE = 2, 6, 4
PER_CONVERSATION = 4 * TURNS + 1
ALL = CONVERSATIONS * PER_CONVERSATION
PRICES = {"price_in": 1.0, "price_out": 10.0, "max_tokens": 500}
Go = Callable[..., RunSummary]
Make = Callable[..., RunSettings]
Start = Callable[..., "subprocess.Popen[str]"]


class Heard(Observer):
    """Counts what the driver's observer is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.results: list[str] = []
        self.warnings: list[str] = []
        self.stops: list[tuple[int, float]] = []

    def answered(self, call: Any, record: Any) -> None:
        self.calls.append(call.id)

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self.results.append(conversation_id)

    def warned(self, message: str) -> None:
        self.warnings.append(message)

    def interrupted(self, under_way: int, grace: float) -> None:
        self.stops.append((under_way, grace))


@pytest.fixture
def settings(server: FakeServer, tmp_path: Path) -> Make:
    def make(**values: Any) -> RunSettings:
        em = ModelSettings(provider="local", model="m", base_url=server.url, api_key=SecretStr(KEY))
        return RunSettings(
            **{"em": em, "output": tmp_path / "results", "concurrency": AT_ONCE, "max_tries": 1, **values}
        )

    return make


@pytest.fixture
def go(cluster: str, data: Path, settings: Make) -> Go:
    """`go(observer=…, …)`: a run by two workers."""

    def run(
        observer: Observer | None = None, *, workers: int | None = 2, interruptible: bool = False, **values: Any
    ) -> RunSummary:
        executor = partial(run_on_ray, workers=workers)
        return attunebench.run(
            data, settings(**values), observer=observer, executor=executor, interruptible=interruptible
        )

    return run


@pytest.fixture
def start(process: Start, server: FakeServer, data: Path) -> Start:
    """`start(*options, RAY_ADDRESS=…)`: the command as a process."""
    words = ("-m", "attunebench.cli.main", "run", "local", "m", data, "--base-url", server.url, "--api-key", KEY)
    return partial(process, *words, "--executor", "ray", "--concurrency", AT_ONCE)


def worker_pids() -> list[int]:
    """The processes that do shards for the cluster of these tests."""
    ours = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if b"ray::_run_shard" in cmdline(folder)]
    return [pid for pid in ours if os.getpid() in ancestors(pid)]


def cmdline(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def ancestors(pid: int) -> list[int]:
    parents = []
    with suppress(OSError):  # it has just ended
        while pid > 1:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            parents.append(pid)
    return parents


class Killer:
    """A script that kills one worker at each request of these numbers, and answers."""

    def __init__(self, *at: int, delay: float = 0.02) -> None:
        self.at = list(at)
        self.delay = delay

    def __call__(self, asked: Asked) -> Behaviour:
        if self.at and asked.number >= self.at[0] and (pids := worker_pids()):
            self.at.pop(0)
            os.kill(pids[0], signal.SIGKILL)
        return Answer(delay=self.delay)


def test_two_workers_make_the_results_that_one_process_makes(
    go: Go, server: FakeServer, data: Path, settings: Make, tmp_path: Path
) -> None:
    heard = Heard()
    modes = ("default", "omniscient")
    summary = go(heard, modes=modes)
    asked = len(server.bodies)
    alone = attunebench.run(data, settings(output=tmp_path / "here", modes=modes))
    assert (2 * ALL, 2 * ALL) == (asked, len(server.bodies) - asked)
    assert predicted(tmp_path / "here") == predicted(tmp_path / "results")
    fields = ("jobs", "written", "calls", "answered_items", "expected_items", "unanswered", "models")
    assert [getattr(alone, name) for name in fields] == [getattr(summary, name) for name in fields]
    assert alone.spending.model.replies == summary.spending.model.replies
    assert alone.spending.usage == summary.spending.usage
    assert (2 * ALL, 2 * CONVERSATIONS) == (len(set(heard.calls)), len(heard.results))
    assert server.most_at_once <= AT_ONCE
    journals = sorted(path.name for path in (tmp_path / "results").glob("_calls*"))
    assert ["_calls.1-of-2-", "_calls.2-of-2-"] == [name[:14] for name in journals]
    asked = len(server.bodies)
    assert 2 * CONVERSATIONS == go(modes=modes).complete_before
    attunebench.run(data, settings(modes=modes))
    assert asked == len(server.bodies)
    assert [] == list((tmp_path / "results").glob(".attunebench-probe-*"))


@kills
def test_workers_that_are_killed_are_replaced_and_buy_nothing_again(go: Go, server: FakeServer, tmp_path: Path) -> None:
    server.script = script = Killer(ALL // 3, ALL // 2)
    heard = Heard()
    summary = go(heard)
    assert [] == script.at
    assert (CONVERSATIONS, ALL, "") == (summary.written, summary.calls, summary.stopped)
    assert ALL <= len(server.bodies) <= ALL + AT_ONCE
    assert ALL == len(heard.calls)
    assert 2 == sum("died" in each for each in heard.warnings)
    assert CONVERSATIONS == len(predicted(tmp_path / "results"))


@kills
def test_workers_that_die_and_die_end_the_run(go: Go, server: FakeServer) -> None:
    server.script = Killer(*[0] * 99, delay=1.0)
    with pytest.raises(ConfigurationError):
        go()
    assert len(server.bodies) <= 2 * AT_ONCE * on_ray.DEATHS


@kills
@pytest.mark.parametrize(("max_cost", "stopped"), [(2.0, ""), (0.13, "max-cost")])
def test_what_a_dead_worker_could_have_spent_counts_as_spent(
    go: Go, server: FakeServer, max_cost: float, stopped: str
) -> None:
    server.script = Killer(ALL // 2)
    heard = Heard()
    summary = go(heard, max_cost=max_cost, **PRICES)
    assert any("died" in each for each in heard.warnings)
    assert stopped == summary.stopped
    assert bool(stopped) == (summary.unreached > 0)
    assert 0.02 < (summary.cost or 0.0) <= summary.spending.spent + 1e-9 <= max_cost + 2e-9


def test_workers_together_spend_no_more_than_the_user_gave(go: Go, server: FakeServer) -> None:
    summary = go(max_cost=0.08, **PRICES)
    assert "max-cost" == summary.stopped
    assert 0.02 < (summary.cost or 0.0) <= 0.08


def test_a_refused_key_ends_all_workers_with_one_sentence(go: Go, server: FakeServer) -> None:
    server.script = lambda _: Status(401, {"error": {"message": "wrong key"}})
    with pytest.raises(ConfigurationError, match="key") as refused:
        go()
    assert "ray" not in str(refused.value).lower()
    assert len(server.bodies) <= AT_ONCE


def test_what_is_skipped_is_in_one_list(go: Go, server: FakeServer, data: Path, settings: Make, tmp_path: Path) -> None:
    def lists() -> list[str]:
        return [path.name for path in (tmp_path / "results").glob("_skipped*")]

    server.script = lambda _: Status(502, {"error": {"message": "down"}})
    assert CONVERSATIONS == len(go(concurrency=2).skipped)
    assert ["_skipped_m.json"] == lists()
    server.script = None
    go(limit=2)
    assert CONVERSATIONS - 2 == len(json.loads((tmp_path / "results" / lists()[0]).read_text())["skipped"])
    go()
    assert [] == lists()


@pytest.mark.parametrize(
    ("signals", "grace"),
    [((signal.SIGINT,), 10.0), ((signal.SIGTERM, signal.SIGTERM), 10.0), ((signal.SIGINT, signal.SIGINT), 0.0)],
)
def test_an_interruption_reaches_all_workers_and_any_run_goes_on(
    go: Go, server: FakeServer, data: Path, settings: Make, signals: tuple[int, ...], grace: float
) -> None:
    server.script = gate = Gate(PER_CONVERSATION, holds=AT_ONCE, seconds=2.0 if grace else 60.0)

    def interrupt() -> None:
        gate.held.wait()
        for number in signals:
            time.sleep(0.5)
            os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    heard = Heard()
    summary = go(heard, interruptible=True)
    assert ("interrupted", True) == (summary.stopped, summary.unreached > 0)
    assert grace == heard.stops[-1][1], heard.stops
    assert AT_ONCE >= max(count for count, _ in heard.stops) > 0
    asked = len(server.bodies)
    server.script = None
    go(workers=1) if grace else attunebench.run(data, settings())
    # What was in flight at a second Ctrl-C is asked again.
    assert ALL - asked + (0 if grace else AT_ONCE) == len(server.bodies) - asked > 0


@kills
def test_a_command_that_is_killed_is_repeated_and_buys_nothing_again(
    cluster: str, start: Start, go: Go, server: FakeServer, tmp_path: Path
) -> None:
    server.script = gate = Gate(ALL // 2, seconds=60.0)
    process = start("--workers", "2", "--ray-address", cluster)
    assert gate.held.wait(180)
    process.kill()
    process.wait()
    server.script = None
    go()
    assert CONVERSATIONS == len(predicted(tmp_path / "results"))
    assert ALL <= len(server.bodies) <= ALL + AT_ONCE


def test_without_an_address_the_command_starts_a_cluster_of_its_own(
    start: Start, server: FakeServer, tmp_path: Path
) -> None:
    server.script = gate = Gate(PER_CONVERSATION, seconds=1.0)
    process = start()
    assert gate.held.wait(180)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=180)
    assert (130, "", False) == (process.returncode, out, "Traceback" in err), err
    assert "Resume with: attune-bench run local m" in err
    assert KEY not in err
    assert (tmp_path / "results" / ".attunebench-shards-2.json").exists()


def test_an_address_where_nobody_listens_is_an_error(start: Start, server: FakeServer) -> None:
    process = start(RAY_ADDRESS="127.0.0.1:1")
    out, err = process.communicate(timeout=180)
    assert (2, "", False) == (process.returncode, out, "Traceback" in err), err
    assert "127.0.0.1:1" in err
    assert [] == server.bodies


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="a path that each process takes for another folder")
def test_workers_that_see_another_folder_are_refused_before_anything_is_sent(
    go: Go, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="share"):
        go(output=Path("/proc/self/cwd/results"))
    assert [] == server.bodies
    assert [] == list((tmp_path / "results").glob(".attunebench-probe-*"))


def test_shards_without_room_wait_for_their_turn(go: Go, server: FakeServer, tmp_path: Path) -> None:
    assert CONVERSATIONS == go(workers=3).written
    assert ALL == len(server.bodies)
    assert 3 == len(list((tmp_path / "results").glob("_calls.*-of-3-*.sqlite3")))


def test_there_are_no_more_workers_than_calls_at_once_and_without_a_number_two(go: Go, tmp_path: Path) -> None:
    go(concurrency=1, output=tmp_path / "one")
    go(workers=None, output=tmp_path / "two")
    assert (1, 2) == tuple(len(list((tmp_path / name).glob("_calls.*.sqlite3"))) for name in ("one", "two"))


def test_a_second_command_is_refused_and_a_shard_of_the_division_is_not(
    go: Go, server: FakeServer, tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    with claim(tmp_path / "results", "local", "m", ["default"], "0-of-2"), pytest.raises(DataError):
        go()
    assert [] == server.bodies


def test_whose_account_it_is_goes_along(
    go: Go, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-7")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    em = ModelSettings(provider="openai", model="m", base_url=server.url)
    go(em=em, limit=2)
    headers = [asked.headers for asked in server.asked if asked.path.endswith("/chat/completions")]
    assert {("org-7", f"Bearer {KEY}")} == {(each["openai-organization"], each["authorization"]) for each in headers}


def test_a_worker_with_another_version_is_refused(tmp_path: Path, settings: Make) -> None:
    with pytest.raises(ConfigurationError, match="version"):
        on_ray._run_shard(None, settings(), None, tmp_path, "life", "0.0")


def test_a_worker_whose_proof_nobody_takes_is_refused(
    tmp_path: Path, settings: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "TAKEN_WITHIN", 0.0)
    with pytest.raises(UsageError, match="share"):
        on_ray._run_shard(None, settings(), None, tmp_path, "life", attunebench.__version__)
    assert (tmp_path / "life").exists()


def test_a_key_is_in_no_file(cluster: str, go: Go, tmp_path: Path) -> None:
    import ray

    go()
    session = Path(ray._private.worker.global_worker.node.get_session_dir_path())
    assert [] == files_with_a_key(session)
    assert [] == files_with_a_key(tmp_path)
    store = [path for path in Path("/dev/shm").glob("plasma*") if KEY.encode() in path.read_bytes()]
    assert [] == store
