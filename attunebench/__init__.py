"""AttuneBench measures how well a language model reads and serves a real person's feelings over a conversation.

The functions here do what the commands do and print nothing. They are loaded when they are first used, so that
importing the package costs nothing.

    import attunebench
    from attunebench import ModelSettings, RunSettings

    settings = RunSettings(em=ModelSettings(provider="baseline", model="majority"))  # writes to results/
    summary = attunebench.run("path/to/conversations", settings)
    scores = attunebench.score("results", "path/to/conversations")
    print(summary.written, scores["aggregates"][0]["metrics"]["composite"]["mean"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attunebench._version import __version__

if TYPE_CHECKING:
    from attunebench.api import load_conversations, plan_calls, rejudge, reparse, run, score
    from attunebench.runner import ModelSettings, RunSettings
    from attunebench.scores.loading import load_scores

__all__ = [
    "ModelSettings",
    "RunSettings",
    "__version__",
    "load_conversations",
    "load_scores",
    "plan_calls",
    "rejudge",
    "reparse",
    "run",
    "score",
]

_HOMES = {
    **dict.fromkeys(__all__, "attunebench.api"),
    "load_scores": "attunebench.scores.loading",
    "ModelSettings": "attunebench.runner",
    "RunSettings": "attunebench.runner",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attunebench' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
