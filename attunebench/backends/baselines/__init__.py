"""Built-in models that need no network: floors, simple rules, and the ceiling.

They alone look at `Request.conversation`; their replies go the rest of the way like any model's text.
"""

from __future__ import annotations

from collections.abc import Mapping

from attunebench.backends.baselines.answering import BaselineBackend
from attunebench.backends.baselines.chance import Random
from attunebench.backends.baselines.lexicon import Lexicon
from attunebench.backends.baselines.majority import Majority
from attunebench.backends.baselines.oracle import NoChange, Oracle
from attunebench.errors import UsageError

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
