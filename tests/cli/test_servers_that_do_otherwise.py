"""Behaviours 13, 14, 37 and 38 from the request to the report: what a server did otherwise stands beside the scores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

if TYPE_CHECKING:
    from conftest import Command

REJECTED = {"error": {"message": "Unsupported parameter: 'temperature' is not supported with this model."}}


def otherwise(asked: Asked) -> Behaviour:
    """Takes no temperature, and is two models at two providers, neither of them the one that was asked."""
    if "temperature" in asked.body:
        return Status(400, REJECTED)
    which = "12"[asked.number % 2]
    return Answer(extra={"model": f"other-{'ab'[asked.number % 2]}", "provider": f"Host {which}"})


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(otherwise) as server:
        yield server


def test_a_run_its_results_and_its_report_say_what_the_server_did(
    cli: Command, data: Path, tmp_path: Path, server: FakeServer
) -> None:
    ended = cli("run", "local", "m", data, "--base-url", server.url, "--limit", "1", "--concurrency", "1")
    assert 0 == ended.status, ended.err
    assert "Temperature was not applied (not accepted by the server)." in ended.err
    assert "Attention: calls to m were answered by other-" in ended.err
    result = json.loads(next(tmp_path.glob("results/*.json")).read_text())
    assert {"temperature": "not accepted"} == result["adapted"]
    assert ["Host 1", "Host 2"] == result["providers_reported"]
    cli("score", "-d", data)
    report = " ".join(cli("report").out.split())
    assert all(name in report for name in ("other-a", "other-b"))
    assert "More than one provider answered, and providers run a model differently: m (Host 1 in 1" in report
    assert "Temperature was not applied (not accepted by the server): m." in report


def test_a_format_that_is_refused_down_to_text_is_told(cli: Command, data: Path, server: FakeServer) -> None:
    def script(asked: Asked) -> Behaviour:
        refused = {"error": {"message": "response_format is not supported"}}
        return Status(400, refused) if "response_format" in asked.body else Answer()

    server.script = script
    cli("run", "local", "m", data, "--base-url", server.url, "--limit", "1")
    cli("score", "-d", data)
    assert "The answer format was enforced by the prompt alone." in cli("report").out
