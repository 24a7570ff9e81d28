"""Judging again, stopped in the middle as a process of its own: nothing is lost, and nothing is bought twice."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from shard_runs import Gate

import attunebench
from attunebench.runner import ModelSettings, RunSettings
from attunebench.runner.rejudge import RejudgeSummary, rejudge_settings
from attunebench.selftest.server import FakeServer

TURNS, CONVERSATIONS, AT_ONCE = 3, 4, 2
ALL = TURNS * CONVERSATIONS
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Conversations with results of a model that was not judged."""
    folder = write_conversations(tmp_path / "data", CONVERSATIONS, seed=5, turns=TURNS)
    em = ModelSettings(provider="baseline", model="majority")
    attunebench.run(folder, RunSettings(em=em, output=tmp_path / "results"))
    return folder


@pytest.fixture
def start(process: Start, server: FakeServer, data: Path) -> Start:
    """`start(*options)`: the judging as a process of its own."""
    words = ("-m", "attunebench.cli.main", "rejudge", "-d", data, "-M", "judge", "--judge-provider", "local")
    return partial(process, *words, "--judge-base-url", server.url, "--concurrency", AT_ONCE, "--resamples", 100)


def judged(folder: Path) -> int:
    results = [json.loads(path.read_text("utf-8")) for path in folder.glob("[!_.]*.json")]
    assert CONVERSATIONS == len(results)
    return sum("judge" in turn["em_draft_judge_scores_by_model"] for result in results for turn in result["turns"])


def stopped(server: FakeServer, start: Start, how: signal.Signals, free: int, *options: str) -> tuple[int, str, str]:
    gate = Gate(free)
    server.script = gate
    process = start(*options)
    assert gate.held.wait(60)
    process.send_signal(how)
    if how is signal.SIGINT:  # and once more, since what is held would be waited for
        assert process.stderr is not None
        for line in process.stderr:
            if "Stopping" in line:
                break
        process.send_signal(how)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def go_on(server: FakeServer, data: Path, folder: Path, **values: Any) -> RejudgeSummary:
    """The same judging in this process, against a server that answers."""
    server.script = None
    server.asked.clear()
    judge = ModelSettings(provider="local", model="judge", base_url=server.url)
    settings = rejudge_settings(folder / "results", [judge], concurrency=AT_ONCE, **values)
    return attunebench.rejudge(data, settings)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "free"), [(signal.SIGINT, 4), (signal.SIGKILL, 8)])
def test_it_goes_on_with_the_votes_that_are_missing(
    server: FakeServer, start: Start, data: Path, tmp_path: Path, how: signal.Signals, free: int
) -> None:
    status, _, err = stopped(server, start, how, free)
    assert 0 != status
    assert judged(tmp_path / "results") <= free
    if how is signal.SIGINT:
        assert 130 == status
        assert "Resume with: attune-bench rejudge -d" in err
        assert "Traceback" not in err
    go_on(server, data, tmp_path)
    assert ALL == judged(tmp_path / "results")
    assert ALL - free <= len(server.bodies) <= ALL - free + AT_ONCE
    assert 1 == max(Counter(json.dumps(body["messages"]) for body in server.bodies).values())


@pytest.mark.slow
def test_replacing_that_was_killed_has_lost_no_older_vote_and_pays_once(
    server: FakeServer, start: Start, data: Path, tmp_path: Path
) -> None:
    go_on(server, data, tmp_path)
    stopped(server, start, signal.SIGKILL, 7, "--replace", "--temperature", "0.5")
    assert ALL == judged(tmp_path / "results")
    summary = go_on(server, data, tmp_path, replace=True, temperature=0.5)
    assert ALL - 7 <= len(server.bodies) <= ALL - 7 + AT_ONCE
    assert (0, ALL) == (summary.added, summary.replaced)
