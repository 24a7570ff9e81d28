"""The engine: asks models the planned calls and writes result files. Knows no prompt's wording and no metric.

The names below are loaded when they are first used: `--help` reads the settings and needs no engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_NAMES = {
    "events": ("Observer", "RunPlan", "RunSummary"),
    "pricing": ("Estimate", "KnownPrices", "estimate_run", "known_prices"),
    "run": ("run_conversations",),
    "settings": ("ModelSettings", "RunSettings"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"attunebench.runner.{module}"), name)
    raise AttributeError(f"module 'attunebench.runner' has no attribute {name!r}")
