"""Runs with prices, against a server that keeps its own bill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attunebench.errors import ConfigurationError
from attunebench.runner import RunSummary
from attunebench.selftest.server import Answer, Asked, Doing, FakeServer

Run = Callable[..., RunSummary]
T = 3
PRICES = (1e-6, 4e-6)


@pytest.fixture
def server() -> Any:
    with FakeServer(prices=PRICES) as server:
        yield server


def bill(server: FakeServer) -> float:
    """USD at most for what was asked so far: prompts at four characters a token, replies as the server makes them."""
    return sum(len(asked.prompt) // 4 * PRICES[0] + 2000 / 4 * PRICES[1] for asked in server.asked if asked.body)


def test_what_the_provider_states_is_what_a_run_costs(run: Run, server: FakeServer) -> None:
    summary = run()
    assert summary.cost == pytest.approx(bill(server), rel=0.5)
    assert 0 < (summary.cost or 0) <= bill(server)


@pytest.mark.parametrize("bound", [0.03, 0.06])
def test_a_bound_stops_in_time_and_the_same_command_goes_on_without_paying_twice(
    run: Run, server: FakeServer, bound: float
) -> None:
    summary = run(max_cost=bound, max_tokens=500, concurrency=4)
    assert "max-cost" == summary.stopped
    assert 0 < (summary.cost or 0) <= bound
    assert summary.written < 2
    first = len(server.bodies)
    again = run(max_tokens=500)
    assert "" == again.stopped
    assert 2 * (4 * T + 1) == len(server.bodies)
    assert first == again.spending.replayed or again.complete_before


def test_a_bound_that_nothing_fits_in_sends_nothing(run: Run, server: FakeServer) -> None:
    summary = run(max_cost=1e-6)
    assert ("max-cost", []) == (summary.stopped, server.bodies)


def test_a_bound_without_prices_sends_nothing(run: Run, server: FakeServer) -> None:
    server._prices = None
    with pytest.raises(ConfigurationError, match="--price-in"):
        run(max_cost=1.0)
    assert [] == server.bodies


def half(asked: Asked) -> Doing:
    return Answer("I cannot say.") if "pairwise_selections" in asked.prompt else Answer()


def test_what_was_left_unanswered_for_good_is_asked_again_only_when_wanted(
    run: Run, server: FakeServer, tmp_path: Path
) -> None:
    server.script = half
    first = run(judges=("judge",), max_reasks=1)
    assert (first.answered_rate or 0) < 1
    server.script = None
    server.asked.clear()
    run(judges=("judge",), max_reasks=1)
    assert [] == server.bodies
    again = run(max_reasks=1, retry_unanswered=True)
    assert 2 * T == len(server.bodies)
    assert all("pairwise_selections" in asked.prompt for asked in server.asked if asked.body)
    assert 1.0 == again.answered_rate


def test_votes_stay_when_unanswered_items_are_asked_for_again(
    run: Run, server: FakeServer, results: Callable[[], list[dict[str, Any]]]
) -> None:
    server.script = half
    run(judges=("judge",), max_reasks=0)
    votes = [[turn["em_draft_judge_scores_by_model"] for turn in result["turns"]] for result in results()]
    server.script = None
    run(max_reasks=0, retry_unanswered=True)
    assert votes == [[turn["em_draft_judge_scores_by_model"] for turn in result["turns"]] for result in results()]
    assert all(result["calls"]["answered_items"] == result["calls"]["expected_items"] for result in results())
