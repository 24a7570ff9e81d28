"""How the person rated the replies on the four branches of emotional intelligence (1–7), against the prediction.

Branches that are missing in `truth` have no truth; branches that are missing in `predicted` are not answered. A
conversation that was never asked is not passed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attunebench.metrics.card import OURS, Metric

SPAN = 6.0
NAMES = ("perceiving", "facilitating", "understanding", "managing")


def branch(truth: float | None, predicted: float | None) -> float | None:
    """1 − |Δ|/6 of one branch, in [0, 1]; not answered 0; None without truth. Source: spec 4.2."""
    if truth is None:
        return None
    return 0.0 if predicted is None else 1 - abs(truth - predicted) / SPAN


def four_branch(truth: Mapping[str, float], predicted: Mapping[str, float]) -> float | None:
    """1 − mean |Δ|/6 over the branches of the truth, in [0, 1]; not answered counts 6; None without one. Spec 4.2."""
    if not truth:
        return None
    errors = (SPAN if name not in predicted else abs(value - predicted[name]) for name, value in truth.items())
    return 1 - sum(errors) / len(truth) / SPAN


_canonical = partial(Metric, status="canonical", group="conversation", level="conversation")
_diagnostic = partial(Metric, status="diagnostic", group="diagnostic", level="conversation", source=OURS)

CARDS: tuple[Metric, ...] = (
    _canonical(
        "four_branch",
        "Four Branch",
        "How close the model comes to the person's own ratings of the replies on the four branches of emotional "
        "intelligence.",
        "1 − mean |Δ|/6 over the branches with truth; a branch not answered counts 6.",
    ),
    *(
        _diagnostic(
            f"four_branch_{name}",
            f"Four Branch, {name}",
            f"How close the model comes to the person's own rating of the replies on {name} emotions.",
            "1 − |Δ|/6 of this branch; not answered 0.",
        )
        for name in NAMES
    ),
)
