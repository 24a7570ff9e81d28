"""PANAS metrics of a conversation: the person's affect after it, against the predicted one. Source: spec 4.2.

Totals run from 10 to 70, items from 1 to 7. As truth (`pre`, `post`) None means unknown; as `predicted` None, or an
item that is missing, means not answered. A conversation whose prediction was never asked is not passed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from attunebench.metrics.card import PUBLIC_CODE, CardMaker, Metric
from attunebench.metrics.means import mean_defined

TOTAL_SPAN = 60.0
ITEM_SPAN = 6.0

Numbers = Sequence["float | None"]
"""One for each side, or for each item, in the same order."""

CARDS: list[Metric] = []
_canonical = CardMaker(CARDS, status="canonical", group="conversation", level="conversation")
_diagnostic = CardMaker(CARDS, status="diagnostic", group="conversation", level="conversation", source=PUBLIC_CODE)


def total_of(items: Mapping[str, float], side: Iterable[str], stated: float | None) -> float | None:
    """The total of a side: the sum where all its items are there, else the stated one, else None."""
    values = [*map(items.get, side)]
    return stated if None in values else sum(values)  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def baseline_adjusted(pre: float | None, post: float | None, predicted: float | None) -> float | None:
    """How much better than "no change" the prediction of one quantity is, in [−1, 1].

    (|post − pre| − |post − predicted|) / |post − pre|, clamped. None where pre or post is unknown or both are equal;
    −1 where not answered.
    """
    if pre is None or post is None or pre == post:
        return None
    if predicted is None:
        return -1.0
    moved = abs(post - pre)
    return max(-1.0, min(1.0, (moved - abs(post - predicted)) / moved))


_canonical(
    "panas_baseline_adjusted",
    "PANAS, baseline-adjusted",
    "How much better the model predicts the person's mood after the conversation than predicting no change: 0 is no "
    "better, 1 is perfect.",
    "Per side (|post − pre| − |post − predicted|) / |post − pre| clamped to [−1, 1]; undefined where pre or post is "
    "unknown or equal; not answered −1; mean over the defined sides.",
    low=-1.0,
    unit="skill",
)


def mean_baseline_adjusted(pre: Numbers, post: Numbers, predicted: Numbers) -> float | None:
    """Mean of the defined `baseline_adjusted` values, over the two sides or over the items; None without any."""
    return mean_defined([*map(baseline_adjusted, pre, post, predicted)])


def nothing_moved(pre: Numbers, post: Numbers) -> bool:
    """Whether at least one side is known before and after, and none of those differs."""
    known = [pair for pair in zip(pre, post, strict=True) if None not in pair]
    return bool(known) and all(before == after for before, after in known)


@_diagnostic.of("PANAS totals", "Closeness of the predicted positive and negative mood totals to the person's.")
def panas_normalized(post: Numbers, predicted: Numbers) -> float | None:
    """1 − mean(|ΔPA|, |ΔNA|)/60 over the sides with truth; a side not answered counts as error 60."""
    return _one_minus_error(post, predicted, TOTAL_SPAN)


@_diagnostic.of("PANAS items", "Closeness of the predicted ratings of the twenty feelings to the person's.")
def panas_item_normalized(post: Numbers, predicted: Numbers) -> float | None:
    """1 − (mean |Δ| over the items of the truth)/6; an item not answered counts 6."""
    return _one_minus_error(post, predicted, ITEM_SPAN)


_diagnostic(
    "panas_item_baseline_adjusted",
    "PANAS items, baseline-adjusted",
    "How much better the model predicts each feeling than predicting no change.",
    "panas_baseline_adjusted per item instead of per side, mean over the items that changed.",
    group="diagnostic",
    low=-1.0,
    unit="skill",
)


def _one_minus_error(post: Numbers, predicted: Numbers, span: float) -> float | None:
    pairs = zip(post, predicted, strict=True)
    errors = [span if guess is None else abs(value - guess) for value, guess in pairs if value is not None]
    return 1 - sum(errors) / len(errors) / span if errors else None
