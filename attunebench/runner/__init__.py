"""The engine: asks models the planned calls and writes result files. Knows no prompt's wording and no metric.

The names below are loaded when they are first used: `--help` reads the settings and needs no engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attunebench.runner.events import Observer, RunPlan, RunSummary
    from attunebench.runner.run import run_conversations
    from attunebench.runner.settings import ModelSettings, RunSettings

__all__ = ["ModelSettings", "Observer", "RunPlan", "RunSettings", "RunSummary", "run_conversations"]

_MODULES = {"ModelSettings": "settings", "RunSettings": "settings", "run_conversations": "run"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attunebench.runner' has no attribute {name!r}")
    return getattr(import_module(f"attunebench.runner.{_MODULES.get(name, 'events')}"), name)
