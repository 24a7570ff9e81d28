"""Scores of many conversations → one line per (provider, model, mode): means with their doubt, pooled counts, coverage.

Epochs of a conversation are averaged first, so that a conversation counts once however often it was run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.metrics import binary
from attunebench.metrics.binary import Confusion
from attunebench.metrics.registry import REGISTRY
from attunebench.results.schema import Observed
from attunebench.scorer.conversation import BINARY_BLOCKS, ConversationScore, Pooled
from attunebench.scorer.tallies import RATES
from attunebench.scores import Aggregate, AggregateEntry, Coverage, PooledBlock, PooledCell
from attunebench.scores import Pooled as PooledJson
from attunebench.statistics import bootstrap

Group = tuple[str, str, str]
Column = NDArray[np.float64]


@dataclass(slots=True)
class Resampling:
    """How intervals are made. Groups with equally many units share one weight matrix, and so their resamples."""

    seed: int
    resamples: int
    by_participant: bool
    _weights: dict[int, bootstrap.Counts] = field(default_factory=dict)

    def weights(self, units: int) -> bootstrap.Counts:
        if units not in self._weights:
            rng = np.random.default_rng(self.seed)
            self._weights[units] = bootstrap.resample_weights(units, self.resamples, rng)
        return self._weights[units]


@dataclass(slots=True)
class ObservedCounts:
    """In how many results of a group a server named itself so, or did not take something as it was asked."""

    models: Counter[str] = field(default_factory=Counter)
    providers: Counter[str] = field(default_factory=Counter)
    structured: Counter[str] = field(default_factory=Counter)
    adapted: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, observed: Observed) -> None:
        """Count one result."""
        self.models.update(observed.models)
        self.providers.update(observed.providers)
        self.structured.update(observed.structured)
        for parameter, how in observed.adapted.items():
            self.adapted.setdefault(parameter, Counter())[how] += 1

    def as_json(self) -> dict[str, Any]:
        """The counts by name, in an order of their own."""
        return {
            "models_reported": _sorted(self.models),
            "providers_reported": _sorted(self.providers),
            "structured_used": _sorted(self.structured),
            "adapted": {parameter: _sorted(hows) for parameter, hows in sorted(self.adapted.items())},
        }


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def aggregate_group(
    group: Group, scores: Sequence[ConversationScore], coverage: Coverage, resampling: Resampling
) -> AggregateEntry:
    """The line of one group; a group of which nothing was scored has n 0 and no value anywhere."""
    by_conversation: dict[str, list[ConversationScore]] = {}
    for score in scores:
        by_conversation.setdefault(score.conversation_id, []).append(score)
    epochs = list(by_conversation.values())
    participants = {score.participant_id for score in scores if score.participant_id is not None}
    return {
        "provider": group[0],
        "em_model": group[1],
        "mode": group[2],
        "n_conversations": len(epochs),
        "n_participants": len(participants),
        "composite_incomplete": sum(not all(score.composite_complete for score in runs) for runs in epochs),
        "metrics": estimates(epochs, resampling),
        "pooled": pooled_json(_sum_pooled([score.pooled for score in scores])),
        "coverage": coverage,
    }


def estimates(epochs: Sequence[Sequence[ConversationScore]], resampling: Resampling) -> dict[str, Aggregate]:
    """Every metric over conversations, each given as the runs of it that are averaged first."""
    if not epochs:
        return {
            metric_id: {"mean": None, "n": 0, "se": None, "ci_low": None, "ci_high": None} for metric_id in REGISTRY
        }
    numerators, denominators = _columns(epochs)
    clusters = _participant_labels(epochs) if resampling.by_participant else None
    units = len(epochs) if clusters is None else int(clusters.max()) + 1
    found = bootstrap.estimate_ratios(numerators, denominators, resampling.weights(units), clusters=clusters)
    columns = (found.value.tolist(), found.n.tolist(), found.se.tolist(), found.low.tolist(), found.high.tolist())
    return {
        metric_id: {"mean": _known(mean), "n": n, "se": _known(se), "ci_low": _known(low), "ci_high": _known(high)}
        for metric_id, mean, n, se, low, high in zip(REGISTRY, *columns, strict=True)
    }


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _columns(epochs: Sequence[Sequence[ConversationScore]]) -> tuple[Column, Column]:
    """Numerators and denominators, conversations × metrics in registry order."""
    values = np.array([_mean_over_epochs(runs) for runs in epochs])
    numerators, denominators = bootstrap.mean_as_ratio(values)
    for column, metric_id in enumerate(REGISTRY):
        if metric_id in RATES:
            for row, runs in enumerate(epochs):
                numerators[row, column], denominators[row, column] = _summed(runs, *RATES[metric_id])
    return numerators, denominators


def _mean_over_epochs(runs: Sequence[ConversationScore]) -> Column:
    table = np.array([list(run.metrics.values()) for run in runs], dtype=np.float64)
    if len(runs) == 1:
        return np.asarray(table[0])
    numerators, denominators = bootstrap.mean_as_ratio(table)
    with np.errstate(invalid="ignore"):
        return np.asarray(numerators.sum(axis=0) / denominators.sum(axis=0))


def _summed(runs: Sequence[ConversationScore], part: str, whole: str) -> tuple[float, float]:
    counts = [(getattr(run.tallies, part), getattr(run.tallies, whole)) for run in runs]
    known = [(above, below) for above, below in counts if above is not None and below is not None]
    return sum(above for above, _ in known), sum(below for _, below in known)


def _participant_labels(epochs: Sequence[Sequence[ConversationScore]]) -> bootstrap.Labels:
    """A label per conversation; one whose participant is unknown is a cluster of its own."""
    labels: dict[tuple[bool, str], int] = {}
    keys = [
        (False, runs[0].conversation_id) if runs[0].participant_id is None else (True, runs[0].participant_id)
        for runs in epochs
    ]
    return np.array([labels.setdefault(key, len(labels)) for key in keys], dtype=np.intp)


def _sum_pooled(parts: Sequence[Pooled]) -> Pooled:
    """The counts of all results; a block that none of them has measured stays None."""
    summed: dict[str, Mapping[str, Confusion] | None] = {}
    for block in BINARY_BLOCKS:
        measured = [tallies for part in parts if (tallies := part[block]) is not None]
        categories = sorted({category for tallies in measured for category in tallies})
        summed[block] = (
            {
                category: sum((tallies.get(category, Confusion()) for tallies in measured), Confusion())
                for category in categories
            }
            if measured
            else None
        )
    return summed


def pooled_json(pooled: Pooled) -> PooledJson:
    """The counts and their rates, in all and by category, as they stand in the file."""
    return {block: None if tallies is None else _block(tallies) for block, tallies in pooled.items()}


def _block(tallies: Mapping[str, Confusion]) -> PooledBlock:
    cells = {category: _cell(confusion) for category, confusion in tallies.items()}
    return {**_cell(binary.total(tallies)), "by_category": cells}


def _cell(confusion: Confusion) -> PooledCell:
    return {
        "tp": confusion.tp,
        "tn": confusion.tn,
        "fp": confusion.fp,
        "fn": confusion.fn,
        "accuracy": confusion.accuracy,
        "precision": confusion.precision,
        "recall": confusion.recall,
        "f1": confusion.f1,
        "mcc": confusion.mcc,
    }


def settings_of_groups(
    settings: Mapping[Group, Mapping[str, tuple[dict[str, Any], int]]], observed: Mapping[Group, ObservedCounts]
) -> list[dict[str, Any]]:
    """Per group the distinct settings of its results and how many results have each, and what servers made of them."""
    return [
        {
            "provider": provider,
            "em_model": em_model,
            "mode": mode,
            "variants": [{"n_results": count, **found} for found, count in variants.values()],
            "observed": observed[provider, em_model, mode].as_json(),
        }
        for (provider, em_model, mode), variants in settings.items()
    ]
