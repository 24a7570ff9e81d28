"""What a price list says, and what it does not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from attunebench.backends import open_backend
from attunebench.backends.prices import Prices, read_prices
from attunebench.protocol.calls import Usage
from attunebench.runner.settings import ModelSettings
from attunebench.selftest.server import FakeServer


def listed(pricing: Any, name: str = "some/model") -> dict[str, Any]:
    return {"data": [{"id": "other", "pricing": {"prompt": "9", "completion": "9"}}, {"id": name, "pricing": pricing}]}


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [
        ({"prompt": "0.000001", "completion": "0.000002"}, Prices(0.000001, 0.000002)),
        ({"prompt": "0", "completion": "0"}, Prices(0.0, 0.0)),
        (
            {
                "prompt": "0.000001",
                "completion": "0.000002",
                "input_cache_read": "0.0000001",
                "request": "0.005",
                "internal_reasoning": "0",
            },
            Prices(0.000001, 0.000002, 0.0000001, 0.005),
        ),
        (
            {"prompt": "0.000001", "completion": "0.000002", "internal_reasoning": "0.000003"},
            Prices(0.000001, 0.000003),
        ),
        ({"input_usd_per_mtok": 0.5, "output_usd_per_mtok": 2}, Prices(0.0000005, 0.000002)),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"prompt": "3", "completion": "15"}, None),
        ({"prompt": 0.5, "completion": 2.0}, None),
        ({"input": 0.5, "output": 2.0}, None),
        ({"prompt": "0.000001"}, None),
        ({"prompt": "nan", "completion": "inf"}, None),
        ({"prompt": "free", "completion": None}, None),
        ({"prompt": True, "completion": []}, None),
        ({}, None),
        (None, None),
        ("0.1", None),
    ],
)
def test_a_price_counts_only_where_its_unit_is_certain(pricing: Any, expected: Prices | None) -> None:
    found = read_prices(listed(pricing), "some/model")
    if expected is None:
        assert found is None
    else:
        assert found is not None
        for name in ("prompt", "completion", "cached", "request"):
            assert pytest.approx(getattr(expected, name)) == getattr(found, name)


@pytest.mark.parametrize("name", ["some/model:free", "some/model-2", "some/mode", ""])
def test_only_the_model_of_that_very_name_has_its_price(name: str) -> None:
    assert read_prices(listed({"prompt": "0.1", "completion": "0.1"}, name), "some/model") is None


@pytest.mark.parametrize("body", [None, 3, "x", [], {}, {"data": None}, {"data": [1, None, "x", {}]}, [[]]])
def test_a_list_of_any_other_shape_has_no_prices(body: Any) -> None:
    assert read_prices(body, "some/model") is None


PRICES = Prices(prompt=0.001, completion=0.002, cached=0.0001, request=1.0)


@pytest.mark.parametrize(
    ("prices", "usage", "cost"),
    [
        (PRICES, Usage(1000, 0, 100), 1.0 + 0.2 + 1.0),
        (PRICES, Usage(1000, None, 100), 1.0 + 0.2 + 1.0),
        (PRICES, Usage(1000, 400, 100), 0.6 + 0.04 + 0.2 + 1.0),
        (PRICES, Usage(1000, 5000, 100), 0.1 + 0.2 + 1.0),
        (PRICES, Usage(1000, 0, 100, 90), 1.0 + 0.2 + 1.0),
        (Prices(0.001, 0.002), Usage(1000, 400, 100), 1.0 + 0.2),
        (PRICES, Usage(None, 0, 100), None),
        (PRICES, Usage(1000, 0, None), None),
        (Prices(0.0, 0.0), Usage(), None),
    ],
)
def test_a_reply_costs_its_tokens_and_is_unknown_without_a_count(
    prices: Prices, usage: Usage, cost: float | None
) -> None:
    found = prices.cost(usage)
    assert (cost is None) == (found is None)
    assert cost is None or pytest.approx(cost) == found


def of(url: str) -> Prices | None:
    return asyncio.run(open_backend(ModelSettings(provider="local", model="fake-model", base_url=url)).prices())


def test_prices_are_asked_of_the_server() -> None:
    with FakeServer(prices=(0.000001, 0.000002)) as server:
        assert Prices(0.000001, 0.000002) == of(server.url)
        assert "GET /v1/models" == f"{server.asked[0].method} {server.asked[0].path}"


def test_a_server_without_prices_or_without_an_answer_has_none() -> None:
    with FakeServer() as server:
        assert of(server.url) is None
    assert of(server.url) is None
