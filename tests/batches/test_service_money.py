"""What batches cost: the discount, in every figure; and --max-cost bounds what is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch_runs import run_by_batches, settings_at
from batch_server import BatchServer
from factory import write_conversations

from attunebench.backends.prices import Prices
from attunebench.batches.pending import batch_prices
from attunebench.errors import ConfigurationError, UsageError
from attunebench.runner import ModelSettings
from attunebench.runner.pricing import KnownPrices

PRICES = {"price_in": 2.0, "price_out": 8.0}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three conversations of one turn."""
    return write_conversations(tmp_path / "data", 3, seed=3, turns=1)


def test_half_of_every_price_is_left_at_openai_and_nothing_is_known_of_others() -> None:
    prices = [Prices(2.0, 8.0, 1.0, 0.5), None, Prices(1.0, 1.0)]
    half = [Prices(1.0, 4.0, 0.5, 0.25), None, Prices(0.5, 0.5)]
    assert half == batch_prices(KnownPrices(prices), "openai", None).prices
    assert half == batch_prices(KnownPrices(prices), "local", 0.5).prices
    assert prices == batch_prices(KnownPrices(prices), "local", None).prices


def test_results_and_sums_have_the_price_of_batches(data: Path, tmp_path: Path) -> None:
    with BatchServer() as server:
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results", **PRICES), discount=0.5)
    usage = run.summary.spending.usage
    expected = (usage.prompt_tokens * 1.0 + usage.completion_tokens * 4.0) / 1e6
    assert pytest.approx(expected) == run.summary.cost
    costs = [json.loads(path.read_text())["api_cost"] for path in (tmp_path / "results").glob("[!_]*.json")]
    assert pytest.approx(expected) == sum(costs)


def test_a_round_is_cut_to_whole_conversations_that_can_be_paid(data: Path, tmp_path: Path) -> None:
    """A prompt's bytes bound its tokens, and each reply may take 4,096: two conversations fit, three do not."""
    with BatchServer() as server:
        settings = settings_at(server.url, tmp_path / "results", max_cost=0.45, **PRICES)
        run = run_by_batches(data, settings)
        assert [10, 5] == [len(made.lines) for made in server.made]
        spent = run.summary.cost
    assert spent is not None
    assert spent < 0.45
    # What the first ones have left of their worst case pays for the last one.
    assert (3, 0, "") == (run.summary.written, run.summary.unreached, run.summary.stopped)


def test_what_cannot_be_paid_at_all_is_not_sent(data: Path, tmp_path: Path) -> None:
    with BatchServer() as server:
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results", max_cost=0.001, **PRICES))
        assert [] == server.asked
    assert ("max-cost", 3) == (run.summary.stopped, run.summary.unreached)


def test_a_bound_without_prices_is_refused_before_anything_is_sent(data: Path, tmp_path: Path) -> None:
    with BatchServer() as server:
        with pytest.raises(ConfigurationError, match="--price-in"):
            run_by_batches(data, settings_at(server.url, tmp_path / "results", max_cost=1.0))
        assert [] == server.asked


def test_judges_elsewhere_are_sent_to_rejudge(data: Path, tmp_path: Path) -> None:
    settings = settings_at("http://localhost:1/v1", tmp_path / "results")
    judge = ModelSettings(provider="openrouter", model="judge")
    with pytest.raises(UsageError, match="rejudge"):
        run_by_batches(data, settings.model_copy(update={"judges": (judge,)}))


@pytest.mark.parametrize("provider", ["openrouter", "prime", "baseline"])
def test_providers_without_a_batch_service_are_refused(data: Path, tmp_path: Path, provider: str) -> None:
    settings = settings_at("http://localhost:1/v1", tmp_path / "results")
    em = ModelSettings(provider=provider, model="random")
    with pytest.raises(UsageError, match="no batch service"):
        run_by_batches(data, settings.model_copy(update={"em": em}))
