"""A judge whose key, model or request the server refuses: results are written, votes are owed, the reason is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from lines import Told

from attunebench.runner import RunSummary, live
from attunebench.runner.pacing import TRUSTED
from attunebench.selftest.server import Answer, FakeServer, Status

TURNS = 3


def models_asked(server: FakeServer) -> Counter[str]:
    return Counter(body["model"] for body in server.bodies)


@pytest.mark.parametrize(
    ("refusal", "most"),
    [
        *((Status(status, {"error": {"message": "Not this way"}}), 1) for status in (400, 401, 402, 404)),
        (Status(200, "nonsense"), TRUSTED + 1),
    ],
)
def test_a_judge_that_cannot_be_asked_costs_no_result_and_is_given_up(
    refusal: Status,
    most: int,
    run: Callable[..., RunSummary],
    server: FakeServer,
    results: Callable[[], list[dict[str, Any]]],
    quick: None,
) -> None:
    server.script = lambda asked: refusal if asked.body["model"] == "judge" else Answer()
    heard = Told()
    summary = run(judges=("judge",), concurrency=1, structured="text", max_reasks=0, observer=heard)
    assert ({}, 2, 2 * TURNS) == (summary.skipped, summary.written, summary.votes_owed)
    asked = models_asked(server)
    assert (2 * (4 * TURNS + 1), True) == (asked["fake-model"], 0 < asked["judge"] <= most)
    assert 1 == len([warning for warning in heard.warnings if "judge" in warning])
    assert {None} == {result["scores"]["draft_judge"] for result in results()}

    server.script = None
    server.asked.clear()
    assert 0 == run(judges=("judge",), structured="text", max_reasks=0).votes_owed
    assert {"judge": 2 * TURNS} == models_asked(server)


def test_a_judge_that_is_down_holds_up_no_result_and_is_given_up(
    run: Callable[..., RunSummary],
    server: FakeServer,
    results: Callable[[], list[dict[str, Any]]],
    quick: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one call at once there are two workers, and the first conversation's three votes hold both of them: the run
    ends only where the judge is given up, for no call runs out of its own ten minutes here."""
    monkeypatch.setattr(live, "OUTAGE_CHECK", 0.02)
    monkeypatch.setattr(live, "NEVER_ANSWERED", 0.0005)
    down = Status(503, {"error": {"message": "no judge today"}})
    server.script = lambda asked: down if asked.body["model"] == "judge" else Answer()
    heard = Told()
    summary = run(judges=("judge",), concurrency=1, structured="text", max_reasks=0, observer=heard, max_tries=10**6)
    assert ({}, 2, 2 * TURNS) == (summary.skipped, summary.written, summary.votes_owed)
    assert "" == summary.stopped
    assert 2 * (4 * TURNS + 1) == models_asked(server)["fake-model"]
    [told] = [warning for warning in heard.warnings if "judge" in warning]
    assert "judge is down (every request fails, last: local answered 503" in told
    assert {None} == {result["scores"]["draft_judge"] for result in results()}

    server.script = None
    server.asked.clear()
    assert 0 == run(judges=("judge",), structured="text", max_reasks=0).votes_owed
    assert {"judge": 2 * TURNS} == models_asked(server)
