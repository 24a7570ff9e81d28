"""The one list of metrics: what each is called, means and ranges over. Nothing else knows a metric's name.

Each family module declares its `Metric`s beside the functions that compute them; this module gathers them. Counts of
binary answers that are pooled over turns (`binary.Confusion`) are no metrics of a conversation and not in the list.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from attunebench.errors import UsageError
from attunebench.metrics import (
    bertscore,
    binary,
    composite,
    draft,
    emotion,
    four_branch,
    pairwise,
    panas,
    questions,
    rates,
    released_only,
)
from attunebench.metrics.card import Group as Group
from attunebench.metrics.card import Metric as Metric
from attunebench.metrics.card import Status as Status

Rules = Literal["attunebench", "released"]
"""Whose rules scores follow: spec 04, or spec 09 for comparison with published numbers."""

REGISTRY_VERSION = "1.2"
"""The first number changes with the range or definition of a metric, or where an id goes; the second where ids come.

Scores of versions that agree in the first number can be held against each other.
"""

_ORDER = (composite, emotion, binary, pairwise, panas, questions, four_branch, draft, bertscore, rates, released_only)
REGISTRY: Mapping[str, Metric] = MappingProxyType({card.id: card for family in _ORDER for card in family.CARDS})
"""Metric id → card, in the order in which reports list them; those that only the released scorer has come last."""

_BY_RULES: Mapping[Rules, Mapping[str, Metric]] = {
    "attunebench": {metric_id: card for metric_id, card in REGISTRY.items() if card.status != "released"},
    # Turns without labels score 1 and comparisons without a winner 0, so that guessing has no constant score.
    "released": {metric_id: replace(card, chance=None) for metric_id, card in REGISTRY.items()},
}


def cards_of(rules: Rules) -> Mapping[str, Metric]:
    """Metric id → card of those that scores by these rules hold, in the registry's order."""
    return _BY_RULES[rules]


def metric(metric_id: str) -> Metric:
    """The card of a metric; UsageError names the nearest ids where there is none."""
    card = REGISTRY.get(metric_id)
    if card is not None:
        return card
    near = difflib.get_close_matches(metric_id.strip().lower(), REGISTRY, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`attune-bench report --explain all` lists them."
    raise UsageError(f"There is no metric {metric_id!r}. {hint}")


def below_chance(metric_id: str, mean: float | None) -> bool:
    """Whether a mean is below blind guessing, where the metric has that."""
    chance = REGISTRY[metric_id].chance if metric_id in REGISTRY else None
    return chance is not None and mean is not None and mean < chance


def no_reference(metric_ids: Iterable[str]) -> str:
    """Why the reference has no value on these metrics; "" for none."""
    labels = ", ".join(REGISTRY[metric_id].label for metric_id in metric_ids)
    return f"Not shown on {labels}, where it is below chance." if labels else ""
