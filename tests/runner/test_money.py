"""Runs with prices, against a server that keeps its own bill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attunebench.errors import ConfigurationError
from attunebench.journal import Journal
from attunebench.runner import RunSummary
from attunebench.selftest.answers import completion
from attunebench.selftest.server import Answer, Asked, Broken, FakeServer, Status

if TYPE_CHECKING:
    from conftest import Command

Run = Callable[..., RunSummary]
T = 3
ALL = 2 * (4 * T + 1)
PRICES = (1e-6, 4e-6)


@pytest.fixture
def server() -> Any:
    with FakeServer(prices=PRICES) as server:
        yield server


def chats(server: FakeServer) -> list[Asked]:
    return [asked for asked in server.asked if asked.path.endswith("/chat/completions")]


def bill(server: FakeServer) -> float:
    """USD for all requests so far, those included whose reply never arrived: the server made it all the same."""
    usages = [completion(asked, Answer())["usage"] for asked in chats(server)]
    return sum(usage["prompt_tokens"] * PRICES[0] + usage["completion_tokens"] * PRICES[1] for usage in usages)


def test_what_the_provider_states_is_what_a_run_costs(run: Run, server: FakeServer) -> None:
    summary = run()
    assert bill(server) == pytest.approx(summary.cost)


@pytest.mark.parametrize("bound", [0.03, 0.06])
def test_a_bound_stops_in_time_and_the_same_command_goes_on_without_paying_twice(
    run: Run, server: FakeServer, tmp_path: Path, bound: float
) -> None:
    summary = run(max_cost=bound, max_tokens=500, concurrency=4)
    assert "max-cost" == summary.stopped
    assert 0 < bill(server) <= bound
    assert summary.written < 2
    with Journal.read(tmp_path / "results") as journal:  # what was under way at the stop was waited for, and kept
        assert len(chats(server)) == journal.count()
    again = run(max_cost=1.0, max_tokens=500)
    assert "" == again.stopped
    assert ALL == len(chats(server)) == len({json.dumps(body, sort_keys=True) for body in server.bodies})


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_bound_holds_where_the_provider_bills_what_never_arrives(
    run: Run, server: FakeServer, concurrency: int
) -> None:
    server.script = lambda asked: Broken("reset") if asked.number % 3 == 0 else Answer()
    run(max_cost=0.08, max_tokens=500, concurrency=concurrency, max_tries=2)
    assert 0 < bill(server) <= 0.08


@pytest.mark.usefixtures("quick")
def test_a_retry_that_waits_for_money_holds_no_place_that_others_need_to_make_room(
    run: Run, server: FakeServer
) -> None:
    busy = Status(503, {"error": {"message": "busy"}}, {"retry-after": "0.1"})
    server.script = lambda asked: busy if [asked] == chats(server) else Answer()
    # Room for two worst cases: that of the failed request, which may be billed, and that of the call behind it.
    summary = run(max_cost=0.015, max_tokens=500, concurrency=1)
    assert ("max-cost", 1) == (summary.stopped, summary.spending.lost)
    assert len(chats(server)) > 1


def test_a_bound_that_nothing_fits_in_sends_nothing(run: Run, server: FakeServer) -> None:
    summary = run(max_cost=1e-6)
    assert ("max-cost", []) == (summary.stopped, server.bodies)


def test_a_bound_without_prices_sends_nothing(run: Run) -> None:
    with FakeServer() as unpriced, pytest.raises(ConfigurationError, match="--price-in"):
        run(max_cost=1.0, url=unpriced.url)
    assert [] == unpriced.bodies


def test_a_command_stopped_by_its_bound_ends_with_3_and_says_how_to_go_on(
    command: Command, server: FakeServer, data: Path
) -> None:
    stopped = command(server, "--max-cost", "0.03", "--max-tokens", "500", data=data)
    assert 3 == stopped.status
    assert "Stopped by --max-cost" in stopped.read
    assert "Resume (each run has its own --max-cost limit) with: attune-bench run local" in stopped.read
    assert bill(server) <= 0.03
    ended = command(server, "--max-cost", "1", "--max-tokens", "500", data=data)
    assert 0 == ended.status
    assert ALL == len(chats(server))


def test_the_options_give_the_prices_that_a_server_does_not_list(command: Command) -> None:
    prices = ("--price-in", "1", "--price-out", "4")
    with FakeServer() as unpriced:
        assert 3 == command(unpriced, "--max-cost", "0.0001", *prices).status
        ended = command(unpriced, "--max-cost", "1", *prices)
    assert 0 == ended.status
    assert "(--price-in and --price-out)" in ended.read


def test_a_cost_that_nobody_knows_is_unknown_and_not_0(command: Command, run: Run) -> None:
    with FakeServer() as unpriced:
        assert run(url=unpriced.url).cost is None
        assert "Cost: unknown" in command(unpriced, "--replace").read
