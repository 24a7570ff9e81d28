"""The engine: asks models the planned calls and writes result files. Knows no prompt's wording and no metric."""

from attunebench.runner.events import Observer, RunPlan, RunSummary
from attunebench.runner.pricing import Estimate, KindEstimate, KnownPrices, estimate_run, known_prices
from attunebench.runner.run import run_conversations
from attunebench.runner.settings import ModelSettings, RunSettings, Structured

__all__ = [
    "Estimate",
    "KindEstimate",
    "KnownPrices",
    "ModelSettings",
    "Observer",
    "RunPlan",
    "RunSettings",
    "RunSummary",
    "Structured",
    "estimate_run",
    "known_prices",
    "run_conversations",
]
