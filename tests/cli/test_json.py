"""`--json`: what commands print for programs. The keys are promised in docs/json.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attunebench.selftest.server import Asked, FakeServer, Status

if TYPE_CHECKING:
    from conftest import Command, Ended

OF_AN_EVENT = {"event", "time"}
OF_A_RUN = {*OF_AN_EVENT, "provider", "model"}
SPENT = {"cost", "cost_known", "tokens", "replayed", "without_reply"}
KEYS = {
    "start": {*OF_A_RUN, "modes", "judges", "output", "results", "calls", "cost", "notes"},
    "progress": {*OF_A_RUN, "results", "calls", *SPENT, "cost_expected", "calls_per_second", "seconds_left"},
    "retry": {*OF_A_RUN, "call", "reason", "wait"},
    "reprompt": {*OF_A_RUN, "call", "missing"},
    "pause": {*OF_A_RUN, "asked", "reason", "seconds"},
    "warning": {*OF_A_RUN, "message"},
    "done": {*OF_A_RUN, "conversation", "mode", "file"},
    "skipped": {*OF_A_RUN, "conversation", "mode", "reason"},
    "estimate": {*OF_A_RUN, "results", "calls", "tokens", "cost"},
    "end": {*OF_A_RUN, "stopped", "results", "calls", "items", "unanswered", *SPENT, "seconds"},
    "exit": {*OF_AN_EVENT, "status", "error"},
}


def events(ended: Ended) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert [] == [line for line in lines if line.keys() != KEYS[line["event"]]]
    return lines


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(prices=(1e-6, 1e-6)) as server:
        yield server


def test_run_tells_what_happens_in_lines(cli: Command, server: FakeServer, data: Path) -> None:
    failing = iter([Status(500, {"error": "again"})])
    server.script = lambda asked: next(failing, None) if asked.method == "POST" else None
    told = events(cli("run", "local", "m", data, "--base-url", server.url, "--limit", "2", "--json"))
    count = Counter(line["event"] for line in told)
    assert {"start": 1, "done": 2, "retry": 1, "end": 1, "exit": 1}.items() <= count.items()
    assert ("start", "exit") == (next(e["event"] for e in told if e["event"] != "warning"), told[-1]["event"])
    end = next(line for line in told if line["event"] == "end")
    files = {line["file"] for line in told if line["event"] == "done"}
    assert files == {str(path) for path in Path("results").glob("[!_]*.json")}
    assert sum(json.loads(Path(file).read_text("utf-8"))["api_cost"] for file in files) == pytest.approx(end["cost"])
    assert (2, 1, None) == (end["results"]["written"], end["calls"]["retries"], end["stopped"])
    assert {"status": 0, "error": None}.items() <= told[-1].items()


def test_run_tells_what_was_skipped(cli: Command, server: FakeServer, data: Path) -> None:
    names = [json.loads(path.read_text("utf-8"))["turns"][0]["userMessage"] for path in sorted(data.glob("*.json"))]

    def script(asked: Asked) -> Status | None:
        return Status(418, {"error": {"message": "no"}}) if names[0][:60] in asked.prompt else None

    server.script = script
    told = events(cli("run", "local", "m", data, "--base-url", server.url, "--json", "--max-tokens", "900"))
    assert 1 == told[-1]["status"]
    assert [1] == [line["results"]["skipped"] for line in told if line["event"] == "end"]
    assert 1 == sum(line["event"] == "skipped" for line in told)


def test_run_tells_of_an_error_and_of_an_estimate(cli: Command, server: FakeServer, data: Path) -> None:
    told = events(cli("run", "local", "m", "nowhere", "--base-url", server.url, "--json"))
    assert ["exit"] == [line["event"] for line in told]
    assert (2, True) == (told[0]["status"], "nowhere" in told[0]["error"])
    [ended] = events(cli("run", "--json"))
    assert 2 == ended["status"]
    told = events(cli("run", "local", "m", data, "--base-url", server.url, "--json", "--dry-run"))
    assert ["estimate", "exit"] == [line["event"] for line in told]
    assert 3 == told[0]["results"]["to_make"]


def test_the_last_line_says_what_the_operating_system_refused(cli: Command, data: Path) -> None:
    ended = cli("run", "baseline", "majority", data, "--json", "-o", "a" * 300)
    assert (2, 2) == (ended.status, events(ended)[-1]["status"])
    assert events(ended)[-1]["error"]


def test_score_doctor_validate_and_data_list_print_one_object(cli: Command, data: Path) -> None:
    cli("run", "baseline", "majority", data, "--limit", "1", "-q")
    ended = cli("score", "-d", data, "--resamples", "10", "--json")
    scores = json.loads(ended.out)
    assert {"scores", "n_results", "n_conversations", "groups", "left_out"} == scores.keys()
    assert {"provider", "model", "mode", "conversations", "coverage", "composite"} == scores["groups"][0].keys()
    assert 0 == ended.status

    told = json.loads(cli("doctor", "--json").out)
    assert (True, {"state", "text"}) == (told["ok"], told["findings"][0].keys())

    told = json.loads(cli("validate", data, "--json").out)
    assert {"ok": True, "conversations": 3, "errors": [], "passed_over": []}.items() <= told.items()
    (data / "conversation_9.json").write_text('{"turns": [{}]}')
    (data / "other.json").write_text("[]")
    ended = cli("validate", data, "--json")
    assert [{"file", "reason"}] == [each.keys() for each in json.loads(ended.out)["passed_over"]]
    assert {"file", "path", "sentence", "kind"} == json.loads(ended.out)["errors"][0].keys()
    assert 1 == ended.status

    [demo] = [each for each in json.loads(cli("data", "list", "--json").out)["sets"] if each["name"] == "Demo12"]
    assert (12, {"name", "size", "found", "within", "bundled"}) == (demo["size"], demo.keys())
