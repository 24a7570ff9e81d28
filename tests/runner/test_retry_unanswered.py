"""`--retry-unanswered` asks again what is final and incomplete, pays for nothing else, and keeps what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attunebench.runner import RunSummary
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

Run = Callable[..., RunSummary]
Results = Callable[[], list[dict[str, Any]]]
T = 3
TOO_LONG = Status(400, {"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}})


def without_pairwise(asked: Asked) -> Behaviour:
    """A model that will not say which reply was preferred."""
    return Answer("I cannot say.") if "pairwise_selections" in asked.prompt else Answer()


@pytest.fixture
def unanswered(run: Run, server: FakeServer) -> FakeServer:
    """A finished run with a judge whose pairwise calls stayed unanswered; its server now answers everything."""
    server.script = without_pairwise
    assert (run(judges=("judge",), max_reasks=1).answered_rate or 0) < 1
    server.script = None
    server.asked.clear()
    return server


def test_without_the_option_nothing_is_sent(run: Run, unanswered: FakeServer) -> None:
    run(judges=("judge",), max_reasks=1)
    assert [] == unanswered.bodies


@pytest.mark.parametrize("judges", [(), ("judge",)])
def test_only_what_is_unanswered_is_asked_each_call_once_and_then_nothing(
    run: Run, unanswered: FakeServer, results: Results, judges: tuple[str, ...]
) -> None:
    again = run(judges=judges, max_reasks=1, retry_unanswered=True)
    assert 2 * T == len(unanswered.bodies)
    assert all("pairwise_selections" in asked.prompt for asked in unanswered.asked if asked.body)
    assert 1.0 == again.answered_rate
    assert all(result["calls"]["answered_items"] == result["calls"]["expected_items"] for result in results())
    unanswered.asked.clear()
    run(max_reasks=1, retry_unanswered=True)
    assert [] == unanswered.bodies


def test_what_was_answered_and_the_votes_stay(run: Run, unanswered: FakeServer, results: Results) -> None:
    def kept() -> list[dict[str, Any]]:
        return [
            {name: value for name, value in turn.items() if "pairwise" not in name}
            for each in results()
            for turn in each["turns"]
        ]

    before = kept()
    assert any("judge" in name and value for turn in before for name, value in turn.items())
    run(max_reasks=1, retry_unanswered=True)
    assert before == kept()


def test_a_model_that_stays_silent_is_asked_no_more_than_the_bounds_say(run: Run, unanswered: FakeServer) -> None:
    unanswered.script = without_pairwise
    run(max_reasks=1, retry_unanswered=True)
    assert 2 * T * 2 == len(unanswered.bodies)


def test_what_a_server_could_not_take_is_asked_again_too(run: Run, server: FakeServer) -> None:
    server.script = lambda asked: TOO_LONG if "pairwise_selections" in asked.prompt else Answer()
    assert (run(max_reasks=0).answered_rate or 0) < 1
    server.script = None
    server.asked.clear()
    assert 1.0 == run(max_reasks=0, retry_unanswered=True).answered_rate
    assert 2 * T == len(server.bodies)
