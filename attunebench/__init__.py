"""AttuneBench measures how well a language model reads and serves a real person's feelings over a conversation.

The functions here do what the commands do and print nothing. They are loaded when they are first used, so that
importing the package costs nothing. What they return shows itself in a notebook.

    import attunebench
    from attunebench import ModelSettings, RunSettings

    settings = RunSettings(em=ModelSettings(provider="baseline", model="majority"))  # writes to results/
    summary = attunebench.run("path/to/conversations", settings)
    scores = attunebench.score("results", "path/to/conversations")
    print(summary.written, scores["aggregates"][0]["metrics"]["composite"]["mean"])
    attunebench.report(scores).save("report.html")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attunebench._version import __version__

if TYPE_CHECKING:
    from attunebench.api import (
        analyze,
        collect,
        compare,
        figure,
        load_conversations,
        load_scores,
        plan,
        plan_calls,
        rejudge,
        reparse,
        report,
        run,
        run_async,
        score,
    )
    from attunebench.runner import ModelSettings, RunSettings

__all__ = [
    "ModelSettings",
    "RunSettings",
    "__version__",
    "analyze",
    "collect",
    "compare",
    "figure",
    "load_conversations",
    "load_scores",
    "plan",
    "plan_calls",
    "rejudge",
    "reparse",
    "report",
    "run",
    "run_async",
    "score",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attunebench' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("attunebench.runner" if name.endswith("Settings") else "attunebench.api"), name)
