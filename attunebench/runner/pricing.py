"""What those who are asked cost: by the user's options, else by what their providers list.

How a list is read is `backends.prices`' business, what is done with the prices `budget`'s and `estimate`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attunebench import eventloop
from attunebench.backends import open_backend
from attunebench.backends.prices import Prices
from attunebench.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from attunebench.backends.base import Backend
    from attunebench.runner.settings import ModelSettings, RunSettings

FREE = Prices(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class KnownPrices:
    """Prices of the evaluated model, then of the judges, None where unknown. `source`: where they come from, in words.
    `unasked`: why providers were not asked for their lists, each reason once."""

    prices: Sequence[Prices | None] = ()
    source: str = ""
    unasked: Sequence[str] = ()


def known_prices(settings: RunSettings, *, judges_only: bool = False) -> KnownPrices:
    """The prices that a run would go by, for an estimate of it; a provider that cannot be asked has no price.

    Asks providers for their lists alone. With `judges_only` the evaluated model is not asked, and so costs nothing.
    Raises UsageError where a run would.
    """
    reasons: list[str] = []

    def opened(model: ModelSettings) -> Backend | None:
        try:
            return open_backend(model)
        except ConfigurationError as error:
            reasons.append(str(error))
            return None

    backends = [None if judges_only else opened(settings.em), *map(opened, settings.judges)]
    known = eventloop.run(prices_of(settings, backends))
    prices = [FREE, *known.prices[1:]] if judges_only else known.prices
    return KnownPrices(prices, known.source, tuple(dict.fromkeys(reasons)) if None in prices else ())


async def prices_of(settings: RunSettings, backends: Sequence[Backend | None]) -> KnownPrices:
    """The prices of these, the evaluated model first; None has none but what the options give.

    A provider is asked only where no option says what it would. Raises UsageError where an option lacks its other half.
    """

    async def price(backend: Backend | None, *, judge: bool) -> tuple[Prices | None, str]:
        if backend is not None and backend.provider == "baseline":
            return FREE, ""
        given, source = prices_for(settings, None, judge=judge)
        if given is not None or backend is None:
            return given, source
        return prices_for(settings, await backend.prices(), judge=judge)

    found = await asyncio.gather(*(price(each, judge=number > 0) for number, each in enumerate(backends)))
    (_, source), *judges = found
    theirs = [words for words in dict.fromkeys(words for _, words in judges) if words and words != source]
    words = "; for judges ".join(filter(None, (source, " and ".join(theirs))))
    return KnownPrices([prices for prices, _ in found], words)


def prices_for(settings: RunSettings, listed: Prices | None, *, judge: bool) -> tuple[Prices | None, str]:
    """The prices of the evaluated model, or of the judges, and where they come from in words.

    What the user gives wins over what the provider lists. Raises UsageError where only one of the two is given.
    """
    option = "--judge-price" if judge else "--price"
    into, out = (
        (settings.judge_price_in, settings.judge_price_out) if judge else (settings.price_in, settings.price_out)
    )
    if into is None and out is None:
        return listed, "the provider's list" if listed is not None else ""
    if into is None or out is None:
        given, lacking = ("out", "in") if into is None else ("in", "out")
        raise UsageError(f"{option}-{given} without {option}-{lacking}: give both, in USD for a million tokens.")
    return Prices(into / 1e6, out / 1e6), f"{option}-in and {option}-out"


def check_bound(settings: RunSettings, prices: Sequence[Prices | None]) -> None:
    """Raises ConfigurationError where --max-cost has no prices to go by; `prices` of the model, then of the judges."""
    if settings.max_cost is not None and (lacking := options_for_prices(prices)):
        raise ConfigurationError(
            "--max-cost needs prices, and the provider lists none under this name (is it right?): "
            f"give {lacking} in USD for a million tokens."
        )


def options_for_prices(prices: Sequence[Prices | None]) -> str:
    """The options that would give the prices which are not known, of the model, then of the judges; "" for none."""
    lacking = ["--price-in and --price-out"] if prices[0] is None else []
    if None in prices[1:]:
        lacking.append("--judge-price-in and --judge-price-out")
    return " and ".join(lacking)
