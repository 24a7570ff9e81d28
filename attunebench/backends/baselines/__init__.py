"""Built-in models that need no network: floors, simple rules, and the ceiling.

They alone look at `Request.conversation`; their replies go the rest of the way like any model's text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Reply
from attunebench.backends.baselines.chance import Random
from attunebench.backends.baselines.lexicon import Lexicon
from attunebench.backends.baselines.majority import Majority, Scene
from attunebench.backends.baselines.oracle import NoChange, Oracle
from attunebench.backends.prices import Prices
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.backends.base import Request

BASELINES: Mapping[str, tuple[type[Majority], str]] = {
    "random": (Random, "answers drawn uniformly, the same for the same seed and call"),
    "majority": (Majority, "constant answers that are right most often in general"),
    "no-change": (NoChange, "the mood afterwards is the mood before; the rest as majority"),
    "lexicon": (Lexicon, "emotions by keywords of the participant's message; the rest as majority"),
    "oracle": (Oracle, "the participant's own answers: the ceiling and the pipeline's self-test, not a model"),
}
"""Name → (class, one line about it)."""


def open_baseline(name: str) -> BaselineBackend:
    """The baseline of that name as a backend. Raises UsageError that names those there are."""
    if name not in BASELINES:
        raise UsageError(f"There is no baseline {name!r}; choose one of {', '.join(BASELINES)}.")
    return BaselineBackend(name, BASELINES[name][0]())


class BaselineBackend:
    """A baseline behind the seam for I/O. It is free, and known to be."""

    provider = "baseline"
    base_url = ""
    payer: str | None = None

    def __init__(self, model: str, baseline: Majority) -> None:
        self.model = model
        self._baseline = baseline

    async def complete(self, request: Request) -> Reply:
        """The baseline's answer as a model would send it. Never fails."""
        text = json.dumps(self._baseline.answer(Scene(request)), ensure_ascii=False)
        return Reply(
            text=text, finish_reason="stop", cost=0.0, model=self.model, provider=self.provider, structured="text"
        )

    def learned(self) -> Mapping[str, Any]:
        return {}

    async def prices(self) -> Prices:
        return Prices(prompt=0.0, completion=0.0)

    async def aclose(self) -> None:
        """Nothing is held open."""
