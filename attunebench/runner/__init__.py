"""The engine: asks models the planned calls and writes result files. Knows no prompt's wording and no metric."""

from attunebench.runner.events import Observer, RunPlan, RunSummary
from attunebench.runner.pricing import Estimate, KnownPrices, estimate_run, known_prices
from attunebench.runner.run import run_conversations
from attunebench.runner.settings import ModelSettings, RunSettings

__all__ = [
    "Estimate",
    "KnownPrices",
    "ModelSettings",
    "Observer",
    "RunPlan",
    "RunSettings",
    "RunSummary",
    "estimate_run",
    "known_prices",
    "run_conversations",
]
