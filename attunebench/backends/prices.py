"""What a model costs, as its provider lists it under `/models`. A price that is not certain to be in USD per token is
no price: an estimate in the wrong unit is worse than none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attunebench.backends.wire import amount, parse_body
from attunebench.protocol.calls import Usage

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

TIMEOUT = 10.0  # seconds that the provider has for its list
_DEAREST = 0.01  # USD a token (10,000 a million): beyond this the number is in another unit


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per token; `request` USD per request. `cached`: prompt tokens from the provider's cache, None if unknown."""

    prompt: float
    completion: float
    cached: float | None = None
    request: float = 0.0

    def cost(self, usage: Usage) -> float | None:
        """USD of one reply, or None where the server did not count its tokens; reasoning is among the completion's."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        cached_price = self.prompt if self.cached is None else self.cached
        prompt = (usage.prompt_tokens - cached) * self.prompt + cached * cached_price
        return prompt + usage.completion_tokens * self.completion + self.request


def usd(value: float) -> str:
    """ "$1.23"; sums below ten cents with more digits, rounded up so that something never looks like nothing."""
    if value >= 0.1 or value == 0:
        return f"${value:,.2f}"
    return f"${math.ceil(value * 10_000 - 1e-6) / 10_000:.4f}"


async def list_models(client: AsyncOpenAI, seconds: float) -> Response:
    """The server's response at /models within so many seconds. Raises what the client raises."""
    from httpx2 import Response

    from attunebench.backends.transport import response_of

    call = client.get("/models", cast_to=Response, options={"timeout": seconds, "max_retries": 0})
    return await response_of(call, seconds)


async def fetch_prices(client: AsyncOpenAI, model: str) -> Prices | None:
    """The model's prices, asked of the client's server within `TIMEOUT` seconds; None where there are none."""
    try:
        response = await list_models(client, TIMEOUT)
        return read_prices(parse_body(response.content), model) if response.status_code == 200 else None
    except Exception:  # a client of the user's may raise anything, and a run needs no price
        return None


def read_prices(listed: Any, model: str) -> Prices | None:
    """The prices of the model of exactly that name in the body of a list of models, or None."""
    entries: Any = listed.get("data") if isinstance(listed, Mapping) else listed
    rows = [each for each in entries if isinstance(each, Mapping)] if isinstance(entries, list) else []
    row = next((each for each in rows if model in (each.get("id"), each.get("canonical_slug"))), {})
    pricing = row.get("pricing")
    if not isinstance(pricing, Mapping):
        return None
    prompt = _per_token(pricing, "prompt", "input_usd_per_mtok")
    completion = _per_token(pricing, "completion", "output_usd_per_mtok")
    if prompt is None or completion is None:
        return None
    cached = _per_token(pricing, "input_cache_read", "cached_input_usd_per_mtok")
    # Reasoning is counted among the completion's tokens, so the dearer price of the two bounds the cost.
    reasoning = _per_token(pricing, "internal_reasoning", "") or 0.0
    return Prices(prompt, max(completion, reasoning), cached, amount(pricing.get("request"), 10.0) or 0.0)


def _per_token(pricing: Mapping[str, Any], per_token: str, per_million: str) -> float | None:
    """A price under the name that means a token, where it is a text as the routers write it, or a million tokens."""
    if isinstance(pricing.get(per_token), str):
        return amount(pricing[per_token], _DEAREST)
    price = amount(pricing.get(per_million), _DEAREST * 1e6)
    return None if price is None else price / 1e6
