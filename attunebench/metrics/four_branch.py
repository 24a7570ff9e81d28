"""How the person rated the replies on the four branches of emotional intelligence (1–7), against the prediction.

Source: spec 4.2. Branches that are missing in `truth` have no truth; branches that are missing in `predicted` are not
answered. A conversation that was never asked is not passed here.
"""

from __future__ import annotations

from collections.abc import Mapping

from attunebench.metrics.card import OURS, CardMaker, Metric

SPAN = 6.0
NAMES = ("perceiving", "facilitating", "understanding", "managing")

CARDS: list[Metric] = []
_of_talk = CardMaker(CARDS, level="conversation")


@_of_talk.of(
    "Four Branch",
    "Closeness of the predicted ratings of the replies to the person's, on the four branches of emotional "
    "intelligence.",
    status="canonical",
    group="conversation",
)
def four_branch(truth: Mapping[str, float], predicted: Mapping[str, float]) -> float | None:
    """1 − mean |Δ|/6 over the branches with truth; a branch not answered counts 6."""
    if not truth:
        return None
    errors = (SPAN if name not in predicted else abs(value - predicted[name]) for name, value in truth.items())
    return 1 - sum(errors) / len(truth) / SPAN


for _name in NAMES:
    _of_talk(
        f"four_branch_{_name}",
        f"Four Branch, {_name}",
        f"Closeness of the predicted rating of the replies to the person's, on {_name} emotions.",
        "1 − |Δ|/6 of this branch; not answered 0.",
        status="diagnostic",
        group="diagnostic",
        source=OURS,
    )


def branch(truth: float | None, predicted: float | None) -> float | None:
    """1 − |Δ|/6 of one branch, in [0, 1]; not answered 0; None without truth."""
    if truth is None:
        return None
    return 0.0 if predicted is None else 1 - abs(truth - predicted) / SPAN
