"""Scores of many conversations → one line per (provider, model, mode): means with their doubt, pooled counts, coverage.

Epochs of a conversation are averaged first, so that a conversation counts once however often it was run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.metrics.registry import Rules, cards_of
from attunebench.results.schema import BINARY_BLOCKS, Observed
from attunebench.scorer.entries import pooled_json
from attunebench.scorer.kept import Kept, metrics_of, pooled_of, tally_of
from attunebench.scorer.tallies import RATES
from attunebench.scores import Aggregate, AggregateEntry, Coverage
from attunebench.statistics import bootstrap
from attunebench.statistics.intervals import BcaIntervals, bca_ratios, with_wilson

Group = tuple[str, str, str]
Floats = NDArray[np.float64]
Ci = Literal["percentile", "bca"]


@dataclass(slots=True)
class Resampling:
    """How intervals are made. Groups with equally many units share one weight matrix, and so their resamples."""

    seed: int
    resamples: int
    by_participant: bool
    ci: Ci = "percentile"
    rules: Rules = "attunebench"
    """Whose metrics are estimated."""
    _weights: dict[int, bootstrap.Counts] = field(default_factory=dict)

    def weights(self, units: int) -> bootstrap.Counts:
        """How often each of `units` units is drawn in each resample: the same however often it is asked."""
        if units not in self._weights:
            rng = np.random.default_rng(self.seed)
            self._weights[units] = bootstrap.resample_weights(units, self.resamples, rng)
        return self._weights[units]

    def estimate(self, columns: Columns | None) -> dict[str, Aggregate]:
        """Every metric of a group with its doubt; n 0 and no value anywhere for a group without columns."""
        ids = cards_of(self.rules)
        if columns is None:
            return {name: {"mean": None, "n": 0, "se": None, "ci_low": None, "ci_high": None} for name in ids}
        above, below, clusters = columns
        weights = self.weights(len(above) if clusters is None else int(clusters.max()) + 1)
        found = bootstrap.estimate_ratios(above, below, weights, clusters=clusters)
        proportions = np.array([card.proportion for card in ids.values()])
        found, wilson = with_wilson(found, below, proportions, clusters)
        numbers = (found.value.tolist(), found.n.tolist(), found.se.tolist(), found.low.tolist(), found.high.tolist())
        aggregates: dict[str, Aggregate] = {
            name: {"mean": _known(mean), "n": n, "se": _known(se), "ci_low": _known(low), "ci_high": _known(high)}
            for name, mean, n, se, low, high in zip(ids, *numbers, strict=True)
        }
        if self.ci == "bca":
            _correct(aggregates, bca_ratios(above, below, weights, clusters=clusters))
        for name, alike in zip(ids, wilson.tolist(), strict=True):
            if alike:
                aggregates[name]["ci_method"] = "wilson"
        return aggregates


def _correct(aggregates: Mapping[str, Aggregate], bca: BcaIntervals) -> None:
    """Put the BCa bounds in place of the percentiles, where there is an interval at all."""
    columns = (bca.low.tolist(), bca.high.tolist(), bca.fell_back.tolist())
    for aggregate, low, high, fell_back in zip(aggregates.values(), *columns, strict=True):
        if aggregate["ci_low"] is not None and not np.isnan(low):
            aggregate["ci_low"], aggregate["ci_high"] = _known(low), _known(high)
            aggregate["ci_method"] = "percentile" if fell_back else "bca"


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


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
    group: Group, kept: Sequence[Kept], metrics: dict[str, Aggregate], coverage: Coverage, rules: Rules
) -> AggregateEntry:
    """The line of one group; a group of which nothing was scored has n 0 and no value anywhere."""
    complete: dict[str, bool] = {}
    for found in kept:
        complete[found.conversation_id] = complete.get(found.conversation_id, True) and found.complete
    return {
        "provider": group[0],
        "em_model": group[1],
        "mode": group[2],
        "n_conversations": len(complete),
        "n_participants": len({found.participant_id for found in kept if found.participant_id is not None}),
        "composite_incomplete": sum(not whole for whole in complete.values()),
        "judges": {judge: scale for found in kept for judge, scale in found.settings.get("judge_scales", {}).items()},
        "metrics": metrics,
        "pooled": pooled_json(pooled_of(_rows(kept)) if kept else dict.fromkeys(BINARY_BLOCKS), rules),
        "coverage": coverage,
    }


class Columns(NamedTuple):
    """What a bootstrap needs of a group: conversations × metrics in registry order, and the cluster of each row."""

    numerators: Floats
    denominators: Floats
    clusters: bootstrap.Labels | None


def columns_of(kept: Sequence[Kept], resampling: Resampling) -> Columns | None:
    """The columns of a group, one row for each conversation however often it was run; None where nothing was scored."""
    if not kept:
        return None
    runs: dict[str, list[int]] = {}
    for row, found in enumerate(kept):
        runs.setdefault(found.conversation_id, []).append(row)
    rows = _rows(kept)
    values = np.array([_mean_over_epochs(metrics_of(rows[places])) for places in runs.values()])
    numerators, denominators = bootstrap.mean_as_ratio(values)
    for column, metric_id in enumerate(cards_of(resampling.rules)):
        if metric_id in RATES:
            counted = [_summed(rows[places], *RATES[metric_id]) for places in runs.values()]
            numerators[:, column], denominators[:, column] = zip(*counted, strict=True)
    firsts = [kept[places[0]] for places in runs.values()]
    return Columns(numerators, denominators, _participant_labels(firsts) if resampling.by_participant else None)


def _rows(kept: Sequence[Kept]) -> Floats:
    return np.array([found.numbers for found in kept])


def _mean_over_epochs(values: Floats) -> Floats:
    if len(values) == 1:
        return np.asarray(values[0])
    numerators, denominators = bootstrap.mean_as_ratio(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(numerators.sum(axis=0) / denominators.sum(axis=0))


def _summed(rows: Floats, part: str, whole: str) -> tuple[float, float]:
    above, below = tally_of(rows, part), tally_of(rows, whole)
    known = ~np.isnan(above) & ~np.isnan(below)
    return float(above[known].sum()), float(below[known].sum())


def _participant_labels(conversations: Sequence[Kept]) -> bootstrap.Labels:
    """A label per conversation; one whose participant is unknown is a cluster of its own."""
    labels: dict[tuple[bool, str], int] = {}
    keys = [
        (False, found.conversation_id) if found.participant_id is None else (True, found.participant_id)
        for found in conversations
    ]
    return np.array([labels.setdefault(key, len(labels)) for key in keys], dtype=np.intp)


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
