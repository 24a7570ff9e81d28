"""AttuneBench measures how well language models recognise and respond to a real person's feelings in a conversation.

The functions here do what the commands do, without printing. They are loaded on first use, so importing the package is
fast. Their results render as tables and charts in a notebook.

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
