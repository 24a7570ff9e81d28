"""Where prices come from, and who is asked for them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from attunebench.backends.prices import Prices
from attunebench.errors import UsageError
from attunebench.runner import ModelSettings, RunSettings
from attunebench.runner.pricing import KnownPrices, known_prices
from attunebench.runner.settings import RESULTS
from attunebench.selftest.server import FakeServer

LISTED = Prices(1e-6, 4e-6)
GIVEN = Prices(3e-6, 15e-6)
MODEL = {"price_in": 3.0, "price_out": 15.0}
JUDGES = {"judge_price_in": 3.0, "judge_price_out": 15.0}


def priced(server: FakeServer, *judges: ModelSettings, em: ModelSettings | None = None, **options: Any) -> KnownPrices:
    return known_prices(RunSettings(em=em or at(server), judges=judges, **options))


def at(server: FakeServer, model: str = "fake-model") -> ModelSettings:
    return ModelSettings(provider="local", model=model, base_url=server.url, api_key=SecretStr("none"))


@pytest.fixture
def server() -> Any:
    with FakeServer(prices=(1e-6, 4e-6), models=("fake-model", "judge")) as server:
        yield server


def test_the_providers_list_counts_where_no_option_says_otherwise(server: FakeServer) -> None:
    assert KnownPrices([LISTED, LISTED], "the provider's list") == priced(server, at(server, "judge"))


def test_who_gives_the_prices_has_nobody_asked(server: FakeServer) -> None:
    expected = KnownPrices([GIVEN, GIVEN], "--price-in and --price-out; --judge-price-in and --judge-price-out")
    assert expected == priced(server, at(server, "judge"), **MODEL, **JUDGES)
    assert [] == server.asked


def test_each_has_the_prices_of_its_own_source(server: FakeServer) -> None:
    expected = KnownPrices([GIVEN, LISTED], "--price-in and --price-out; the provider's list")
    assert expected == priced(server, at(server, "judge"), **MODEL)


def test_an_unlisted_model_has_no_price(server: FakeServer) -> None:
    assert KnownPrices([None]) == priced(server, em=at(server, "another"))


def test_what_is_built_in_is_free_and_has_no_source(server: FakeServer) -> None:
    baseline = ModelSettings(provider="baseline", model="majority")
    expected = KnownPrices([Prices(0, 0), GIVEN], "--judge-price-in and --judge-price-out")
    assert expected == priced(server, at(server, "judge"), em=baseline, **JUDGES)


def test_a_provider_that_cannot_be_asked_is_no_obstacle(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    keyless = ModelSettings(provider="openrouter", model="vendor/model")
    known = priced(server, at(server, "judge"), em=keyless)
    assert [None, LISTED] == known.prices
    assert known.unasked[0].startswith("No API key for openrouter")
    assert KnownPrices([GIVEN], "--price-in and --price-out") == priced(server, em=keyless, **MODEL)


def test_an_option_without_its_other_half_is_refused_before_anybody_is_asked(server: FakeServer) -> None:
    with pytest.raises(UsageError, match="--price-out without --price-in"):
        priced(server, price_out=1.0)
    assert [] == server.asked


@pytest.mark.parametrize(
    ("em", "judge", "free"),
    [
        ("baseline", "baseline", True),
        ("baseline", "local", False),
        ("local", "baseline", False),
        (RESULTS, "baseline", True),
    ],
)
def test_a_run_is_free_where_nobody_who_is_asked_can_cost(em: str, judge: str, free: bool) -> None:
    judges = (ModelSettings(provider=judge, model="majority"),)
    assert free is RunSettings(em=ModelSettings(provider=em, model="drafts"), judges=judges).free
